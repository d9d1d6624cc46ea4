package imports

import (
	"cmp"
	"slices"
	"strings"
)

func scriptGrammar() *grammar {
	return &grammar{
		parse: parseScript, header: scriptHeader, merge: mergeScript, has: hasScript, write: writeScript, form: "import { x } from './y.js'",
		rank: func(st *Statement) int {
			switch {
			case strings.HasPrefix(st.Module, "node:"):
				return 0
			case strings.HasPrefix(st.Module, "."), strings.HasPrefix(st.Module, "/"), strings.HasPrefix(st.Module, "@/"), strings.HasPrefix(st.Module, "~"), strings.HasPrefix(st.Module, "#"):
				return 2
			}
			return 1
		},
		keys: []func(*Statement) string{
			func(st *Statement) string { return strings.ToLower(st.Module) },
			func(st *Statement) string { return st.Module },
		},
	}
}

// parseScript reads the import statements of a text, and the declarations that require a
// module.
func parseScript(s *source) (all []Statement) {
	for n := 0; n < s.lines(); n++ {
		if !s.isOuter(n) {
			continue
		}
		line := s.line(s.mask, n)
		code := strings.TrimLeft(line, " \t\ufeff")
		from := s.starts[n] + len(line) - len(code)
		st, found := Statement{}, false
		switch word, rest := firstWord(code); {
		case word == "import" && rest != "" && strings.IndexByte(" \t{*\"'", rest[0]) >= 0 && !strings.HasPrefix(strings.TrimLeft(rest, " \t"), "("):
			st, found = s.scriptImport(from)
		case word == "const" || word == "let" || word == "var":
			st, found = s.scriptRequire(from, len(word))
		}
		if found {
			st.Top = true
			all = append(all, st)
			n = s.lineOf(st.To - 1)
		}
	}
	return all
}

// literal is the string literal that is the first one at an offset or behind it, before any
// of the texts in stops.
func (s *source) literal(from int, stops string) (open, shut int, found bool) {
	open = strings.IndexAny(string(s.mask[from:]), `"'`+stops)
	if open < 0 || strings.IndexByte(stops, s.mask[from+open]) >= 0 {
		return 0, 0, false
	}
	open += from
	length := strings.IndexByte(string(s.mask[open+1:]), s.mask[open])
	return open, open + 1 + length, length >= 0
}

// scriptImport reads the import statement at an offset.
func (s *source) scriptImport(from int) (st Statement, found bool) {
	open, shut, found := s.literal(from, ";`=")
	if !found {
		return st, false
	}
	st = Statement{From: from, To: shut + 1, Module: string(s.text[open+1 : shut])}
	clause := string(s.mask[from+len("import") : open])
	at := from + len("import")
	if trimmed := strings.TrimRight(clause, " \t\r\n"); strings.TrimSpace(clause) != "" {
		clause = strings.TrimSuffix(trimmed, "from")
		if clause == trimmed {
			return st, false
		}
	}
	rest := string(s.mask[shut+1 : s.lineEnd(s.lineOf(shut))])
	behind := strings.TrimLeft(rest, " \t")
	if strings.HasPrefix(behind, "with") || strings.HasPrefix(behind, "assert") {
		if end := strings.IndexByte(rest, '}'); end >= 0 {
			st.To += end + 1
			rest = rest[end+1:]
			st.form = odd
		}
	}
	if behind = strings.TrimLeft(rest, " \t"); strings.HasPrefix(behind, ";") {
		st.To += len(rest) - len(behind) + 1
		behind = behind[1:]
	}
	st.alone = strings.TrimSpace(behind) == ""
	if trimmed := strings.TrimLeft(clause, " \t\r\n"); strings.HasPrefix(trimmed, "type ") || strings.HasPrefix(trimmed, "type{") {
		st.Type = true
		at += len(clause) - len(trimmed) + len("type")
		clause = trimmed[len("type"):]
	}
	st.clause(clause, at)
	return st, true
}

// clause reads what a statement brings, of which the text stands at an offset.
func (st *Statement) clause(clause string, at int) {
	head, list, found := strings.Cut(clause, "{")
	if found {
		list = list[:max(0, strings.LastIndexByte(list, '}'))]
		start := at + len(head) + 1
		st.list = [2]int{start, start + len(list)}
		st.Names = listed(list, start, " as ")
	}
	for part := range strings.SplitSeq(head, ",") {
		part = strings.TrimSpace(part)
		if whole, isWhole := strings.CutPrefix(part, "*"); isWhole {
			st.Whole = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(whole), "as"))
		} else if part != "" {
			st.Default = part
		}
	}
}

