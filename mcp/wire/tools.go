package wire

import (
	"encoding/json"
)

// Tool is one tool of a server, as listed.
type Tool struct {
	Name         string
	Title        string
	Description  string
	InputSchema  json.RawMessage // the bytes that came
	OutputSchema json.RawMessage // nil when none
	Annotations  json.RawMessage // nil when none
	ReadOnly     bool            // readOnlyHint: a claim
}

// Progress of a running call.
type Progress struct {
	Progress, Total json.RawMessage // numbers as they came; nil when absent
	Message         string
}

// Result is what a tool answered.
type Result struct {
	IsError      bool
	Content      []Block
	Structured   json.RawMessage // structuredContent, nil when absent
	TextComplete bool            // the text says all of Structured; believed of a Server in this process only
	Raw          json.RawMessage // the whole content array as it came
}

// Block is one content block.
type Block struct {
	Type string // text, image, audio, resource_link, resource, or another
	Text []byte // text blocks: the JSON string literal as it came
	Raw  json.RawMessage
}

// CallError is a call that has no Result. Sent false: the server certainly did
// not get it, or answered with a JSON-RPC error (RPC true): the outcome is
// known. Sent true and RPC false: the outcome is unknown.
type CallError struct {
	Sent    bool
	RPC     bool
	Code    int // JSON-RPC error code when RPC
	Message string
	Cause   error // may be nil
}

func (e *CallError) Error() string { return e.Message }

func (e *CallError) Unwrap() error { return e.Cause }
