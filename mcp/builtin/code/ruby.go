package code

import (
	"bytes"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// rubyDefinitions returns the definitions of a Ruby text, in the order of their lines: its
// modules, classes, methods, constants, accessors and aliases. A definition that is never
// closed ends in the line open.
//
// It reads the mask of the text, in which comments and the insides of strings are blank. In a
// mask, a block opens with a word such as class, def, do or if, and closes with end. The
// parser checks only these words and knows no other syntax.
func rubyDefinitions(mask []byte, open int) []definition {
	p := &rubyParser{rubyCursor: rubyCursor{mask: mask, line: 1}, unclosed: open, begins: true}
	for p.at < len(mask) {
		p.token()
	}
	p.newLine(true)
	return p.found
}

type rubyCursor struct {
	mask     []byte
	at, line int
}

type rubyParser struct {
	rubyCursor
	unclosed int // the last line of a definition that is never closed

	last   byte // the last byte that is not white space; 0 at the beginning
	begins bool // a statement may begin here
	loop   bool // while, until or for began in this statement: its do opens no further block
	quoted bool // the mask is between the quotes of a string, or in code inside a string
	depth  int  // of open brackets
	open   []rubyBlock

	values []rubyValue // values that have not ended; the last is the innermost
	found  []definition
}

// A rubyValue is the code after the = of a constant, or of a method without end.
type rubyValue struct {
	definition int // its index
	outer      int // how many blocks and brackets were open before it
}

// A rubyBlock is open until its end.
type rubyBlock struct {
	definition int      // its index; -1 for a block that defines nothing
	names      []string // of the module or class
	scope      []string // for definitions inside it
	singleton  bool     // class << self: its methods are the object's methods
}

func (p *rubyParser) token() {
	c := p.mask[p.at]
	switch {
	case c == '\n':
		p.newLine(false)
		return
	case c == ' ', c == '\t', c == '\r':
		p.at++
		return
	case c-'0' < 10: // a number may have letters
		p.at += lexis.WordLen(p.mask[p.at:])
		p.last, p.begins = '0', false
		return
	case lexis.IsWord(c):
		p.word()
		return
	case c == '$' && p.at+1 < len(p.mask) && !lexis.IsWord(p.mask[p.at+1]) && p.mask[p.at+1] != '\n': // a variable such as $"
		p.at += 2
		p.last, p.begins = 'a', false
		return
	case strings.IndexByte("\"'`", c) >= 0:
		p.quoted = !p.quoted
	case strings.IndexByte("([{", c) >= 0:
		p.depth++
	case strings.IndexByte(")]}", c) >= 0:
		p.depth = max(p.depth-1, 0)
	}
	p.begins = strings.IndexByte(";({[=|&!,<>?:+-*/%^~", c) >= 0
	if c == ';' {
		p.loop = false
	}
	p.last = c
	p.at++
}

// newLine ends a line, and the values that do not continue on the next.
func (p *rubyParser) newLine(atEnd bool) {
	for n := len(p.values) - 1; n >= 0 && !p.quoted && len(p.open)+p.depth <= p.values[n].outer && (atEnd || !p.goesOn()); n-- {
		p.found[p.values[n].definition].End = p.line
		p.values = p.values[:n]
	}
	p.line++
	p.at++
	if p.depth == 0 || p.last == '|' {
		p.loop = false
	}
	p.begins = true
}

func (p *rubyParser) goesOn() bool {
	if strings.IndexByte("=+-*/%&|^?:<.\\,([{", p.last) >= 0 {
		return true
	}
	next := bytes.TrimLeft(p.mask[p.at:min(p.at+4<<10, len(p.mask))], " \t\r\n")
	return len(next) > 1 && (next[0] == '.' && next[1] != '.' || next[0] == '&' && next[1] == '.')
}

// word reads a word that may open or close a block.
func (p *rubyParser) word() {
	begins, before := p.begins, p.last
	direct := p.at > 0 && p.mask[p.at-1] == before
	word := p.name()
	p.last, p.begins = 'a', false
	isPart := direct && (before == '.' || before == '@' || before == '$' || before == ':' && (p.at < len(word)+2 || p.mask[p.at-len(word)-2] != ':'))
	isKey := p.at+1 < len(p.mask) && p.mask[p.at] == ':' && p.mask[p.at+1] != ':' && before != '?'
	if isPart || isKey {
		return
	}
	switch word {
	case "module", "class":
		if begins {
			p.module(word)
		}
	case "def":
		p.method()
	case "begin", "case":
		p.push(rubyBlock{definition: -1})
		p.begins = true
	case "if", "unless":
		if begins {
			p.push(rubyBlock{definition: -1})
		}
		p.begins = true
	case "while", "until", "for":
		if begins {
			p.push(rubyBlock{definition: -1})
			p.loop = true
		}
		p.begins = true
	case "do":
		if !p.loop {
			p.block()
		}
		p.begins, p.loop = true, false
	case "end":
		p.pop()
	case "then", "else", "ensure", "and", "or", "not":
		p.begins = true
	case "attr_reader", "attr_writer", "attr_accessor", "attr":
		if begins {
			p.accessors(word)
		}
	case "alias", "alias_method":
		if begins {
			p.symbols(1, func(name string) { p.member(name, "alias") })
		}
	default:
		if begins && word[0] >= 'A' && word[0] <= 'Z' {
			p.assignment(word)
		}
	}
}

// name reads a word, including a final ? or !.
func (p *rubyParser) name() string {
	from := p.at
	p.at += lexis.WordLen(p.mask[p.at:])
	if p.at+1 < len(p.mask) && (p.mask[p.at] == '?' || p.mask[p.at] == '!') && p.mask[p.at+1] != '=' {
		p.at++
	}
	return string(p.mask[from:p.at])
}

// block opens the block of a call. The block of Name = Struct.new do has methods of Name.
func (p *rubyParser) block() {
	b := rubyBlock{definition: -1}
	if n := len(p.values) - 1; n >= 0 && p.values[n].outer == len(p.open)+p.depth && p.found[p.values[n].definition].Kind == "constant" {
		b.names = []string{p.found[p.values[n].definition].Name}
	}
	p.push(b)
}

// maxRubyScope limits the names of a scope.
const maxRubyScope = 100

func (p *rubyParser) push(b rubyBlock) {
	b.scope = p.scope()
	if len(b.names) > 0 && len(b.scope) < maxRubyScope {
		b.scope = append(slices.Clip(b.scope), b.names...)
	}
	p.open = append(p.open, b)
}

func (p *rubyParser) pop() {
	n := len(p.open) - 1
	if n < 0 {
		return
	}
	if at := p.open[n].definition; at >= 0 {
		p.found[at].End = p.line
	}
	p.open = p.open[:n]
}

func (p *rubyParser) scope() []string {
	if n := len(p.open); n > 0 {
		return slices.Clip(p.open[n-1].scope)
	}
	return nil
}

func (p *rubyParser) define(name, kind string, scope []string) int {
	p.found = append(p.found, definition{Name: name, Kind: kind, Scope: strings.Join(scope, "."), Line: p.line, End: p.unclosed})
	return len(p.found) - 1
}

func (p *rubyParser) blanks() {
	p.at = len(p.mask) - len(bytes.TrimLeft(p.mask[p.at:], " \t"))
}

// path reads names with :: between.
func (p *rubyParser) path() (names []string) {
	for p.at < len(p.mask) {
		switch {
		case bytes.HasPrefix(p.mask[p.at:], []byte("::")):
			p.at += 2
		case lexis.IsWord(p.mask[p.at]):
			names = append(names, p.name())
		default:
			return names
		}
	}
	return names
}

// module reads the head of a module or class. class << object defines nothing.
func (p *rubyParser) module(kind string) {
	p.blanks()
	names := p.path()
	if len(names) == 0 {
		p.push(rubyBlock{definition: -1, singleton: true})
		return
	}
	last := len(names) - 1
	at := p.define(names[last], kind, append(p.scope(), names[:last]...))
	p.push(rubyBlock{definition: at, names: names})
	p.blanks()
	if p.at < len(p.mask) && p.mask[p.at] == '<' {
		p.at++
		p.blanks()
		if parent := p.path(); len(parent) > 0 {
			p.found[at].Parents = []string{strings.Join(parent, "::")}
		}
	}
}

// rubyOperators are the method names that are not words. Longer ones come first.
var rubyOperators = [...]string{"[]=", "[]", "<=>", "===", "==", "=~", "!=", "!~", "!", "**", "*", "+@", "+", "-@", "-", "/", "%", "<<", "<=", "<", ">>", ">=", ">", "~", "^", "&", "|", "``", "`"}

// method reads the head of a method up to its parameters. If = follows the head, the method
// has no end.
func (p *rubyParser) method() {
	p.blanks()
	for p.at < len(p.mask) && p.mask[p.at] == '@' { // of the object in a variable
		p.at++
	}
	name, kind := p.methodName(), "method"
	if n := len(p.open); n > 0 && p.open[n-1].singleton {
		kind = "singletonMethod"
	}
	if p.at < len(p.mask) && p.mask[p.at] == '.' && name != "" {
		p.at++
		kind = "singletonMethod"
		name = p.methodName()
	}
	if name == "" {
		p.push(rubyBlock{definition: -1})
		return
	}
	at := p.define(name, kind, p.scope())
	p.blanks()
	if p.at < len(p.mask) && p.mask[p.at] == '(' {
		p.brackets()
		p.blanks()
	}
	if rest := p.mask[p.at:]; len(rest) > 1 && rest[0] == '=' && rest[1] != '=' && rest[1] != '~' {
		p.at++
		p.last, p.begins = '=', true
		p.values = append(p.values, rubyValue{at, len(p.open) + p.depth})
		return
	}
	p.push(rubyBlock{definition: at})
}

// methodName reads the name of a method: a word, optionally with ?, ! or =, or an operator.
func (p *rubyParser) methodName() string {
	if p.at < len(p.mask) && lexis.IsWord(p.mask[p.at]) {
		name := p.name()
		rest := p.mask[p.at:]
		if len(rest) > 1 && rest[0] == '=' && strings.IndexByte("( \t\n", rest[1]) >= 0 {
			p.at++
			name += "="
		}
		return name
	}
	for _, operator := range rubyOperators {
		if bytes.HasPrefix(p.mask[p.at:], []byte(operator)) {
			p.at += len(operator)
			return operator
		}
	}
	return ""
}

func (p *rubyParser) brackets() {
	for depth := 0; p.at < len(p.mask); {
		switch p.mask[p.at] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				p.at++
				return
			}
		case '\n':
			p.line++
		}
		p.at++
	}
}

