package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/run/session"
	"toolpipe/run/stdio"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// callBench is a caller that may make all calls of a server "s" in this process, and
// what it emitted.
type callBench struct {
	*caller
	gate   *approve.Gate
	server *toolserver.Server
	mu     sync.Mutex
	events []string                // "call ID", "approval ID DECISION RULE" and "result ID STATUS"
	on     map[string]func() error // is called at such an event, and gives the error of the output
}

func newCallBench(tools map[string]toolserver.ToolFunc) *callBench {
	b := &callBench{server: toolserver.New("s", ""), on: map[string]func() error{}}
	for name, tool := range tools {
		b.server.Add(wire.Tool{Name: name, InputSchema: []byte(`{"type":"object"}`), Annotations: []byte(`{"readOnlyHint":` + fmt.Sprint(strings.HasPrefix(name, "read")) + `}`)}, tool)
	}
	b.gate = &approve.Gate{Otherwise: approve.OtherwiseAsk, AutoApprove: "-y"}
	b.caller = &caller{
		options: options{parallel: 8, maxBytes: 1 << 20}, flow: newFlow(&approve.Gate{EgressRule: approve.EgressRule{Egress: approve.EgressOff}}),
		output: output{flush: func() error { return nil }}, client: new(client),
	}
	b.emit = func(e event.Event) error {
		what := ""
		switch e := e.(type) {
		case *event.Call:
			what = "call " + string(e.ID)
		case *event.Approval:
			what = strings.TrimSpace("approval " + string(e.ID) + " " + e.Decision + " " + e.Rule)
		case *event.Result:
			what = "result " + string(e.ID) + " " + string(e.Status)
		default:
			return nil
		}
		b.mu.Lock()
		b.events = append(b.events, what)
		b.mu.Unlock()
		if do := b.on[what]; do != nil {
			return do()
		}
		return nil
	}
	return b
}

// planWith is a plan with these servers, which have started.
func planWith(t *testing.T, gate *approve.Gate, c config.Config, servers ...servers.Server) *Plan {
	t.Helper()
	c.Processes, c.NoStdin = &config.Processes{}, true
	streams := stdio.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	p := NewPlan(&invocation.Invocation{Outputs: invocation.NewOutputs(t.Context(), &c, streams, nil), Config: &c, Servers: servers, Gate: gate})
	if err := p.Box.ReadLock(); err != nil {
		t.Fatal(err)
	}
	_, err := p.Box.ConnectAndRead(t.Context())
	t.Cleanup(p.Box.Close)
	if err = cmp.Or(err, p.Box.UseServers()); err != nil {
		t.Fatal(err)
	}
	return p
}

// entry is the server as the user would configure it, with tools that do nothing.
func (b *callBench) entry() servers.Server {
	s := servers.Builtin(b.server, "")
	s.Own, s.Traits = nil, &approve.Traits{}
	return s
}

// start connects to the server, with the settings that change makes.
func (b *callBench) start(t *testing.T, change func(*servers.Server)) {
	t.Helper()
	s := b.entry()
	if change != nil {
		change(&s)
	}
	b.plan = planWith(t, b.gate, config.Config{}, s)
	b.box = b.plan.Box
}

// ask makes calls of these tools, whose ids are the letters from a on, and returns the ids that
// the messages answer.
func (b *callBench) ask(ctx context.Context, tools ...string) (answered string, tally CallTally, err error) {
	var calls []stream.Call
	for i, name := range tools {
		calls = append(calls, stream.Call{ID: string(rune('a' + i)), Name: "s__" + name, Arguments: []byte("{}")})
	}
	messages, tally, err := b.answer(ctx, 1, calls, nil)
	for _, m := range messages {
		answered += m.CallID
	}
	return answered, tally, err
}

func (b *callBench) results() (results []string) {
	for _, e := range b.events {
		if result, ok := strings.CutPrefix(e, "result "); ok {
			results = append(results, result)
		}
	}
	return results
}

func answerOK(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
	return toolserver.TextResult([]byte("ok")), nil
}

