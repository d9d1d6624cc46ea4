package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"toolpipe/testdata/load"
)

// rotating is an authorization server that gives a new refresh token with each
// access token, and ends the login when one comes twice, as it would for a thief.
type rotating struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	tokens   int    // the number of the last access token
	good     string // the refresh token that is valid, "" after the end
	life     int
	reply    func(w http.ResponseWriter) bool // instead of tokens; nil or false for them
	keeps    bool                             // gives no new refresh token
}

func newRotating(t *testing.T) *rotating {
	a := &rotating{good: "refresh-0", life: 3600}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *rotating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	if a.reply != nil && a.reply(w) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.FormValue("grant_type") != "refresh_token" || r.FormValue("refresh_token") != a.good {
		a.good = ""
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	a.tokens++
	refresh := ""
	if !a.keeps {
		a.good = fmt.Sprint("refresh-", a.tokens)
		refresh = fmt.Sprintf(`,"refresh_token":%q`, a.good)
	}
	fmt.Fprintf(w, `{"access_token":"access-%d","token_type":"Bearer","expires_in":%d%s}`, a.tokens, a.life, refresh)
}

// expired is a stored login at a whose access token has expired.
func (a *rotating) expired(t *testing.T, s *Store) *Login {
	l := testLogin()
	l.Server, l.Issuer, l.TokenURL = a.URL+"/mcp", a.URL, a.URL+"/token"
	l.AccessToken, l.RefreshToken, l.Expires = "access-0", "refresh-0", time.Now().Add(-time.Minute)
	put(t, s, l)
	return l
}

// TestOneRefresh: however many processes start together with an expired token,
// the token endpoint gets one request, and all of them use its token.
func TestOneRefresh(t *testing.T) {
	if dir := os.Getenv("TOOLPIPE_TEST_REFRESH"); dir != "" {
		refreshOnce(dir)
	}
	processes := 8
	if load.Full(t) {
		processes = 100
	}
	a := newRotating(t)
	s, _ := newStore(t)
	l := a.expired(t, s)
	begin, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range processes {
		group.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneRefresh$")
			cmd.Env = append(os.Environ(), "TOOLPIPE_TEST_REFRESH="+s.Dir, "TOOLPIPE_TEST_SERVER="+l.Server)
			cmd.Stdin = begin
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "access-1" {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
	hold.Close() // which all processes wait for
	group.Wait()
	begin.Close()
	if a.requests != 1 || a.good != "refresh-1" {
		t.Errorf("%d requests; the refresh token %q is valid", a.requests, a.good)
	}
	if l := got(t, s, l.Key()); l.AccessToken != "access-1" || l.RefreshToken != "refresh-1" {
		t.Errorf("stored: %+v", l)
	}
}

// refreshOnce is one of the processes of TestOneRefresh.
func refreshOnce(dir string) {
	io.Copy(io.Discard, os.Stdin)
	l, err := (&Store{Dir: dir}).Refresh(context.Background(), &Settings{}, Key{Server: os.Getenv("TOOLPIPE_TEST_SERVER")}, "access-0")
	if err != nil {
		fmt.Print(err)
		os.Exit(1)
	}
	fmt.Print(l.AccessToken)
	os.Exit(0)
}

// TestRefreshGenerations: with tokens that end at once, users of the same login
// never use a refresh token twice and never lose the login.
func TestRefreshGenerations(t *testing.T) {
	a := newRotating(t)
	a.life = 1
	s, _ := newStore(t)
	k := a.expired(t, s).Key()
	users, rounds := 4, 25
	if load.Full(t) {
		users, rounds = 16, 100
	}
	var group sync.WaitGroup
	for range users {
		group.Go(func() {
			other, used := &Store{Dir: s.Dir}, "access-0"
			for range rounds {
				l, err := other.Refresh(t.Context(), nil, k, used)
				if err != nil {
					t.Error(err)
					return
				}
				used = l.AccessToken
			}
		})
	}
	group.Wait()
	if l := got(t, s, k); a.requests != a.tokens || l.RefreshToken != a.good || a.good == "" {
		t.Errorf("%d requests for %d tokens, %q is stored and %q valid", a.requests, a.tokens, l.RefreshToken, a.good)
	}
}

// TestRefresh: what is stored after each outcome of a refresh.
func TestRefresh(t *testing.T) {
	lost := func(w http.ResponseWriter) bool { panic(http.ErrAbortHandler) }
	for _, tt := range []struct {
		name                 string
		reply                func(http.ResponseWriter) bool
		keeps, ended         bool
		stored, refreshToken string
	}{
		{"rotated", nil, false, false, "access-1", "refresh-1"},
		{"not rotated", nil, true, false, "access-1", "refresh-0"},
		{"ended", answerWith(400, `{"error":"invalid_grant","error_description":"revoked"}`), false, true, "", ""},
		{"another refusal", answerWith(401, `{"error":"invalid_client"}`), false, false, "access-0", "refresh-0"},
		{"broken", answerWith(502, "<html>refresh-0</html>"), false, false, "access-0", "refresh-0"},
		{"busy, and says so as if it had ended", answerWith(429, `{"error":"invalid_grant"}`), false, false, "access-0", "refresh-0"},
		{"not a token", answerWith(200, `{"access_token":"a b\u0007","token_type":"Bearer"}`), false, false, "access-0", "refresh-0"},
		{"without an answer", lost, false, false, "access-0", "refresh-0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newRotating(t)
			a.reply, a.keeps = tt.reply, tt.keeps
			s, warnings := newStore(t)
			k := a.expired(t, s).Key()
			l, err := s.Refresh(t.Context(), nil, k, "access-0")
			if (err == nil) != (tt.stored == "access-1") || errors.Is(err, ErrEnded) != tt.ended || err == nil && l.AccessToken != "access-1" {
				t.Errorf("%+v, %v", l, err)
			}
			if err != nil && (strings.Contains(err.Error(), "refresh-0") || strings.Contains(err.Error(), "access-")) {
				t.Errorf("a token is shown: %v", err)
			}
			stored := got(t, s, k)
			if stored == nil || stored.AccessToken != tt.stored || stored.RefreshToken != tt.refreshToken || stored.Client.ID != "client" || len(*warnings) > 0 {
				t.Errorf("stored: %+v, warnings %q", stored, *warnings)
			}
			if tt.ended {
				if _, err := s.Refresh(t.Context(), nil, k, ""); err != ErrEnded || a.requests != 1 {
					t.Errorf("again: %v after %d requests", err, a.requests)
				}
			}
		})
	}
}

// answerWith answers every request; a status that passes asks for a wait of a minute.
func answerWith(status int, body string) func(http.ResponseWriter) bool {
	return func(w http.ResponseWriter) bool {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(status)
		io.WriteString(w, body)
		return true
	}
}

// TestRefreshEarly: before the end of the access token, a refused refresh changes nothing, and
// nobody waits for a server that is busy. After it, the login has ended.
func TestRefreshEarly(t *testing.T) {
	for _, status := range []int{400, 429, 503} {
		a := newRotating(t)
		s, _ := newStore(t)
		l := a.expired(t, s)
		l.Expires, l.Obtained = time.Now().Add(20*time.Second), time.Now().Add(-time.Hour)
		put(t, s, l)
		a.reply = answerWith(status, `{"error":"invalid_grant"}`)
		if _, err := s.Refresh(t.Context(), nil, l.Key(), ""); err == nil || errors.Is(err, ErrEnded) || a.requests != 1 || got(t, s, l.Key()).RefreshToken != "refresh-0" {
			t.Errorf("%d: %v after %d requests", status, err, a.requests)
		}
		a.reply = nil
		a.good = "another"
		if _, err := s.Refresh(t.Context(), nil, l.Key(), "access-0"); err == nil || errors.Is(err, ErrEnded) || a.requests != 2 || got(t, s, l.Key()).RefreshToken != "refresh-0" {
			t.Errorf("%d, and then a refused token: %v", status, err)
		}
		l.Expires = time.Now()
		put(t, s, l)
		if _, err := s.Refresh(t.Context(), nil, l.Key(), ""); !errors.Is(err, ErrEnded) || got(t, s, l.Key()).RefreshToken != "" {
			t.Errorf("%d, and then after the end: %v", status, err)
		}
	}
}

// TestRefreshWaits: a status that passes is waited for, whatever the words are: as long as the
// server asks, else longer each time, and not beyond patience.
func TestRefreshWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, after string
		statuses    []int
		least, most time.Duration
		requests    int
		ok          bool
	}{
		{"as long as it asks", "1", []int{429}, time.Second, 10 * time.Second, 2, true},
		{"growing", "", []int{500, 503}, 1500 * time.Millisecond, 10 * time.Second, 3, true},
		{"three times", "0.1", []int{503, 503, 503, 503, 503}, 0, 10 * time.Second, 4, false},
		{"too long", "3600", []int{429}, 0, 10 * time.Second, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newRotating(t)
			s, _ := newStore(t)
			k := a.expired(t, s).Key()
			a.reply = func(w http.ResponseWriter) bool {
				if a.requests > len(tt.statuses) {
					return false
				}
				w.Header().Set("Retry-After", tt.after)
				w.WriteHeader(tt.statuses[a.requests-1])
				io.WriteString(w, `{"error":"something else"}`)
				return true
			}
			began := time.Now()
			_, err := s.Refresh(t.Context(), nil, k, "access-0")
			took := time.Since(began)
			if (err == nil) != tt.ok || !tt.ok && !Passes(err) || a.requests != tt.requests || took < tt.least || took > tt.most {
				t.Errorf("%v after %d requests and %v", err, a.requests, took)
			}
			if tt.after == "3600" && !strings.HasSuffix(err.Error(), "something else, and asks to wait 1h0m0s") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestRefreshWaitEnds: the end of a run ends a wait.
func TestRefreshWaitEnds(t *testing.T) {
	a := newRotating(t)
	s, _ := newStore(t)
	k := a.expired(t, s).Key()
	ctx, cancel := context.WithCancel(t.Context())
	a.reply = func(w http.ResponseWriter) bool {
		defer cancel()
		w.Header().Set("Retry-After", "15")
		w.WriteHeader(503)
		return true
	}
	began := time.Now()
	if _, err := s.Refresh(ctx, nil, k, "access-0"); !Passes(err) || a.requests != 1 || time.Since(began) > settleTime {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// TestRefreshUsesWhatIsStored: a login that another process has changed is used
// as it is now, and an authorization server is not asked.
func TestRefreshUsesWhatIsStored(t *testing.T) {
	a := newRotating(t)
	s, _ := newStore(t)
	l := a.expired(t, s)
	newer := *l
	newer.AccessToken, newer.Expires = "access-9", time.Now().Add(time.Hour)
	put(t, s, &newer)
	if l, err := s.Refresh(t.Context(), nil, l.Key(), "access-0"); err != nil || l.AccessToken != "access-9" {
		t.Errorf("%+v, %v", l, err)
	}
	if err := s.Update(t.Context(), l.Key(), func(*Login) (*Login, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Refresh(t.Context(), nil, l.Key(), "access-0"); err != ErrSignedOut || a.requests != 0 {
		t.Errorf("%v, %d requests", err, a.requests)
	}
}

// TestRefreshAfterTheEnd: a refresh whose answer is on its way when the run ends
// is finished and stored: its answer may hold the only valid refresh token.
func TestRefreshAfterTheEnd(t *testing.T) {
	a := newRotating(t)
	s, _ := newStore(t)
	k := a.expired(t, s).Key()
	ctx, cancel := context.WithCancel(t.Context())
	a.reply = func(http.ResponseWriter) bool {
		cancel()
		return false
	}
	if l, err := s.Refresh(ctx, nil, k, "access-0"); err != nil || l.AccessToken != "access-1" || got(t, s, k).RefreshToken != "refresh-1" {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestRefreshNotSaved: tokens that cannot be stored are used all the same, and the
// user is told.
func TestRefreshNotSaved(t *testing.T) {
	a := newRotating(t)
	s, warnings := newStore(t)
	k := a.expired(t, s).Key()
	os.Mkdir(s.path(k.id())+".tmp", 0o700) // no file can be written there
	os.WriteFile(filepath.Join(s.path(k.id())+".tmp", "x"), nil, 0o600)
	if l, err := s.Refresh(t.Context(), nil, k, "access-0"); err != nil || l.AccessToken != "access-1" {
		t.Errorf("%+v, %v", l, err)
	}
	if l := got(t, s, k); l.AccessToken != "access-1" {
		t.Errorf("it is not used: %+v", l)
	}
	if len(*warnings) != 1 || !strings.HasPrefix((*warnings)[0], "login_not_saved: ") {
		t.Errorf("%q", *warnings)
	}
}

// TestRefreshGiven: a login that was given is refreshed and not stored; that is
// told when its refresh token is not valid any more. A helper stores it.
func TestRefreshGiven(t *testing.T) {
	for _, rotates := range []bool{true, false} {
		a := newRotating(t)
		a.keeps = !rotates
		elsewhere, _ := newStore(t)
		k := a.expired(t, elsewhere).Key()
		given, err := os.ReadFile(elsewhere.path(k.id()))
		if err != nil {
			t.Fatal(err)
		}
		s, warnings := newStore(t)
		if err := s.Give(string(given)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if l, err := s.Refresh(t.Context(), nil, k, "access-0"); err != nil || l.AccessToken != "access-1" {
				t.Errorf("%+v, %v", l, err)
			}
		}
		if l, err := s.stored(t.Context(), k); l != nil || err != nil || a.requests != 1 {
			t.Errorf("%+v, %v after %d requests", l, err, a.requests)
		}
		if rotates != (len(*warnings) == 1) {
			t.Errorf("%q", *warnings)
		}
		if !rotates {
			continue
		}
		a.good = "refresh-0"
		h, _ := helped(t, "fake")
		if err := h.Give(string(given)); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Refresh(t.Context(), nil, k, "access-0"); err != nil {
			t.Error(err)
		}
		if l, err := h.stored(t.Context(), k); err != nil || l == nil || l.RefreshToken != a.good {
			t.Errorf("%+v, %v", l, err)
		}
	}
}

// TestRefreshGivenLocked: a login that was given does not let a stored one be refreshed
// without its lock, while another process may be refreshing it.
func TestRefreshGivenLocked(t *testing.T) {
	a := newRotating(t)
	s, _ := newStore(t)
	k := a.expired(t, s).Key()
	given, err := os.ReadFile(s.path(k.id()))
	if err == nil {
		err = s.Give(string(given))
	}
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := s.lock(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if l, err := s.Refresh(ctx, nil, k, "access-0"); !errors.Is(err, context.DeadlineExceeded) || a.requests != 0 {
		t.Errorf("%+v, %v after %d requests", l, err, a.requests)
	}
}

// TestExpired: a token is replaced some time before its end, but not sooner than
// in the middle of its life.
func TestExpired(t *testing.T) {
	for _, tt := range []struct {
		life, left time.Duration // 0 life: not known when it was obtained
		want       bool
	}{
		{time.Hour, time.Minute, false}, {time.Hour, 29 * time.Second, true}, {time.Hour, -time.Second, true},
		{50 * time.Second, 40 * time.Second, false}, {50 * time.Second, 24 * time.Second, true}, {time.Minute, 29 * time.Second, true},
		{0, time.Minute, false}, {0, 29 * time.Second, true},
	} {
		l := &Token{Expires: time.Now().Add(tt.left)}
		if tt.life > 0 {
			l.Obtained = l.Expires.Add(-tt.life)
		}
		if l.Expired() != tt.want {
			t.Errorf("%v before the end of %v: %t", tt.left, tt.life, !tt.want)
		}
	}
	if (&Login{}).Expired() {
		t.Error("a token without a known end has expired")
	}
}

// TestHolderKilled: a process that is killed while it refreshes leaves the lock.
func TestHolderKilled(t *testing.T) {
	if dir := os.Getenv("TOOLPIPE_TEST_REFRESH"); dir != "" {
		refreshOnce(dir)
	}
	a := newRotating(t)
	s, _ := newStore(t)
	l := a.expired(t, s)
	asked, killed := make(chan bool), make(chan bool)
	var first atomic.Bool
	a.mu.Lock()
	a.reply = func(http.ResponseWriter) bool {
		if first.Swap(true) {
			return false
		}
		close(asked)
		<-killed
		panic(http.ErrAbortHandler)
	}
	a.mu.Unlock()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHolderKilled$")
	cmd.Env = append(os.Environ(), "TOOLPIPE_TEST_REFRESH="+s.Dir, "TOOLPIPE_TEST_SERVER="+l.Server)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	cmd.Process.Kill()
	cmd.Wait()
	close(killed)
	if l, err := s.Refresh(t.Context(), nil, l.Key(), "access-0"); err != nil || l.AccessToken != "access-1" {
		t.Errorf("%+v, %v", l, err)
	}
}
