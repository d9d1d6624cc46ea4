package wire

import (
	"encoding/json"
	"slices"

	"toolpipe/stream/text/jsontext"
)

type Tool struct {
	Name         string
	Title        string
	Description  string
	InputSchema  json.RawMessage // as received
	OutputSchema json.RawMessage // nil when none
	Annotations  json.RawMessage // nil when none
	Meta         json.RawMessage // _meta, nil when none
	ReadOnly     bool            // readOnlyHint, a claim of the server
	TaskOnly     bool            // 2025-11-25: execution.taskSupport is required; a call must ask for a task
}

// ForPages reports whether only pages that the host shows may call the tool, and no model.
// The host must hide it from the model (SEP-1865 of the Model Context Protocol).
func (t *Tool) ForPages() bool {
	visibility := jsontext.Member(t.Meta, "ui", "visibility")
	return jsontext.Kind(visibility) == '[' && !slices.Contains(jsontext.Strings(visibility), "model")
}

type Progress struct {
	Progress, Total json.RawMessage // numbers as received; nil when absent
	Message         string
}

type Result struct {
	IsError      bool
	Content      []Block
	Structured   json.RawMessage // structuredContent, nil when absent
	TextComplete bool            // the text blocks include everything in Structured
	Raw          json.RawMessage // the complete content array as received
	Meta         json.RawMessage // _meta, nil when none
}

type Block struct {
	Type string // text, image, audio, resource_link, resource, or another
	Text []byte // text blocks: the JSON string literal as received
	Raw  json.RawMessage
}