// A result is reported as soon as it is there and all before it are, with the time
// that its call took.
func TestResultsAreReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		invalid, first := make(chan bool), make(chan bool)
		b := newCallBench(map[string]toolserver.ToolFunc{
			"first": func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
				<-invalid
				time.Sleep(3 * time.Second)
				return toolserver.TextResult([]byte("ok")), nil
			},
			"second": func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
				<-first
				return toolserver.TextResult([]byte("ok")), nil
			},
		})
		b.on["result a invalid"] = func() error { close(invalid); return nil }
		b.on["result b ok"] = func() error { close(first); return nil }
		emit := b.emit
		b.emit = func(e event.Event) error {
			if r, ok := e.(*event.Result); ok && r.ID == "b" && r.Time != 3*time.Second {
				t.Errorf("a call of 3 s took %v", r.Time)
			}
			return emit(e)
		}
		b.start(t, nil)
		if answered, _, err := b.ask(t.Context(), "missing", "first", "second"); err != nil || answered != "abc" {
			t.Errorf("%q %v", answered, err)
		}
	})
}

// Progress is on its way to a reader of the events while the call goes on.
func TestProgressIsFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flushed, called := make(chan bool), false
		b := newCallBench(map[string]toolserver.ToolFunc{
			"step": func(_ context.Context, _ json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
				called = true
				progress(wire.Progress{Progress: []byte("1")})
				<-flushed
				return toolserver.TextResult([]byte("ok")), nil
			},
		})
		b.flush = func() error {
			if called {
				close(flushed)
			}
			return nil
		}
		b.start(t, nil)
		if _, _, err := b.ask(t.Context(), "step"); err != nil {
			t.Error(err)
		}
	})
}

// When the output fails, the calls that run are cancelled, no further call runs, and
// every result is still given to the other outputs. The error is the first one.
func TestOutputFailsBetweenResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, first := make(chan bool), errors.New("the first")
		b := newCallBench(map[string]toolserver.ToolFunc{
			"ok": answerOK,
			"wait": func(ctx context.Context, _ json.RawMessage, _ func(wire.Progress)) (*wire.Result, error) {
				close(running)
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		b.on["result a ok"] = func() error { <-running; return first }
		b.on["result b unknown"] = func() error { return errors.New("the second") }
		b.start(t, nil)
		answered, tally, err := b.ask(t.Context(), "ok", "wait", "ok")
		if want := []string{"a ok", "b unknown", "c not_run"}; err != first || answered != "ab" || !slices.Equal(b.results(), want) {
			t.Errorf("%q, answered %q: %v", b.results(), answered, err)
		}
		if tally.ToolCalls != 3 || !tally.Unknown || !tally.Ran {
			t.Errorf("%+v", tally)
		}
	})
}

// When an event of a call cannot be written before it has run, no call runs and nobody
// is asked any more, but each call is announced and answered. The error is the first one.
func TestOutputFailsBeforeCalls(t *testing.T) {
	for at, want := range map[string][]string{
		"call a":              {"call a", "call b", "result a not_run", "result b not_run"},
		"approval a allow -y": {"call a", "approval a allow -y", "call b", "result a not_run", "result b not_run"},
		"call b":              {"call a", "approval a allow -y", "call b", "result a not_run", "result b not_run"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, first := newCallBench(map[string]toolserver.ToolFunc{"ok": answerOK}), errors.New("the first")
			b.on["result a not_run"] = func() error { return errors.New("later") }
			b.on[at] = func() error { return first }
			b.start(t, nil)
			if answered, _, err := b.ask(t.Context(), "ok", "ok"); err != first || answered != "" || !slices.Equal(b.events, want) {
				t.Errorf("%s: %q, answered %q: %v", at, b.events, answered, err)
			}
		})
	}
}

// The error of an output that fails while the calls of the last turn are reported, which
// never run, is the first one. A call that was invalid stays so.
func TestReportOfCalls(t *testing.T) {
	for failing, want := range map[string]string{"": "", "call a,call b,result a not_run": "call a", "result a not_run,result b invalid": "result a not_run"} {
		b := newCallBench(nil)
		b.box = toolbox.With(&toolbox.Tool{ModelName: "s__ok", Conn: &toolbox.Connection{}})
		for at := range strings.SplitSeq(failing, ",") {
			b.on[at] = func() error { return errors.New(at) }
		}
		calls := []stream.Call{{ID: "a", Name: "s__ok"}, {ID: "b", Name: "s__missing"}}
		tally, err := b.report(1, calls, nil)
		if got := fmt.Sprint(err); want != "" && got != want || want == "" && err != nil {
			t.Errorf("%q: %v", failing, err)
		}
		if results := b.results(); !slices.Equal(results, []string{"a not_run", "b invalid"}) || tally.ToolCalls != 2 || tally.Ran {
			t.Errorf("%q: %q %+v", failing, results, tally)
		}
	}
}

