package toolbox

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/schema"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// A Tool is one tool of a server, and its name for the model.
type Tool struct {
	wire.Tool
	Conn      *Connection
	ModelName string
	Withheld  bool // denied with any arguments, so not offered
	changed   bool // the server has changed its definition
	approve.Traits
	pinned *LockItem // its item in the lock, if its server starts later
	far    *FarTool  // description from a toolpipe at a socket; nil for none
	added

	schemas struct {
		input, output compiled
		reported      atomic.Bool // a result did not fit
	}
}

// added says which tool of toolpipe itself a tool is.
type added struct {
	Reader bool // it reads the resources of its server, which does not list it; see OfferReaders
	Kept   bool // it reads the results that the model does not have whole; see OfferKept
}

// compiled is a schema that is compiled at its first use.
type compiled struct {
	once   sync.Once
	schema *schema.Schema // nil: unusable, so every value fits
}

func (c *compiled) faults(text, value []byte) []schema.Fault {
	c.once.Do(func() { c.schema, _ = schema.Compile(text) })
	if c.schema == nil {
		return nil
	}
	faults, _ := c.schema.Check(value)
	return faults
}

// Sent is the name of the tool in requests to its server.
func (t *Tool) Sent() string { return t.Conn.FarName(t.Name) }

func (t *Tool) passes(include, exclude []string) bool {
	return (len(include) == 0 || t.IsLike(include)) && !t.IsLike(exclude)
}

// IsLike reports whether a glob matches t's name: its name for the model or, so that a changed name
// does not prevent the exclusion of a tool, SERVER__TOOL as a user would write it.
func (t *Tool) IsLike(globs []string) bool {
	return config.MatchAny(globs, t.ModelName) || config.MatchAny(globs, t.Conn.Name+"__"+t.Name) ||
		t.Conn.Spelling != "" && config.MatchAny(globs, t.Conn.Spelling+"__"+t.Name)
}

// Call describes a call of t for approvals.
func (t *Tool) Call(args []byte) approve.Call {
	c := approve.Call{
		Server: t.Conn.Name, Spelling: t.Conn.Spelling, Tool: t.Name, Name: t.ModelName, Arguments: args, Annotations: t.Annotations,
		ReadOnly: t.OnlyReads(), Root: t.Conn.Root, Traits: t.Traits,
	}
	if t.Edits() {
		c.Change = func(ctx context.Context) (string, []string) {
			ctx, preview := confine.WithPreview(ctx)
			_, _ = t.Conn.Own.Call(ctx, t.Name, args, func(wire.Progress) {})
			return preview.Diff, t.InDiff()
		}
	}
	return c
}

// OnlyReads reports whether t only reads, according to a trusted server.
func (t *Tool) OnlyReads() bool { return t.ReadOnly && t.Conn.Trusted }

// definition is the definition of a built-in tool; empty for any other.
func (t *Tool) definition() *toolserver.Builtin {
	if t.Conn.Own == nil {
		return &toolserver.Builtin{}
	}
	return t.Conn.Own.Builtin(t.Name)
}

// Declares are the effects that a built-in tool declares; none for any other.
func (t *Tool) Declares() toolserver.Effects { return t.definition().Effects }

// Edits reports whether t is a built-in tool that changes files and can stage the change.
func (t *Tool) Edits() bool { return t.Declares().Writes }

// InDiff are the arguments that the diff already shows.
func (t *Tool) InDiff() []string {
	return t.definition().ParamNames(func(p toolserver.Parameter) bool { return p.InDiff })
}

// Scripts are the arguments that a shell executes.
func (t *Tool) Scripts() []string {
	if t.far != nil {
		return t.far.Scripts
	}
	return t.definition().ParamNames(func(p toolserver.Parameter) bool { return p.Script })
}

func (t *Tool) Locked() LockItem {
	if t.pinned != nil {
		return *t.pinned
	}
	return LockTool(t.Conn.Name, t.ModelName, &t.Tool)
}

func (t *Tool) ForModel() stream.Tool {
	schema, note := mcp.OfferedSchema(t.InputSchema)
	d := t.Description + note
	if t.Description != "" && note != "" {
		d = t.Description + "\n" + note
	}
	return stream.Tool{Name: t.ModelName, Description: d, Schema: schema}
}

// DefinitionSize is the approximate size of a tool in a request, in bytes.
func DefinitionSize(t stream.Tool) int { return len(t.Name) + len(t.Description) + len(t.Schema) }

// Misfit says how canonical arguments violate the tool's schema; "" if they match. With an unusable
// schema every call matches.
func (t *Tool) Misfit(args []byte) string {
	return schema.Text(t.schemas.input.faults(t.InputSchema, withoutNulls(args, jsontext.Strings(jsontext.Member(t.InputSchema, "required")))))
}

// MisfitAt is Misfit for a single argument, ignoring the others.
func (t *Tool) MisfitAt(key string, value []byte) string {
	faults := t.schemas.input.faults(t.InputSchema, append(jsontext.AppendMember([]byte{'{'}, key, value), '}'))
	return schema.Text(slices.DeleteFunc(faults, func(f schema.Fault) bool { return f.Path == "" }))
}

// MisfitOfResult says how the structured content of a result violates the tool's schema; "" if it
// fits. first is true for the first misfit of the tool.
func (t *Tool) MisfitOfResult(r *wire.Result) (text string, first bool) {
	if t.OutputSchema != nil && r.Structured != nil && !r.IsError {
		text = schema.Text(t.schemas.output.faults(t.OutputSchema, r.Structured))
	}
	return text, text != "" && !t.schemas.reported.Swap(true)
}

// withoutNulls removes members that are null and not required. Many models write null for an
// omitted parameter, and MCP lets clients send no header for it (SEP-2243).
func withoutNulls(args []byte, required []string) []byte {
	kept, left := []byte("{"), false
	for name, value := range jsontext.Members(args) {
		if string(value) == "null" && !slices.Contains(required, jsontext.Unquote(name)) {
			left = true
			continue
		}
		kept = jsontext.AppendMember(kept, jsontext.Unquote(name), value)
	}
	if !left {
		return args
	}
	return append(kept, '}')
}
