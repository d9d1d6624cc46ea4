package face

import (
	"strings"

	"toolpipe/stream/escape"
)

// UTF8 tells whether the locale of the terminal has more characters than ASCII,
// by the variables that POSIX names (Base Definitions, 8.2).
func UTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return false
}

// signs writes the signs of frames and lines so that the terminal can show them,
// each in one column.
func (f *Face) signs(s string) string {
	if f.ascii {
		return strings.NewReplacer("┌", "+", "│", "|", "└", "+", "·", "-", "…", ">").Replace(s)
	}
	return s
}

// fit cuts a line to the terminal's width.
func (f *Face) fit(s string) string { return f.signs(f.fitBehind("", s)) }

// fitBehind cuts s so that it fits behind a prefix on the same line.
func (f *Face) fitBehind(prefix, s string) string {
	n := 0
	if f.streams.Width != nil {
		n = f.streams.Width()
	}
	if n <= 0 {
		n = 80
	}
	if n -= 1 + escape.Columns(prefix); n < 1 {
		return ""
	}
	return escape.Cut(s, n)
}
