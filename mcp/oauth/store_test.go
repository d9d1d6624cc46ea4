package oauth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const testServer = "https://mcp.example.com/mcp"

// newStore is a store in a new directory, and what it warned of.
func newStore(t *testing.T) (*Store, *[]string) {
	warnings := &[]string{}
	s := &Store{Dir: filepath.Join(t.TempDir(), "toolpipe", "logins"), Warn: func(code, _, message string) {
		*warnings = append(*warnings, code+": "+message)
	}}
	return s, warnings
}

func testLogin() *Login {
	return &Login{
		Server: testServer, Issuer: "https://auth.example.com", TokenURL: "https://auth.example.com/token",
		Client: Client{ID: "client", AuthMethod: "none", RedirectURI: "http://localhost:4711/callback"},
		Scopes: []string{"read", "write"}, RefreshToken: "refresh-1",
		Token: Token{AccessToken: "access-1", Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)},
	}
}

func put(t *testing.T, s *Store, l *Login) {
	t.Helper()
	if err := s.Update(t.Context(), l.Key(), func(*Login) (*Login, error) { return l, nil }); err != nil {
		t.Fatal(err)
	}
}

func got(t *testing.T, s *Store, k Key) *Login {
	t.Helper()
	l, err := s.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestStore: a login comes back as it was stored, for its server and its account
// and no other, from a file that nobody else can read, whatever the umask is.
func TestStore(t *testing.T) {
	umask := syscall.Umask(0)
	defer syscall.Umask(umask)
	s, warnings := newStore(t)
	var secrets []string
	s.Secret = func(secret string) { secrets = append(secrets, secret) }
	l := testLogin()
	if got := got(t, s, l.Key()); got != nil {
		t.Errorf("before: %+v", got)
	}
	put(t, s, l)
	if got := got(t, s, l.Key()); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", l) {
		t.Errorf("%+v\n%+v", got, l)
	}
	for _, k := range []Key{{testServer, "work"}, {testServer + "/", ""}, {"https://mcp.example.com", ""}, {testServer + "\x00work", ""}} {
		if got := got(t, s, k); got != nil {
			t.Errorf("%q has the login of %q", k, got.Server)
		}
	}
	for path, want := range map[string]os.FileMode{s.Dir: 0o700, filepath.Dir(s.Dir): 0o700, s.path(l.Key().id()): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
	work := testLogin()
	work.Account = "work"
	put(t, s, work)
	all, err := s.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Account != "" || all[1].Account != "work" {
		t.Errorf("%+v, %v", all, err)
	}
	if err := s.Update(t.Context(), l.Key(), func(old *Login) (*Login, error) {
		if old == nil || old.AccessToken != "access-1" {
			t.Errorf("the stored login is %+v", old)
		}
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if got(t, s, l.Key()) != nil || got(t, s, work.Key()) == nil {
		t.Error("the wrong login was removed")
	}
	if !slices.Contains(secrets, "access-1") || !slices.Contains(secrets, "refresh-1") || len(*warnings) > 0 {
		t.Errorf("secrets %q, warnings %q", secrets, *warnings)
	}
}

// TestStoreRefuses: what another user may have put there is not a login.
func TestStoreRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		bend func(s *Store, file string) error
		want string // "" is a login
		warn string
	}{
		{"as it was written", func(*Store, string) error { return nil }, "", ""},
		{"readable by others", func(_ *Store, file string) error { return os.Chmod(file, 0o644) }, "", "login_readable: "},
		{"writable by others", func(_ *Store, file string) error { return os.Chmod(file, 0o646) }, "others can write to it (mode 0646)", ""},
		{"writable by the group", func(_ *Store, file string) error { return os.Chmod(file, 0o620) }, "others can write to it (mode 0620)", ""},
		{"a symbolic link", func(_ *Store, file string) error {
			return errors.Join(os.Rename(file, file+".real"), os.Symlink(file+".real", file))
		}, "it is a symbolic link", ""},
		{"a pipe", func(_ *Store, file string) error { return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)) }, "it is not a regular file", ""},
		{"of another user", func(_ *Store, file string) error { return os.Chown(file, 4711, 4711) }, "it belongs to user 4711", ""},
		{"another server's", func(s *Store, file string) error {
			return os.Rename(file, s.path(Key{"https://evil.example/mcp", ""}.id()))
		}, `it is a login at "https://mcp.example.com/mcp"`, ""},
		{"not a login", func(_ *Store, file string) error { return os.WriteFile(file, []byte(`{"a":"hunter2"}`), 0o600) }, "it is not a login of toolpipe (15 bytes)", ""},
		{"cut off", func(_ *Store, file string) error { return os.Truncate(file, 40) }, "it is not a login of toolpipe (40 bytes)", ""},
		{"of a newer version", func(_ *Store, file string) error {
			return os.WriteFile(file, []byte(`{"version":2,"url":"https://mcp.example.com/mcp"}`), 0o600)
		}, "a newer toolpipe wrote it (version 2)", ""},
		{"huge", func(_ *Store, file string) error { return os.Truncate(file, maxLogin+1) }, "it is longer than any login", ""},
		{"a directory that others can write to", func(s *Store, _ string) error { return os.Chmod(s.Dir, 0o777) }, "others can write to it (mode 0777)", ""},
		{"a linked directory", func(s *Store, _ string) error {
			return errors.Join(os.Rename(s.Dir, s.Dir+".real"), os.Symlink(s.Dir+".real", s.Dir))
		}, "it is a symbolic link", ""},
		{"another user's directory", func(s *Store, _ string) error { return os.Chown(s.Dir, 4711, 4711) }, "it belongs to user 4711", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.name, "other user") && os.Getuid() != 0 {
				t.Skip("needs root")
			}
			s, warnings := newStore(t)
			k := testLogin().Key()
			put(t, s, testLogin())
			if err := tt.bend(s, s.path(k.id())); err != nil {
				t.Fatal(err)
			}
			if tt.name == "another server's" {
				k = Key{"https://evil.example/mcp", ""}
			}
			l, err := s.Get(t.Context(), k)
			refused, ok := errors.AsType[*RefusedError](err)
			switch {
			case tt.want == "" && (l == nil || err != nil):
				t.Errorf("%v, %v", l, err)
			case tt.want != "" && (l != nil || !ok || refused.Why != tt.want):
				t.Errorf("%v, %v", l, err)
			}
			if all := strings.Join(*warnings, "\n"); tt.warn == "" && all != "" || !strings.HasPrefix(all, tt.warn) {
				t.Errorf("warnings: %s", all)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the file is quoted: %v", err)
			}
		})
	}
}

