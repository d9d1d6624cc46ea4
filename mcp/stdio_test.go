package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/load"
)

// stdio is a server of package mcpdouble with more options.
func stdio(options ...string) Spec {
	return Spec{Command: program("double", append([]string{"-tools", "t"}, options...)...)}
}

// TestStdioDoubles holds what a session makes of each fault.
func TestStdioDoubles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		double   string // its options
		protocol string
		call     string // what the tool "t" gives
		change   func(*Spec)
		check    func(t *testing.T, s *Session, rec *record)
	}{
		{double: "", protocol: "2025-11-25", call: "ok"},
		{double: "", protocol: "2025-11-25", call: "ok", change: func(s *Spec) { s.Protocol.Only = "legacy" }, check: func(t *testing.T, s *Session, rec *record) {
			if len(rec.sentLines("server/discover")) > 0 {
				t.Error("was probed")
			}
		}},
		{double: "-shy", protocol: "2025-11-25", call: "ok"},
		{double: "-fault silent-discover", protocol: "2025-11-25", call: "ok", change: quickProbe},
		{double: "-fault late-discover", protocol: "2026-07-28", call: "ok", change: quickProbe},
		{double: "-fault duplicate-initialize", protocol: "2025-06-18", call: "ok"},
		{double: "-modern -instructions brief", protocol: "2026-07-28", call: "ok", check: func(t *testing.T, s *Session, rec *record) {
			if len(rec.sentLines("initialize")) > 0 {
				t.Error("initialize was sent to a modern server")
			}
			if s.Instructions() != "brief" {
				t.Errorf("instructions are %q", s.Instructions())
			}
			for _, line := range rec.sentLines(`"id"`) {
				if v := jsontext.Text(jsontext.Member([]byte(line), "params", "_meta", "io.modelcontextprotocol/protocolVersion")); v != wire.ModernRevision {
					t.Errorf("a request without its _meta: %s", line)
				}
			}
		}},
		{double: "-fault refuses-versions", protocol: "2024-11-05", call: "ok"},
		{double: "-version 2024-10-07", protocol: "2024-11-05", call: "ok", check: func(t *testing.T, s *Session, rec *record) {
			if rec.warned("protocol_mismatch") != 1 {
				t.Errorf("warnings: %q", rec.warnings)
			}
		}},
		{double: "-junk", protocol: "2025-11-25", call: "ok", check: func(t *testing.T, s *Session, rec *record) {
			if logs := strings.Join(rec.snapshot(&rec.logs), "\n"); !strings.Contains(logs, "Server ready") {
				t.Errorf("the banner is not in the log: %q", logs)
			}
		}},
		{double: "-framing content-length", protocol: "2025-11-25", call: "ok", change: func(s *Spec) { s.Framing = "content-length" }},
		{double: "-fault long-line", protocol: "2025-11-25", call: strings.Repeat("é", 5<<19)},
		{double: "-fault dribble", protocol: "2025-11-25", call: "done 1"},
		{double: "-fault string-ids", protocol: "2025-11-25", call: "ok"},
		{double: "-fault null-ids", protocol: "2025-11-25", call: "error: lost the id"},
		{double: "-fault zero-ids", protocol: "2025-11-25", call: "ok"},
		{double: "-fault ids", protocol: "2025-11-25", call: "done 1"},
		{double: "-fault batch", protocol: "2025-11-25", call: "done 1"},
		{double: "-fault asks", protocol: "2025-11-25", call: "0{} 1-32601 2-32601 3-32601"},
		{double: "-fault notifications", protocol: "2025-11-25", call: "done 1"},
		{double: "-fault stderr-flood", protocol: "2025-11-25", call: "done 1", check: func(t *testing.T, s *Session, rec *record) {
			if n := len(s.stderr()); n > 64<<10 {
				t.Errorf("%d bytes of stderr are kept", n)
			}
		}},
		{double: "-fault list-changes", protocol: "2025-11-25", call: "ok", check: func(t *testing.T, s *Session, rec *record) {
			if w := rec.snapshot(&rec.warnings); len(w) > 0 {
				t.Errorf("warnings: %q", w)
			}
			if logs := strings.Join(rec.snapshot(&rec.logs), "\n"); !strings.Contains(logs, "before it was read") {
				t.Errorf("log: %q", logs)
			}
		}},
		{double: "-fault changed-mind", protocol: "2025-11-25", call: "done 1", check: func(t *testing.T, s *Session, rec *record) {
			s.Settle(hang)
			if w := rec.snapshot(&rec.warnings); len(w) != 1 || !strings.HasPrefix(w[0], `tools_changed: server "peer" has a changed list`) {
				t.Errorf("warnings: %q", rec.warnings)
			}
		}},
		{double: "-fault changes-nothing", protocol: "2025-11-25", call: "ok", check: func(t *testing.T, s *Session, rec *record) {
			s.Settle(hang)
			if w := rec.snapshot(&rec.warnings); len(w) > 0 {
				t.Errorf("warnings: %q", rec.warnings)
			}
			logs := strings.Join(rec.snapshot(&rec.logs), "\n")
			if !strings.Contains(logs, "warning: l: look out") || !strings.Contains(logs, "announced as changed, and is the same") {
				t.Errorf("log: %q", logs)
			}
			if n := len(rec.sentLines("tools/list")); n != 2 {
				t.Errorf("the list was read %d times", n)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.double, func(t *testing.T) {
			t.Parallel()
			spec := stdio(strings.Fields(tt.double)...)
			if tt.change != nil {
				tt.change(&spec)
			}
			s, rec := connect(t, spec)
			if s.Protocol() != tt.protocol || s.Transport() != "stdio" {
				t.Errorf("speaks %s over %s, want %s", s.Protocol(), s.Transport(), tt.protocol)
			}
			if names := toolNames(s); names != "t" {
				t.Errorf("tools: %q", names)
			}
			if got := called(t, s, "t", `{}`); got != tt.call {
				t.Errorf("the call gave %.100q, want %.100q", got, tt.call)
			}
			if tt.check != nil {
				tt.check(t, s, rec)
			}
		})
	}
}

func quickProbe(s *Spec) { s.probeTimeout = 100 * time.Millisecond }

func TestStdioRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		double string
		change func(*Spec)
		want   []string // in message, hint and stderr
	}{
		{`-exit 1 -stderr one\ntwo\ncannot-find-the-database\n`, nil, []string{`server "peer" (stdio)`, "tried: server/discover", "exit status 1", "cannot-find-the-database"}},
		{"-silent", brief, []string{"start-up timeout of 3s", "tried: server/discover, a fresh process, initialize)", "Content-Length", "startup_timeout"}},
		{"-framing content-length", nil, []string{"initialize", "no frame"}},
		{"-fault silent-start", brief, []string{"start-up timeout of 3s", "tried: server/discover, initialize)", "hint: raise startup_timeout"}},
		{"-fault slow-when-fresh", brief, []string{"tried: server/discover, initialize, a fresh process, initialize)", "hint: raise startup_timeout"}},
		{"-fault foreign-ids", brief, []string{"start-up timeout", "hint: raise startup_timeout"}},
		{"-fault word-ids", brief, []string{"start-up timeout", "hint: raise startup_timeout"}},
		{"-fault junk", brief, []string{"start-up timeout", "only messages belong, has: Loading weights, please wait"}},
		{"-fault future-only", nil, []string{"2031-01-01", "2026-07-28", "2025-11-25"}},
		{"", func(s *Spec) { s.Protocol.Only = wire.ModernRevision }, []string{"does not speak 2026-07-28"}},
		{"", func(s *Spec) { s.Command = []string{"/nonexistent/server"} }, []string{"tried: start", "/nonexistent/server"}},
		{"", func(s *Spec) { s.Command = []string{"nonexistent-server"} }, []string{"tried: start", "nonexistent-server", "absolute path"}},
		{"", func(s *Spec) { s.Dir = "/nonexistent/dir" }, []string{`its working directory cannot be used: "/nonexistent/dir": no such file`}},
		{"", func(s *Spec) { s.Dir = os.Args[0] }, []string{"its working directory cannot be used", "not a directory"}},
		{"", func(s *Spec) { s.Command = []string{"./server"} }, []string{`"./server" is relative`}},
	}
	for _, tt := range tests {
		t.Run(tt.double, func(t *testing.T) {
			t.Parallel()
			spec := stdio(strings.Fields(tt.double)...)
			if tt.change != nil {
				tt.change(&spec)
			}
			_, _, err := tryConnect(t, spec)
			e, ok := errors.AsType[*ConnectError](err)
			if !ok {
				t.Fatalf("the error is %v", err)
			}
			said := e.Message + "\nhint: " + e.Hint + "\n" + e.Stderr
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in %q", want, said)
				}
			}
			if strings.Contains(e.Message, "working directory") && e.Hint != "" {
				t.Errorf("the hint is %q", e.Hint)
			}
			if strings.Contains(e.Message, "\n") {
				t.Errorf("the message is not one line: %q", e.Message)
			}
		})
	}
}