// A call that has not been sent when the run ends is left open, so that a later run can
// take it up: be it that it is the next, or that its server has no room for it.
func TestCallsLeftOpen(t *testing.T) {
	for _, parallel := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			ended := errors.New("the user")
			ctx, cancel := context.WithCancelCause(t.Context())
			b := newCallBench(map[string]toolserver.ToolFunc{
				"read": func(ctx context.Context, _ json.RawMessage, _ func(wire.Progress)) (*wire.Result, error) {
					synctest.Wait() // until the other calls wait for room
					cancel(ended)
					<-ctx.Done()
					return nil, ctx.Err()
				},
				"ok": answerOK,
			})
			b.start(t, func(s *servers.Server) { s.Parallel = parallel })
			second := "ok"
			if parallel == 1 {
				second = "read"
			}
			emit := b.emit
			b.emit = func(e event.Event) error {
				if r, ok := e.(*event.Result); ok && r.Status == event.ResultNotRun && jsontext.Unquote(r.Text) != "[toolpipe] not run: the run ended" {
					t.Errorf("%s", r.Text)
				}
				return emit(e)
			}
			answered, _, err := b.ask(ctx, "read", second, "ok")
			results := b.results()
			if want := []string{"not_run", "not_run", "unknown"}; err != ended || len(answered) != 1 || !slices.Equal(statuses(results), want) {
				t.Errorf("at once %d: %q, answered %q: %v", parallel, results, answered, err)
			}
		})
	}
}

// statuses are those of results, sorted: any of the calls that run side by side may be the
// first.
func statuses(results []string) (all []string) {
	for _, r := range results {
		_, status, _ := strings.Cut(r, " ")
		all = append(all, status)
	}
	slices.Sort(all)
	return all
}

// After a call with an output that is a defect of toolpipe, the others are reported as
// they are, and the run ends with the defect.
func TestDefectInCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		verdicts := 0
		b := newCallBench(map[string]toolserver.ToolFunc{"ok": answerOK})
		b.flush = func() error {
			if verdicts++; verdicts == 5 { // the second verdict on the second of three calls
				panic("a defect")
			}
			return nil
		}
		b.start(t, nil)
		answered, tally, err := b.ask(t.Context(), "ok", "ok", "ok")
		if want := []string{"a ok", "b unknown", "c not_run"}; !slices.Equal(b.results(), want) || answered != "ab" || !tally.Unknown {
			t.Errorf("%q, answered %q: %v", b.results(), answered, err)
		}
		if err == nil || !strings.Contains(err.Error(), "panic with a value of type string") {
			t.Error(err)
		}
	})
}

// A verdict fails when the events before it cannot be written, or the run ends: then the call
// does not run, no approval of it is told, and it is left open.
func TestVerdictFails(t *testing.T) {
	for _, at := range []int{1, 2} { // the first verdict on the call, and the one before it runs
		synctest.Test(t, func(t *testing.T) {
			verdicts, full := 0, errors.New("full")
			b := newCallBench(map[string]toolserver.ToolFunc{"ok": answerOK})
			b.flush = func() error {
				if verdicts++; verdicts == at {
					return full
				}
				return nil
			}
			b.start(t, nil)
			answered, _, err := b.ask(t.Context(), "ok")
			want := []string{"call a", "approval a allow -y", "result a not_run"}
			if at == 1 {
				want = slices.Delete(want, 1, 2)
			}
			if answered != "" || !slices.Equal(b.events, want) {
				t.Errorf("%d: %q, answered %q", at, b.events, answered)
			}
			if at == 1 && err != full {
				t.Errorf("%d: %v", at, err)
			}
		})
	}
}

