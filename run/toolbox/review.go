package toolbox

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolpipe/run/event"
	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

const (
	maxFindings    = 16  // of one tool
	maxReviewDepth = 64  // of a schema
	maxReviewPath  = 160 // bytes
	around         = 30  // bytes of a quote before and after the position
)

// Review returns the findings in the definition of each tool: characters without a shape, letters
// that look like others, and names that look like names of another server. A definition without
// findings may be malicious too. The member of a finding is name, description, title or the path in a
// schema, for example schema.properties.note.description. Its quote is the text around the position.
func (b *Toolbox) Review() [][]event.Finding {
	tools := b.All()
	all := make([][]event.Finding, len(tools))
	alike := sameNames(tools)
	for i, t := range tools {
		r := definitionReader{alike[i]}
		r.name("name", t.Name)
		r.unseen("title", t.Title)
		r.unseen("description", t.Description)
		r.value("schema", t.InputSchema, maxReviewDepth)
		r.value("output_schema", t.OutputSchema, maxReviewDepth)
		r.value("annotations", t.Annotations, maxReviewDepth)
		if n := len(r.found) - maxFindings; n > 0 {
			r.found = append(r.found[:maxFindings], event.Finding{What: fmt.Sprintf("more findings: %d", n)})
		}
		all[i] = r.found
	}
	return all
}

type definitionReader struct{ found []event.Finding }

func (r *definitionReader) find(what, member, text string, from, to int) {
	member = readable.Cut(member, maxReviewPath, "…")
	if slices.ContainsFunc(r.found, func(f event.Finding) bool { return f.What == what && f.Member == member }) {
		return // a person needs to read it only once
	}
	start := max(from-around, 0)
	end := min(to+around, start+4*around, len(text))
	quote := strings.ToValidUTF8(text[start:end], "")
	if start > 0 {
		quote = "…" + quote
	}
	if end < len(text) {
		quote += "…"
	}
	r.found = append(r.found, event.Finding{What: what, Member: member, Quote: quote})
}

func (r *definitionReader) name(member, name string) {
	latin := strings.ContainsFunc(name, func(c rune) bool { return c < utf8.RuneSelf && unicode.IsLetter(c) })
	if i := strings.IndexFunc(name, func(c rune) bool { return c >= utf8.RuneSelf && folded(c) < utf8.RuneSelf }); i >= 0 && latin {
		r.find("letter that looks like another", member, name, i, i)
	}
	r.unseen(member, name)
}

// value checks all strings of a JSON value, including keys.
func (r *definitionReader) value(path string, value []byte, depth int) {
	if len(r.found) > 2*maxFindings {
		return
	}
	switch kind := jsontext.Kind(value); {
	case kind == '"':
		r.unseen(path, jsontext.Unquote(value))
	case kind != '{' && kind != '[':
	case depth == 0:
		r.found = append(r.found, event.Finding{What: "not read: nested too deep", Member: path[:min(len(path), maxReviewPath)]})
	case kind == '[':
		for e := range jsontext.Elements(value) {
			r.value(path, e, depth-1)
		}
	default:
		for literal, v := range jsontext.Members(value) {
			key := jsontext.Unquote(literal)
			inner := path
			if len(inner) <= maxReviewPath {
				inner += "." + key
			}
			r.name(inner, key)
			r.value(inner, v, depth-1)
		}
	}
}

// A person may not see text after more empty lines, or after more blanks in a line.
const maxQuotedLines, maxBlanks = 20, 80

// unseen finds invisible characters, and text that is out of sight.
func (r *definitionReader) unseen(member, text string) {
	before, blanks, lines := rune(' '), 0, 0
	for i, c := range text {
		switch {
		case c == '\r':
			continue
		case c == '\n':
			blanks = 0
			lines++
			continue
		case c == '\t' || unicode.Is(unicode.Zs, c):
			blanks++
			continue
		case !escape.Unsafe(c), joins(before, c):
		case c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069, c == 0x200e, c == 0x200f, c == 0x061c:
			r.find("bidi control", member, text, i, i)
		case c < ' ', c >= 0x7f && c <= 0x9f:
			r.find("escape code or other control character", member, text, i, i)
		default:
			r.find("invisible character", member, text, i, i)
		}
		if lines > maxQuotedLines || blanks > maxBlanks {
			r.find("text after many blanks", member, text, i, i)
		}
		before, blanks, lines = c, 0, 0
	}
}

// joins reports whether an invisible character is useful after before: it selects the style of a
// symbol, or joins symbols or letters of a script that needs it.
func joins(before, c rune) bool {
	switch c {
	case 0xfe0e, 0xfe0f:
		return unicode.IsSymbol(before) || strings.ContainsRune("0123456789#*", before)
	case 0x200c, 0x200d:
		return before > 0x250 && (unicode.IsSymbol(before) || unicode.IsLetter(before) || unicode.IsMark(before) || before == 0xfe0f)
	}
	return false
}

// Letters that look like an ASCII letter, each above that letter.
const (
	foreign = "аАвВсСԁеЕёнНһіІїјЈкКмМоОрРѕЅԛтТхХуУԝαΑΒεΕΖΗιΙκΚΜνΝοΟρΡτΤυΥχΧıℓ"
	ascii   = "aABBcCdeEeHHhiIijJkKMMoOpPsSqTTxXyYwaABeEZHiIkKMvNoOpPtTuYxXil"
)

// folded is the ASCII letter that c looks like, or c.
func folded(c rune) rune {
	switch {
	case c < 0x80:
		return c
	case c >= 0xff01 && c <= 0xff5e: // wide
		return c - 0xfee0
	}
	if i := strings.IndexRune(foreign, c); i >= 0 {
		return rune(ascii[utf8.RuneCountInString(foreign[:i])])
	}
	return c
}

// skeleton is equal for names that look alike.
func skeleton(name string) string {
	return strings.Map(func(c rune) rune {
		switch c = folded(c); c {
		case 'I', 'i', 'l', '1', '|':
			return 'l'
		case 'O', 'o', '0':
			return 'o'
		case 'S', 's', '5':
			return 's'
		case '_', '-', '.', '/', ' ':
			return -1
		}
		if c >= 0x80 && escape.Unsafe(c) {
			return -1
		}
		return unicode.ToLower(c)
	}, name)
}

// sameNames finds, for each tool, tools of other servers with the same or a similar-looking name,
// with or without the server's name as prefix. All equal names are one finding, and all similar
// names are another, so that other findings of the tool are not cut off.
func sameNames(tools []*Tool) [][]event.Finding {
	at := map[string][]int{}
	for i, t := range tools {
		for _, key := range [...]string{skeleton(t.Name), skeleton(t.Conn.Name + t.Name)} {
			if !slices.ContainsFunc(at[key], func(o int) bool { return tools[o].Conn == t.Conn }) { // otherwise one tool could hide others
				at[key] = append(at[key], i)
			}
		}
	}
	found := make([][]event.Finding, len(tools))
	for i, t := range tools {
		var same, like string
		for _, other := range at[skeleton(t.Name)] {
			o := tools[other]
			if o.Conn == t.Conn || o.Conn.Local != nil && t.Conn.Local != nil {
				continue
			}
			list := &like
			if o.Name == t.Name {
				list = &same
			}
			*list += ", " + o.Conn.Name + ": " + o.Name
		}
		if same != "" {
			found[i] = append(found[i], event.Finding{What: "the same name at another server", Member: "name", Quote: t.Name + same})
		}
		if like != "" {
			found[i] = append(found[i], event.Finding{What: "looks like a tool of another server", Member: "name", Quote: t.Name + like})
		}
	}
	return found
}
