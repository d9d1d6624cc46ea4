package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// maxFrontmatter is the longest frontmatter that is read, in bytes.
const maxFrontmatter = 16 << 10

// compareFrontmatter returns an error unless the YAML at the beginning of a file has the same
// fields as a JSON object. A skill is shown and approved by that object, and the model reads the
// file.
func compareFrontmatter(file string, object []byte) error {
	head, rest, _ := strings.Cut(strings.TrimPrefix(file, "\ufeff"), "\n")
	var lines []string
	closed := false
	for line := range strings.Lines(rest[:min(len(rest), maxFrontmatter)]) {
		line = strings.TrimRight(line, "\r\n")
		if closed = strings.TrimSpace(line) == "---"; closed {
			break
		}
		lines = append(lines, line)
	}
	if strings.TrimSpace(head) != "---" || !closed {
		return errors.New("it does not begin with a frontmatter between two lines ---")
	}
	r := &yamlReader{lines: lines}
	root := r.block(0)
	if _, text, more := r.peek(); more && r.err == nil {
		r.failf("the line %q", text)
	}
	if r.err != nil {
		return r.err
	}
	for name, value := range jsontext.Members(object) {
		if f := root.fields[jsontext.Unquote(name)]; f == nil || !f.equals(value) {
			return fmt.Errorf("its frontmatter has another %s than the server's list of skills", name)
		}
	}
	if !root.equals(object) {
		return errors.New("its frontmatter has more fields than the server's list of skills")
	}
	return nil
}

type yamlNode struct {
	kind   byte // '"', '[' or '{', as the first byte of the same value in JSON
	plain  bool // a text without quotes, which can also be a number, a truth value or null
	text   string
	items  []*yamlNode
	fields map[string]*yamlNode
}

// equals compares with a value in JSON. YAML has no fixed types: a plain 1.0 equals the number
// and the text, since the versions of YAML and its libraries decide it differently.
func (n *yamlNode) equals(v []byte) bool {
	switch kind := jsontext.Kind(v); kind {
	case '{':
		count := 0
		for name, member := range jsontext.Members(v) {
			count++
			if f := n.fields[jsontext.Unquote(name)]; f == nil || !f.equals(member) {
				return false
			}
		}
		return n.kind == kind && count == len(n.fields)
	case '[':
		return n.kind == kind && slices.EqualFunc(n.items, slices.Collect(jsontext.Elements(v)), (*yamlNode).equals)
	case '"': // libraries write a date as a time
		text := jsontext.Unquote(v)
		return n.kind == kind && (text == n.text || n.plain && n.text != "" && strings.HasPrefix(text, n.text+"T00:00:00"))
	}
	words := map[string][]string{"null": {"", "~", "null"}, "true": {"true", "yes", "on"}, "false": {"false", "no", "off"}}[string(v)]
	if words != nil {
		return n.plain && slices.Contains(words, strings.ToLower(n.text))
	}
	number, err := strconv.ParseFloat(n.text, 64)
	wanted, _ := strconv.ParseFloat(string(v), 64)
	return n.plain && err == nil && number == wanted
}

// A yamlReader reads the YAML that people write at the beginning of files: mappings, lists and
// texts in all their forms. Anchors, aliases, tags, complex keys and what is rarer are errors.
type yamlReader struct {
	lines []string // what is left
	err   error    // the first one
}

func (r *yamlReader) failf(format string, values ...any) *yamlNode {
	if r.err == nil {
		r.err = fmt.Errorf("its frontmatter cannot be read: "+format, values...)
	}
	r.lines = nil
	return &yamlNode{}
}

// peek returns the next line that is neither blank nor a comment.
func (r *yamlReader) peek() (indent int, text string, ok bool) {
	for ; len(r.lines) > 0; r.lines = r.lines[1:] {
		text = strings.TrimSpace(r.lines[0])
		if text != "" && text[0] != '#' {
			return len(r.lines[0]) - len(strings.TrimLeft(r.lines[0], " ")), text, true
		}
	}
	return -1, "", false
}

func isYAMLItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// block reads the value in the next lines that are indented by at least so many blanks.
func (r *yamlReader) block(least int) *yamlNode {
	indent, text, ok := r.peek()
	switch {
	case !ok || indent < least:
		return &yamlNode{kind: '"', plain: true} // null
	case isYAMLItem(text):
		return r.list(indent)
	}
	if _, _, ok := r.key(text); ok {
		return r.mapping(indent)
	}
	r.lines = r.lines[1:]
	return r.value(text, least)
}

func (r *yamlReader) list(indent int) *yamlNode {
	n := &yamlNode{kind: '['}
	for at, text, ok := r.peek(); ok && at == indent && isYAMLItem(text); at, text, ok = r.peek() {
		r.lines[0] = strings.Repeat(" ", indent+1) + text[1:]
		n.items = append(n.items, r.block(indent+1))
	}
	return n
}

func (r *yamlReader) mapping(indent int) *yamlNode {
	n := &yamlNode{kind: '{', fields: map[string]*yamlNode{}}
	for at, text, ok := r.peek(); ok && at >= indent; at, text, ok = r.peek() {
		name, rest, is := r.key(text)
		if _, again := n.fields[name]; !is || again || at != indent {
			return r.failf("the line %q", text)
		}
		r.lines = r.lines[1:]
		if rest != "" {
			n.fields[name] = r.value(rest, indent+1)
		} else if at, text, _ := r.peek(); at == indent && isYAMLItem(text) {
			n.fields[name] = r.list(indent)
		} else {
			n.fields[name] = r.block(indent + 1)
		}
	}
	return n
}

// key splits a line NAME: REST. REST is empty if only a comment follows.
func (r *yamlReader) key(text string) (name, rest string, ok bool) {
	if text[0] == '"' || text[0] == '\'' {
		f := &yamlFlow{text: text}
		n := f.quoted()
		name, rest, ok = n.text, strings.TrimLeft(f.text, " "), !f.bad && strings.HasPrefix(strings.TrimLeft(f.text, " "), ":")
		rest = strings.TrimPrefix(rest, ":")
	} else if !strings.ContainsRune("[{|>&*!?%@`#", rune(text[0])) {
		name, rest, ok = strings.Cut(text+" ", ": ")
	}
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "#") {
		rest = ""
	}
	return strings.TrimRight(name, " "), rest, ok
}

// value reads a value that begins with this text. Its further lines are indented by at least so
// many blanks.
func (r *yamlReader) value(text string, least int) *yamlNode {
	switch text[0] {
	case '|', '>':
		return r.blockText(text, least)
	case '&', '*', '!', '%', '@', '`':
		return r.failf("%q", text)
	case '"', '\'', '[', '{':
		for r.fold(&text, least) {
		}
		f := &yamlFlow{text: text}
		n := f.value()
		if rest := strings.TrimLeft(f.text, " \n"); f.bad || rest != "" && rest[0] != '#' {
			return r.failf("%q", text)
		}
		return n
	}
	for !strings.Contains(text, " #") && r.fold(&text, least) {
	}
	text, _, _ = strings.Cut(text, " #")
	return &yamlNode{kind: '"', plain: true, text: strings.TrimSpace(text)}
}

// fold appends the next line of a text: a line end becomes a blank, and an empty line a line end.
func (r *yamlReader) fold(text *string, least int) bool {
	ends := ""
	for i, line := range r.lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "":
			ends += "\n"
			continue
		case len(line)-len(strings.TrimLeft(line, " ")) < least && trimmed[0] != ']' && trimmed[0] != '}':
			return false
		case ends == "":
			ends = " "
		}
		*text += ends + trimmed
		r.lines = r.lines[i+1:]
		return true
	}
	return false
}

