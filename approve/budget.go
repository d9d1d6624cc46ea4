package approve

import (
	"context"
	"io"
	"regexp"
	"unicode/utf8"
)

// A budget is the number of steps that are left for one decision. A model may write arguments
// of a megabyte, and a policy may have any number of patterns: the product of both must be
// bounded. A nil *budget is unlimited.
type budget struct {
	ctx  context.Context
	left int // below 0: exhausted
}

const (
	// maxSteps is the budget of a decision. A step takes some nanoseconds, all of them one
	// second to a few.
	maxSteps   = 1 << 28
	checkEvery = 1 << 16 // steps between two checks of the context, roughly

	valueSteps   = 8   // the cost of reading a value or a key,
	bytesPerStep = 4   // and one more step for this many bytes of it
	fileSteps    = 512 // the cost of one question to the file system
)

var overBudget = Rule{Decision: Deny, By: "default", Reason: "the rules need too much work for these arguments; shorter arguments can be decided"}

func newBudget(ctx context.Context) budget { return budget{ctx, maxSteps} }

// spend takes n steps. If fewer are left or ctx has ended, it returns false and the budget is
// exhausted; the results so far do not count.
func (b *budget) spend(n int) bool {
	if b == nil {
		return true
	}
	before := b.left
	b.left -= n
	if b.left < 0 || b.left/checkEvery != before/checkEvery && b.ctx.Err() != nil {
		b.left = -1
		return false
	}
	return true
}

func (b *budget) exhausted() bool { return b.left < 0 }

// match reports whether re matches text. A character costs two steps for each
// instruction of re: the match may look at every instruction, and that is slow.
func (b *budget) match(re *regexp.Regexp, instructions int, text []byte) bool {
	return re.MatchReader(&meteredReader{b, text, 2 * instructions})
}

// A meteredReader pays for each character that it reads. The text ends when the budget is
// exhausted.
type meteredReader struct {
	budget *budget
	text   []byte
	cost   int
}

func (r *meteredReader) ReadRune() (rune, int, error) {
	if len(r.text) == 0 || !r.budget.spend(r.cost) {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRune(r.text)
	r.text = r.text[n:]
	return c, n, nil
}
