package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// addMissed adds definitions that ctags 5.9 does not see. In JavaScript and TypeScript:
// everything after syntax that it does not know (field: Map<K, V>, overloads, lines without
// semicolons), all but one definition of a name, and assigned functions. In Rust: constants
// and macros. In Java: records, and definitions in an anonymous class or in a function. In
// Python: everything after an unclosed bracket, and names with a type. In C: macros that
// several branches of #if define. defs are in order, with their lines set.
func (l *layout) addMissed(defs []definition) []definition {
	if !l.language.Is("JavaScript", "TypeScript", "Rust", "Python", "Java", "C", "C++") {
		return defs
	}
	h := &heads{layout: l}
	for n, rest := 1, defs; n <= l.lines(); n++ {
		for len(h.around) > 0 && h.around[len(h.around)-1].lastLine() < n {
			h.around = h.around[:len(h.around)-1]
		}
		from := len(h.all)
		h.line = n
		for len(rest) > 0 && rest[0].Line == n {
			if d := rest[0]; !h.isInvented(&d) && !h.isLocal(&d) {
				h.add(d)
			}
			rest = rest[1:]
		}
		for _, d := range h.find() {
			isSame := func(other definition) bool { // with or without the # of a private member
				return strings.TrimLeft(other.Name, "#") == strings.TrimLeft(d.Name, "#")
			}
			if !h.isLocal(&d) && !slices.ContainsFunc(h.all[from:], isSame) {
				l.extend(&d)
				h.add(d)
			}
		}
	}
	return h.all
}

// heads finds the definitions that begin in a line by their heads. It knows only the syntax
// that separates a definition from other code.
type heads struct {
	*layout
	line   int
	all    []definition
	around []definition // the definitions around the line; the last is the innermost
	body   body         // of the innermost type, from inType
}

type body struct {
	name    string
	line    int
	bracket int32 // as in a level
}

func (h *heads) add(d definition) { h.all, h.around = append(h.all, d), append(h.around, d) }

// isLocal reports whether a variable that is not a function is inside a function, or inside
// another variable, which then is a function: const f = () => { ... }.
func (h *heads) isLocal(d *definition) bool {
	if d.Kind != "constant" && d.Kind != "variable" || len(h.around) == 0 {
		return false
	}
	outer := &h.around[len(h.around)-1]
	if outer.Line == d.Line || isType(outer.Kind) || outer.Kind == "namespace" || outer.Kind == "implementation" {
		return false
	}
	return !h.language.Is("JavaScript", "TypeScript") || !h.isFunctionVariable(h.nameEnd(d))
}