// While a verdict is taken, none is taken in another round: of a nested run, of the run that
// this belongs to, or of another client.
func TestOneVerdictAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, verdicts := newCallBench(map[string]toolserver.ToolFunc{"ok": answerOK}), 0
		b.flush = func() error {
			if verdicts++; b.plan.verdict.TryLock() {
				t.Error("two verdicts could be taken at the same time")
				b.plan.verdict.Unlock()
			}
			return nil
		}
		b.start(t, nil)
		if _, _, err := b.ask(t.Context(), "ok"); err != nil || verdicts != 2 || !b.plan.verdict.TryLock() {
			t.Errorf("%d verdicts, %v", verdicts, err)
		}
	})
}

// In a dry run nobody is asked, and a call that would be asked about is told as such.
func TestDryRunAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newCallBench(map[string]toolserver.ToolFunc{"read": answerOK, "ok": answerOK})
		b.dryRun, b.gate.AutoApprove = true, ""
		b.flush = func() error { t.Error("somebody is about to be asked"); return nil }
		var said []string
		b.say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
		b.start(t, nil)
		if _, _, err := b.ask(t.Context(), "read", "ok"); err != nil {
			t.Error(err)
		}
		if want := []string{"dry run: s__read {}: would be asked", "dry run: s__ok {}: would be asked"}; !slices.Equal(said, want) {
			t.Errorf("%q", said)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		b.events = nil
		if _, _, err := b.ask(ended, "read"); err != context.Canceled || !slices.Equal(b.events, []string{"call a", "result a not_run"}) {
			t.Errorf("%q: %v", b.events, err)
		}
	})
}

// TestFailedAnswer: what becomes of a call without a result. An error of an unknown kind
// says nothing of what the call has done.
func TestFailedAnswer(t *testing.T) {
	refusal := &wire.RPCError{Code: -1, Message: "no", Data: []byte(`{"why":1}`)}
	for _, x := range []struct {
		err    error
		status event.ResultStatus
		text   string
		data   string
	}{
		{errors.New("odd"), event.ResultUnknown, "outcome unknown: odd", ""},
		{&wire.NoReplyError{Message: "gone", Sent: true}, event.ResultUnknown, "outcome unknown: gone", ""},
		{&wire.NoReplyError{Message: "gone"}, event.ResultFailed, "tool transport error: gone", ""},
		{&wire.NoReplyError{Message: "gone", Cause: refusal}, event.ResultFailed, "tool transport error: gone", ""},
		{refusal, event.ResultFailed, "tool dispatch failed: no", `{"why":1}`},
	} {
		a := failedAnswer(&servers.Server{}, x.err)
		data := ""
		if a.refusal != nil {
			data = string(a.refusal.Data)
		}
		if a.event.Status != x.status || a.text() != Prefix+x.text || data != x.data {
			t.Errorf("%v: %s %s %s", x.err, a.event.Status, a.event.Text, data)
		}
	}
}

// The error of a turn with several calls that nobody approved is about the first of
// them, and has one hint for each tool.
func TestUnapprovedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newCallBench(map[string]toolserver.ToolFunc{"one": answerOK, "two": answerOK})
		b.gate.AutoApprove = ""
		b.start(t, nil)
		answered, _, err := b.ask(t.Context(), "one", "two", "one")
		e, ok := errors.AsType[*failure.Error](err)
		if !ok || answered != "" || !strings.HasPrefix(e.Message, "unapproved: s__one: ") || !slices.Equal(e.Hints, []string{"--allow s__one", "--allow s__two"}) {
			t.Errorf("%q, answered %q: %+v", b.events, answered, e)
		}
	})
}

// A call that is denied because nobody could approve it is told to the model without the
// flag that would help, which is the user's matter; a host is told the flag.
func TestDeniedForWantOfApproval(t *testing.T) {
	for _, serves := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newCallBench(map[string]toolserver.ToolFunc{"ok": answerOK})
			b.gate.AutoApprove, b.denyUnapproved, b.serves = "", true, serves
			emit, text := b.emit, ""
			b.emit = func(e event.Event) error {
				if r, ok := e.(*event.Result); ok {
					text = jsontext.Unquote(r.Text)
				}
				return emit(e)
			}
			b.start(t, nil)
			answered, _, err := b.ask(t.Context(), "ok")
			if err != nil || answered != "a" || !strings.HasPrefix(text, "[toolpipe] tool call denied: ") || strings.Contains(text, "--allow") != serves {
				t.Errorf("%q %v", text, err)
			}
		})
	}
}

