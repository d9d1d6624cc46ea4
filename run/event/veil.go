package event

import (
	"slices"

	"toolpipe/stream/secrets"
)

// veil takes secrets out of events before any output sees them, so that standard
// output, the log and stderr agree. What is sent to the model or a server, asked
// at the terminal or resumed keeps its bytes.
type veil struct {
	set             *secrets.Set
	text, reasoning turnText
	textPiece       Text // used again for each piece
	reasoningPiece  Reasoning
}

// turnText is the text, or the reasoning, of one turn. It comes in pieces, and a
// piece that may end with the beginning of a secret is held back in part.
type turnText struct {
	pieces   secrets.Pieces
	turn     int
	original int    // how many bytes were passed on before the first secret
	veiled   []byte // the bytes that were passed on since
}

func (t *turnText) next(f *secrets.Finder, turn int, piece []byte) []byte {
	if turn != t.turn {
		*t = turnText{turn: turn}
	}
	return t.count(t.pieces.Next(f, piece))
}

// rest is what was held back.
func (t *turnText) rest(f *secrets.Finder) []byte { return t.count(t.pieces.Rest(f)) }

func (t *turnText) count(p []byte) []byte {
	if t.pieces.Replaced {
		t.veiled = append(t.veiled, p...)
	} else {
		t.original += len(p)
	}
	return p
}

// pass hands on e without secrets, behind the text that was held back before it.
// Only an event of the model ends a text; a warning in its midst does not.
func (v *veil) pass(e Event, to func(Event)) {
	f := v.set.Content()
	if f == nil && v.set.Message() == nil {
		to(e)
		return
	}
	switch e := e.(type) {
	case *Text:
		v.restOfReasoning(f, to)
		v.textPiece = Text{e.Turn, v.text.next(f, e.Turn, e.Text)}
		if len(v.textPiece.Text) > 0 || len(e.Text) == 0 {
			to(&v.textPiece)
		}
		return
	case *Reasoning:
		v.restOfText(f, to)
		v.reasoningPiece = Reasoning{e.Turn, v.reasoning.next(f, e.Turn, e.Text)}
		if len(v.reasoningPiece.Text) > 0 || len(e.Text) == 0 {
			to(&v.reasoningPiece)
		}
		return
	case *Call, *Turn, *End:
		v.restOfReasoning(f, to)
		v.restOfText(f, to)
	}
	to(v.hidden(e))
}

func (v *veil) restOfText(f *secrets.Finder, to func(Event)) {
	if p := v.text.rest(f); len(p) > 0 {
		to(&Text{v.text.turn, p})
	}
}

func (v *veil) restOfReasoning(f *secrets.Finder, to func(Event)) {
	if p := v.reasoning.rest(f); len(p) > 0 {
		to(&Reasoning{v.reasoning.turn, p})
	}
}

// hidden is a copy of e without secrets. In toolpipe's own messages shorter
// secrets are looked for than in the words of a model or a server.
func (v *veil) hidden(e Event) Event {
	content, message := v.set.Content(), v.set.Message()
	text := content.HideString
	switch e := e.(type) {
	case *Call:
		c := *e
		c.ID, c.Server, c.Tool, c.Name = text(e.ID), text(e.Server), text(e.Tool), text(e.Name)
		c.Arguments, c.Raw = content.HideJSON(e.Arguments), content.Hide(e.Raw)
		return &c
	case *Approval:
		c := *e
		c.ID, c.Rule, c.Reason = text(e.ID), text(e.Rule), message.HideString(e.Reason)
		return &c
	case *Progress:
		c := *e
		c.ID, c.Message = text(e.ID), text(e.Message)
		c.Progress, c.Total = content.HideJSON(e.Progress), content.HideJSON(e.Total)
		return &c
	case *Result:
		c := *e
		c.ID, c.Text, c.TextJSON = text(e.ID), content.Hide(e.Text), content.HideJSON(e.TextJSON)
		c.Content, c.Structured = content.HideJSON(e.Content), content.HideJSON(e.Structured)
		return &c
	case *Turn:
		c := *e
		c.Finish = text(e.Finish)
		return &c
	case *Retry:
		c := *e
		c.Message = message.HideString(e.Message)
		return &c
	case *Warning:
		c := *e
		c.Message = message.HideString(e.Message)
		return &c
	case *End:
		c := *e
		c.Text, c.Finish = v.lastText(e), text(e.Finish)
		return &c
	}
	return v.hiddenItem(e)
}

// hiddenItem is hidden for the events of lists.
func (v *veil) hiddenItem(e Event) Event {
	content := v.set.Content()
	text := content.HideString
	switch e := e.(type) {
	case *Tool:
		c := *e
		c.Name, c.Tool, c.Description = text(e.Name), text(e.Tool), text(e.Description)
		c.Schema, c.OutputSchema, c.Annotations = content.HideJSON(e.Schema), content.HideJSON(e.OutputSchema), content.HideJSON(e.Annotations)
		return &c
	case *Server:
		c := *e
		c.Target, c.Protocol, c.Message = text(e.Target), text(e.Protocol), v.set.Message().HideString(e.Message)
		return &c
	case *Item:
		c := *e
		c.URI, c.Name, c.Description, c.MIME = text(e.URI), text(e.Name), text(e.Description), text(e.MIME)
		c.Arguments = slices.Clone(e.Arguments)
		for i, a := range c.Arguments {
			c.Arguments[i].Name, c.Arguments[i].Description = text(a.Name), text(a.Description)
		}
		return &c
	case *Explanation:
		c := *e
		c.Arguments, c.Reason = content.HideJSON(e.Arguments), text(e.Reason)
		return &c
	}
	return e
}

// lastText is the text of the End: the same bytes that the Text events of the
// last turn had.
func (v *veil) lastText(e *End) []byte {
	switch {
	case e.Turns == 0 || e.Turns != v.text.turn:
		return v.set.Content().Hide(e.Text)
	case v.text.pieces.Replaced && len(e.Text) >= v.text.original:
		return append(e.Text[:v.text.original:v.text.original], v.text.veiled...)
	}
	return e.Text
}
