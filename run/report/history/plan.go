package history

import (
	"encoding/hex"
	"errors"
	"hash"
	"strconv"
)

// A plan takes the lines of a stage file. See package stage for its lines.
type plan struct {
	reader *Reader
	run    *Run
	sum    hash.Hash // of the head and the calls
	whole  hash.Hash // of the file
	calls  map[string]*Call
}

func (p *plan) line(v *value, number int) error {
	switch {
	case v.get("stage").kind != 0:
		return p.head(v, number)
	case v.get("server").kind == '{':
		return p.call(v, number)
	case v.sameNames("sending"):
		return p.state(v.get("sending").str(), "unknown")
	case v.sameNames("not_sent"):
		return p.state(v.get("not_sent").str(), "open")
	case v.sameNames("result"):
		return p.result(v.get("result"))
	}
	return errors.New("neither a call nor another line of a plan")
}

func (p *plan) head(v *value, number int) error {
	if p.calls != nil {
		return errors.New("the plan has begun before this line")
	}
	p.calls = map[string]*Call{}
	if v.get("stage").text.Head != "1" {
		return errors.New("a plan of another version than 1")
	}
	e := newEvent(v, number)
	e.get("stage")
	p.run.Plan = Head{Version: e.get("version").str(), Time: e.get("time").str(), Dir: e.get("dir").str()}
	p.run.Details = e.rest(p.reader.report.Limit)
	return nil
}

func (p *plan) call(v *value, number int) error {
	e, limit := newEvent(v, number), p.reader.report.Limit
	server := e.get("server")
	c := &Call{ID: e.get("id").str(), Name: e.get("name").str(), Server: server.get("name").str(), Tool: e.get("tool").str(), Arguments: e.get("arguments").details(limit),
		At: Unknown, Turn: Unknown, Line: number, Result: Result{Ms: Unknown, Began: Unknown, Bytes: Unknown}}
	c.Review = Review{Target: server.get("target").str(), Dir: server.get("dir").str(), Definition: e.get("definition").str(), By: e.get("by").str(), Rule: e.get("rule").str(),
		Reason: e.get("reason").shown(limit), Labels: e.get("labels").strs(), Private: e.get("private").str(), Untrusted: e.get("untrusted").str(), Said: e.get("text").shown(limit), State: "open"}
	c.Change = Change{File: e.get("file").str(), Against: e.get("against").str(), Claimed: true}
	e.get("diff") // only its writer says that the arguments come to that
	c.Change.New = c.Change.File != "" && c.Change.Against == ""
	c.Details = e.rest(limit)
	if p.calls[c.ID] != nil {
		return errors.New("a call before has the id " + strconv.Quote(c.ID) + " too")
	}
	p.run.Counts.Calls++
	p.run.Counts.Staged++
	p.calls[c.ID] = c
	if p.reader.addCall(p.run, c, false) {
		p.reader.kept += keptOf(c.Arguments) + keptOf(c.Details) + c.Review.Said.kept()
	}
	return nil
}

var errNoCall = errors.New("no call before this line has this id, or not in this state")

func (p *plan) state(id, state string) error {
	c := p.calls[id]
	if c == nil {
		return errNoCall
	}
	c.Review.State = state
	return nil
}

func (p *plan) result(v *value) error {
	c := p.calls[v.get("call").str()]
	switch {
	case c == nil || c.Review.State != "unknown":
		return errNoCall
	case v.get("digest").str() != p.digest():
		return errors.New("the result is of another plan: it names another digest than the lines before it have")
	}
	p.run.Plan.Last = v.get("time").str()
	c.Review.State = stateOf(v.get("status").str())
	c.Result.Status, c.Result.Text = v.get("status").str(), v.get("text").shown(p.reader.report.Limit)
	tally(p.run.Counts.Results, c.Result.Status)
	p.reader.kept += c.Result.Text.kept()
	return nil
}

// stateOf is how far a call with a result is, in the words of --apply --dry-run.
func stateOf(status string) string {
	if status == "ok" {
		return "done"
	}
	return status
}

// digest is the digest of the plan as far as it was read.
func (p *plan) digest() string { return hex.EncodeToString(p.sum.Sum(nil)) }

func (p *plan) end() {
	p.run.Plan.Digest = p.digest()
	p.run.End.Cut = len(p.run.Source.Cut) > 0
	for _, c := range p.calls {
		if c.Review.State != "open" && !p.run.End.Cut {
			p.run.Plan.Whole = hex.EncodeToString(p.whole.Sum(nil))
		}
	}
}
