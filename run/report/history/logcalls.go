package history

import (
	"cmp"
	"strings"

	"toolpipe/stream/text/jsontext"
)

func (t *taken) called(e *event) {
	t.counted.Calls++
	c := newCall(e.get("id").word(), e.number)
	if !t.kept || !t.reader.addCall(t.Run, c, false) {
		return
	}
	t.open[c.ID] = c
	c.Name, c.Server, c.Tool = e.get("name").str(), e.get("server").str(), e.get("tool").str()
	c.Turn, c.Connection, c.At = e.get("turn").number(), e.get("connection").word(), e.at
	if args := e.get("arguments"); args != nil {
		t.reader.called(c, args)
	} else {
		t.reader.calledRaw(c, e.get("raw"))
	}
	c.Details = t.reader.details(e.rest())
}

// call returns the call of an event. If the log has no such call, or it is not kept, call keeps the
// event as a note and returns nil.
func (t *taken) call(e *event) *Call {
	if c := t.open[e.word("id")]; c != nil {
		e.get("id")
		return c
	}
	if t.More.Calls == 0 {
		t.note(e)
	}
	return nil
}

func (t *taken) approved(e *event) {
	tally(t.counted.Decisions, e.word("decision"))
	c := t.call(e)
	if c == nil {
		return
	}
	v := Verdict{Decision: e.get("decision").str(), By: e.get("by").str(), Rule: e.get("rule").str(), Reason: e.get("reason").text().Within(4 << 10), At: e.at, Asked: e.get("ms").number()}
	if x := e.get("egress"); x.kind() == '{' {
		v.Egress, v.Private, v.Untrusted = x.get("decision").str(), sourceText(x.get("private")), sourceText(x.get("untrusted"))
	}
	if len(c.Verdicts) < 10 {
		c.Verdicts = append(c.Verdicts, v)
	}
	t.also(c, e)
}

func (t *taken) also(c *Call, e *event) { c.Details = t.reader.more(c.Details, e) }

func sourceText(v value) string {
	text := v.get("name").str()
	if turn := v.get("turn").word(); turn != "" && turn != "0" {
		text += ", turn " + turn
	}
	if id := v.get("id").word(); id != "" {
		text += ", call " + id
	}
	return text
}

func (t *taken) progressed(e *event) {
	c := t.call(e)
	if c == nil {
		return
	}
	text := Text{Head: e.get("progress").word()} // "" while toolpipe waits to send the call again
	if total := e.get("total"); jsontext.IsNumber(total) {
		text.Head += " of " + total.word()
	}
	if message := e.get("message").text().Within(maxWord); !message.IsEmpty() {
		text.Head = strings.TrimPrefix(text.Head+": "+message.String(), ": ")
	}
	if c.Progress = append(c.Progress, text); len(c.Progress) > maxProgress {
		c.Progress, c.MoreProgress = c.Progress[1:], c.MoreProgress+1
	}
	t.also(c, e)
}

func (t *taken) answered(e *event) {
	id, status := e.get("id").word(), e.get("status").str()
	tally(t.counted.Results, status)
	switch status {
	case "denied":
		t.counted.Denied++
	case "staged":
		t.counted.Staged++
	}
	c := t.open[id]
	if c == nil {
		if c = newCall(id, e.number); !t.kept || !t.answeredAlone(c, status) {
			return
		}
	}
	delete(t.open, id)
	if n := t.nested[id]; n != nil {
		n.finish()
		delete(t.nested, id)
	}
	text, shown := e.get("text"), t.reader.shown
	c.Result = Result{Status: status, Text: shown(text), Bytes: e.get("bytes").number(), Truncated: jsontext.IsTrue(e.get("truncated")), Labels: e.get("labels").strs(),
		Ms: e.get("ms").number(), Began: e.get("began_ms").number()}
	content, structured := e.get("content"), e.get("structured")
	exit, complaint := jsontext.Exit(structured)
	switch c.Result.Exit = exit; {
	case LastVerdict(c).kept():
	case status != "ok":
		c.Result.Reason = strings.TrimPrefix(jsontext.FirstLine(text), "[toolpipe] ")
	case exit != "0":
		c.Result.Reason = complaint
	}
	if structured.kind() == '{' {
		c.Result.Content = shown(structured)
	} else if content.kind() == '[' && !isOnly(content, text) {
		c.Result.Content = shown(content)
	}
	c.Change = Change{File: e.get("file").str(), Diff: shown(e.get("diff")), New: jsontext.IsTrue(e.get("new"))}
	c.Connection = cmp.Or(c.Connection, e.get("connection").word())
	t.also(c, e)
}

// answeredAlone keeps a call without its arguments, and reports whether it did.
func (t *taken) answeredAlone(c *Call, status string) bool {
	if t.More.Calls == 0 { // the log has no tool_call event, as with --calls
		return t.reader.addCall(t.Run, c, false)
	}
	if status == "ok" {
		return false // counted with its tool_call event
	}
	kept := t.reader.addCall(t.Run, c, true)
	if !kept {
		t.More.Calls--
	}
	return kept
}

// isOnly reports whether a result has no blocks, or only the text that is shown already.
func isOnly(content, text value) bool {
	blocks := content.elements()
	if len(blocks) != 1 {
		return len(blocks) == 0
	}
	block := blocks[0]
	return len(block.members()) == 2 && block.get("type") != nil && block.get("text") != nil && jsontext.Same(block.get("text"), text)
}

func (t *taken) staged(e *event) {
	c := newCall(e.get("id").str(), e.number)
	if !t.kept || !t.reader.addCall(t.Run, c, false) {
		return
	}
	shown := t.reader.shown
	c.Name, c.Server, c.Tool = e.get("name").str(), e.get("server").str(), e.get("tool").str()
	t.reader.called(c, e.get("arguments"))
	c.Review = Review{Rule: e.get("rule").str(), Reason: shown(e.get("reason")), Labels: e.get("labels").strs(), Private: e.get("private").str(), Untrusted: e.get("untrusted").str(),
		Said: shown(e.get("text")), Problem: shown(e.get("problem")), State: e.get("status").str()}
	c.Change = Change{File: e.get("file").str(), Diff: shown(e.get("diff"))}
	e.get("shown") // the same in one text
	c.Details = t.reader.details(e.rest())
}
