package code

import (
	"bytes"
	"strings"

	"toolpipe/mcp/code/lexis"
)

// A head is what a definition says before its body.
type head struct {
	begin, end int    // offsets of what begins in the line of the name
	open       string // what opens the body, "" for a definition without one that is known
}

// head finds the head of a definition.
func (l *layout) head(d *Definition, language *lexis.Language) head {
	h := head{begin: l.starts[d.Line-1], end: l.trimmedEnd(d.Line)}
	if language == nil || !hasBody(d.Kind) {
		return h
	}
	i := l.nameEnd(d)
	for next := l.bracketAt(i); i < min(h.begin+maxLooked, l.starts[d.lastLine()]); i++ {
		for next < len(l.brackets) && l.brackets[next].at < i {
			next++
		}
		c := l.mask[i]
		switch {
		case c == '\n' && l.ending == byWord:
			return head{h.begin, l.trimmedEnd(l.lineOf(i)), "\n"}
		case c == ':' && language.Name == "Python", c == '{' && !l.opensType(i, language.Name, d.Kind) && !l.initializes(next):
			return head{h.begin, i + 1, string(c)}
		case c == ';' && l.ending != byWord:
			return head{h.begin, i + 1, ""}
		case next == len(l.brackets) || l.brackets[next].at != i:
		case l.brackets[next].other < next: // it closes what is around the definition
			return head{h.begin, l.trimmed(i), ""}
		default:
			i = l.brackets[l.brackets[next].other].at
		}
	}
	return h
}

// initializes says whether a bracket { is of a member's value, as in the
// constructor A() : a{1} { of C++.
func (l *layout) initializes(i int) bool {
	if i >= len(l.brackets) || l.brackets[i].other < i {
		return false
	}
	at := l.brackets[l.brackets[i].other].at + 1
	behind := bytes.TrimLeft(l.mask[at:min(at+maxLooked, len(l.mask))], " \t\r\n")
	return l.ending == bySemicolon && len(behind) > 0 && (behind[0] == '{' || behind[0] == ',')
}

// opensType says whether a bracket { is of a type, as that of interface{} in Go or
// of (): { a: number } in TypeScript.
func (l *layout) opensType(at int, language, kind string) bool {
	before := bytes.TrimRight(l.mask[max(0, at-maxLooked):at], " \t\r\n")
	if language == "Go" {
		return (kind == "function" || kind == "method") && (bytes.HasSuffix(before, []byte("interface")) || bytes.HasSuffix(before, []byte("struct")))
	}
	return language == "TypeScript" && len(before) > 0 && strings.IndexByte(":|&<,", before[len(before)-1]) >= 0
}

// trimmed is an offset without the white space before it.
func (l *layout) trimmed(at int) int {
	from := max(0, at-maxLooked)
	return from + len(bytes.TrimRight(l.text[from:at], " \t\r\n"))
}

// trimmedEnd is the offset behind the last character of a line that is not white
// space.
func (l *layout) trimmedEnd(n int) int {
	return max(l.starts[n-1], l.trimmed(l.starts[n]))
}

// lastLine is the last line that is known.
func (d *Definition) lastLine() int { return max(d.Line, d.End) }

// docLines are the comments above a definition.
func (l *layout) docLines(d *Definition) (text []byte) {
	for n := d.Start; n < d.Line; n++ {
		if l.kinds[n-1] == hasNoCode {
			text = append(append(text, l.text[l.starts[n-1]:l.trimmedEnd(n)]...), '\n')
		}
	}
	return text
}

const maxDocString = 64 << 10 // bytes

// docString is the string that begins the body of a definition in Python, with the
// white space before it.
func (l *layout) docString(d *Definition, h head) []byte {
	if h.open != ":" {
		return nil
	}
	body := l.text[h.end:min(l.starts[d.lastLine()], h.end+maxDocString)]
	rest := bytes.TrimLeft(body, " \t\r\n")
	spaces := len(body) - len(rest)
	rest = bytes.TrimLeft(rest, "rRuU")
	for _, quote := range [...]string{`"""`, `'''`, `"`, `'`} {
		if !bytes.HasPrefix(rest, []byte(quote)) {
			continue
		}
		from := len(body) - len(rest) + len(quote)
		for i := from; i < len(body); i++ {
			if body[i] == '\\' {
				i++
			} else if bytes.HasPrefix(body[i:], []byte(quote)) {
				if line := bytes.LastIndexByte(body[:spaces], '\n'); line >= 0 {
					return body[line+1 : i+len(quote)]
				}
				return body[spaces : i+len(quote)]
			}
		}
	}
	return nil
}

// asLine is a text in one line, as people write it there.
func asLine(text string) string {
	return strings.NewReplacer("( ", "(", ", )", ")", " )", ")").Replace(strings.Join(strings.Fields(text), " "))
}

// signature is the head of a definition in one line, from the name on, for
// languages of which ctags gives none.
func (l *layout) signature(d *Definition, language *lexis.Language) string {
	if d.Signature != "" || d.Kind == "macro" || l.lost || !hasBody(d.Kind) || language.Name == "Go" || strings.HasPrefix(d.Name, anonymous) {
		return d.Signature
	}
	h := l.head(d, language)
	from := min(l.nameEnd(d), h.end)
	if from == l.firstByte(d.Line) { // the name is not in the line
		return ""
	}
	space := ""
	switch {
	case d.Kind == "implementation": // the name is behind that of the trait
		from, space = h.begin, ": "
	case from < len(l.text) && l.text[from] == ' ':
		space = " "
	}
	text := asLine(strings.TrimSuffix(string(l.text[from:min(h.end, from+maxLooked)]), h.open))
	text = strings.TrimRight(text, " ;")
	if text == "" || text[0] == '.' || d.Kind == "class" && text[0] == '=' {
		return "" // it is an object in JavaScript
	}
	return space + text
}