// isInvented reports whether ctags 5.9 took other code for a definition, or gave it another
// name than the text: a function without a name, the type of an import, the variable of a
// loop.
func (h *heads) isInvented(d *definition) bool {
	switch {
	case h.language.Is("C", "C++", "Python"):
		return false
	case h.language.Is("Rust"):
		return d.Name[0] == '$' || h.wordBefore(d) == "static" && bytes.HasSuffix(h.before(d), []byte("'static"))
	case h.nameAt(h.layout.line(h.text, h.line), []byte(strings.Trim(d.Name, "#")), 0) < 0:
		return true
	case h.language.Is("Java"):
		n := len(h.all)
		isConstant := n > 0 && h.all[n-1].Kind == "enumConstant" && h.all[n-1].Name == d.Name && h.all[n-1].Line == d.Line // with arguments and a body
		return d.Kind == "method" && (isConstant || h.wordBefore(d) == "record")
	}
	next := h.at(h.pass(h.nameEnd(d), whiteSpace))
	line := h.layout.line(h.mask, h.line)
	switch d.Kind {
	case "class":
		return h.isNoClass(d)
	case "property":
		return bytes.Contains(h.layout.line(h.text, h.line), []byte(`\`+d.Name))
	case "alias":
		return next != '=' && next != '<'
	case "method":
		return slices.Contains(notNames, d.Name) && !h.inType()
	case "constant", "variable":
		if end := h.nameEnd(d); h.behindPattern(end) != end || h.isInside(d) && wordAt(line, []byte("for"), 0) >= 0 {
			return true // pattern finds the names in { }
		}
		before := h.wordBefore(d)
		return before != "const" && before != "let" && before != "var" && (h.isInside(d) || !bytes.HasSuffix(h.before(d), []byte(",")))
	}
	return false
}

// isNoClass sets the real kind of a JavaScript class: ctags 5.9 also reports functions and
// objects with members as classes. It returns true if it is none of these.
func (h *heads) isNoClass(d *definition) bool {
	at := h.pass(h.nameEnd(d), whiteSpace+"\"'")
	opens := h.at(h.pass(at+1, whiteSpace)) == '{'
	line := h.layout.line(h.mask, h.line)
	switch {
	case wordAt(line, []byte("class"), 0) >= 0:
		return false
	case h.at(at) == '=' && opens && h.inType():
		d.Kind = "field"
	case h.at(at) == '=' && opens && h.wordBefore(d) == "const":
		d.Kind = "constant"
	case h.at(at) == '=' && opens:
		d.Kind = "variable"
	case h.at(at) == ':' && opens:
		d.Kind = "property"
	case h.wordBefore(d) == "function", h.at(at) == '=' && wordAt(line, []byte("function"), 0) >= 0:
		d.Kind = "function"
	default:
		return true
	}
	h.extend(d)
	return false
}

// before is the code before the name of a definition, without trailing white space.
func (l *layout) before(d *definition) []byte {
	end := max(0, l.nameEnd(d)-len(d.Name))
	return bytes.TrimRight(l.mask[max(0, end-maxLooked):end], whiteSpace)
}

func (l *layout) wordBefore(d *definition) string { return lexis.LastWord(l.before(d)) }

// inType reports whether the line is directly in the body of the innermost type.
func (h *heads) inType() bool {
	n := len(h.around)
	if n == 0 || !isType(h.around[n-1].Kind) {
		return false
	}
	if h.body.line != h.around[n-1].Line || h.body.name != h.around[n-1].Name {
		head := h.head(&h.around[n-1])
		h.body = body{name: h.around[n-1].Name, line: h.around[n-1].Line}
		if head.open == "{" {
			h.body.bracket = int32(head.end)
		}
	}
	return h.body.bracket > 0 && h.level(h.line).bracket == h.body.bracket
}

func (h *heads) find() []definition {
	if !h.code(h.line) {
		return nil
	}
	text := h.layout.line(h.mask, h.line)
	text = text[:min(len(text), maxLooked)]
	switch {
	case h.language.Is("JavaScript", "TypeScript"):
		return h.script()
	case h.language.Is("Java"):
		return h.java(text)
	case h.language.Is("Python"):
		return h.python(text)
	case h.language.Is("Rust"):
		return h.rust(text)
	}
	return h.macro(text)
}

// found is the definition of a name in the line, with its scope.
func (h *heads) found(kind, name string) []definition {
	d := definition{Name: name, Kind: kind, Line: h.line}
	n := len(h.around)
	for n > 0 && h.around[n-1].Line == h.line && (h.around[n-1].Kind == "variable" || h.around[n-1].Kind == "constant") {
		n-- // it is next to it, as in a = b = c
	}
	if n > 0 {
		d.Scope = h.around[n-1].fullName()
	}
	return []definition{d}
}

func (h *heads) macro(text []byte) []definition {
	text, isDirective := bytes.CutPrefix(trim(text), []byte("#"))
	if !isDirective || h.states[h.line-1].Part != lexis.Code || h.line > 1 && h.joinsNext(h.line-1) {
		return nil
	}
	word, rest := cutWord(text)
	if name, _ := cutWord(rest); word == "define" && name != "" {
		return []definition{{Name: name, Kind: "macro", Line: h.line, End: h.directiveEnd(h.line)}}
	}
	return nil
}

func (h *heads) rust(text []byte) []definition {
	for {
		word, rest := cutWord(text)
		name, _ := cutWord(rest)
		switch word {
		case "pub", "unsafe", "extern", "async", "default":
			if text = rest; len(text) > 0 && (text[0] == '(' || text[0] == '"') { // pub(crate), extern "C"
				text = text[1+max(0, bytes.IndexAny(text[1:], `)"`)+1):]
			}
			continue
		case "const":
			if slices.Contains([]string{"fn", "unsafe", "extern", "async"}, name) {
				text = rest
				continue
			}
			return h.found("constant", name)
		case "static":
			if name == "mut" {
				name, _ = cutWord(rest[len("mut"):])
			}
			return h.found("variable", name)
		case "fn":
			return h.found("function", name)
		case "macro_rules":
			return h.found("macro", name)
		}
		return nil
	}
}

