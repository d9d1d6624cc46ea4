package config

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// Trace is the place of a run in a trace, by the W3C Trace Context recommendation: the program
// that starts the run gives, in TRACEPARENT and TRACESTATE, the trace and the span in it that
// the run belongs to. A span is one piece of work. The zero value is no trace.
type Trace struct {
	id, span, flags string // lower-case hexadecimal
	state           string // of the participating systems; may be empty
}

// ParseTrace reads a traceparent and a tracestate. As the recommendation requires, an invalid
// traceparent means no trace, and an invalid tracestate is ignored.
func ParseTrace(parent, state string) Trace {
	version, rest, _ := strings.Cut(parent, "-")
	id, rest, _ := strings.Cut(rest, "-")
	span, rest, _ := strings.Cut(rest, "-")
	flags, more, longer := strings.Cut(rest, "-")
	switch {
	case !isHexOf(version, 2), version == "ff", !isHexOf(id, 32), !isHexOf(span, 16), !isHexOf(flags, 2),
		strings.Trim(id, "0") == "", strings.Trim(span, "0") == "", version == "00" && (longer || more != ""):
		return Trace{}
	}
	if len(state) > maxTraceState || strings.ContainsFunc(state, func(r rune) bool { return r < ' ' || r > '~' }) {
		state = ""
	}
	return Trace{id, span, flags, strings.Trim(state, " ")}
}

// maxTraceState is the longest tracestate that must be passed on.
const maxTraceState = 512

func isHexOf(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// ID is the id of the trace; "" for none.
func (c Trace) ID() string { return c.id }

// Parent is the context as a traceparent; "" for no trace.
func (c Trace) Parent() string {
	if c.id == "" {
		return ""
	}
	return "00-" + c.id + "-" + c.span + "-" + c.flags
}

// Child is a new span in the same trace, and its id; "" for no trace.
func (c Trace) Child() (Trace, string) {
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
func (c Trace) Meta() []byte {
	if c.id == "" {
		return nil
	}
	meta := `"traceparent":"` + c.Parent() + `"`
	if c.state != "" {
		meta += `,"tracestate":"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(c.state) + `"`
	}
	return []byte(meta)
}
