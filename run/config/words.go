package config

import (
	"cmp"
	"slices"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/stream/text/readable"
)

// SplitWords splits a command line into words with the quotes of a shell, without a shell. Blanks
// separate words. Single quotes keep everything, double quotes everything except \" \\ \$ \` and a
// backslash before a newline. A backslash keeps the next character. Nothing is expanded.
func SplitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false   // there is a word, possibly empty
	quote := byte(0) // the open quote; 0: none
	for i := 0; i < len(s); i++ {
		c := s[i]
		last := i+1 == len(s)
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'', quote == '"' && c != '\\', quote == '"' && !last && strings.IndexByte("\"\\$`\n", s[i+1]) < 0:
			word.WriteByte(c)
		case c == '\'', c == '"' && quote == 0:
			quote, begun = c, true
		case c == '\\' && last:
			return nil, failure.Usage("%q: nothing follows the last backslash", s)
		case c == '\\':
			if i++; s[i] != '\n' {
				word.WriteByte(s[i])
				begun = true
			}
		case c == ' ', c == '\t', c == '\n', c == '\r':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	switch {
	case quote != 0:
		return nil, failure.Usage("%q: the quote %c is not closed", s, quote)
	case begun:
		words = append(words, word.String())
	}
	return words, nil
}

// ShellQuote quotes a word so that it can be pasted into a shell.
func ShellQuote(s string) string {
	special := func(r rune) bool { return !document.IsWord(r) && !strings.ContainsRune("./:=@,+%", r) }
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// QuoteWords formats an argument vector as a command line.
func QuoteWords(argv []string) string {
	q := make([]string, len(argv))
	for i, w := range argv {
		q[i] = ShellQuote(w)
	}
	return strings.Join(q, " ")
}

// Elements splits comma lists.
func Elements(lists []string) []string {
	all := strings.FieldsFunc(strings.Join(lists, ","), func(r rune) bool { return r == ',' })
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// MatchAny reports whether name matches one of the patterns. Each pattern may be a comma list.
func MatchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(Elements(patterns), func(p string) bool { return approve.MatchGlob(p, name) })
}

// Nearest returns the word that was most likely meant by w; "" if none is similar.
func Nearest(w string, words []string) string { return readable.Nearest(w, words) }

// NearestPart is Nearest for a name that may be incomplete. Of the names that contain part,
// ignoring case, it returns the shortest.
func NearestPart(part string, names []string) string {
	best := ""
	for _, name := range names {
		if strings.Contains(strings.ToLower(name), strings.ToLower(part)) && (best == "" || len(name) < len(best)) {
			best = name
		}
	}
	return cmp.Or(best, Nearest(part, names))
}

// DidYouMean puts a guess before the hints: flag followed by the word near. There is no guess for
// "".
func DidYouMean(flag, near string, hints ...string) []string {
	if near == "" {
		return hints
	}
	return append([]string{"did you mean " + flag + ShellQuote(near) + "?"}, hints...)
}

// JoinWords lists words for a message.
func JoinWords(words []string) string { return strings.Join(words, ", ") }
