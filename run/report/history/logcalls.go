package history

import "cmp"

func (t *taken) called(e *event) {
	limit := t.reader.report.Limit
	c := &Call{ID: e.get("id").word(), Name: e.get("name").str(), Server: e.get("server").str(), Tool: e.get("tool").str(), Turn: e.get("turn").number(),
		Connection: e.get("connection").word(), At: e.at, Line: e.number, Result: Result{Ms: Unknown, Began: Unknown, Bytes: Unknown}}
	if args := e.get("arguments"); args.kind != 0 {
		c.Arguments = args.details(limit)
	} else {
		c.Raw = true
		c.Arguments = []Detail{{Name: "raw", Text: e.get("raw").shown(limit)}}
	}
	c.Details = e.rest(limit)
	t.counted.Calls++
	if t.kept && t.reader.addCall(t.Run, c, false) {
		t.open[c.ID] = c
		t.reader.kept += keptOf(c.Arguments) + keptOf(c.Details)
	}
}

// call is the call that an event is about. If the log has none, the event is kept as a note, and
// the call is not.
func (t *taken) call(e *event) *Call {
	if c := t.open[e.value.get("id").word()]; c != nil {
		e.get("id")
		return c
	}
	if t.More.Calls == 0 {
		t.note(newEvent(e.value, e.number))
	}
	return &Call{}
}

func (t *taken) approved(e *event) {
	c := t.call(e)
	v := Verdict{Decision: e.get("decision").str(), By: e.get("by").str(), Rule: e.get("rule").str(), Reason: e.get("reason").shown(4 << 10), At: e.at, Asked: e.get("ms").number()}
	if x := e.get("egress"); x.kind == '{' {
		v.Egress, v.Private, v.Untrusted = x.get("decision").str(), sourceText(x.get("private")), sourceText(x.get("untrusted"))
	}
	tally(t.counted.Decisions, v.Decision)
	if len(c.Verdicts) < 10 {
		c.Verdicts = append(c.Verdicts, v)
	}
	t.also(c, e)
}

// also keeps the members of an event of a call that nothing else shows.
func (t *taken) also(c *Call, e *event) {
	for _, d := range e.rest(t.reader.report.Limit) {
		if len(c.Details) < maxDetails {
			d.Name = e.kind + "." + d.Name
			c.Details = append(c.Details, d)
			t.reader.kept += d.Text.kept()
		}
	}
}

// sourceText is what brought a label into the conversation.
func sourceText(v *value) string {
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
	c, text := t.call(e), e.get("progress").shown(1<<10)
	if total := e.get("total"); total.kind == '0' {
		text.Head += " of " + total.text.Head
	}
	if message := e.get("message").shown(1 << 10); !message.IsEmpty() {
		text.Head += ": " + message.String()
	}
	t.reader.kept += text.kept()
	if c.Progress = append(c.Progress, text); len(c.Progress) > maxProgress {
		c.Progress, c.MoreProgress = c.Progress[1:], c.MoreProgress+1
	}
	t.also(c, e)
}

func (t *taken) answered(e *event) {
	limit := t.reader.report.Limit
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
		if c = (&Call{ID: id, At: Unknown, Turn: Unknown, Line: e.number}); !t.kept || !t.answeredAlone(c, status) {
			return
		}
	}
	delete(t.open, id)
	if n := t.nested[id]; n != nil {
		n.finish()
		delete(t.nested, id)
	}
	text := e.get("text")
	c.Result = Result{Status: status, Text: text.shown(limit), Bytes: e.get("bytes").number(), Truncated: e.get("truncated").kind == 't', Labels: e.get("labels").strs(),
		Ms: e.get("ms").number(), Began: e.get("began_ms").number()}
	if content, structured := e.get("content"), e.get("structured"); structured.kind == '{' {
		c.Result.Content = structured.json(limit)
	} else if !isOnly(content, text) {
		c.Result.Content = content.json(limit)
	}
	c.Change = Change{File: e.get("file").str(), Diff: e.get("diff").shown(limit), New: e.get("new").kind == 't'}
	c.Connection = cmp.Or(c.Connection, e.get("connection").word())
	t.also(c, e)
	t.reader.kept += c.Result.Text.kept() + c.Result.Content.kept() + c.Change.Diff.kept()
}

// answeredAlone keeps a call of which only the result is kept, and reports whether it does.
func (t *taken) answeredAlone(c *Call, status string) bool {
	if t.More.Calls == 0 { // the log has no event for the call, as that of --calls
		return t.reader.addCall(t.Run, c, false)
	}
	if status == "ok" {
		return false // it was counted when the model asked for it
	}
	kept := t.reader.addCall(t.Run, c, true)
	if !kept {
		t.More.Calls--
	}
	return kept
}

// isOnly reports whether the blocks of a result are one text that is shown already.
func isOnly(content, text *value) bool {
	if content.kind != '[' || len(content.elements) == 0 {
		return true
	}
	first := &content.elements[0]
	return len(content.elements) == 1 && content.left == 0 && first.sameNames("type", "text") && first.get("text").text.Size() == text.text.Size()
}

// staged takes a call of a plan, which --apply --dry-run has written.
func (t *taken) staged(e *event) {
	limit := t.reader.report.Limit
	c := &Call{ID: e.get("id").str(), Name: e.get("name").str(), Server: e.get("server").str(), Tool: e.get("tool").str(), Arguments: e.get("arguments").details(limit),
		At: Unknown, Turn: Unknown, Line: e.number, Result: Result{Ms: Unknown, Began: Unknown, Bytes: Unknown}}
	c.Review = Review{Rule: e.get("rule").str(), Reason: e.get("reason").shown(limit), Labels: e.get("labels").strs(), Private: e.get("private").str(), Untrusted: e.get("untrusted").str(),
		Said: e.get("text").shown(limit), Problem: e.get("problem").shown(limit), State: e.get("status").str()}
	c.Change = Change{File: e.get("file").str(), Diff: e.get("diff").shown(limit)}
	e.get("shown") // the same as one text
	if c.Details = e.rest(limit); t.kept && t.reader.addCall(t.Run, c, false) {
		t.reader.kept += keptOf(c.Arguments) + c.Change.Diff.kept()
	}
}
