package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"toolpipe/stream/jsontext"
)

// Resource is a resource of a server, or a template for some, as listed.
type Resource struct {
	URI                      string // of a template: with {variables}
	Template                 bool
	Name, Title, Description string
	MIME                     string
}

// Contents is one part of a resource that was read: text, or else a blob.
type Contents struct {
	URI, MIME string
	Text      json.RawMessage // string literal as it came; nil for a blob
	Blob      []byte          // base64 as it came
}

// ListResources lists all pages of resources, then of templates, in the
// server's order. A server without resources has none.
func (s *Session) ListResources(ctx context.Context) ([]Resource, error) {
	var list []Resource
	for _, l := range []List{Resources, Templates} {
		err := s.Items(ctx, l, func(item []byte) {
			r := readResource(item, l.Identity)
			r.Template = l == Templates
			list = append(list, r)
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func readResource(item []byte, uri string) Resource {
	return Resource{
		URI:         jsontext.Text(jsontext.Member(item, uri)),
		Name:        jsontext.Text(jsontext.Member(item, "name")),
		Title:       capped(jsontext.Text(jsontext.Member(item, "title")), maxTitle),
		Description: capped(jsontext.Text(jsontext.Member(item, "description")), maxDescription),
		MIME:        jsontext.Text(jsontext.Member(item, "mimeType")),
	}
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