// python finds classes and functions, and names that a statement of a module or a class
// assigns or gives a type.
func (h *heads) python(text []byte) []definition {
	word, rest := cutWord(text)
	if word == "async" {
		word, rest = cutWord(rest)
	}
	name, _ := cutWord(rest)
	switch {
	case h.unit(h.line).first != h.line:
		return nil
	case word == "class" && name != "":
		return h.found("class", name)
	case word == "def" && name != "" && len(h.around) > 0 && h.around[len(h.around)-1].Kind == "class":
		return h.found("method", name)
	case word == "def" && name != "":
		return h.found("function", name)
	case h.level(h.line).bracket > 0, word == "", word == "else", word == "try", word == "finally", word == "except", word == "lambda":
		return nil
	case bytes.HasPrefix(rest, []byte(":")) && !bytes.HasPrefix(rest, []byte(":=")):
		return h.found("variable", word)
	}
	var all []definition
	for word != "" && len(rest) > 1 && rest[0] == '=' && rest[1] != '=' { // a = b = value
		all = append(all, h.found("variable", word)...)
		word, rest = cutWord(rest[1:])
	}
	return all
}

// cutWord splits the name at the beginning off a text, and removes white space around it.
func cutWord(text []byte) (word string, rest []byte) {
	text = bytes.TrimLeft(text, blanks+"*")
	n := 0
	for n < len(text) && (lexis.IsWord(text[n]) || text[n] == '$' || text[n] == '#') {
		n++
	}
	return string(text[:n]), bytes.TrimLeft(text[n:], blanks+"\r?!")
}

// java finds records and local types, functions with a body, also in anonymous classes, and
// the fields of types found.
func (h *heads) java(text []byte) []definition {
	if kind, name := h.javaType(text); kind != "" {
		return h.found(kind, name)
	}
	begin := h.starts[h.line-1]
	for i := 0; i < len(text); i++ {
		if !lexis.IsWord(text[i]) {
			continue
		}
		from := i
		i += lexis.WordLen(text[i:])
		if kind := h.javaMember(begin+from, begin+i); kind != "" {
			return h.found(kind, string(text[from:i]))
		}
	}
	return nil
}

func (h *heads) javaType(text []byte) (kind, name string) {
	for {
		word, rest := cutWord(text)
		next, behind := cutWord(rest)
		switch word {
		case "public", "private", "protected", "static", "final", "abstract", "sealed", "strictfp":
			text = rest
			continue
		case "class", "enum", "interface":
			return word, next
		case "record":
			if len(behind) > 0 && (behind[0] == '(' || behind[0] == '<') && next != "" {
				return "record", next
			}
		}
		return "", ""
	}
}

// notTypes are words that a name may follow although they are no types.
var notTypes = []string{"return", "throw", "new", "else", "case", "yield", "assert", "do", "instanceof", "extends", "implements", "throws", "import", "package", "goto", "break", "continue", "permits", "default"}

// notNames are words that a bracket may follow although they are no names.
var notNames = []string{"if", "while", "for", "switch", "synchronized", "catch", "try", "new", "return", "throw", "super", "this", "do", "else"}

// javaMember is the kind of the definition with a name between the offsets; "" for none. A
// method has a type or modifier before its name, and parameters and a body after it. A
// record's constructor may have only a body. A field has a value and is in the body of a
// type.
func (h *heads) javaMember(from, to int) string {
	before := bytes.TrimRight(h.mask[max(0, from-maxLooked):from], whiteSpace)
	if len(before) == 0 || slices.Contains(notNames, string(h.mask[from:to])) {
		return ""
	}
	word := lexis.LastWord(before)
	last := before[len(before)-1]
	isTyped := word != "" && !slices.Contains(notTypes, word) || last == '>' && !bytes.HasSuffix(before, []byte("->")) || last == ']'
	if isTyped && lexis.IsWord(last) && bytes.HasSuffix(before[:len(before)-len(word)], []byte("@")) {
		isTyped = false // after an annotation, as in @Override foo() before a constructor
	}
	next := h.behind(to, whiteSpace)
	switch {
	case next == '(' && (isTyped || h.inRecord(from, to)):
		at := to + bytes.IndexByte(h.mask[to:], '(')
		other, _ := h.partner(at)
		if other < 0 {
			return ""
		}
		rest := bytes.TrimLeft(h.mask[other+1:min(other+1+maxLooked, len(h.mask))], whiteSpace)
		if behind, _ := cutWord(rest); behind == "throws" || len(rest) > 0 && rest[0] == '{' {
			return "method"
		}
	case next == '{' && h.inRecord(from, to):
		return "method"
	case (next == '=' || next == ';' || next == ',') && isTyped && h.inType():
		return "field"
	}
	return ""
}

// inRecord reports whether a name is the name of the record or class around the line; then it
// begins a constructor.
func (h *heads) inRecord(from, to int) bool {
	return h.inType() && h.around[len(h.around)-1].Name == string(h.mask[from:to])
}