// scriptRequire reads a declaration of what require gives.
func (s *source) scriptRequire(from, word int) (st Statement, found bool) {
	open, shut, found := s.literal(from, ";`")
	if !found {
		return st, false
	}
	code := string(s.mask[from+word : open])
	target, call, isAssigned := strings.Cut(code, "=")
	if !isAssigned || strings.Join(strings.Fields(call), "") != "require(" || !strings.HasPrefix(strings.TrimSpace(string(s.mask[shut+1:])), ")") {
		return st, false
	}
	end := shut + 1 + strings.IndexByte(string(s.mask[shut+1:]), ')') + 1
	rest := string(s.mask[end:s.lineEnd(s.lineOf(end-1))])
	behind := strings.TrimLeft(rest, " \t")
	st = Statement{From: from, To: end, Module: string(s.text[open+1 : shut]), shape: shape{form: require}}
	if strings.HasPrefix(behind, ";") {
		st.To += len(rest) - len(behind) + 1
		behind = behind[1:]
	}
	if st.alone = strings.TrimSpace(behind) == ""; !st.alone {
		return st, false // it is require("a").b, or more declarations
	}
	if strings.Contains(target, "{") {
		st.clause(strings.ReplaceAll(target, ":", " as "), from+word)
		for i := range st.Names { // the offsets behind a colon have moved
			st.Names[i].At = -1
		}
		if !strings.Contains(target, ":") {
			st.clause(target, from+word)
		}
	} else {
		st.Whole = strings.TrimSpace(target)
	}
	return st, true
}

func hasScript(there, new *Statement) bool {
	switch {
	case there.Module != new.Module, there.form == odd || new.form == odd, there.Type && !new.Type:
		return false
	case there.form != new.form && new.form == require:
		return false
	case len(new.Names) == 0 && new.Default == "" && new.Whole == "":
		return true
	}
	return (new.Default == "" || new.Default == there.Default) && (new.Whole == "" || new.Whole == there.Whole) && containsAll(there.Names, new.Names)
}

// mergeScript adds names to a statement of the same module.
func mergeScript(s *source, into, new *Statement) ([]byte, bool) {
	switch {
	case into.Module != new.Module, into.form != new.form, into.form == odd, into.Type != new.Type, !into.alone,
		len(new.Names) == 0, new.Whole != "", into.Whole != "", new.Default != "" && new.Default != into.Default:
		return nil, false
	case into.list != [2]int{} && slices.ContainsFunc(into.Names, func(n Name) bool { return n.At < 0 }):
		return nil, false
	case into.list != [2]int{}:
		return s.listedWith(into, new.Names, aliasMark(into)), true
	case into.Default == "" || into.form == require || into.Type:
		return nil, false
	}
	at := into.From + strings.Index(string(s.mask[into.From:into.To]), into.Default) + len(into.Default)
	return slices.Concat(s.text[:at], []byte(", { "+written(new.Names, " as ")+" }"), s.text[at:]), true
}

func aliasMark(st *Statement) string {
	if st.form == require {
		return ": "
	}
	return " as "
}

// A style is how the statements of a text are written.
type style struct{ quote, end, space string }

// styleOf is the style of most statements of a text; where there are none, that of the other
// code, and last that of the statement that is asked for.
func (s *source) styleOf(asked string) style {
	quotes, ends, spaces := 0, 0, 0
	count := func(n *int, is bool) {
		if *n--; is {
			*n += 2
		}
	}
	for _, there := range parseScript(s) {
		text := string(s.text[there.From:there.To])
		count(&quotes, strings.Contains(text, `"`))
		count(&ends, strings.HasSuffix(text, ";"))
		if there.list != [2]int{} && there.list[1] > there.list[0] {
			count(&spaces, strings.IndexByte(" \r\n", s.text[there.list[0]]) >= 0)
		}
	}
	quotes = cmp.Or(quotes, strings.Count(string(s.mask), `"`)-strings.Count(string(s.mask), "'"), strings.Count(asked, `"`)-1)
	for n := 0; ends == 0 && n < s.lines(); n++ {
		if line := strings.TrimSpace(s.line(s.mask, n)); line != "" && s.isOuter(n) {
			count(&ends, strings.HasSuffix(line, ";"))
		}
	}
	if ends == 0 {
		count(&ends, strings.HasSuffix(asked, ";"))
	}
	found := style{"'", "", " "}
	if quotes > 0 {
		found.quote = `"`
	}
	if ends > 0 {
		found.end = ";"
	}
	if spaces < 0 || spaces == 0 && !strings.Contains(asked, "{ ") && strings.Contains(asked, "{") {
		found.space = ""
	}
	return found
}

// writeScript writes a statement with the quotes, semicolons and spaces of the text.
func writeScript(s *source, st *Statement, asked string) string {
	by := s.styleOf(asked)
	var parts []string
	if st.Default != "" {
		parts = append(parts, st.Default)
	}
	if st.Whole != "" && st.form != require {
		parts = append(parts, "* as "+st.Whole)
	} else if st.Whole != "" {
		parts = append(parts, st.Whole)
	}
	if len(st.Names) > 0 {
		parts = append(parts, "{"+by.space+written(st.Names, aliasMark(st))+by.space+"}")
	}
	what, module := strings.Join(parts, ", "), by.quote+st.Module+by.quote
	switch {
	case st.form == require:
		word, _ := firstWord(asked)
		return word + " " + what + " = require(" + module + ")" + by.end
	case what == "":
		return "import " + module + by.end
	case st.Type:
		what = "type " + what
	}
	return "import " + what + " from " + module + by.end
}

// scriptHeader is the line behind the comments of the file and its directives, such as 'use
// strict'.
func scriptHeader(s *source) int {
	n := s.comments(0)
	for n < s.lines() {
		code := strings.Trim(strings.TrimSpace(s.line(s.mask, n)), ";")
		if len(code) < 2 || strings.Trim(code, `"' `) != "" {
			break
		}
		if n++; n < s.lines() && s.isBlank(n) {
			n++
		}
	}
	return n
}
