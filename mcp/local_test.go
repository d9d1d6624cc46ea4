package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// TestLocalServer: a server in this process is reached like any other.
func TestLocalServer(t *testing.T) {
	server := toolserver.New("here", "1")
	server.Instructions = "be brief"
	server.Add(wire.Tool{Name: "echo", InputSchema: json.RawMessage(emptySchema), Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
		func(ctx context.Context, args json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
			if progress != nil {
				progress(wire.Progress{Progress: json.RawMessage("1"), Message: "half"})
			}
			return toolserver.TextResult(string(args)), nil
		})
	server.Add(wire.Tool{Name: "wait", InputSchema: json.RawMessage(emptySchema)},
		func(ctx context.Context, args json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
	s, _ := connect(t, Spec{Local: server.Pipe})
	if s.Transport() != "local" || s.Protocol() != wire.ModernRevision || s.Instructions() != "be brief" {
		t.Errorf("%s over %s, %q", s.Protocol(), s.Transport(), s.Instructions())
	}
	if names := toolNames(s); names != "echo wait" {
		t.Errorf("tools %q", names)
	}
	var seen []wire.Progress
	r, err := s.Call(bounded(t), "echo", json.RawMessage(`{"a": "\u00e9"}`), func(p wire.Progress) { seen = append(seen, p) })
	if err != nil || jsontext.Unquote(r.Render().JSON) != `{"a": "\u00e9"}` {
		t.Errorf("%+v, %v", r, err)
	}
	if len(seen) != 1 || seen[0].Message != "half" {
		t.Errorf("progress %+v", seen)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, "wait", json.RawMessage(`{}`), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if e := callFails(t, s, "none", `{}`); !e.RPC || e.Code != wire.CodeInvalidParams {
		t.Errorf("%+v", e)
	}
	s.Close()
	if e := callFails(t, s, "echo", `{}`); e.Sent {
		t.Errorf("%+v", e)
	}
}
