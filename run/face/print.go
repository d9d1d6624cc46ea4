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

// PrintError prints the error that ended a run, with its hints. It prints nothing if the reader of
// stdout is gone. After the end of ctx it waits only a moment for the reader of stderr.
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

// escapeLines makes a message safe for a terminal. Further lines get a margin, so that none of them
// looks like a separate message.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = escapeQuoted(strings.TrimRight(lines[i], "\r"))
	}
	return strings.Join(lines, "\ntoolpipe: | ")
}

// escapeQuoted makes text safe for a terminal and keeps its backslashes: foreign words in it are
// already quoted.
func escapeQuoted(s string) string {
	parts := strings.Split(s, `\`)
	for i := range parts {
		parts[i] = escape.Escape(parts[i])
	}
	return strings.Join(parts, `\`)
}
