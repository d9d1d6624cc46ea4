//go:build unix

package approve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() { runApprover = approver }

// approver is the program that the tests of AskCommand ask. The first word
// of text says what it does.
func approver(text string) {
	question, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	action, rest, _ := strings.Cut(text, " ")
	switch action {
	case "say":
		fmt.Println(rest)
	case "save": // writes the question to a file
		if err := os.WriteFile(rest, question, 0o600); err != nil {
			panic(err)
		}
		fmt.Println(`{"decision":"allow"}`)
	case "fail":
		fmt.Println(`{"decision":"allow"}`)
		fmt.Fprintln(os.Stderr, "first\nno rules for this")
		syscall.Exit(3)
	case "die":
		fmt.Println(`{"decision":"allow"}`)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang":
		time.Sleep(time.Hour)
	}
}

// runInGroup runs a program in a process group of its own.
func runInGroup(ctx context.Context, cmd *exec.Cmd, most int) (printed []byte, said string, err error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	defer kill()
	defer context.AfterFunc(ctx, kill)()
	if err = cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return out.Next(most), errs.String(), err
}

func commandApprover(action string) *Approver {
	return &Approver{Timeout: approverGuard, Ask: AskCommand([]string{os.Args[0]}, []string{approverVariable + "=" + action}, runInGroup)}
}

func urlApprover(address string) *Approver { return &Approver{Ask: AskURL(address)} }

// approverGuard keeps a test from hanging; no test waits for it.
const approverGuard = 30 * time.Second

var someCall = Call{Server: "fs", Tool: "write_file", Name: "fs__write_file", Arguments: []byte(`{"path":"a<b","n":9007199254740993}`), Annotations: json.RawMessage(`{"destructiveHint":true}`)}

// answers are answers of an approver, and the decision and the reason that they
// give.
var answers = []struct{ answer, want, reason string }{
	{`{"decision":"allow"}`, "allow", ""},
	{`{"decision":"allow","reason":"fine"}`, "allow", "fine"},
	{` {"reason":"fine", "decision" : "allow"}` + "\n\n", "allow", "fine"},
	{`{"decision":"deny"}`, "deny", "the approver denied it"},
	{`{"decision":"deny","reason":"not today"}`, "deny", "not today"},
	{`{"decision":"none"}`, "ask", ""},
	{`{"decision":"none","reason":"not mine"}`, "ask", "not mine"},
	{`allow`, "deny", "did not answer with one JSON object"},
	{`not JSON`, "deny", "did not answer with one JSON object: found 'n', not an object"},
	{`true`, "deny", "did not answer with one JSON object: found a boolean, not an object"},
	{`"allow"`, "deny", "did not answer with one JSON object: found a string, not an object"},
	{`{}`, "deny", `decision is ""`},
	{`{"decision":"Allow"}`, "deny", `decision is "Allow"`},
	{`{"decision":"allow "}`, "deny", `decision is "allow "`},
	{`{"decision":true}`, "deny", "wrong \"decision\""},
	{`{"decison":"allow"}`, "deny", "wrong \"decison\""},
	{`{"decision":"allow","reason":7}`, "deny", "wrong \"reason\""},
	{`{"decision":"allow","if":"x"}`, "deny", "wrong \"if\""},
	{`{"decision":"deny","decision":"allow"}`, "deny", "duplicate key"},
	{`{"decision":"deny","Decision":"allow"}`, "deny", "duplicate key"},
	{`{"decision":"allow"} {"decision":"allow"}`, "deny", "after the end"},
	{`{"decision":"allow"`, "deny", "the end where ',' or '}' should be"},
	{`{"decision":"allow","reason":"` + strings.Repeat("x", maxApproverAnswer) + `"}`, "deny", "did not answer with one JSON object: more than 65536 bytes: too long"},
}

func TestCommandApprover(t *testing.T) {
	for _, c := range answers[:9] {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			d, reason, err := commandApprover("say "+c.answer).judge(t.Context(), &someCall, &Rule{})
			if err != nil || d.String() != c.want || !strings.Contains(reason, c.reason) {
				t.Errorf("%s: %v, %q, %v", c.answer, d, reason, err)
			}
		})
	}
}