// brief leaves time for what answers, also on a busy machine.
func brief(s *Spec) {
	s.StartupTimeout = 3 * time.Second
	s.probeTimeout = time.Second
}

func TestParallelCallsGetTheirOwnReplies(t *testing.T) {
	s, _ := connect(t, stdio("-fault", "out-of-order"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := fmt.Sprint("call ", i)
			if got := called(t, s, "t", fmt.Sprintf(`{"n":%q}`, want)); got != want {
				t.Errorf("call %d got %q", i, got)
			}
		})
	}
	wg.Wait()
}

func TestServerDiesInCall(t *testing.T) {
	s, rec := connect(t, stdio())
	e := callFails(t, s, "die", `{}`)
	if !e.Sent || e.RPC || !strings.Contains(e.Message, "told to die") || !strings.Contains(e.Message, "exit status 9") {
		t.Errorf("the call in flight: %+v", e)
	}
	if e = callFails(t, s, "t", `{}`); e.Sent || e.RPC || !strings.Contains(e.Message, "told to die") {
		t.Errorf("the next call: %+v", e)
	}
	if s.conn.lost() == nil || rec.warned("server_lost") != 1 {
		t.Errorf("lost: %v, warnings: %q", s.conn.lost(), rec.warnings)
	}
	if n := len(rec.sentLines("tools/call")); n != 1 {
		t.Errorf("%d calls went out", n)
	}
}

