package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/files"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/stream"
	"toolpipe/stream/jsontext"
)

// callerWithPolicy gives a directory with docs/f and secret/f, and a function that
// makes calls of a file server on it under a policy and returns their answers.
func callerWithPolicy(t *testing.T, rules string) (root string, ask func(calls ...stream.Call) []string) {
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
	local, err := files.New(files.Spec{Name: "files", Root: root})
	if err != nil {
		t.Fatal(err)
	}
	box := newToolbox([]config.Server{builtin("files", local, root)})
	box.connect(t.Context(), &config.Processes{}, func(*config.Server) mcp.Hooks { return mcp.Hooks{} }, func(err error) { t.Error(err) }, func(string) {})
	t.Cleanup(box.close)
	box.index(nil, nil, func(_, _, message string) { t.Log(message) })
	c := &caller{
		box: box, gate: &approve.Gate{Rules: policy.Rules, Otherwise: policy.Otherwise, AutoApprove: "--auto-approve"}, parallel: 8, maxBytes: 1 << 20, denyUnapproved: true,
		flow: newFlow(&approve.Gate{Egress: approve.EgressOff}), emit: func(event.Event) error { return nil }, flush: func() error { return nil },
	}
	return root, func(calls ...stream.Call) (answers []string) {
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
			root, ask := callerWithPolicy(t, rules)
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
	g := &approve.Gate{Rules: asks, Otherwise: approve.Ask}
	for name, want := range map[string]string{
		"fs__write_file": "--allow fs__write_file",
		"fs__w x":        "--allow 'fs__w x'",
		"fs__it's":       `--allow 'fs__it'\''s'`,
		"gh__push":       "--allow gh__push, with the rule config.json:3 taken out: an allow does not outweigh a rule that asks",
	} {
		server, tool, _ := strings.Cut(name, "__")
		v, err := g.Decide(t.Context(), approve.Call{Server: server, Tool: tool, Name: name})
		if err != nil || v.Outcome != approve.Unapproved || approvalHint(name, v) != want {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		// The hint is true: with it the call runs.
		better := &approve.Gate{Rules: patterns(strings.NewReplacer("'", "?", " ", "?").Replace(name), approve.Allow, "--allow "), Otherwise: approve.Ask}
		if !strings.Contains(want, "taken out") {
			better.Rules = append(better.Rules, asks...)
		}
		if v, _ := better.Decide(t.Context(), approve.Call{Server: server, Tool: tool, Name: name}); v.Outcome != approve.Allowed {
			t.Errorf("%s: the hint %s does not help", name, want)
		}
		if v, _ := better.Decide(t.Context(), approve.Call{Server: "other", Tool: "tool", Name: "other__tool"}); v.Outcome == approve.Allowed {
			t.Errorf("%s: the hint %s allows another tool", name, want)
		}
	}
}