func (p *rubyParser) assignment(word string) {
	names := append([]string{word}, p.path()...)
	to := p.at
	p.blanks()
	rest := bytes.TrimPrefix(p.mask[p.at:], []byte("||"))
	if len(rest) < 2 || rest[0] != '=' || strings.IndexByte("=~>", rest[1]) >= 0 {
		p.at = to
		return
	}
	last := len(names) - 1
	at := p.define(names[last], "constant", append(p.scope(), names[:last]...))
	p.values = append(p.values, rubyValue{at, len(p.open) + p.depth})
}

func (p *rubyParser) accessors(word string) {
	p.symbols(100, func(name string) {
		if word != "attr_writer" {
			p.member(name, "accessor")
		}
		if word == "attr_writer" || word == "attr_accessor" {
			p.member(name+"=", "accessor")
		}
	})
}

// member defines a name that ends in its line.
func (p *rubyParser) member(name, kind string) { p.found[p.define(name, kind, p.scope())].End = p.line }

// symbols reads names with commas between, such as :a, :b or a, and visits at most most of
// them.
func (p *rubyParser) symbols(most int, visit func(name string)) {
	for range most {
		p.blanks()
		if p.at < len(p.mask) && p.mask[p.at] == ':' {
			p.at++
		}
		name := p.methodName()
		if name == "" {
			return
		}
		visit(name)
		p.last = 'a'
		p.blanks()
		if p.at == len(p.mask) || p.mask[p.at] != ',' {
			return
		}
		p.at++
		p.last = ','
		if p.blanks(); p.at < len(p.mask) && p.mask[p.at] == '\n' {
			p.newLine(false)
		}
	}
}
