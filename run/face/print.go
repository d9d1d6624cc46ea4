package face

import (
	"context"
	"fmt"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream/escape"
)

// PrintError prints the error of a run once, with its hints: in silence when
// the reader of stdout went away. When ctx has ended, a reader of stderr who
// does not read is waited for only a moment.
func PrintError(ctx context.Context, c *config.Config, s stdio.Streams, err error) {
	e := failure.Of(err)
	if e.Signal != 0 && e.Status != failure.StatusInterrupted {
		return
	}
	var b strings.Builder
	red, off := "", ""
	if colored(c, s) {
		red, off = "\x1b[1;31m", reset
	}
	fmt.Fprintf(&b, "toolpipe: %serror:%s %s\n", red, off, escapeLines(e.Message))
	for _, h := range e.Hints {
		fmt.Fprintf(&b, "toolpipe: hint: %s\n", escapeQuoted(h))
	}
	stdio.Bounded(ctx, s.Err, nil).Write([]byte(b.String()))
}

// escapeLines makes a message safe for a terminal; its lines are kept, each
// with our own margin, so that none can pass for one of ours.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = escapeQuoted(strings.TrimRight(lines[i], "\r"))
	}
	return strings.Join(lines, "\ntoolpipe: | ")
}

// escapeQuoted makes text safe for a terminal in which foreign words are
// quoted already: its backslashes stay as they are.
func escapeQuoted(s string) string {
	parts := strings.Split(s, `\`)
	for i := range parts {
		parts[i] = escape.Escape(parts[i])
	}
	return strings.Join(parts, `\`)
}
