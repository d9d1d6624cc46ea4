//go:build !portable

package endtoend

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// innerRuns plays conversations whose one command makes calls in a loop, two at a time. The
// server logs each call that it gets.
type innerRuns struct {
	*script
	number int // of the conversation
}

const innerCalls = 8

func newInnerRuns(t *testing.T) *innerRuns {
	t.Helper()
	r := &innerRuns{script: newFault(t, "")}
	model := serveRaw(t, func(w io.Writer, _ *http.Request, body []byte) bool {
		head(w, 200, eventStream)
		if gjson.GetBytes(body, `messages.#(role=="tool")`).Exists() {
			io.WriteString(w, chatText("Done")+chatEnd)
			return false
		}
		call := func(i int) string { return fmt.Sprintf("toolpipe --call fs__slow text=%s ms:=10", r.text(i)) }
		script := "echo $$ >" + r.path("pid")
		for i := 0; i < innerCalls; i += 2 {
			script += "; " + call(i) + " & " + call(i+1)
		}
		c := &chatWriter{}
		io.WriteString(w, c.call("command", "shell__run_command", fmt.Sprintf(`{"script":%q}`, script+"; wait"))+c.finish("calls")+c.done())
		return false
	})
	r.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
	return r
}

func (r *innerRuns) text(call int) string { return fmt.Sprintf("c%d.%d", r.number, call) }

func (r *innerRuns) path(suffix string) string {
	return filepath.Join(r.work, fmt.Sprintf("s%d.%s", r.number, suffix))
}

func (r *innerRuns) read(suffix string) string {
	text, _ := os.ReadFile(r.path(suffix))
	return string(text)
}

// command is the next run of the conversation.
func (r *innerRuns) command() string {
	prompt := ""
	if !strings.Contains(r.read("session"), `"role":"user"`) {
		prompt = "hi"
	}
	return fmt.Sprintf(`toolpipe --session %s --log %s -y --shell --shell-tools only -t fs="$MCP -tools slow -log %s" %s`, r.path("session"), r.path("log"), r.path("sent"), prompt)
}

// look checks what must hold after each run, however it ended. It returns the number of calls
// that the server got.
func (r *innerRuns) look() (sent int) {
	r.t.Helper()
	log, server := r.read("log"), r.read("sent")
	for i := range innerCalls {
		n := strings.Count(server, `{"text":"`+r.text(i)+`"`)
		named := 0
		for line := range strings.Lines(log) {
			if gjson.Get(line, "type").String() == "tool_call" && gjson.Get(line, "parent").String() == "command" && gjson.Get(line, "arguments.text").String() == r.text(i) {
				named++
			}
		}
		if n > named || named > 1 {
			r.t.Fatalf("call %s was sent %d times, and is %d times in the log:\n%s\nthe server:\n%s", r.text(i), n, named, log, server)
		}
		sent += n
	}
	return sent
}

// client waits for a program that the command runs; 0 if the command ends before.
func (r *innerRuns) client(command int) int {
	for {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", command))
		if err != nil {
			return 0
		}
		if fields := strings.Fields(string(children)); len(fields) > 0 {
			pid, _ := strconv.Atoi(fields[len(fields)-1])
			return pid
		}
	}
}

// TestFaultInnerKilled kills the run, its command or a client in the command at random points.
// No call of the command is sent twice, and the log has every call that was sent. The outcome
// of the command is unknown if the run was killed; otherwise the run goes on. The harness checks
// that no process is left.
func TestFaultInnerKilled(t *testing.T) {
	t.Parallel()
	r := newInnerRuns(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	began := time.Now()
	r.begin(r.command())
	whole := time.Since(began)
	if sent := r.look(); sent != innerCalls {
		t.Fatalf("%d calls without a kill:\n%s", sent, r.read("log"))
	}
	count := map[string]int{}
	for killed := range load.Of(t, 200, 12) {
		r.number++
		victim := []string{"run", "command", "run", "client"}[killed%4]
		r.begin(r.command() + " &")
		pid, wait := r.running.pid, random.Float64()*float64(whole)
		if victim != "run" {
			r.begin(`await file ` + r.path("pid") + ` '\n'`)
			pid, _ = strconv.Atoi(strings.TrimSpace(r.read("pid")))
			wait *= 0.8 // the rest was the start
		}
		time.Sleep(time.Duration(wait))
		if victim == "client" {
			pid = r.client(pid)
		}
		if pid > 0 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		r.begin("wait => any")
		sent := r.look()
		over := strings.Contains(r.read("session"), `"content":"Done"`)
		if r.status == 0 != over && !(over && victim == "run") {
			t.Fatalf("a kill of the %s: status %d\n%s", victim, r.status, r.stderr)
		}
		if over {
			if count[victim+", and the run ended"]++; victim == "run" {
				whole = whole * 19 / 20 // so that most kills come before the end, however loaded the machine is
			}
			continue
		}
		whole = whole * 21 / 20
		begun, known := strings.Contains(r.read("session"), `{"sending":"command"}`), strings.Contains(r.read("session"), `"role":"tool"`)
		r.begin(r.command())
		again := r.look()
		unknown := strings.Contains(string(r.stderr), "outcome is unknown: shell__run_command (command)")
		if unknown != (begun && !known) || begun && again != sent || !begun && again != innerCalls {
			t.Fatalf("begun %t, unknown %t, sent %d, then %d\n%s", begun, unknown, sent, again, r.stderr)
		}
		count[fmt.Sprintf("%s, command begun %t, its result known %t", victim, begun, known)]++
		count["calls that were sent"] += sent
	}
	t.Logf("seed %d: %v", seed, count)
}