func TestURLApprover(t *testing.T) {
	t.Parallel()
	for _, c := range answers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, c.answer) }))
		d, reason, err := urlApprover(server.URL).judge(t.Context(), &someCall, &Rule{})
		if err != nil || d.String() != c.want || !strings.Contains(reason, c.reason) {
			t.Errorf("%.50s: %v, %q, %v", c.answer, d, reason, err)
		}
		server.Close()
	}
}

const wantQuestion = `{"server":"fs","tool":"write_file","name":"fs__write_file","arguments":{"path":"a<b","n":9007199254740993},` +
	`"annotations":{"destructiveHint":true},"verdict":"ask","by":"policy","rule":"p.json:2","reason":"say \"why\""}` + "\n"

var byRules = &Rule{Decision: Ask, By: "policy", Origin: "p.json:2", Reason: `say "why"`}

func TestApproverQuestion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "question")
	if d, reason, err := commandApprover("save "+path).judge(t.Context(), &someCall, byRules); d != Allow || err != nil {
		t.Fatal(d, reason, err)
	}
	if got, _ := os.ReadFile(path); string(got) != wantQuestion {
		t.Errorf("the command got %s", got)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, _ := io.ReadAll(r.Body); string(got) != wantQuestion || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Accept") != "application/json" {
			t.Errorf("the service got %s %v %s", r.Method, r.Header, got)
		}
		io.WriteString(w, `{"decision":"allow"}`)
	}))
	defer server.Close()
	a := urlApprover(server.URL)
	if d, reason, err := a.judge(t.Context(), &someCall, byRules); d != Allow || err != nil {
		t.Error(d, reason, err)
	}
	if lines := approverRequest(&Call{Annotations: json.RawMessage("{\n  \"title\": \"a b\"\n}")}, &Rule{}); !bytes.Contains(lines, []byte(`"annotations":{"title":"a b"},`)) {
		t.Errorf("not on one line: %s", lines)
	}
	bare := approverRequest(&Call{Server: "s"}, &Rule{Decision: Allow})
	if !strings.Contains(string(bare), `"arguments":{},"annotations":null,"verdict":"allow"`) {
		t.Errorf("%s", bare)
	}
}

func TestCommandApproverFails(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]string{
		"fail": "the approver failed: exit status 3: no rules for this",
		"die":  "the approver failed: signal: killed",
		"hang": "the approver gave no answer in 300ms",
		"say ": "the approver gave no decision: its answer is empty",
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			a := commandApprover(action)
			if action == "hang" {
				a.Timeout = 300 * time.Millisecond
			}
			if d, reason, err := a.judge(t.Context(), &someCall, byRules); d != Deny || reason != want || err != nil {
				t.Errorf("%v %q %v", d, reason, err)
			}
		})
	}
	a := &Approver{Ask: AskCommand([]string{"/none"}, nil, runInGroup)}
	if d, reason, err := a.judge(t.Context(), &someCall, byRules); d != Deny || reason != "the approver failed: fork/exec /none: no such file or directory" || err != nil {
		t.Errorf("%v %q %v", d, reason, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if d, reason, err := commandApprover("hang").judge(ctx, &someCall, byRules); d != Deny || reason != "" || err != io.ErrClosedPipe {
		t.Errorf("the run has ended: %v %q %v", d, reason, err)
	}
}

// No connection stays open, whatever the answer is.
func TestURLApproverClosesConnections(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusTeapot} {
		closed := make(chan struct{}, 1)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, `{"decision":"allow"}`)
		}))
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				closed <- struct{}{}
			}
		}
		server.Start()
		if d, reason, err := urlApprover(server.URL).judge(t.Context(), &someCall, byRules); (d == Allow) != (status == http.StatusOK) || err != nil {
			t.Error(d, reason, err)
		}
		select {
		case <-closed:
		case <-time.After(approverGuard):
			t.Errorf("status %d: the connection stays open", status)
		}
		server.Close()
	}
}

