package wire

import (
	"encoding/json"
	"slices"

	"toolpipe/stream/text/jsontext"
)

// Tool is one tool of a server, as listed.
type Tool struct {
	Name         string
	Title        string
	Description  string
	InputSchema  json.RawMessage // the bytes that came
	OutputSchema json.RawMessage // nil when none
	Annotations  json.RawMessage // nil when none
	Meta         json.RawMessage // _meta, nil when none
	ReadOnly     bool            // readOnlyHint, which the server claims
	TaskOnly     bool            // 2025-11-25: execution.taskSupport is required, a call must ask for a task
}

// ForPages reports whether only the pages that the host shows may call the tool, and no
// model: hiding it is the host's duty (SEP-1865 of the Model Context Protocol).
func (t *Tool) ForPages() bool {
	visibility := jsontext.Member(t.Meta, "ui", "visibility")
	return jsontext.Kind(visibility) == '[' && !slices.Contains(jsontext.Strings(visibility), "model")
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
	TextComplete bool            // the text blocks say all that Structured does
	Raw          json.RawMessage // the whole content array as it came
	Meta         json.RawMessage // _meta, nil when none
}

// Block is one content block.
type Block struct {
	Type string // text, image, audio, resource_link, resource, or another
	Text []byte // text blocks: the JSON string literal as it came
	Raw  json.RawMessage
}
