package face

import (
	"context"
	"fmt"
	"io"
	"strings"

	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream/text/escape"
)

// PrintError prints the error that ended a run, with its hints, unless it is that
// the reader of stdout went away. When ctx has ended, the reader of stderr is
// waited for only a moment.
func PrintError(ctx context.Context, stderr io.Writer, colored bool, err error) {
	e := failure.Of(err)
	if e.Signal != 0 && e.Status != failure.StatusInterrupted {
		return
	}
	var b strings.Builder
	red, off := "", ""
	if colored {
		red, off = "\x1b[1;31m", reset
	}
	fmt.Fprintf(&b, "toolpipe: %serror:%s %s\n", red, off, escapeLines(e.Message))
	for _, h := range e.Hints {
		fmt.Fprintf(&b, "toolpipe: hint: %s\n", escapeQuoted(h))
	}
	stdio.Bounded(ctx, stderr, new(stdio.ReaderWaits)).Write([]byte(b.String()))
}

// escapeLines makes a message safe for a terminal. Its further lines get a margin,
// so that none of them can pass for a message of its own.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = escapeQuoted(strings.TrimRight(lines[i], "\r"))
	}
	return strings.Join(lines, "\ntoolpipe: | ")
}

// escapeQuoted makes text safe for a terminal and keeps its backslashes: words
// from outside are quoted in it already.
func escapeQuoted(s string) string {
	parts := strings.Split(s, `\`)
	for i := range parts {
		parts[i] = escape.Escape(parts[i])
	}
	return strings.Join(parts, `\`)
}
