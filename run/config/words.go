package config

import (
	"cmp"
	"strings"
	"time"

	"toolpipe/approve"
	"toolpipe/run/failure"
	"toolpipe/stream/nearest"
)

// SplitWords splits a command line into words as a shell quotes them, without
// a shell: blanks separate, single quotes keep everything, double quotes all
// but \" \\ \$ \` and a backslash before a newline, a backslash keeps the next
// character. Nothing is expanded.
func SplitWords(s string) ([]string, error) {
	var words []string
	var w strings.Builder
	in := false // a word has begun, even if it is empty so far
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r':
			if in {
				words = append(words, w.String())
				w.Reset()
				in = false
			}
		case '\'':
			n := strings.IndexByte(s[i+1:], '\'')
			if n < 0 {
				return nil, failure.Usage("%q: a single quote is not closed", s)
			}
			w.WriteString(s[i+1 : i+1+n])
			i += n + 1
			in = true
		case '"':
			n, err := doubleQuoted(&w, s[i+1:])
			if err != nil {
				return nil, err
			}
			i += n + 1
			in = true
		case '\\':
			if i++; i == len(s) {
				return nil, failure.Usage("%q: nothing follows the last backslash", s)
			}
			if s[i] != '\n' {
				w.WriteByte(s[i])
				in = true
			}
		default:
			w.WriteByte(c)
			in = true
		}
	}
	if in {
		words = append(words, w.String())
	}
	return words, nil
}

// doubleQuoted writes the text up to the closing quote and returns the
// quote's offset in s.
func doubleQuoted(w *strings.Builder, s string) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i, nil
		case c == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`\n", s[i+1]) >= 0:
			if i++; s[i] != '\n' {
				w.WriteByte(s[i])
			}
		default:
			w.WriteByte(c)
		}
	}
	return 0, failure.Usage("%q: a double quote is not closed", s)
}

// ShellQuote shows a word so that it can be pasted into a shell.
func ShellQuote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r == '_' || r == '-' || r == '.' || r == '/' || r == ':' || r == '=' || r == '@' || r == ',' || r == '+' || r == '%' ||
			r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// QuoteWords shows an argument vector as a command line.
func QuoteWords(argv []string) string {
	q := make([]string, len(argv))
	for i, w := range argv {
		q[i] = ShellQuote(w)
	}
	return strings.Join(q, " ")
}

// ParseDuration reads "30s", "2m", "1h30m" or a bare number of seconds.
// Negative durations are refused; 0 is accepted.
func ParseDuration(s string) (time.Duration, error) {
	text := s
	if strings.Trim(s, "+-0123456789.") == "" {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err == nil && d >= 0 {
		return d, nil
	}
	problem := "is not a duration"
	if err != nil && hasDurationForm(text) {
		problem = "is too large"
	}
	return 0, failure.UsageError([]string{"a duration is written 30s, 2m or as a number of seconds"}, "%q %s", s, problem)
}

// hasDurationForm tells whether s would be a duration if its digits were 0.
func hasDurationForm(s string) bool {
	_, err := time.ParseDuration(strings.Map(func(r rune) rune {
		if r >= '1' && r <= '9' {
			return '0'
		}
		return r
	}, s))
	return err == nil
}

// MatchAny tells whether name matches one of the patterns, each of which may
// be a comma list.
func MatchAny(patterns []string, name string) bool {
	for _, list := range patterns {
		for p := range strings.SplitSeq(list, ",") {
			if approve.MatchGlob(strings.TrimSpace(p), name) {
				return true
			}
		}
	}
	return false
}

// Nearest returns the word that w was most likely meant to be, "" if none is
// near.
func Nearest(w string, words []string) string { return nearest.Nearest(w, words) }

// NearestPart is Nearest for a name of which only a part may have been given: of the
// names that hold it, without regard to case, the shortest is meant.
func NearestPart(part string, names []string) string {
	best := ""
	for _, name := range names {
		if strings.Contains(strings.ToLower(name), strings.ToLower(part)) && (best == "" || len(name) < len(best)) {
			best = name
		}
	}
	return cmp.Or(best, Nearest(part, names))
}

// JoinWords lists words for a message.
func JoinWords(words []string) string { return strings.Join(words, ", ") }
