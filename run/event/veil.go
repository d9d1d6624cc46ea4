package event

import (
	"toolpipe/run/failure"
	"toolpipe/stream/secrets"
)

// Veil takes secrets out of events before any output sees them, so that
// standard output, the log and stderr agree. What is sent, asked or resumed
// has its own bytes.
type Veil struct {
	Set             *secrets.Set
	text, reasoning veiled
	passText        Text // used again for each piece
	passReasoning   Reasoning
}

// veiled is the text, or the reasoning, of one turn.
type veiled struct {
	pieces secrets.Pieces
	turn   int
	same   int    // bytes that were passed on before something was taken out
	shown  []byte // what was passed on since
}

func (v *veiled) next(f *secrets.Finder, turn int, piece []byte) []byte {
	if turn != v.turn {
		*v = veiled{turn: turn}
	}
	return v.passed(v.pieces.Next(f, piece))
}

func (v *veiled) passed(p []byte) []byte {
	if v.pieces.Replaced {
		v.shown = append(v.shown, p...)
	} else {
		v.same += len(p)
	}
	return p
}

// pass hands on e without secrets, after what was held back before it. Events
// that come from elsewhere do not end a text.
func (v *Veil) pass(e Event, to func(Event)) {
	f := v.Set.Content()
	if f == nil && v.Set.Message() == nil {
		to(e)
		return
	}
	switch e := e.(type) {
	case *Text:
		v.restOfReasoning(f, to)
		v.passText = Text{e.Turn, v.text.next(f, e.Turn, e.Text)}
		if len(v.passText.Text) > 0 || len(e.Text) == 0 {
			to(&v.passText)
		}
		return
	case *Reasoning:
		v.restOfText(f, to)
		v.passReasoning = Reasoning{e.Turn, v.reasoning.next(f, e.Turn, e.Text)}
		if len(v.passReasoning.Text) > 0 || len(e.Text) == 0 {
			to(&v.passReasoning)
		}
		return
	case *Call, *Turn, *End:
		v.restOfReasoning(f, to)
		v.restOfText(f, to)
	}
	to(v.hidden(e))
}

func (v *Veil) restOfText(f *secrets.Finder, to func(Event)) {
	if p := v.text.passed(v.text.pieces.Rest(f)); len(p) > 0 {
		to(&Text{v.text.turn, p})
	}
}

func (v *Veil) restOfReasoning(f *secrets.Finder, to func(Event)) {
	if p := v.reasoning.passed(v.reasoning.pieces.Rest(f)); len(p) > 0 {
		to(&Reasoning{v.reasoning.turn, p})
	}
}

// hidden is a copy of e without secrets. In what toolpipe says itself shorter
// ones are looked for too.
func (v *Veil) hidden(e Event) Event {
	content, message := v.Set.Content(), v.Set.Message()
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

// hiddenItem is hidden for what a list prints.
func (v *Veil) hiddenItem(e Event) Event {
	content := v.Set.Content()
	text := content.HideString
	switch e := e.(type) {
	case *Tool:
		c := *e
		c.Name, c.Tool, c.Description = text(e.Name), text(e.Tool), text(e.Description)
		c.Schema, c.OutputSchema, c.Annotations = content.HideJSON(e.Schema), content.HideJSON(e.OutputSchema), content.HideJSON(e.Annotations)
		return &c
	case *Server:
		c := *e
		c.Target, c.Protocol, c.Message = text(e.Target), text(e.Protocol), v.Set.Message().HideString(e.Message)
		return &c
	case *Item:
		c := *e
		c.URI, c.Name, c.Description, c.MIME = text(e.URI), text(e.Name), text(e.Description), text(e.MIME)
		c.Arguments = content.HideJSON(e.Arguments)
		return &c
	case *Explanation:
		c := *e
		c.Arguments, c.Reason = content.HideJSON(e.Arguments), text(e.Reason)
		return &c
	}
	return e
}

// lastText is the end event's text: byte for byte what the text events of the
// turn said.
func (v *Veil) lastText(e *End) []byte {
	switch {
	case e.Turns == 0 || e.Turns != v.text.turn:
		return v.Set.Content().Hide(e.Text)
	case v.text.pieces.Replaced && len(e.Text) >= v.text.same:
		return append(e.Text[:v.text.same:v.text.same], v.text.shown...)
	}
	return e.Text
}

// HiddenError is e without secrets.
func HiddenError(set *secrets.Set, e failure.Error) *failure.Error {
	f := set.Message()
	e.Message = f.HideString(e.Message)
	hints := make([]string, len(e.Hints))
	for i, h := range e.Hints {
		hints[i] = f.HideString(h)
	}
	e.Hints = hints
	return &e
}
