package turn

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"toolpipe/approve"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// taped is what a recording has about a call:
//
//	{"asked":{"tool":"fs__read","arguments":{…}},"answered":{"verdicts":[{…}],"result":{…}}}
//
// There is a second verdict if another rule decides immediately before the call runs. The result is
// null if the call did not run.
type taped struct {
	found    bool     // in a replay: the rest comes from the recording
	verdicts [][]byte // in a replay without those that were compared
	result   []byte
}

func (c *caller) tape() *stream.Tape { return c.plan.Inv.Tape() }

func question(c *call) []byte {
	return fmt.Appendf(nil, `{"tool":%s,"arguments":%s}`, jsontext.Quoted(c.Name), c.args)
}

// decided emits a verdict on c, and keeps it for the recording.
func (r *round) decided(c *call, v approve.Verdict) error {
	if t := r.tape(); t != nil && !t.Replays() {
		c.taped.verdicts = append(c.taped.verdicts, fmt.Appendf(nil, `{"decision":%q,"by":%q,"rule":%s,"reason":%s,"ends_run":%t}`,
			v.Outcome, v.By, jsontext.Quoted(v.Rule), jsontext.Quoted(v.Reason), v.EndsRun))
	}
	return r.emit(r.approvalEvent(c, v))
}

// keepTaped writes c into the recording. It is called in the order of the calls.
func (r *round) keepTaped(c *call) {
	if c.taped.found || len(c.taped.verdicts) == 0 {
		return
	}
	result, e := []byte("null"), &c.answer.event
	switch {
	case !toolbox.IsTaped(&c.tool.Conn.Server):
	case c.answer.result != nil:
		result = toolserver.CallResult(c.answer.result)
	case e.Status == event.ResultFailed || e.Status == event.ResultUnknown:
		result = fmt.Appendf(nil, `{"status":%q,"text":%s}`, e.Status, e.Text)
	}
	r.tape().Keep(question(c), fmt.Appendf(nil, `{"verdicts":[%s],"result":%s}`, bytes.Join(c.taped.verdicts, []byte(",")), result))
}

// take takes c from the recording of a replay.
func (r *round) take(c *call) error {
	if c.taped.found {
		return nil
	}
	answer, err := r.tape().Take(question(c))
	if err == nil {
		c.taped = taped{true, slices.Collect(jsontext.Elements(jsontext.Member(answer, "verdicts"))), jsontext.Member(answer, "result")}
	}
	return err
}

// asRecorded compares a new verdict of a replay with the recorded one. A difference ends the run.
func (r *round) asRecorded(c *call, v approve.Verdict) (approve.Verdict, error) {
	before := c.verdict
	if !r.tape().Replays() || before != nil && before.Outcome == v.Outcome && before.Rule == v.Rule {
		return v, nil
	}
	err := r.take(c)
	if err == nil {
		v, err = r.compare(c, v)
	}
	r.stopped = cmp.Or(r.stopped, err)
	return v, err
}

// compare returns the verdict of a replay. Where the rules ask, it is the recorded answer of the
// person or the approver: a replay asks nobody.
func (r *round) compare(c *call, v approve.Verdict) (approve.Verdict, error) {
	var then []byte
	if len(c.taped.verdicts) > 0 {
		then, c.taped.verdicts = c.taped.verdicts[0], c.taped.verdicts[1:]
	}
	text := func(name string) string { return jsontext.Text(jsontext.Member(then, name)) }
	decision, by, now := text("decision"), text("by"), v.Outcome.String()
	switch asks := v.Outcome == approve.Unapproved; {
	case !asks && now == decision:
		return v, nil
	case asks && (now == decision || by == "terminal" || by == "host"), v.Outcome != approve.Denied && by == "approver":
		v.Outcome = map[string]approve.Outcome{"allow": approve.Allowed, "unapproved": approve.Unapproved}[decision] // else denied
		v.By, v.Rule, v.Reason, v.EndsRun = by, text("rule"), text("reason"), jsontext.IsTrue(jsontext.Member(then, "ends_run"))
		return v, nil
	}
	was := "was " + decision + " (" + cmp.Or(text("rule"), by) + ")"
	if then == nil {
		was = "did not change"
	}
	return v, r.differs(c, "the verdict is "+now+" ("+cmp.Or(v.Rule, v.By)+"), and "+was)
}

// differs is the error of a replay in which something about c is not as in the recording.
func (r *round) differs(c *call, what string) error {
	message := fmt.Sprintf("%s %s: %s in the recording %q", c.Name, readable.Cut(string(c.args), 400, "…"), what, r.plan.Inv.Config.Replay)
	return &failure.Error{Status: failure.StatusModel, Model: failure.ModelFacts{Kind: string(stream.Mismatch)}, Message: message, Hints: []string{r.plan.Inv.Model.Endpoint.Hints.Replay}}
}

// recorded is the result of c in the recording of a replay. For a call without a result it sets the
// answer.
func (r *round) recorded(ctx context.Context, c *call) (*wire.Result, error) {
	err := r.take(c)
	if err == nil && string(c.taped.result) == "null" {
		err = r.differs(c, "the call has no result, because it did not run,")
	}
	if err != nil {
		r.stop(err)
		c.answer = notRun(ctx)
		return nil, err
	}
	if status := jsontext.Text(jsontext.Member(c.taped.result, "status")); status != "" {
		c.answer = resultAnswer(jsontext.Text(jsontext.Member(c.taped.result, "text")))
		c.answer.event.Status = event.ResultStatus(status)
		return nil, nil
	}
	result, err := wire.ReadResult(c.taped.result)
	if err == nil {
		result.TextComplete = c.tool.Conn.Local != nil // as in mcp.Session.CallTool
	}
	return result, err
}
