package mcp

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// TestTaskOverHTTP: a call that becomes a task is asked for with the name of the task in
// the header, in the form for odd names where that is needed, and with the declaration.
func TestTaskOverHTTP(t *testing.T) {
	t.Parallel()
	const id = "t/1 ä"
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		switch jsontext.Text(r.Method) {
		case "tools/call":
			sendJSON(w, 200, r.reply(`{"resultType":"task","taskId":"`+id+`","status":"completed"}`))
		case "tasks/get": // with the type that an example of the specification has
			sendJSON(w, 200, r.reply(`{"resultType":"task","taskId":"`+id+`","status":"completed","result":{"content":[{"type":"text","text":"done"}]}}`))
		case "prompts/get":
			sendJSON(w, 200, r.reply(`{"resultType":"task","taskId":"`+id+`","status":"working"}`))
		default:
			modernWeb(w, r)
		}
	})
	s, _ := connect(t, Spec{URL: web.URL})
	told := ""
	result, err := s.CallTool(bounded(t), &ToolCall{Tool: "t", Args: []byte("{}"), Task: func(id string) error { told = id; return nil }})
	if err != nil || string(result.Render().JSON) != `"done"` || told != id {
		t.Fatalf("%v, %v, told of %q", result, err, told)
	}
	for _, r := range append(web.got("tasks/get"), web.got("tools/call")...) {
		if !strings.Contains(r.body, `"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/skills":{}}`) {
			t.Errorf("the request does not declare tasks: %s", r.body)
		}
	}
	if name := web.got("tasks/get")[0].header.Get("Mcp-Name"); name != "=?base64?"+base64.StdEncoding.EncodeToString([]byte(id))+"?=" {
		t.Errorf("Mcp-Name %q", name)
	}
	if _, err := s.GetPrompt(bounded(t), "p", nil); err == nil || !strings.Contains(err.Error(), `the result type "task"`) {
		t.Errorf("a prompt that is a task: %v", err)
	}
}

// TestTaskThatIsGivenUp: where nobody can keep the id of a task, the outcome of its call
// is unknown.
func TestTaskThatIsGivenUp(t *testing.T) {
	t.Parallel()
	web := serveWeb(t, instead(modernWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		sendJSON(w, 200, r.reply(`{"resultType":"task","status":"working"}`))
	}))
	s, _ := connect(t, Spec{URL: web.URL})
	if _, err := s.CallTool(bounded(t), &ToolCall{Tool: "t", Args: []byte("{}")}); !wire.MayHaveArrived(err) || len(web.got("tasks/get")) > 0 {
		t.Errorf("without an id: %v", err)
	}
	web = serveWeb(t, instead(modernWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		sendJSON(w, 200, r.reply(`{"resultType":"task","taskId":"x","status":"working"}`))
	}))
	s, _ = connect(t, Spec{URL: web.URL})
	full := errors.New("the disk is full")
	_, err := s.CallTool(bounded(t), &ToolCall{Tool: "t", Args: []byte("{}"), Task: func(string) error { return full }})
	if !wire.MayHaveArrived(err) || !errors.Is(err, full) || len(web.got("tasks/get")) > 0 || len(web.got("tasks/cancel")) != 1 {
		t.Errorf("that nobody can keep: %v", err)
	}
}