func TestReplyThatIsNoMessage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"deep", "large"} {
		t.Run(name, func(t *testing.T) {
			if name == "large" && !load.Full(t) {
				t.Skip("moves 64 MiB; another test does it for another transport")
			}
			s, _ := connect(t, stdio("-fault", name))
			if e := callFails(t, s, "t", `{}`); !e.Sent || e.RPC {
				t.Errorf("%+v", e)
			}
			if s.conn.lost() != nil {
				t.Errorf("lost is %v", s.conn.lost())
			}
			if got := called(t, s, "t", `{}`); name == "large" && got != "done 2" {
				t.Errorf("the next call gave %q", got)
			}
		})
	}
}

// TestCallTimeout has time for a machine that is slow to send the call, and to notice
// the tool timeout before the hard deadline.
func TestCallTimeout(t *testing.T) {
	t.Parallel()
	spec := stdio()
	spec.ToolTimeout = time.Second
	s, rec := connect(t, spec)
	e := callFails(t, s, "hang", `{}`)
	if !e.Sent || e.RPC || !errors.Is(e, TimeoutError{Limit: spec.ToolTimeout}) {
		t.Errorf("%+v", e)
	}
	for _, part := range []string{`server "peer": `, "1s"} {
		if !strings.Contains(e.Message, part) {
			t.Errorf("%q is not in %q", part, e.Message)
		}
	}
	if got := rec.sentLines("notifications/cancelled"); len(got) != 1 {
		t.Errorf("cancelled: %q", got)
	}
	if names := listAgain(t, s); names != "t" {
		t.Errorf("afterwards the tools are %q", names)
	}
}

// TestHardDeadline: progress puts the idle deadline off, not the hard one. A machine may
// be so busy that a pause of the server is too long: then it gets a longer time.
func TestHardDeadline(t *testing.T) {
	t.Parallel()
	spec := stdio()
	for spec.ToolTimeout = 200 * time.Millisecond; ; spec.ToolTimeout *= 2 {
		s, _ := connect(t, spec)
		e := callFails(t, s, "drip", `{"n":3000,"ms":10}`)
		if errors.Is(e, TimeoutError{spec.ToolTimeout, true}) {
			return
		}
		if !errors.Is(e, TimeoutError{spec.ToolTimeout, false}) || spec.ToolTimeout > 2*time.Second { // what it says lasts for half a minute
			t.Fatalf("%+v", e)
		}
	}
}

