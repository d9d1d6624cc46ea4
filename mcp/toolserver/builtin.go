package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// A Parameter is one argument of a built-in tool. Its kind is a JSON Schema type, or
// "strings" for an array of strings.
type Parameter struct {
	Name, Kind, About string
	Required          bool
	InDiff            bool // the diff of the change shows the argument, so a question leaves it out
	Script            bool // a shell runs the argument
}

// A Builtin is one built-in tool. It declares everything that other packages know about the
// tool: no other package lists tools.
type Builtin struct {
	Name, About string
	Params      []Parameter
	Annotations string // a JSON object
	Effects     Effects
}

// Effects declare what the calls of a built-in tool may do, and what its results may contain.
// The zero value declares nothing: such a tool counts as able to do everything.
type Effects struct {
	None bool // none of the effects below

	Reads, Writes bool   // files; a change can be shown before it is made, and staged
	Path          string // the argument with the file or directory; if absent, the root
	To            string // the argument with a second file; "" for none
	Shows         bool   // it writes, and the answer shows old content of the file
	Opens         bool   // its answer is a file: a rule that denies the tool a path denies the path to every tool that reads

	Runs bool   // programs that the arguments name, in the sandbox if there is one
	Dir  string // the argument with the working directory; if absent, the root

	Sends       bool   // data to somebody else
	Destination string // the argument with the receiver

	Private, Untrusted bool // its results may contain private data, or text from outsiders
}

func Define(name, about, annotations string, effects Effects, params ...Parameter) *Builtin {
	return &Builtin{Name: name, About: about, Params: params, Annotations: annotations, Effects: effects}
}

const (
	ReadsOnly = `{"readOnlyHint":true,"openWorldHint":false}`
	Adds      = `{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}`
	Destroys  = `{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":false}`
	RunsFree  = `{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}`
	Fetches   = `{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":true}`
)

// Tool is the definition that a client lists. A tool without declared effects claims nothing
// about itself.
func (t *Builtin) Tool() wire.Tool {
	annotations := t.Annotations
	if t.Effects == (Effects{}) {
		annotations = RunsFree
	}
	return wire.Tool{Name: t.Name, Description: t.About, InputSchema: t.schema(), Annotations: json.RawMessage(annotations), ReadOnly: annotations == ReadsOnly}
}

// ParamNames are the names of the parameters for which are returns true.
func (t *Builtin) ParamNames(are func(Parameter) bool) (names []string) {
	for _, p := range t.Params {
		if are(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

func (t *Builtin) schema() json.RawMessage {
	b := append(make([]byte, 0, 768), `{"type":"object","properties":{`...)
	var required []byte
	for i, p := range t.Params {
		if i > 0 {
			b = append(b, ',')
		}
		kind := `"` + p.Kind + `"`
		if p.Kind == "strings" {
			kind = `"array","items":{"type":"string"}`
		}
		b = fmt.Appendf(b, `%s:{"type":%s,"description":%s}`, jsontext.Quoted(p.Name), kind, jsontext.Quoted(p.About))
		if p.Required {
			required = jsontext.AppendQuoted(append(required, ','), p.Name)
		}
	}
	b = append(b, '}')
	if required != nil {
		b = fmt.Appendf(b, `,"required":[%s]`, required[1:])
	}
	return append(b, `,"additionalProperties":false}`...)
}

// A BuiltinFunc is a ToolFunc with checked arguments.
type BuiltinFunc = func(ctx context.Context, args Arguments, progress func(wire.Progress)) (*wire.Result, error)

func (s *Server) AddBuiltin(t *Builtin, run BuiltinFunc) {
	s.Add(t.Tool(), func(ctx context.Context, raw json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
		args, err := t.Read(raw)
		if err != nil {
			return nil, err
		}
		return run(ctx, args, progress)
	})
	s.tools[len(s.tools)-1].builtin = t
}

// Builtin is the definition of a built-in tool of the server. For any other name it is empty
// and declares nothing.
func (s *Server) Builtin(name string) *Builtin {
	for i := range s.tools {
		if s.tools[i].tool.Name == name && s.tools[i].builtin != nil {
			return s.tools[i].builtin
		}
	}
	return &Builtin{}
}

func (s *Server) Builtins() (all []*Builtin) {
	for _, o := range s.tools {
		if o.builtin != nil {
			all = append(all, o.builtin)
		}
	}
	return all
}

// Runs reports whether a built-in tool of the server runs programs from its arguments.
func (s *Server) Runs() bool {
	return slices.ContainsFunc(s.tools, func(o offered) bool { return o.builtin != nil && o.builtin.Effects.Runs })
}
