package stream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// maxLeftOut is how many tools are left out at most. A run without many of its tools is not the run
// that the user wants.
const maxLeftOut = 8

// names is a set of names of tools, which have no spaces. It can be compared.
type names string

func (n names) has(name string) bool { return slices.Contains(strings.Fields(string(n)), name) }

func withoutTools(r *Request, leftOut names) *Request {
	if leftOut == "" {
		return r
	}
	fewer := *r
	fewer.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t Tool) bool { return leftOut.has(t.Name) })
	return &fewer
}

// leaveOut leaves the tools that the refusal names out of all later requests, and reports whether it
// did. Otherwise one tool makes all others useless (anthropics/claude-code#58841).
func (x *exchange) leaveOut() bool {
	refused, o := x.refusal.refusedTools(x.request), &x.client.options
	if len(refused) == 0 || slices.ContainsFunc(refused, x.mustStay) || len(strings.Fields(string(o.refusedTools)))+len(refused) > maxLeftOut {
		return false
	}
	for _, t := range refused {
		o.refusedTools += names(t.Name + " ")
	}
	return true
}

// mustStay reports whether the user asks for a tool by its name.
func (x *exchange) mustStay(t Tool) bool {
	return t.Required || strings.Contains(paramOf(x.request, "tool_choice").Raw, strconv.Quote(t.Name))
}

// toolHint is the hint for a refusal of tools that are not left out.
func (x *exchange) toolHint(refused []Tool) string {
	hint := "the endpoint does not accept " + toolNames(refused)
	if i := slices.IndexFunc(refused, x.mustStay); i >= 0 {
		return fmt.Sprintf("%s; a run without it is possible if --tools and tool_choice do not name %s", hint, refused[i].Name)
	}
	return fmt.Sprintf("%s; at most %d tools are left out automatically, and --exclude-tools leaves out more", hint, maxLeftOut)
}

// toolNames is "the tool fs__read", or more names.
func toolNames(tools []Tool) string {
	var list []string
	for _, t := range tools {
		list = append(list, t.Name)
	}
	if len(list) == 1 {
		return "the tool " + list[0]
	}
	return "the tools " + strings.Join(list, ", ")
}

// refusedTools returns the tools of r that the refusal names, or, if it has no name, the tools at the
// indexes that it names. A refusal of a message, of tool_choice or of a field that all tools have may
// contain the name of a tool that is right.
func (f *refusal) refusedTools(r *Request) (refused []Tool) {
	if len(r.Tools) == 0 || f.says("tool_choice", "tool choice") || f.names("cache_control", "strict") {
		return nil
	}
	text := f.param + "\n" + f.words
	if !containsAny(text, "messages.", "messages[", "messages/", "input[", "tool_call", "tool call") {
		words := strings.FieldsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf || c != '-' && !isWord(byte(c)) })
		for _, t := range r.Tools {
			if slices.Contains(words, strings.ToLower(t.Name)) {
				refused = append(refused, t)
			}
		}
	}
	if refused != nil {
		return refused
	}
	indexes := toolIndexes(text)
	for i, t := range r.Tools {
		if slices.Contains(indexes, i) {
			refused = append(refused, t)
		}
	}
	return refused
}

// toolIndexes returns the indexes of tools in a text: tools[3].function, tools.3.custom and
// #/toolConfig/tools/3, "Tool 3 function" of SGLang, and Gemini's tools[0].function_declarations[3].
func toolIndexes(text string) (indexes []int) {
	for {
		at := strings.Index(text, "tool")
		if at < 0 {
			return indexes
		}
		inWord := at > 0 && isWord(text[at-1])
		text = text[at+len("tool"):]
		if inWord {
			continue
		}
		if rest, ok := strings.CutPrefix(text, " "); ok {
			if i, rest := leadingIndex(rest); i >= 0 && strings.HasPrefix(rest, " function") {
				indexes = append(indexes, i)
			}
			continue
		}
		path, ok := strings.CutPrefix(text, "s")
		if !ok {
			continue
		}
		index, path := indexInPath(path)
		for _, list := range []string{".function_declarations", ".functiondeclarations"} {
			if inner, ok := strings.CutPrefix(path, list); ok { // all in one tool, or each in its own
				if i, _ := indexInPath(inner); i >= 0 {
					index = max(index, 0) + i
				}
			}
		}
		if index >= 0 {
			indexes = append(indexes, index)
		}
	}
}

// indexInPath reads an index at the beginning of a path, such as [3], .3 or /3, and returns the rest of
// the path; -1 for none. AWS counts from 1 where it writes .3.member (BerriAI/litellm#19384).
func indexInPath(path string) (index int, rest string) {
	if path == "" || !strings.Contains("[./", path[:1]) {
		return -1, path
	}
	if index, rest = leadingIndex(path[1:]); index < 0 {
		return -1, path
	}
	rest = strings.TrimPrefix(rest, "]")
	if index > 0 && strings.HasPrefix(rest, ".member") {
		index--
	}
	return index, rest
}

// leadingIndex reads a number at the beginning of a text; -1 for none.
func leadingIndex(text string) (index int, rest string) {
	digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
	index, err := strconv.Atoi(digits)
	if err != nil {
		return -1, text
	}
	return index, text[len(digits):]
}

func (f *refusal) isAboutSchemas() bool {
	return f.names("parameters", "input_schema", "inputschema", "function_declarations") || f.says("schema", "json_schema", "properties", "grammar", "pattern")
}

// hasPlainer reports whether the plain form differs for a schema that the endpoint may have refused.
func hasPlainer(r *Request, f *refusal) bool {
	refused := f.refusedTools(r)
	if refused == nil {
		refused = r.Tools
	}
	return slices.ContainsFunc(refused, func(t Tool) bool { return !jsontext.Same(toolSchema(t.Schema, true), toolSchema(t.Schema, false)) })
}
