// Package trace passes on the trace that a run is part of, as the W3C Trace Context
// recommendation has it: whoever starts the run says in TRACEPARENT and TRACESTATE which
// trace, and which span in it, the run belongs to. A span is one piece of work.
package trace

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// Context is a span in a trace. The zero value is no trace.
type Context struct {
	id, span, flags string // lower-case hexadecimal
	state           string // of the participating systems; may be empty
}

// Parse reads a traceparent and a tracestate. As the recommendation requires, an invalid
// traceparent means no trace, and an invalid tracestate is ignored.
func Parse(parent, state string) Context {
	version, rest, _ := strings.Cut(parent, "-")
	id, rest, _ := strings.Cut(rest, "-")
	span, rest, _ := strings.Cut(rest, "-")
	flags, more, longer := strings.Cut(rest, "-")
	switch {
	case !isHex(version, 2), version == "ff", !isHex(id, 32), !isHex(span, 16), !isHex(flags, 2),
		strings.Trim(id, "0") == "", strings.Trim(span, "0") == "", version == "00" && (longer || more != ""):
		return Context{}
	}
	if len(state) > maxState || strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		state = ""
	}
	return Context{id, span, flags, strings.Trim(state, " ")}
}

// maxState is the longest tracestate that must be passed on.
const maxState = 512

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// ID is the id of the trace; "" for none.
func (c Context) ID() string { return c.id }

// Parent is the context as a traceparent; "" for no trace.
func (c Context) Parent() string {
	if c.id == "" {
		return ""
	}
	return "00-" + c.id + "-" + c.span + "-" + c.flags
}

// Child is a new span in the same trace, and its id; "" for no trace.
func (c Context) Child() (Context, string) {
	if c.id == "" {
		return c, ""
	}
	var span [8]byte
	rand.Read(span[:]) // never fails
	span[7] |= 1       // an id of zeros is invalid
	c.span = hex.EncodeToString(span[:])
	return c, c.span
}

// Meta is the context as members of _meta in a Model Context Protocol request (SEP-414), without
// braces; nil for no trace.
func (c Context) Meta() []byte {
	if c.id == "" {
		return nil
	}
	meta := `"traceparent":"` + c.Parent() + `"`
	if c.state != "" {
		meta += `,"tracestate":"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(c.state) + `"`
	}
	return []byte(meta)
}
