package files

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"toolpipe/mcp/toolserver"
)

// slowGrep finds lines one by one.
func slowGrep(re *regexp.Regexp, text, path string, around int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		return ""
	}
	mark := make([]byte, len(lines))
	for i, l := range lines {
		if !re.MatchString(strings.TrimSuffix(l, "\r")) {
			continue
		}
		for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
			if mark[j] == 0 {
				mark[j] = '-'
			}
		}
		mark[i] = ':'
	}
	var b strings.Builder
	last := -1
	for i, l := range lines {
		if mark[i] == 0 {
			continue
		}
		if around > 0 && last >= 0 && i > last+1 {
			b.WriteString("--\n")
		}
		last = i
		fmt.Fprintf(&b, "%s%c%d%c%s\n", path, mark[i], i+1, mark[i], strings.TrimSuffix(l, "\r"))
	}
	return b.String()
}

// FuzzGrep compares the search with a plain one.
func FuzzGrep(f *testing.F) {
	for _, pattern := range []string{"b", "^b", "b$", "a|b", "[ab]c|bd", "B", "\\Ab", "b\\z", "x*", "a\\s+b", "\\bb\\b", "(?i)kib|sx", "()", "[^a]b", "(?i)b|sk", "(?i)i\u0130b", "(?i)\u0130"} {
		f.Add(pattern, "a\nb\nab b\n\ncab\nKib\nbd", uint8(1), false)
		f.Add(pattern, "a\r\nb\r\nbd\r\n", uint8(0), true)
		f.Add(pattern, "\u017fx\nKIB\nI\u0130b\nsk\n\u017f\u212a\n\u0130", uint8(0), true)
		f.Add(pattern, strings.Repeat("a\nb\n\n\n\n\nab\nsome more text\nB\n", 80), uint8(2), false)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, around uint8, fold bool) {
		m, err := newMatcher(pattern, fold)
		if err != nil || strings.Contains(text, "\x00") || strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") || len(text) > 4000 {
			return
		}
		context := int(around % 4)
		for _, size := range []int{64, toolserver.ReadChunk} {
			if slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return len(l) >= size }) {
				continue // such a line is searched in parts
			}
			s := newScanner(m, context)
			s.in = bufio.NewReaderSize(nil, size)
			got := string(s.file(t.Context(), iotest.HalfReader(strings.NewReader(text)), "p").text)
			if want := slowGrep(m.line, text, "p", context); got != want && !strings.Contains(got, "[toolpipe: ") {
				t.Fatalf("pattern %q, fold %t, context %d, buffer %d, text %q:\n%s\nwant\n%s", pattern, fold, context, size, text, got, want)
			}
		}
	})
}

// Lines behind the last match that is shown are context only as far as they
// do not match.
func TestContextWhenFull(t *testing.T) {
	m, err := newMatcher("b", false)
	if err != nil {
		t.Fatal(err)
	}
	s := newScanner(m, 3)
	out := s.file(t.Context(), strings.NewReader(strings.Repeat("b\n", maxMatches)+"c\nb\nc\n"), "p")
	if !out.full || !strings.HasSuffix(string(out.text), fmt.Sprintf("\np:%d:b\np-%d-c\n", maxMatches, maxMatches+1)) {
		t.Errorf("…%s", out.text[len(out.text)-60:])
	}
}

// A search that is cancelled ends soon, in a text of one line too.
func TestGrepCancelled(t *testing.T) {
	m, err := newMatcher("[ab]c", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, text := range []string{"x", "a\n"} {
		in := &io.LimitedReader{R: endless(strings.Repeat(text, toolserver.ReadChunk)), N: 1 << 30}
		newScanner(m, 0).file(ctx, in, "p")
		if read := 1<<30 - in.N; read > 4*int64(m.longest) {
			t.Errorf("%q again and again: %d bytes were read", text, read)
		}
	}
}
