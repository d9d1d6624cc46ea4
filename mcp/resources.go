package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"toolpipe/stream/jsontext"
)

// Contents is one part of a resource that was read: text, or else a blob.
type Contents struct {
	URI, MIME string
	Text      json.RawMessage // string literal as it came; nil for a blob
	Blob      []byte          // base64 as it came
}

// ReadResource reads a resource, all its parts.
func (s *Session) ReadResource(ctx context.Context, uri string) ([]Contents, error) {
	raw, err := s.Request(ctx, "resources/read", uri, append(jsontext.AppendQuoted([]byte(`{"uri":`), uri), '}'))
	if err != nil {
		return nil, s.failed(fmt.Sprintf("resource %q", uri), err)
	}
	var parts []Contents
	for v := range jsontext.Elements(jsontext.Member(raw, "contents")) {
		c := Contents{URI: jsontext.Text(jsontext.Member(v, "uri")), MIME: jsontext.Text(jsontext.Member(v, "mimeType"))}
		if inline := jsontext.Member(v, "text"); jsontext.Kind(inline) == '"' {
			c.Text = json.RawMessage(inline)
		} else {
			c.Blob = []byte(jsontext.Text(jsontext.Member(v, "blob")))
		}
		parts = append(parts, c)
	}
	return parts, nil
}
