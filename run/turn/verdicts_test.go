package turn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/files"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// callerWithPolicy gives a directory with docs/f and secret/f, and a function that
// makes calls of a file server on it under a policy and returns their answers. The
// caller is the one that makes them.
func callerWithPolicy(t *testing.T, rules string) (root string, c *caller, ask func(calls ...stream.Call) []string) {
	t.Helper()
	root = t.TempDir()
	for _, dir := range []string{"docs", "secret"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "f"), []byte("content of "+dir+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	policy, err := approve.ParsePolicy("policy.json", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	area, err := confine.Open(confine.Spec{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	local := files.New(area, files.Spec{Name: "files"})
	gate := &approve.Gate{Rules: policy.Rules, Otherwise: policy.Otherwise, AutoApprove: "--auto-approve"}
	p := planWith(t, gate, config.Config{}, servers.Builtin(local, root))
	c = &caller{
		plan: p, box: p.Box, client: new(client), options: options{parallel: 8, maxBytes: 1 << 20, denyUnapproved: true},
		flow: newFlow(&approve.Gate{EgressRule: approve.EgressRule{Egress: approve.EgressOff}}), output: output{emit: func(event.Event) error { return nil }, flush: func() error { return nil }},
	}
	return root, c, func(calls ...stream.Call) (answers []string) {
		messages, _, err := c.answer(t.Context(), 1, calls, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			text := ""
			for _, part := range m.Parts {
				text += part.Text + jsontext.Text(part.JSON)
			}
			answers = append(answers, text)
		}
		return answers
	}
}

func fileCall(id int, tool, arguments string) stream.Call {
	return stream.Call{ID: fmt.Sprint(id), Name: "files__" + tool, Arguments: []byte(arguments)}
}

// TestVerdictHoldsForWhatIsOpened: while a symbolic link is changed all the time,
// nothing is read or written that the policy does not allow. The tool opens the file
// that the verdict was about, or fails.
func TestVerdictHoldsForWhatIsOpened(t *testing.T) {
	for name, rules := range map[string]string{
		"denied":      `{"version":1,"rules":[{"decision":"deny","server":"files","tool":"*","arguments":{"path":{"under":"secret"}}}]}`,
		"not allowed": `{"version":1,"otherwise":"deny","rules":[{"decision":"allow","server":"files","tool":"*","others":"any","arguments":{"path":{"under":"docs"}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			root, _, ask := callerWithPolicy(t, rules)
			if got := ask(fileCall(0, "read_file", `{"path":"docs/f"}`)); len(got) != 1 || got[0] != "content of docs\n" {
				t.Fatalf("docs/f: %q", got)
			}
			link, other := filepath.Join(root, "link"), filepath.Join(root, "other")
			if err := os.Symlink("docs", link); err != nil {
				t.Skip(err)
			}
			var stop atomic.Bool
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for i := 0; !stop.Load(); i++ {
					os.Symlink([]string{"secret", "docs"}[i%2], other)
					os.Rename(other, link)
					time.Sleep(100 * time.Microsecond)
				}
			}()
			defer func() { stop.Store(true); <-ended }()
			read := 0
			for range 250 {
				var calls []stream.Call
				for i := range 7 {
					calls = append(calls, fileCall(i, "read_file", `{"path":"link/f"}`))
				}
				calls = append(calls, fileCall(7, "write_file", `{"path":"link/written/file","content":"x"}`))
				for _, answer := range ask(calls...) {
					if strings.Contains(answer, "content of secret") {
						t.Fatalf("a denied file was read: %q", answer)
					}
					if strings.Contains(answer, "content of docs") {
						read++
					}
				}
				if _, err := os.Stat(filepath.Join(root, "secret", "written")); err == nil {
					t.Fatal("something was written in the denied directory")
				}
			}
			if t.Logf("%d of 1750 reads found the allowed file", read); read == 0 {
				t.Error("nothing was read: the test shows nothing")
			}
		})
	}
}

// What a tool that walks leaves out depends on what the conversation holds, too.
func TestDeniedPathsOfLabels(t *testing.T) {
	_, c, ask := callerWithPolicy(t, `{"version":1,"rules":[{"decision":"deny","server":"files","tool":"*","when":["untrusted"],"arguments":{"path":{"under":"secret"}}}]}`)
	for _, untrusted := range []bool{false, true} {
		if untrusted {
			c.flow.add(approve.Untrusted, event.Source{})
		}
		got := ask(fileCall(0, "grep_files", `{"pattern":"content of"}`))
		if !strings.Contains(got[0], "content of docs") || strings.Contains(got[0], "content of secret") == untrusted {
			t.Errorf("untrusted: %v: %q", untrusted, got)
		}
	}
}

// fileServer is a server with a tool that opens files.
func fileServer(name string) *toolserver.Server {
	s := toolserver.New(name, "")
	s.AddBuiltin(toolserver.Define("read_file", "", "", toolserver.Effects{Reads: true, Path: "path", Opens: true}), nil)
	return s
}

// What a call of a tool that reads shows may be told again when it changes. Of any
// other call, that is so if the same files may be read by read_file of the same root.
func TestMayRead(t *testing.T) {
	of := func(server, name, root string, readOnly bool) *toolbox.Tool {
		s := servers.Builtin(fileServer(server), root)
		return &toolbox.Tool{Tool: wire.Tool{Name: name, ReadOnly: readOnly}, ModelName: server + "__" + name, Conn: &toolbox.Connection{Server: s}}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	foreign := of("foreign", "read_file", "/b", true)
	foreign.Conn.Local, foreign.Conn.Own = nil, nil
	open, closed := of("open", "read_file", "/a", true), of("closed", "read_file", "/b", true)
	rules, err := approve.Patterns("closed__read_file", approve.Deny, "flag", "--deny")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		what string
		ctx  context.Context
		all  []*toolbox.Tool
		tool *toolbox.Tool
		want bool
	}{
		{"a tool that reads", t.Context(), []*toolbox.Tool{closed}, of("closed", "grep_files", "/b", true), true},
		{"it may be read", t.Context(), []*toolbox.Tool{closed, open}, of("open", "edit_file", "/a", false), true},
		{"it may not be read", t.Context(), []*toolbox.Tool{open, closed}, of("closed", "edit_file", "/b", false), false},
		{"another program reads there", t.Context(), []*toolbox.Tool{foreign, closed}, of("closed", "edit_file", "/b", false), false},
		{"nothing reads there", t.Context(), []*toolbox.Tool{open}, of("closed", "edit_file", "/b", false), false},
		{"the run has ended", ended, []*toolbox.Tool{open}, of("open", "edit_file", "/a", false), false},
	} {
		c := &caller{box: toolbox.With(x.all...), flow: newFlow(&approve.Gate{}), plan: &Plan{Inv: &invocation.Invocation{Outputs: &invocation.Outputs{}, Gate: &approve.Gate{Rules: rules, Otherwise: approve.OtherwiseAsk}}}}
		if got := (&round{caller: c}).mayRead(x.ctx, &call{tool: x.tool, args: []byte(`{"path":"f"}`)}); got != x.want {
			t.Errorf("%s: %v", x.what, got)
		}
	}
}

// That the user has seen a call of the input lets no file be read.
func TestMayReadBesideOpenCall(t *testing.T) {
	of := func(name string) *toolbox.Tool {
		s := servers.Builtin(fileServer("files"), "/a")
		return &toolbox.Tool{Tool: wire.Tool{Name: name}, ModelName: "files__" + name, Conn: &toolbox.Connection{Server: s}}
	}
	rules, err := approve.Patterns("@open", approve.Allow, "flag", "--allow ")
	if err != nil {
		t.Fatal(err)
	}
	gate := &approve.Gate{Rules: rules}
	c := &caller{box: toolbox.With(of("read_file")), flow: newFlow(gate), plan: &Plan{Inv: &invocation.Invocation{Outputs: &invocation.Outputs{}, Gate: gate}}}
	edit := &call{tool: of("edit_file"), args: []byte(`{"path":"f"}`)}
	open := &round{caller: c}
	if x, err := gate.Explain(t.Context(), open.asked(edit, edit.tool)); err != nil || x.Verdict.Outcome != approve.Allowed {
		t.Fatalf("the call of the input: %+v, %v", x, err)
	}
	if open.mayRead(t.Context(), edit) {
		t.Error("what it edits may be read, too")
	}
}

// A call that is denied sends nothing, so nobody is warned of it.
func TestNoWarningOfDeniedEgress(t *testing.T) {
	for _, denied := range []bool{false, true} {
		b, warned := newCallBench(map[string]toolserver.ToolFunc{"send": answerOK}), false
		b.gate.Egress = approve.EgressWarn
		if denied {
			b.gate.Rules, _ = approve.Patterns("s__send", approve.Deny, "flag", "--deny")
		}
		emit := b.emit
		b.emit = func(e event.Event) error {
			w, ok := e.(*event.Warning)
			warned = warned || ok && w.Code == "egress"
			return emit(e)
		}
		b.start(t, nil)
		b.box.Tool("s__send").Labels = approve.Sends
		b.flow.add(approve.Exposed, event.Source{})
		if _, _, err := b.ask(t.Context(), "send"); err != nil || warned == denied {
			t.Errorf("denied: %v, warned: %v, %v", denied, warned, err)
		}
	}
}

// TestApprovalHint: with the flag that the hint names, that call runs and no other.
func TestApprovalHint(t *testing.T) {
	patterns := func(list string, d approve.Decision, origin string) []approve.Rule {
		rules, err := approve.Patterns(list, d, "flag", origin)
		if err != nil {
			t.Fatal(err)
		}
		return rules
	}
	asks := patterns("gh__*", approve.Ask, "config.json:3")
	g := &approve.Gate{Rules: asks, Otherwise: approve.OtherwiseAsk}
	for name, want := range map[string]string{
		"fs__write_file": "--allow fs__write_file",
		"fs__w x":        "--allow 'fs__w x'",
		"fs__it's":       `--allow 'fs__it'\''s'`,
		"gh__push":       "--allow gh__push, with the rule config.json:3 removed: an allow does not outweigh a rule that asks",
	} {
		server, tool, _ := strings.Cut(name, "__")
		v, _, err := g.Decide(t.Context(), approve.Call{Server: server, Tool: tool, Name: name})
		if err != nil || v.Outcome != approve.Unapproved || ApprovalHint(name, v) != want {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		// The hint is true: with it the call runs.
		better := &approve.Gate{Rules: patterns(strings.NewReplacer("'", "?", " ", "?").Replace(name), approve.Allow, "--allow "), Otherwise: approve.OtherwiseAsk}
		if !strings.Contains(want, "removed") {
			better.Rules = append(better.Rules, asks...)
		}
		if v, _, _ := better.Decide(t.Context(), approve.Call{Server: server, Tool: tool, Name: name}); v.Outcome != approve.Allowed {
			t.Errorf("%s: the hint %s does not help", name, want)
		}
		if v, _, _ := better.Decide(t.Context(), approve.Call{Server: "other", Tool: "tool", Name: "other__tool"}); v.Outcome == approve.Allowed {
			t.Errorf("%s: the hint %s allows another tool", name, want)
		}
	}
}
