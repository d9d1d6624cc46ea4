package code

import (
	"bytes"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

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
