package history

import (
	"encoding/hex"
	"errors"
	"hash"
	"strconv"

	"toolpipe/stream/text/jsontext"
)

// A plan processes the lines of a stage file. See package stage for their form.
type plan struct {
	reader *Reader
	run    *Run
	sum    hash.Hash // of the heading and the calls
	calls  map[string]*Call
}

func (p *plan) line(e *event) error {
	only := e.only()
	switch {
	case e.has("stage"):
		return p.head(e)
	case e.get("server").kind() == '{':
		return p.call(e)
	case only == "sending":
		return p.state(e.get(only).str(), "unknown")
	case only == "not_sent":
		return p.state(e.get(only).str(), "open")
	case only == "result":
		return p.result(e.get(only))
	}
	return errors.New("neither a call nor another line of a plan")
}

// counts adds a line to the digest of the plan.
func (p *plan) counts(e *event) {
	p.sum.Write(e.text)
	p.sum.Write([]byte{'\n'})
}

func (p *plan) head(e *event) error {
	p.counts(e)
	if p.calls != nil {
		return errors.New("the plan began before this line")
	}
	p.calls = map[string]*Call{}
	if string(e.get("stage")) != "1" {
		return errors.New("a plan of another version than 1")
	}
	p.run.Plan = Head{Version: e.get("version").str(), Time: e.get("time").str(), Dir: e.get("dir").str()}
	p.run.Details = p.reader.details(e.rest())
	return nil
}

func (p *plan) call(e *event) error {
	p.counts(e)
	c, server := newCall(e.get("id").str(), e.number), e.get("server")
	if p.calls[c.ID] != nil {
		return errors.New("an earlier call has the id " + strconv.Quote(c.ID) + " too")
	}
	p.run.Counts.Calls++
	p.run.Counts.Staged++
	p.calls[c.ID] = c
	c.Review.State = "open"
	if !p.reader.addCall(p.run, c, false) {
		return nil
	}
	shown := p.reader.shown
	c.Name, c.Server, c.Tool = e.get("name").str(), server.get("name").str(), e.get("tool").str()
	p.reader.called(c, e.get("arguments"))
	c.Review = Review{Target: server.get("target").str(), Dir: server.get("dir").str(), Definition: e.get("definition").str(), By: e.get("by").str(), Rule: e.get("rule").str(),
		Reason: shown(e.get("reason")), Labels: e.get("labels").strs(), Private: e.get("private").str(), Untrusted: e.get("untrusted").str(), Said: shown(e.get("text")), State: "open"}
	c.Change = Change{File: e.get("file").str(), Against: e.get("against").str(), Claimed: true}
	e.get("diff") // ignored: it is only a claim of the plan's writer
	c.Change.New = c.Change.File != "" && c.Change.Against == ""
	c.Details = p.reader.details(e.rest())
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

func (p *plan) result(v value) error {
	c := p.calls[v.get("call").str()]
	switch {
	case c == nil || c.Review.State != "unknown":
		return errNoCall
	case v.get("digest").str() != p.digest():
		return errors.New("the result belongs to another plan: its digest differs from the digest of the lines before it")
	}
	p.run.Plan.Last = v.get("time").str()
	c.Review.State = stateOf(v.get("status").str())
	c.Result.Status, c.Result.Text = v.get("status").str(), p.reader.shown(v.get("text"))
	if c.Result.Status != "ok" {
		c.Result.Reason = jsontext.FirstLine(v.get("text"))
	}
	tally(p.run.Counts.Results, c.Result.Status)
	return nil
}

// stateOf is the state of a call with a result, in the words of --apply --dry-run.
func stateOf(status string) string {
	if status == "ok" {
		return "done"
	}
	return status
}

// digest is the digest of the lines read so far.
func (p *plan) digest() string { return hex.EncodeToString(p.sum.Sum(nil)) }

func (p *plan) end() {
	p.run.Plan.Digest = p.digest()
	p.run.End.Cut = len(p.run.Source.Cut) > 0
	for _, c := range p.calls {
		if c.Review.State != "open" && !p.run.End.Cut {
			p.run.Plan.Whole = p.run.Source.SHA256
		}
	}
}
