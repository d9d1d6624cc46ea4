package code

import (
	"bytes"
	"slices"

	"toolpipe/mcp/builtin/code/lexis"
)

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
