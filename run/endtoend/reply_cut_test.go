//go:build unix

package endtoend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplyCut cuts one reply that asks for a call at many of its bytes
// (package stream does it at every byte). A broken transfer always fails. A clean
// end fails before the finish reason has come. A call that is incomplete is never
// run.
func TestReplyCut(t *testing.T) {
	t.Parallel()
	writer := newReplyWriter("chat", 1)
	body := writer.text("Let me see.") + writer.call("c1", "fs__args", `{"text":"all of it"}`)
	finished := len(body) + len(writer.finish("calls"))
	body += writer.finish("calls") + writer.usage(10, 5)
	step := len(body) / 16
	for _, end := range []string{"cut", "drop"} {
		for at := step; at <= len(body); at += step {
			t.Run(fmt.Sprintf("%s%d", end, at), func(t *testing.T) {
				t.Parallel()
				script := fmt.Sprintf("reply\nraw %q\n%s\nreply\ntext \"Done.\"\n", body[:at], end)
				s := newFault(t, "-- m --\n"+script)
				defer s.close()
				if err := s.startModel([]string{"m"}); err != nil {
					t.Fatal(err)
				}
				s.verified = true
				if err := s.run(mustLine(t, `toolpipe -o ndjson --retry-for 0 -y -t fs="$MCP -tools args -log $WORK/log" hi => 0 3`)); err != nil {
					t.Fatal(err)
				}
				// After the finish reason any end is an answer, or still
				// an error when it comes in the middle of an event.
				mayFail, maySucceed := at < len(body) || end == "drop", at >= finished-2
				log, _ := os.ReadFile(filepath.Join(s.work, "log"))
				called := strings.Contains(string(log), `tools/call args {"text":"all of it"}`)
				if !(s.status == 0 && maySucceed || s.status == 3 && mayFail) || called != (s.status == 0) || strings.Count(string(log), "tools/call") > 1 {
					t.Errorf("status %d; called: %v\n%s\n%s", s.status, called, s.stdout, s.stderr)
				}
			})
		}
	}
}