func TestCallCancelled(t *testing.T) {
	s, rec := connect(t, stdio())
	ctx, cancel := context.WithCancelCause(bounded(t))
	why := errors.New("interrupted")
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	_, err := s.Call(ctx, "hang", json.RawMessage(`{}`), nil)
	if e, ok := errors.AsType[*wire.NoReplyError](err); !ok || !e.Sent || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if got := rec.sentLines("notifications/cancelled"); len(got) != 1 {
		t.Errorf("cancelled: %q", got)
	}
	cancel(nil)
	if _, err = s.Call(ctx, "t", json.RawMessage(`{}`), nil); wire.MayHaveArrived(err) {
		t.Error("a call that was cancelled before is said to be sent")
	}
}

func TestProgress(t *testing.T) {
	s, _ := connect(t, stdio("-fault", "odd-progress"))
	var seen []string
	_, err := s.Call(bounded(t), "t", json.RawMessage(`{}`), func(p wire.Progress) {
		seen = append(seen, fmt.Sprintf("%s/%s %s", p.Progress, p.Total, p.Message))
	})
	if got := strings.Join(seen, ", "); err != nil || got != "1/10 step, 2.5/10 step" {
		t.Errorf("progress %q, %v", got, err)
	}
}

// TestChildEnvironment: a child gets only what is allow-listed, inherited or set.
func TestChildEnvironment(t *testing.T) {
	spec := stdio()
	spec.Environ = []string{"PATH=/bin::relative:/usr/bin", "HOME=/h", "LC_ALL=C", "TOOLPIPE_API_KEY=k1", "OPENAI_API_KEY=k2", "AWS_SECRET=k3",
		"LD_PRELOAD=x", "BASH_ENV=x", "NODE_OPTIONS=x", "GIT_SSH_COMMAND=x", "WANTED=w", "https_proxy=p", "SET=old"}
	spec.Env = map[string]string{"SET": "new"}
	spec.InheritEnv = []string{"WANTED", "TOOLPIPE_API_KEY"}
	s, _ := connect(t, spec)
	got := called(t, s, "env", `{}`)
	if want := "PATH=/bin:/usr/bin\nHOME=/h\nLC_ALL=C\nWANTED=w\nhttps_proxy=p\nSET=new"; got != want {
		t.Errorf("the child sees %q, want %q", got, want)
	}
}

func TestWireHookHidesSecrets(t *testing.T) {
	spec := stdio()
	spec.Env = map[string]string{"API_TOKEN": `sec"ret`, "MODE": "debug"}
	spec.Environ, spec.InheritEnv = []string{"PATH=/bin", "PLAIN=a plain value", "OTHER=another value"}, []string{"PLAIN"}
	s, rec := connect(t, spec)
	called(t, s, "env", `{}`)
	wire := strings.Join(rec.snapshot(&rec.wire), "\n")
	if strings.Contains(wire, `sec\"ret`) || !strings.Contains(wire, "API_TOKEN=[secret]") || !strings.Contains(wire, "MODE=debug") ||
		!strings.Contains(wire, "PLAIN=[secret]") || strings.Contains(wire, "OTHER") {
		t.Errorf("wire: %s", wire)
	}
}

// A secret in a long line of stderr does not show, also not a part of it where the
// line is cut.
func TestLongLineOfStderrHidesSecrets(t *testing.T) {
	for _, before := range []int{process.MaxLogLine/2 - 5, process.MaxLogLine - 5} {
		spec := stdio("-stderr", strings.Repeat("x", before)+`0123456789-secret and more\n`)
		spec.Env = map[string]string{"API_TOKEN": "0123456789-secret"}
		s, rec := connect(t, spec)
		s.Close()
		if line := strings.Join(rec.snapshot(&rec.logs), "\n"); strings.Contains(line, "x0") || len(line) > process.MaxLogLine/2+10 {
			t.Errorf("%d bytes before: %d bytes are shown, the end is %q", before, len(line), line[len(line)-30:])
		}
	}
}
