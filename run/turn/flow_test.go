package turn

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/servers"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

func labelled(name string, labels approve.Labels) *call {
	c := &call{Call: stream.Call{Name: name}, tool: &toolbox.Tool{Traits: approve.Traits{Labels: labels}}}
	c.origin = event.Source{Name: name, Where: "turn 1"}
	return c
}

// What a call of a turn brings counts for the calls that were decided after it, from
// its verdict on, and no more once it has turned out to bring nothing.
func TestFlowOfOneTurn(t *testing.T) {
	f := newFlow(&approve.Gate{})
	mail, web, post := labelled("mail", approve.Private), labelled("web", approve.Untrusted|approve.Sends), labelled("post", approve.Sends)
	check := func(what string, c *call, want approve.Labels) {
		t.Helper()
		if got, _ := f.before(c); got != want {
			t.Errorf("%s: %v, want %v", what, got.Words(), want.Words())
		}
	}
	check("nothing was decided", post, 0)
	for _, c := range []*call{mail, web, post} {
		f.expect(c)
		f.expect(c) // again at the second verdict
	}
	check("the first call", mail, 0)
	check("its own result is not before it", web, approve.Private)
	check("the last call", post, approve.Exposed)
	f.settle(web)
	check("a call that was denied", post, approve.Private)
	f.add(web.tool.Labels, web.origin)
	seen, from := f.before(post)
	if seen != approve.Exposed || from.Private.Name != "mail" || from.Untrusted.Text() != "web (turn 1)" {
		t.Errorf("%v from %+v", seen.Words(), from)
	}
	f.add(approve.Exposed, event.Source{Name: "later"})
	f.settle(mail)
	if seen, from := f.before(nil); seen != approve.Exposed || from.Private.Name != "later" || from.Untrusted.Name != "web" {
		t.Errorf("the first that brought a label: %v from %+v", seen.Words(), from)
	}
}

// Calls that could bring both labels together while one of them sends are apart, and
// no others.
func TestFlowApart(t *testing.T) {
	const private, untrusted, sends = approve.Private, approve.Untrusted, approve.Sends
	for _, x := range []struct {
		seen, running, labels approve.Labels
		want                  bool
	}{
		{0, untrusted | sends, private, true},
		{0, private, untrusted | sends, true},
		{0, private | untrusted, sends, true},
		{private, untrusted, sends, true},
		{private, sends, untrusted, true},
		{untrusted, sends, private, true},
		{0, private, untrusted, false},                       // nothing sends
		{0, untrusted | sends, untrusted | sends, false},     // pages
		{0, private, sends, false},                           // no outsider had a say
		{0, 0, private | untrusted | sends, false},           // nothing runs
		{private | untrusted, sends, private | sends, false}, // the labels are there already
		{private | untrusted, untrusted, untrusted, false},   // the same
	} {
		for _, egress := range []approve.Egress{approve.EgressAsk, approve.EgressDeny, approve.EgressWarn, approve.EgressOff} {
			f := newFlow(&approve.Gate{EgressRule: approve.EgressRule{Egress: egress}})
			f.add(x.seen, event.Source{})
			if got := f.apart(x.running, x.labels); got != (x.want && egress <= approve.EgressAsk) {
				t.Errorf("%v: %v runs, beside it %v, seen %v: %v", egress, x.running.Words(), x.labels.Words(), x.seen.Words(), got)
			}
		}
	}
}

// A conversation that is read has the labels of its messages, and those that its
// tools have now.
func TestFlowBegin(t *testing.T) {
	box := toolbox.With(&toolbox.Tool{ModelName: "mail__read", Traits: approve.Traits{Labels: approve.Private | approve.Sends}})
	calls := []stream.Message{{Role: stream.User}, {Role: stream.Assistant, Calls: []stream.Call{{ID: "1", Name: "mail__read"}, {ID: "2", Name: "gone__x"}}}}
	for _, x := range []struct {
		answers []stream.Message
		want    approve.Labels
	}{
		{nil, 0}, // an open call has no result
		{[]stream.Message{{Role: stream.ToolRole, CallID: "1"}}, approve.Private},
		{[]stream.Message{{Role: stream.ToolRole, CallID: "1", Name: "other"}}, approve.Private}, // the call tells its name
		{[]stream.Message{{Role: stream.ToolRole, CallID: "2"}}, 0},
		{[]stream.Message{{Role: stream.ToolRole, CallID: "2", Labels: []string{"untrusted"}}}, approve.Untrusted},
		{[]stream.Message{{Role: stream.ToolRole, CallID: "1", Labels: []string{"untrusted"}}}, approve.Exposed},
		{[]stream.Message{{Role: stream.User, Labels: []string{"private"}}}, approve.Private},
	} {
		f := newFlow(&approve.Gate{})
		f.begin(slices.Concat(calls, x.answers), box)
		if got, _ := f.before(nil); got != x.want {
			t.Errorf("%+v: %v, want %v", x.answers, got.Words(), x.want.Words())
		}
	}
}

