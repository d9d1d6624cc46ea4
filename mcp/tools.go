package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

const (
	maxTools       = 512
	maxToolName    = 256 // bytes; the specification recommends at most 128
	maxTitle       = 1 << 10
	maxDescription = 64 << 10
	maxAnnotations = 16 << 10
	maxDropped     = 32 // tools that get a warning each
)

// Tools are the server's tools of the last listing, in its order. A tool that cannot be used
// is left out with the warning "tool_dropped".
func (s *Session) Tools() []wire.Tool { return s.listing.Load().tools }

type toolListing struct {
	tools   []wire.Tool
	headers map[string][]paramHeader // of calls, by the tool's name
	seed    maphash.Seed             // for the hashes
	sum     uint64                   // sum of the hashes of all tools; it does not depend on their order
}

func (s *Session) list(ctx context.Context) (*toolListing, error) {
	l := &toolListing{headers: make(map[string][]paramHeader), seed: maphash.MakeSeed()}
	dropped := 0
	drop := func(tool, why string) {
		if dropped++; dropped <= maxDropped {
			s.report.warn("tool_dropped", fmt.Sprintf("server %q: tool %q is left out: %s", s.spec.Name, wire.Snippet([]byte(tool)), why))
		}
	}
	err := s.allPages(ctx, toolList, func(item []byte) {
		l.sum += maphash.Bytes(l.seed, item)
		t := readTool(item)
		if _, again := l.headers[t.Name]; again {
			drop(t.Name, "the server lists it twice, the first one counts")
			return
		}
		if len(l.tools) == maxTools {
			s.warnCut(toolList, fmt.Sprintf("%d tools", maxTools))
			return
		}
		params, why := s.examine(&t)
		if why != "" {
			drop(t.Name, why)
			return
		}
		// Clones let the page be freed.
		t.InputSchema, t.OutputSchema = bytes.Clone(t.InputSchema), bytes.Clone(t.OutputSchema)
		t.Annotations, t.Meta = bytes.Clone(t.Annotations), bytes.Clone(t.Meta)
		l.headers[t.Name] = params
		l.tools = append(l.tools, t)
	})
	if dropped > maxDropped {
		s.report.warn("tool_dropped", fmt.Sprintf("server %q: %d more tools are left out", s.spec.Name, dropped-maxDropped))
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// failed is the error of a request other than a call; it names the server.
func (s *Session) failed(what string, err error) error {
	if cause := s.conn.lost(); cause != nil {
		return fmt.Errorf("%s: %s", what, s.lostMessage(cause))
	}
	return fmt.Errorf("server %q: %s: %w", s.spec.Name, what, err)
}

func readTool(item []byte) wire.Tool {
	var t wire.Tool
	for name, value := range jsontext.Members(item) {
		switch {
		case jsontext.Is(name, "name"):
			t.Name = jsontext.Text(value)
		case jsontext.Is(name, "title"):
			t.Title = jsontext.Text(value)
		case jsontext.Is(name, "description"):
			t.Description = jsontext.Text(value)
		case jsontext.Is(name, "inputSchema") && string(value) != "null":
			t.InputSchema = json.RawMessage(value)
		case jsontext.Is(name, "outputSchema") && string(value) != "null":
			t.OutputSchema = json.RawMessage(value)
		case jsontext.Is(name, "annotations") && jsontext.Kind(value) == '{':
			t.Annotations = json.RawMessage(value)
		case jsontext.Is(name, "_meta") && jsontext.Kind(value) == '{' && len(value) <= maxAnnotations:
			t.Meta = json.RawMessage(value)
		}
	}
	if t.Title == "" {
		t.Title = jsontext.Text(jsontext.Member(t.Annotations, "title"))
	}
	t.Title, t.Description = readable.Cut(t.Title, maxTitle, "…"), readable.Cut(t.Description, maxDescription, "…")
	t.ReadOnly = jsontext.IsTrue(jsontext.Member(t.Annotations, "readOnlyHint"))
	t.TaskOnly = jsontext.Text(jsontext.Member(item, "execution", "taskSupport")) == "required"
	return t
}

// examine returns the reason why a tool cannot be used, or "", and the headers of its calls.
func (s *Session) examine(t *wire.Tool) ([]paramHeader, string) {
	switch {
	case t.Name == "":
		return nil, "it has no name"
	case len(t.Name) > maxToolName:
		return nil, fmt.Sprintf("its name has %d bytes, the limit is %d", len(t.Name), maxToolName)
	case len(t.Annotations) > maxAnnotations:
		return nil, fmt.Sprintf("its annotations have %d bytes, the limit is %d", len(t.Annotations), maxAnnotations)
	}
	w, err := walkSchema(t.InputSchema)
	if err != nil {
		return nil, err.Error()
	}
	if _, err := walkSchema(t.OutputSchema); err != nil {
		return nil, "output: " + err.Error()
	}
	if s.transport != "http" || s.isLegacy() {
		return nil, ""
	}
	return w.headers, w.misuse
}