// TestStoreTooLong: what could not be read again is not stored.
func TestStoreTooLong(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, testLogin())
	l := testLogin()
	l.RefreshToken = strings.Repeat("x", maxLogin)
	if err := s.Update(t.Context(), l.Key(), func(*Login) (*Login, error) { return l, nil }); err == nil {
		t.Error("a login is stored that is longer than is read")
	}
	if l := got(t, s, l.Key()); l.RefreshToken != "refresh-1" {
		t.Errorf("%+v", l)
	}
}

// TestStoreWithoutHome: without a directory there are no logins, and none can be kept.
func TestStoreWithoutHome(t *testing.T) {
	s := &Store{}
	if l := got(t, s, testLogin().Key()); l != nil {
		t.Errorf("%+v", l)
	}
	if err := s.Update(t.Context(), testLogin().Key(), nil); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("%v", err)
	}
}

// TestGivenLogins: logins that were given stand in for those that are not stored.
func TestGivenLogins(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, testLogin())
	stored, err := os.ReadFile(s.path(testLogin().Key().id()))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(strings.Replace(string(stored), testServer, "https://other.example", 1), "access-1", "access-2")
	for _, given := range []string{other, "[" + other + "]", " [\n" + strings.ReplaceAll(other, "access-2", "access-3") + "," + other + "]\n"} {
		s.given.Clear()
		if err := s.Give(given); err != nil {
			t.Fatal(err)
		}
		if l := got(t, s, testLogin().Key()); l.AccessToken != "access-1" {
			t.Errorf("%+v", l)
		}
		if l := got(t, s, Key{"https://other.example", ""}); l == nil || !strings.HasPrefix(l.AccessToken, "access-") {
			t.Errorf("%s: %+v", given, l)
		}
	}
	for _, given := range []string{"x", "[", "[1]", "{}", `[{"version":1}]`} {
		if err := s.Give(given); err == nil {
			t.Errorf("%s is a login", given)
		}
	}
}

