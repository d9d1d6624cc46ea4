package event

import (
	"strconv"
	"time"
)

// NDJSONOutput writes one event a line. Behind the members of the event stand at_ms and run.
type NDJSONOutput struct {
	*Writer
	Results bool      // it writes the results of calls alone
	Began   time.Time // at_ms is the time since then, in milliseconds; zero: no line has one
	Run     string    // tells the lines of this run from those of others in the same file; "": no line has it

	line  object // used again for each event
	piece string // of which kind of piece of a reply the last event was; "": it was none
}

// stamp replaces the end of the line by the members that each line of this output has. Of
// pieces of one kind that follow each other only the first has a time: it is the time to the
// first text, and no reader needs those of the others.
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

// pieceKind is the kind of an event that comes with every piece of a reply; "" for any other.
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
	o.line.b, o.line.full = o.line.b[:0], o.keep
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

// JSONOutput writes the end event, what a list printed as its items, and of a single call
// what the tool answered.
type JSONOutput struct {
	*Writer
	Call      bool // the run makes one call, without a model
	Calls     bool // it makes many, whose results are items
	collected Collected
}

func (o *JSONOutput) Event(e Event) error {
	switch e := e.(type) {
	case *Tool, *Server, *Item, *Contents, *Check, *Login, *Explanation, *Plan, *Staged:
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
		line := object{full: o.keep}
		line.event(e)
		o.write(append(line.b, '\n'))
		return o.Flush()
	}
	return nil
}

// MessagesOutput writes the whole conversation at the end as an array, one
// message a line, also when the run stopped early, so that it can be looked at,
// changed and resumed. It writes nothing when there is no conversation.
type MessagesOutput struct {
	*Writer
	// Messages gives each message as JSON, in pieces of which none ends inside a character;
	// true for the last one of a message. The error is of a message that cannot be read.
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
