package run

import (
	"slices"
	"testing"

	"toolpipe/approve"
	"toolpipe/run/event"
	"toolpipe/stream"
)

func labelled(name string, labels approve.Labels) *call {
	c := &call{Call: stream.Call{Name: name}, tool: &tool{labels: labels}}
	c.origin = origin{event.Source{Name: name}, "turn 1"}
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
	f.add(web.tool.labels, web.origin)
	seen, from := f.before(post)
	if seen != approve.Exposed || from.private.Name != "mail" || from.untrusted.text() != "web (turn 1)" {
		t.Errorf("%v from %+v", seen.Words(), from)
	}
	f.add(approve.Exposed, origin{event.Source{Name: "later"}, ""})
	f.settle(mail)
	if seen, from := f.before(nil); seen != approve.Exposed || from.private.Name != "later" || from.untrusted.Name != "web" {
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
			f := newFlow(&approve.Gate{Egress: egress})
			f.add(x.seen, origin{})
			if got := f.apart(x.running, x.labels); got != (x.want && egress <= approve.EgressAsk) {
				t.Errorf("%v: %v runs, beside it %v, seen %v: %v", egress, x.running.Words(), x.labels.Words(), x.seen.Words(), got)
			}
		}
	}
}

// A conversation that is read has the labels of its messages, and those that its
// tools have now.
func TestFlowBegin(t *testing.T) {
	box := &toolbox{byName: map[string]*tool{"mail__read": {labels: approve.Private | approve.Sends}}}
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
