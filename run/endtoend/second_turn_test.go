//go:build unix

package endtoend

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// Recorded streams that are no complete answer end the program with the status of
// what happened. They are not part of this repository; stream.TestWire looks at the
// requests that follow the others.
func TestSecondTurnStatus(t *testing.T) {
	t.Parallel()
	root := os.Getenv("TOOLPIPE_WIRE")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "wire")
	}
	for name, test := range map[string]struct{ api, status, stderr string }{
		"finish-abort":                         {"chat", "3", "finish_reason abort"},
		"finish-function-call-filter":          {"chat", "3", "function_call_filter: MALFORMED_FUNCTION_CALL"},
		"finish-insufficient-system-resource":  {"chat", "3", "insufficient_system_resource"},
		"finish-network-error":                 {"chat", "3", "network_error"},
		"finish-network-error-with-call":       {"chat", "3", "network_error"},
		"finish-model-context-window-exceeded": {"chat", "6", "context"},
		"finish-sensitive":                     {"chat", "3", "filter"},
		"incomplete-without-reason":            {"responses", "3", "incomplete"},
		"openrouter-error-raw":                 {"chat", "3", "Google: messages.3.content.0: Invalid .signature. in .thinking. block"},
		"gemini-thought-in-content":            {"chat", "0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(filepath.Join(root, "second-turn", name+".sse"))
			if err != nil {
				t.Skip("TOOLPIPE_WIRE names the folder that holds the recorded streams")
			}
			model := serveRaw(t, func(w io.Writer, _ *http.Request, _ []byte) bool {
				head(w, 200, eventStream)
				w.Write(body)
				return false
			})
			script := "toolpipe -o ndjson -y -t f=\"$MCP -log $WORK/log\" --api " + test.api + " --base-url $BASE hi => " + test.status
			if test.stderr != "" {
				script += "\nstderr '" + test.stderr + "'"
			}
			if bytes.Contains(body, []byte("f__write")) {
				script += "\nevents tool_call 1\nevent tool_result.status not_run\n! grep tools/call log"
			}
			s := newFault(t, "")
			s.env["BASE"] = model.url() + "/v1"
			s.do(script)
		})
	}
}