// The verdict that counts is the one immediately before a call runs: here a call before it has
// moved what its path leads to. When that ends the run, no further call runs.
func TestVerdictIsTakenAgain(t *testing.T) {
	policy := `{"version":1,"otherwise":"ask","rules":[
		{"decision":"allow","server":"s","tool":"move"},
		{"decision":"allow","server":"s","tool":"ok"},
		{"decision":"allow","server":"s","tool":"use","others":"any","arguments":{"path":{"under":"one"}}},
		{"decision":"allow","server":"s","tool":"use","others":"any","arguments":{"path":{"under":"two"}}}]}`
	for to, want := range map[string][]string{
		"one":   {"allow p:4", "a ok", "b ok", "c ok"},
		"two":   {"allow p:4", "allow p:5", "a ok", "b ok", "c ok"},
		"three": {"allow p:4", "unapproved", "a ok", "b not_run", "c not_run"},
	} {
		root := t.TempDir()
		for _, dir := range []string{"one", "two", "three"} {
			if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(root, "link")
		if err := os.Symlink("one", link); err != nil {
			t.Skip(err)
		}
		p, err := approve.ParsePolicy("p", []byte(policy))
		if err != nil {
			t.Fatal(err)
		}
		b := newCallBench(map[string]toolserver.ToolFunc{
			"move": func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
				return toolserver.TextResult([]byte("ok")), cmp.Or(os.Remove(link), os.Symlink(to, link))
			},
			"use": answerOK, "ok": answerOK,
		})
		b.gate = &approve.Gate{Rules: p.Rules, Otherwise: p.Otherwise}
		b.start(t, func(s *servers.Server) { s.Root = root })
		calls := []stream.Call{{ID: "a", Name: "s__move", Arguments: []byte("{}")}, {ID: "b", Name: "s__use", Arguments: []byte(`{"path":"link/f"}`)}, {ID: "c", Name: "s__ok", Arguments: []byte("{}")}}
		messages, _, err := b.answer(t.Context(), 1, calls, nil)
		var got []string
		for _, e := range b.events {
			if approval, ok := strings.CutPrefix(e, "approval b "); ok {
				got = append(got, approval)
			}
		}
		if got = append(got, b.results()...); !slices.Equal(got, want) {
			t.Errorf("%s: %q", to, got)
		}
		if (err != nil) != (to == "three") || err != nil && failure.Of(err).Status != failure.StatusUnapproved {
			t.Errorf("%s: %v", to, err)
		}
		if to == "three" && len(messages) != 1 {
			t.Errorf("%d messages: the calls that did not run are not left open", len(messages))
		}
	}
}

// A run that ends between the note in the session and the first byte of the request says
// in the session that the call was not sent, and no result.
func TestEndBeforeTheFirstByte(t *testing.T) {
	b := newCallBench(map[string]toolserver.ToolFunc{"write": answerOK})
	b.start(t, nil)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	file, err := session.Open(&config.Config{Session: path}, func(_, _, message string) { t.Error(message) })
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b.session = file
	r := b.newRound(1, []stream.Call{{ID: "a", Name: "s__write", Arguments: []byte("{}")}}, nil)
	if err := r.decide(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	r.send(&endsOnceNoted{ctx, path, cancel}, r.calls[0], b.box.Conns[0].Session)
	r.keep(r.calls[0])
	text, _ := os.ReadFile(path)
	if !strings.HasSuffix(string(text), "{\"sending\":\"a\"}\n{\"not_sent\":\"a\"}\n") || r.calls[0].answer.event.Status != event.ResultNotRun {
		t.Errorf("%s: %s", r.calls[0].answer.event.Status, text)
	}
}

// endsOnceNoted is a context that ends when the session says that a call is being sent.
type endsOnceNoted struct {
	context.Context
	path   string
	cancel context.CancelCauseFunc
}

func (c *endsOnceNoted) Done() <-chan struct{} {
	if text, _ := os.ReadFile(c.path); strings.Contains(string(text), "sending") {
		c.cancel(&failure.Interrupted{})
	}
	return c.Context.Done()
}

func (c *endsOnceNoted) Err() error {
	c.Done()
	return c.Context.Err()
}
