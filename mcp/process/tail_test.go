package process

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTail(t *testing.T) {
	var lines []string
	tl := &Tail{Log: func(l string) { lines = append(lines, l) }}
	var all strings.Builder
	for i := range 20_000 {
		line := fmt.Sprintf("line %d\r\n", i)
		all.WriteString(line)
		io.WriteString(iotest.TruncateWriter(tl, 1<<20), line)
	}
	io.WriteString(tl, "no end")
	tl.End()
	got := tl.String()
	if want := all.String() + "no end"; len(got) > maxTail || len(got) < maxTail-100 || !strings.HasSuffix(want, got) || !strings.HasPrefix(got, "line ") {
		t.Errorf("%d bytes kept: %.30q … %q", len(got), got, got[len(got)-30:])
	}
	if len(lines) != 20_001 || lines[19_999] != "line 19999" || lines[20_000] != "no end" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}
