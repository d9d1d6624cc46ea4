package mcp

import (
	"context"
	"encoding/json"
	"fmt"
)

// Resource is a resource of a server, or a template for some, as listed.
type Resource struct {
	URI                      string // of a template: with {variables}
	Template                 bool
	Name, Title, Description string
	MIME                     string
	Size                     int64 // bytes; 0 when not said
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
	for _, from := range [...]struct{ method, key, uri string }{
		{"resources/list", "resources", "uri"},
		{"resources/templates/list", "resourceTemplates", "uriTemplate"},
	} {
		err := s.pages(ctx, from.method, from.key, from.uri, func(item []byte) error {
			r := readResource(item, from.uri)
			r.Template = from.uri == "uriTemplate"
			list = append(list, r)
			return nil
		})
		if err != nil && !s.nothingThere("resources", err) {
			return nil, s.failed(from.method, err)
		}
	}
	return list, nil
}

func readResource(item []byte, uri string) Resource {
	size, _ := integer(member(item, "size"))
	return Resource{
		URI:         text(member(item, uri)),
		Name:        text(member(item, "name")),
		Title:       capped(text(member(item, "title")), maxTitle),
		Description: capped(text(member(item, "description")), maxDescription),
		MIME:        text(member(item, "mimeType")),
		Size:        size,
	}
}

// ReadResource reads a resource, all its parts.
func (s *Session) ReadResource(ctx context.Context, uri string) ([]Contents, error) {
	raw, err := s.fetch(ctx, "resources/read", uri, append(appendQuoted([]byte(`{"uri":`), uri), '}'))
	if err != nil {
		return nil, s.failed(fmt.Sprintf("resource %q", uri), err)
	}
	var parts []Contents
	for v := range elements(member(raw, "contents")) {
		c := Contents{URI: text(member(v, "uri")), MIME: text(member(v, "mimeType"))}
		if inline := member(v, "text"); kind(inline) == '"' {
			c.Text = json.RawMessage(inline)
		} else {
			c.Blob = []byte(text(member(v, "blob")))
		}
		parts = append(parts, c)
	}
	return parts, nil
}