func TestClip(t *testing.T) {
	x := strings.Repeat("x", maxReason)
	for s, want := range map[string]string{
		"":                                  "",
		x:                                   x,
		x + "y":                             x + "...",
		x[1:] + "é":                         x[1:] + "...",
		x[2:] + "é":                         x[2:] + "é",
		x[3:] + "\u20ac":                    x[3:] + "\u20ac",
		x[2:] + "\u20ac":                    x[2:] + "...",
		strings.Repeat("\x80", maxReason+1): "...",
	} {
		if got := clip(s); got != want {
			t.Errorf("%.10q of %d bytes: %d bytes", s, len(s), len(got))
		}
	}
}

func TestURLApproverFails(t *testing.T) {
	t.Parallel()
	hits := 0
	ended := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/yes", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/yes", func(w http.ResponseWriter, r *http.Request) { hits++; io.WriteString(w, `{"decision":"allow"}`) })
	mux.HandleFunc("/created", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"decision":"allow"}`)
	})
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) { <-ended })
	mux.HandleFunc("/empty", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "\n") })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `{"decision":"allow"}`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(ended)
	for path, want := range map[string]string{
		"/moved": "HTTP status 307", "/none": "HTTP status 404", "/created": "HTTP status 201", "/cut": "unexpected EOF", "/empty": "the approver gave no decision: its answer is empty", "/hang": "no answer in 300ms",
	} {
		a := urlApprover(server.URL + path)
		if path == "/hang" {
			a.Timeout = 300 * time.Millisecond
		}
		if d, reason, err := a.judge(t.Context(), &someCall, byRules); d != Deny || !strings.Contains(reason, want) || err != nil {
			t.Errorf("%s: %v %q %v", path, d, reason, err)
		}
	}
	if hits != 0 {
		t.Error("the redirect was followed")
	}
	for address, want := range map[string]string{
		"http://127.0.0.1:1/?key=k": "the approver failed: connection to 127.0.0.1:1 was refused",
		"http://x:port/":            `the approver failed: invalid port ":port" after host`,
	} {
		d, reason, err := urlApprover(address).judge(t.Context(), &someCall, byRules)
		if d != Deny || reason != want || err != nil {
			t.Errorf("%s: %v %q %v", address, d, reason, err)
		}
	}
	for _, c := range []struct {
		err  *net.OpError
		want string
	}{
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "dial: connection refused"},
		{&net.OpError{Op: "read", Addr: &net.TCPAddr{Port: 7}, Err: errors.New("strange")}, "read :7: strange"},
	} {
		if got := requestProblem(&url.Error{Op: "Post", URL: "http://x/", Err: c.err}); got != c.want {
			t.Error(got)
		}
	}
	unknown := &url.Error{Op: "Post", URL: "http://x/", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "x", Err: "no such host"}}}
	if got := requestProblem(unknown); got != `could not resolve x: no such host` {
		t.Error(got)
	}
}

func TestApproverCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stop")
	time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
	if d, _, err := commandApprover("hang").judge(ctx, &someCall, byRules); d != Deny || err != cause {
		t.Error(d, err)
	}
	if d, _, err := urlApprover("http://127.0.0.1:1/").judge(ctx, &someCall, byRules); d != Deny || err != cause {
		t.Error(d, err)
	}
}

// An answer holds for the question that was asked: where another rule decides by now, it
// is asked again, and a deny needs no answer.
func TestAnswerToAnEarlierQuestion(t *testing.T) {
	c := Call{Server: "s", Tool: "t", Name: "s__t"}
	for _, x := range []struct {
		meanwhile []Rule
		want      string
		again     bool
	}{
		{nil, "allow", false},
		{patterns(t, "s__t", Deny, "--deny "), "deny", false},
		{patterns(t, "s__t", Ask, "config.json:3"), "deny", true},
	} {
		g := &Gate{Otherwise: OtherwiseAsk, Approver: approverThat(Allow)}
		_, q, err := g.Decide(t.Context(), c)
		if err == nil {
			err = q.Ask(t.Context())
		}
		g.Rules = x.meanwhile
		v, again, wrong := g.Answer(t.Context(), c, q)
		if err != nil || wrong != nil || v.Outcome.String() != x.want || (again != nil) != x.again {
			t.Errorf("%+v: %+v, %v, %v %v", x, v, again, err, wrong)
		}
	}
}
