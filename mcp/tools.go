package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	maxTools       = 512
	maxDescription = 64 << 10
)

// toolRules is what a call has to know of a tool.
type toolRules struct{ headers []paramHeader }

func (s *Session) rules(tool string) *toolRules {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[tool]
}

// Tools lists all pages, in the server's order. A tool that cannot be offered
// or called is left out with the warning "tool_dropped"; it never hides the
// others. A server without tools has none. The first list belongs to the
// start: it is bounded as Connect is, by nothing else, and fails as Connect
// does, with nothing left running.
func (s *Session) Tools(ctx context.Context) ([]Tool, error) {
	s.mu.Lock()
	first := !s.listed
	s.mu.Unlock()
	if !first {
		ctx, watch := s.watch(ctx)
		defer watch.stop()
		tools, err := s.list(ctx)
		if err != nil {
			err = s.failed("tools/list", err)
		}
		return tools, err
	}
	s.try("tools/list")
	limited, cancel := s.startup(ctx)
	defer cancel()
	tools, err := s.list(limited)
	if err == nil {
		s.started()
		return tools, nil
	}
	stderr := s.abandon()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, s.connectError(err, stderr)
}

// started ends the start.
func (s *Session) started() {
	s.mu.Lock()
	s.listed = true
	s.mu.Unlock()
	if cause := s.conn.lost(); cause != nil { // meanwhile, so that gone kept quiet
		s.gone(cause)
	}
}

func (s *Session) list(ctx context.Context) ([]Tool, error) {
	var tools []Tool
	rules := make(map[string]*toolRules)
	err := s.allPages(ctx, "tools/list", "tools", "name", func(item []byte) error {
		t := readTool(item)
		if rules[t.Name] != nil && t.Name != "" {
			s.dropped(t.Name, "the server lists it twice, the first one counts")
			return nil
		}
		if len(tools) == maxTools {
			s.tell.warn("list_cut", fmt.Sprintf("server %q has more than %d tools, the rest is left out", s.spec.Name, maxTools))
			return errListed
		}
		r, why := s.examine(&t, item)
		if why != "" {
			s.dropped(t.Name, why)
			return nil
		}
		rules[t.Name] = r
		tools = append(tools, t)
		return nil
	})
	if err != nil {
		if s.nothingThere("tools", err) {
			return nil, nil
		}
		return nil, err
	}
	s.mu.Lock()
	s.tools = rules
	s.mu.Unlock()
	return tools, nil
}

func (s *Session) dropped(tool, why string) {
	s.tell.warn("tool_dropped", fmt.Sprintf("server %q: tool %q is left out: %s", s.spec.Name, tool, why))
}

// failed names the server in an error.
func (s *Session) failed(what string, err error) error {
	if cause := s.conn.lost(); cause != nil {
		return fmt.Errorf("%s: %s", what, s.lostMessage(cause))
	}
	return fmt.Errorf("server %q: %s: %w", s.spec.Name, what, err)
}

func readTool(item []byte) Tool {
	var t Tool
	for name, value := range members(item) {
		switch {
		case is(name, "name"):
			t.Name = text(value)
		case is(name, "title"):
			t.Title = text(value)
		case is(name, "description"):
			t.Description = text(value)
		case is(name, "inputSchema") && string(value) != "null":
			t.InputSchema = json.RawMessage(value)
		case is(name, "outputSchema") && string(value) != "null":
			t.OutputSchema = json.RawMessage(value)
		case is(name, "annotations") && kind(value) == '{':
			t.Annotations = json.RawMessage(value)
		}
	}
	if t.Title == "" {
		t.Title = text(member(t.Annotations, "title"))
	}
	if len(t.Description) > maxDescription {
		t.Description = strings.ToValidUTF8(t.Description[:maxDescription], "") + "…"
	}
	t.ReadOnly = isTrue(member(t.Annotations, "readOnlyHint"))
	return t
}

// examine says why a tool cannot be used, "" if it can.
func (s *Session) examine(t *Tool, item []byte) (*toolRules, string) {
	switch {
	case t.Name == "":
		return nil, "it has no name"
	case text(member(item, "execution", "taskSupport")) == "required":
		return nil, "it can only be called as a task"
	}
	w, err := walkSchema(t.InputSchema)
	if err != nil {
		return nil, err.Error()
	}
	if _, err := walkSchema(t.OutputSchema); err != nil {
		return nil, "output: " + err.Error()
	}
	if s.kind != "http" || !s.modern {
		return &toolRules{}, ""
	}
	return &toolRules{headers: w.headers}, w.misuse
}

// relearn refreshes what calls have to know after the server refused the
// headers of one. The list that was given out stays as it is.
func (s *Session) relearn(ctx context.Context) {
	fresh := make(map[string]*toolRules)
	err := s.pages(ctx, "tools/list", "tools", "name", func(item []byte) error {
		t := readTool(item)
		if r, why := s.examine(&t, item); why == "" && fresh[t.Name] == nil {
			fresh[t.Name] = r
		}
		return nil
	})
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.tools {
		if r := fresh[name]; r != nil {
			s.tools[name] = r
		}
	}
}
