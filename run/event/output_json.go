package event

import (
	"strconv"
	"time"
)

// NDJSONOutput writes one event per line. at_ms and run follow the members of the event.
type NDJSONOutput struct {
	*Writer
	Results bool      // write only results of calls
	Began   time.Time // start of at_ms, which is in milliseconds; zero: no at_ms
	Run     string    // marks the lines of this run in a shared file; "": no run member

	line  object // reused for each event
	piece string // kind of the last event if it was a piece of a reply, else ""
}

// stamp replaces the end of the line by the members of this output. Of consecutive pieces of one
// kind only the first has a time: readers need the time to the first text, and no other.
func (o *NDJSONOutput) stamp(e Event) {
	was := o.piece
	if o.piece = pieceKind(e); !o.Began.IsZero() && (o.piece == "" || o.piece != was) {
		o.line.b = append(o.line.b[:len(o.line.b)-1], `,"at_ms":`...)
		o.line.b = append(strconv.AppendInt(o.line.b, time.Since(o.Began).Milliseconds(), 10), '}')
	}
	if o.Run != "" {
		o.line.b = append(o.line.b[:len(o.line.b)-1], `,"run":"`...)
		o.line.b = append(append(o.line.b, o.Run...), `"}`...)
	}
}

// pieceKind is the kind of a text or reasoning event; "" for any other.
func pieceKind(e Event) string {
	e = Unconnected(e)
	if n, ok := e.(*Nested); ok {
		e = n.Event
	}
	switch e.(type) {
	case *Text, *Reasoning:
		return e.kind()
	}
	return ""
}

func (o *NDJSONOutput) Event(e Event) error {
	if _, result := e.(*Result); o.Results && !result {
		return nil
	}
	o.line.b, o.line.full = o.line.b[:0], o.write
	o.line.event(e)
	o.stamp(e)
	err := o.writeLine(append(o.line.b, '\n'))
	if cap(o.line.b) > 1<<20 {
		o.line.b = nil
	}
	if o.piece != "" { // flushed when the stream pauses
		return err
	}
	return o.Flush()
}

// JSONOutput writes the end event with the items of a list, or with the tool's answer of a single
// call.
type JSONOutput struct {
	*Writer
	Call      bool // one call, without a model
	Calls     bool // many calls; their results are items
	collected Collected
}

func (o *JSONOutput) Event(e Event) error {
	switch e := e.(type) {
	case *Tool, *Server, *Item, *Preset, *Contents, *Check, *Login, *Explanation, *Plan, *Staged:
		o.collected.Items = append(o.collected.Items, e)
	case *Result:
		switch {
		case o.Call:
			o.collected.Structured, o.collected.Content = e.Structured, e.Content
		case o.Calls:
			o.collected.Items = append(o.collected.Items, e)
		}
	case *End:
		e.Collected = o.collected
		line := object{full: o.write}
		line.event(e)
		o.write(append(line.b, '\n'))
		return o.Flush()
	}
	return nil
}

// MessagesOutput writes the whole conversation at the end as an array, one message per line, so
// that it can be read, changed and resumed. It does so also after a run that stopped early. It
// writes nothing if there is no conversation.
type MessagesOutput struct {
	*Writer
	// Messages yields each message as JSON, in pieces that never end inside a character, with true
	// for the last piece of a message. The error is about a message that cannot be read.
	Messages func(yield func(piece []byte, last bool) bool) error
}

func (o *MessagesOutput) Event(e Event) error {
	if _, ok := e.(*End); !ok {
		return nil
	}
	before := "[\n"
	var b []byte
	err := o.Messages(func(piece []byte, last bool) bool {
		b = appendPiece(append(b[:0], before...), piece)
		o.write(b)
		if before = ""; last {
			before = ",\n"
		}
		return true
	})
	if err != nil {
		o.Flush()
		return err
	}
	if b != nil {
		o.write([]byte("\n]\n"))
	}
	return o.Flush()
}