// blockText reads a text after | or >.
func (r *yamlReader) blockText(head string, least int) *yamlNode {
	style, _, _ := strings.Cut(head, " #")
	style = strings.TrimSpace(style)
	folds, chomp, indent := style[0] == '>', style[1:], -1
	if chomp != "" && chomp != "-" && chomp != "+" {
		return r.failf("%q", head)
	}
	text, ends, wasDeep := "", "", true
	for ; len(r.lines) > 0; r.lines = r.lines[1:] {
		line := r.lines[0]
		at := len(line) - len(strings.TrimLeft(line, " "))
		if strings.TrimSpace(line) == "" {
			ends += "\n"
			continue
		}
		if indent < 0 {
			indent = max(at, least)
		}
		if at < indent {
			break
		}
		line = line[indent:]
		deep := line[0] == ' ' || line[0] == '\t'
		if folds && !deep && !wasDeep { // a single line end is a blank
			if ends = ends[1:]; ends == "" {
				ends = " "
			}
		}
		text, ends, wasDeep = text+ends+line, "\n", deep
	}
	switch {
	case chomp == "+":
		text += ends
	case chomp == "" && text != "":
		text += "\n"
	}
	return &yamlNode{kind: '"', text: text}
}

// A yamlFlow reads a value in quotes, brackets or braces.
type yamlFlow struct {
	text string // what is left
	bad  bool
}

func (f *yamlFlow) fail() *yamlNode {
	f.bad = true
	return &yamlNode{}
}

// skip skips blanks, and c if it follows.
func (f *yamlFlow) skip(c string) bool {
	f.text = strings.TrimLeft(f.text, " \n")
	rest, ok := strings.CutPrefix(f.text, c)
	f.text = rest
	return ok
}

func (f *yamlFlow) value() *yamlNode {
	switch f.skip(""); {
	case f.text == "":
		return f.fail()
	case f.text[0] == '"' || f.text[0] == '\'':
		return f.quoted()
	case f.skip("["):
		n := &yamlNode{kind: '['}
		for !f.bad && !f.skip("]") {
			n.items = append(n.items, f.value())
			f.next("]")
		}
		return n
	case f.skip("{"):
		n := &yamlNode{kind: '{', fields: map[string]*yamlNode{}}
		for !f.bad && !f.skip("}") {
			name := f.value().text
			if _, again := n.fields[name]; again || !f.skip(":") {
				return f.fail()
			}
			n.fields[name] = f.value()
			f.next("}")
		}
		return n
	}
	end := strings.IndexAny(f.text, ",[]{}")
	if end < 0 {
		return f.fail()
	}
	if colon := strings.Index(f.text[:end], ": "); colon >= 0 {
		end = colon
	}
	text := strings.TrimSpace(f.text[:end])
	f.text = f.text[end:]
	if strings.HasPrefix(text, "&") || strings.HasPrefix(text, "*") || strings.HasPrefix(text, "!") {
		return f.fail()
	}
	return &yamlNode{kind: '"', plain: true, text: text}
}

// next skips the comma between two elements.
func (f *yamlFlow) next(end string) {
	if f.skip(""); !f.bad && !strings.HasPrefix(f.text, end) && !f.skip(",") {
		f.bad = true
	}
}

// quoted reads a text in single quotes, or in double quotes with the escapes of JSON.
func (f *yamlFlow) quoted() *yamlNode {
	quote := f.text[0]
	for i := 1; i < len(f.text); i++ {
		switch c := f.text[i]; {
		case c == '\\' && quote == '"', c == quote && quote == '\'' && strings.HasPrefix(f.text[i+1:], "'"):
			i++
		case c == quote:
			text := f.text[1:i]
			f.text = f.text[i+1:]
			if quote == '\'' {
				return &yamlNode{kind: '"', text: strings.ReplaceAll(text, "''", "'")}
			}
			literal := []byte(`"` + strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text) + `"`)
			if jsontext.Check(literal, jsontext.Peer) != nil {
				return f.fail()
			}
			return &yamlNode{kind: '"', text: jsontext.Unquote(literal)}
		}
	}
	return f.fail()
}
