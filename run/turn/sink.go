package turn

import (
	"bytes"
	"encoding/json"
	"strconv"

	"toolpipe/run/event"
	"toolpipe/stream"
)

// sink makes events from a reply as it comes. said emits the commentary since its last call as one
// event.
func (l *Loop) sink() (sink *stream.Sink, said func() error) {
	text, reasoning := event.Text{Turn: l.Turns}, event.Reasoning{Turn: l.Turns}
	var aside []byte
	said = func() error {
		whole := aside
		if aside = nil; len(whole) == 0 {
			return nil
		}
		return l.emit(&event.Commentary{Turn: l.Turns, Text: whole})
	}
	return &stream.Sink{
		Begin: l.budget.usedUp, // a parallel nested run may have used up the budget
		Spent: func(u stream.Usage) { l.count(u) },
		Text: func(delta []byte) error {
			if err := said(); err != nil {
				return err
			}
			l.hasText = l.hasText || len(bytes.TrimSpace(delta)) > 0
			if l.textSize += len(delta); l.textSize >= longText {
				l.processors.useOne()
			}
			if l.model.Schema != nil {
				return nil // see release
			}
			text.Text = delta
			return l.emit(&text)
		},
		Commentary: func(delta []byte) error {
			aside = append(aside, delta...)
			return nil
		},
		Reasoning: func(delta []byte) error {
			reasoning.Text = delta
			return l.emit(&reasoning)
		},
		Cite: func(c stream.Citation) error {
			return l.emit(&event.Citation{Turn: l.Turns, Title: c.Title, URL: c.URL, Start: position(c.Start), End: position(c.End)})
		},
		Idle:      l.flush,
		Join:      l.text.joins,
		TakesBack: func() bool { return l.text.final == nil || !l.text.final() },
		Retry: func(r stream.Retry) {
			if r.Discards {
				aside, l.hasText = nil, false
			}
			l.emit(&event.Retry{Attempt: r.Attempt, Of: r.Of, After: r.After, Status: r.Status, Message: r.Message, Discards: r.Discards})
		},
		Warn: func(code, message string) { l.emit(&event.Warning{Code: code, Message: message}) },
	}, said
}

// position is a number for an event; nil if the endpoint did not say it.
func position(n int) json.RawMessage {
	if n < 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

func piecesOf(parts []stream.Part) (text event.Pieces) {
	for _, p := range parts {
		text = append(text, p.Text)
	}
	return text
}
