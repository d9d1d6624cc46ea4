package approve

import (
	"context"
	"io"
	"regexp"
	"unicode/utf8"
)

// maxWork is how many steps one decision may take, a step being some
// nanoseconds: one to a few seconds. A model writes arguments of megabytes, and
// a policy has as many patterns as its author likes; only the product of both
// must be bounded. A decision that needs more is a deny.
const maxWork = 1 << 28

// overworked decides when the work of a decision is used up.
var overworked = Rule{Decision: Deny, By: "default", Reason: "the rules need too much work on these arguments; shorter ones can be decided"}

// work is what is left of the steps of one decision. A nil *work has no end.
type work struct {
	ctx  context.Context // nil: never cancelled
	left int             // below 0 when it is used up
	look int             // ctx is looked at when so much is left
}

const (
	lookEvery  = 1 << 16 // steps between two looks at the context
	readSteps  = 8       // what reading a value counts,
	readAtOnce = 4       // with one more for so many bytes
	fileSteps  = 512     // what asking the file system once counts
)

func newWork(ctx context.Context) work { return work{ctx, maxWork, maxWork - lookEvery} }

// spend takes n steps and reports whether they were there. When they were not,
// or ctx has ended, nothing is left, and no result counts any more.
func (w *work) spend(n int) bool {
	if w == nil {
		return true
	}
	if n > w.left {
		w.left = -1
		return false
	}
	w.left -= n
	if w.left < w.look {
		w.look = w.left - lookEvery
		if w.ctx != nil && w.ctx.Err() != nil {
			w.left = -1
			return false
		}
	}
	return true
}

func (w *work) usedUp() bool { return w.left < 0 }

// shortMatch is how many steps a match takes at most for which nobody waits.
const shortMatch = 1 << 16

// match reports whether re matches text. Each character costs at most one step
// for each instruction of re, and these steps are slow. A match that may take
// long reads character by character, so that it can be stopped.
func (w *work) match(re *regexp.Regexp, instructions int, text []byte) bool {
	cost := 2 * instructions
	if len(text) <= shortMatch/cost {
		return w.spend(len(text)*cost) && re.Match(text)
	}
	return re.MatchReader(&costlyText{w, text, cost})
}

// costlyText is a text of which each character costs work; without work left
// it ends.
type costlyText struct {
	work *work
	text []byte
	cost int
}

func (c *costlyText) ReadRune() (rune, int, error) {
	if len(c.text) == 0 || !c.work.spend(c.cost) {
		return 0, 0, io.EOF
	}
	r, n := utf8.DecodeRune(c.text)
	c.text = c.text[n:]
	return r, n, nil
}
