package event

import (
	"errors"
	"unicode/utf8"

	"toolpipe/run/failure"
	"toolpipe/stream/text/escape"
)

// TextOutput writes the answer: as it comes, or the text of End if that is an answer. A text
// without a final newline gets one.
type TextOutput struct {
	*Writer
	Stream   bool // write text as it comes
	Terminal bool // output must be safe for a terminal
	last     byte // last byte written of the current turn
	scratch  []byte
}

func (o *TextOutput) Event(e Event) error {
	switch e := e.(type) {
	case *Text:
		if o.Stream {
			return o.text(e.Text)
		}
	case *Retry:
		if o.Stream && e.Discards {
			return o.newline()
		}
	case *Turn:
		if o.Stream && !e.Pauses { // another turn, or the frame of a call, begins on a new line
			return o.newline()
		}
	case *End:
		if !o.Stream && e.isAnswer() {
			for _, piece := range e.Text {
				o.text([]byte(piece))
			}
		}
		o.newline()
		return o.Flush()
	}
	return nil
}

// isAnswer reports whether the text of the last turn is the model's complete answer, or one that
// was cut by the length limit.
func (e *End) isAnswer() bool {
	return e.Status == failure.StatusOK || e.Status == failure.StatusTool || e.Err != nil && errors.Is(e.Err, failure.ErrLength)
}

func (o *TextOutput) newline() error {
	if o.last == 0 || o.last == '\n' {
		return nil
	}
	o.last = 0
	return o.write([]byte{'\n'})
}

func (o *TextOutput) text(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	o.last = p[len(p)-1]
	if o.Terminal {
		o.scratch = AppendLines(o.scratch[:0], p)
		p = o.scratch
	}
	return o.write(p)
}

// AppendLines appends text for a terminal. Line ends and tabs stay; everything that could control
// the terminal is made visible. One zero-width joiner or variation selector after another character
// stays too, since an emoji may need it. p may begin with one, because it may be a piece of a
// longer text.
func AppendLines(dst, p []byte) []byte {
	for start := 0; start < len(p); {
		i := start
		for i < len(p) && (p[i] == '\n' || p[i] == '\t' || p[i] >= ' ' && p[i] < 0x7f) {
			i++
		}
		dst = append(dst, p[start:i]...)
		if i == len(p) {
			break
		}
		r, size := utf8.DecodeRune(p[i:])
		if joins(r) {
			if before, _ := utf8.DecodeLastRune(p[:i]); i == 0 || before > ' ' && !joins(before) {
				dst, start = append(dst, p[i:i+size]...), i+size
				continue
			}
		}
		if r == utf8.RuneError && size == 1 || escape.Unsafe(r) {
			dst = escape.AppendEscaped(dst, string(p[i:i+size]))
		} else {
			dst = append(dst, p[i:i+size]...)
		}
		start = i + size
	}
	return dst
}

// joins reports whether r only changes how its neighbours look: the text and emoji style selectors,
// and the zero-width joiner.
func joins(r rune) bool { return r == 0xfe0e || r == 0xfe0f || r == 0x200d }