// TestLock: one at a time, also within a process; a wait ends with its context.
func TestLock(t *testing.T) {
	s, _ := newStore(t)
	k := testLogin().Key()
	unlock, err := s.lock(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the run ended")
	cancel(why)
	if _, err := s.lock(ended, k); err != why {
		t.Errorf("%v", err)
	}
	other, err := s.lock(t.Context(), Key{testServer, "work"})
	if err != nil {
		t.Fatal(err)
	}
	other()
	unlock()
	var group sync.WaitGroup
	var holders, n atomic.Int32
	for range 8 {
		group.Go(func() {
			unlock, err := s.lock(t.Context(), k)
			if err != nil {
				t.Error(err)
				return
			}
			if holders.Add(1) != 1 {
				t.Error("two have the lock")
			}
			n.Add(1)
			holders.Add(-1)
			unlock()
		})
	}
	group.Wait()
	if n.Load() != 8 {
		t.Errorf("%d had the lock", n.Load())
	}
}

// TestKilledWriter: whenever a process that stores logins is killed, a whole login
// is there, its lock is free, and the next write leaves no other file.
func TestKilledWriter(t *testing.T) {
	const child = "TOOLPIPE_TEST_STORE"
	k := testLogin().Key()
	if dir := os.Getenv(child); dir != "" {
		s := &Store{Dir: dir}
		for i := 0; ; i++ {
			l := testLogin()
			l.AccessToken = strings.Repeat(fmt.Sprint("token-", i, "-"), 500)
			put(t, s, l)
			if i == 0 {
				fmt.Println("began")
			}
		}
	}
	s, _ := newStore(t)
	put(t, s, testLogin())
	for i := range 20 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), child+"="+s.Dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 1))
		time.Sleep(time.Duration(i) * 100 * time.Microsecond) // another place in its work each time
		cmd.Process.Kill()
		cmd.Wait()
		if l := got(t, s, k); l == nil || l.RefreshToken != "refresh-1" {
			t.Fatalf("after kill %d: %+v", i, l)
		}
	}
	put(t, s, testLogin())
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) != 2 { // the login and its lock
		t.Errorf("%v, %v", entries, err)
	}
}

// TestFullDisk: a login that cannot be written leaves the stored one as it is.
func TestFullDisk(t *testing.T) {
	const child = "TOOLPIPE_TEST_FULL"
	k := testLogin().Key()
	if dir := os.Getenv(child); dir != "" {
		s := &Store{Dir: dir}
		var before syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before) // the test binary writes coverage data at its end
		l := testLogin()
		l.AccessToken = "access-2"
		err := s.Update(t.Context(), k, func(*Login) (*Login, error) { return l, nil })
		if err == nil {
			t.Error("the write succeeded")
		}
		return
	}
	s, _ := newStore(t)
	put(t, s, testLogin())
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$")
	cmd.Env = append(os.Environ(), child+"="+s.Dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	if l := got(t, s, k); l == nil || l.AccessToken != "access-1" {
		t.Errorf("%+v", l)
	}
	if entries, err := os.ReadDir(s.Dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}