// Calls that nothing keeps apart any more run side by side again, once those that they
// had to be apart from have ended.
func TestSideBySideAgain(t *testing.T) {
	const private, untrusted, sends = approve.Private, approve.Untrusted, approve.Sends
	for name, x := range map[string]struct {
		first  []string
		labels map[string]approve.Labels
	}{
		"behind a call that changes something": {[]string{"read", "write"}, map[string]approve.Labels{"read": sends, "write": 0}},
		"behind a call that was kept apart":    {[]string{"read"}, map[string]approve.Labels{"read": sends | untrusted}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				met := make(chan bool)
				b := newCallBench(map[string]toolserver.ToolFunc{"read": answerOK, "write": answerOK,
					"read_private": func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
						select {
						case <-met:
						case <-time.After(time.Minute):
							t.Error("the next call does not run beside it")
						}
						return toolserver.TextResult([]byte("ok")), nil
					},
					"read_untrusted": func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
						close(met)
						return toolserver.TextResult([]byte("ok")), nil
					},
				})
				b.start(t, nil)
				b.gate.Egress, b.flow = approve.EgressOff, newFlow(&approve.Gate{EgressRule: approve.EgressRule{Egress: approve.EgressAsk}})
				for tool, labels := range x.labels {
					b.box.Tool("s__" + tool).Labels = labels
				}
				b.box.Tool("s__read_private").Labels, b.box.Tool("s__read_untrusted").Labels = private, untrusted
				if _, _, err := b.ask(t.Context(), append(x.first, "read_private", "read_untrusted")...); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What a call that failed would have brought counts no more for the next call of its
// turn.
func TestFailedCallBringsNothing(t *testing.T) {
	b := newCallBench(map[string]toolserver.ToolFunc{"next": answerOK})
	path := filepath.Join(t.TempDir(), "lock")
	locked := toolbox.LockTool("late", "late__ok", &wire.Tool{Name: "ok", InputSchema: []byte(`{"type":"object"}`)})
	own := toolbox.LockTool("s", "s__next", &wire.Tool{Name: "next", InputSchema: []byte(`{"type":"object"}`), Annotations: []byte(`{"readOnlyHint":false}`)})
	if _, err := toolbox.WriteLock(t.Context(), path, []toolbox.LockItem{locked, own}, nil); err != nil {
		t.Fatal(err)
	}
	late := servers.Server{Spec: mcp.Spec{Name: "late", Command: []string{"/nowhere/server"}}}
	b.plan = planWith(t, b.gate, config.Config{Approvals: config.Approvals{ToolsLock: path, Start: "call"}}, late, b.entry())
	b.box = b.plan.Box
	b.box.Tool("late__ok").Labels, b.box.Tool("s__next").Labels = approve.Private, 0
	var seen approve.Labels
	b.flush = func() error { // before each verdict
		seen, _ = b.flow.before(nil)
		return nil
	}
	calls := []stream.Call{{ID: "a", Name: "late__ok", Arguments: []byte("{}")}, {ID: "b", Name: "s__next", Arguments: []byte("{}")}}
	if _, _, err := b.answer(t.Context(), 1, calls, nil); err != nil || seen.Has(approve.Private) || len(b.results()) != 2 || b.results()[0] != "a failed" {
		t.Errorf("%v %q %v", seen.Words(), b.results(), err)
	}
}

// A text of toolpipe's own goes behind the result of a tool in the event and in what the
// model gets, in a line of its own, and counts as a part of it.
func TestAppendToAnswer(t *testing.T) {
	for _, x := range []struct {
		what string
		a    *answer
		want string
	}{
		{"its own words", ownAnswer(event.ResultDenied, "denied"), "[toolpipe] denied\nchanged"},
		{"a tool's", (&caller{}).rendered(nil, toolserver.TextResult([]byte("a \"b\""))), "a \"b\"\nchanged"},
		{"an empty one", (&caller{}).rendered(nil, toolserver.TextResult("")), "(no output)\nchanged"},
	} {
		x.a.append("changed")
		inEvent := jsontext.Text(x.a.event.Text)
		if forModel := jsontext.Text(x.a.parts[0].JSON); inEvent != x.want || forModel != x.want || x.a.event.Bytes != len(x.want) {
			t.Errorf("%s: event %q (%d bytes), model %q", x.what, inEvent, x.a.event.Bytes, forModel)
		}
	}
}
