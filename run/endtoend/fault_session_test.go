//go:build unix

package endtoend

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// sessionRuns plays one conversation after the other, each with --session in a file of
// its own and in as many runs as it takes. The model asks for rounds of calls, some
// of which run side by side; the server is a process that logs each call it gets.
type sessionRuns struct {
	*script
	rounds int
	number int    // of the conversation
	kept   string // the whole lines of its file, as they were after the run before
}

var sessionTools = []string{"slow", "read", "echo", "slow"}

func newSessionRuns(t *testing.T, rounds int, s *script) *sessionRuns {
	t.Helper()
	model := serveRaw(t, func(w io.Writer, r *http.Request, body []byte) bool {
		head(w, 200, eventStream)
		n := int(gjson.GetBytes(body, "messages.#.tool_calls").Get("#").Int())
		c := &chatWriter{number: n}
		if n == rounds {
			io.WriteString(w, chatText("Done")+chatEnd)
			return false
		}
		reply := ""
		for k, tool := range sessionTools {
			id := fmt.Sprintf("%d.%d", n, k)
			reply += c.call(id, "fs__"+tool, `{"text":"`+id+`","ms":10}`)
		}
		io.WriteString(w, reply+c.finish("calls")+c.done())
		return false
	})
	r := &sessionRuns{script: s, rounds: rounds}
	r.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
	return r
}

// next begins another conversation.
func (r *sessionRuns) next() {
	r.number++
	r.kept = ""
}

func (r *sessionRuns) path(suffix string) string {
	return filepath.Join(r.work, fmt.Sprintf("s%d.%s", r.number, suffix))
}

// command is the next run of the conversation. The first run that has a message to
// keep has the prompt.
func (r *sessionRuns) command() string {
	prompt := ""
	if r.kept == "" {
		prompt = "hi"
	}
	return fmt.Sprintf(`toolpipe --session %s -y -t fs="$MCP -tools slow,read,echo -log %s" %s`, r.path("jsonl"), r.path("log"), prompt)
}

// look checks what must hold after each run, however it ended: the file has all that it
// had, and no call was sent that it does not tell of, or twice.
func (r *sessionRuns) look() {
	r.t.Helper()
	data, _ := os.ReadFile(r.path("jsonl"))
	lines := string(data[:strings.LastIndexByte(string(data), '\n')+1])
	if !strings.HasPrefix(lines, r.kept) {
		r.t.Fatalf("the session lost lines:\n%s\nwere\n%s", lines, r.kept)
	}
	r.kept = lines
	log, _ := os.ReadFile(r.path("log"))
	for round := range r.rounds {
		for k, tool := range sessionTools {
			id := fmt.Sprintf("%d.%d", round, k)
			sent := strings.Count(string(log), `tools/call `+tool+` {"text":"`+id+`"`)
			if sent > 1 || sent == 1 && !strings.Contains(lines, `{"sending":"`+id+`"}`) {
				r.t.Fatalf("call %s was sent %d times; the session:\n%s\nthe server:\n%s", id, sent, lines, log)
			}
		}
	}
}

// finish has a run end the conversation, and checks its file: each call has a result,
// which is the server's, or unknown where a run had begun to send it.
func (r *sessionRuns) finish() (unknown int) {
	r.t.Helper()
	if data, _ := os.ReadFile(r.path("jsonl")); !strings.Contains(string(data), `"content":"Done"`) {
		r.begin(r.command())
		r.look()
	}
	if r.begin("toolpipe --session " + r.path("jsonl") + " -o messages --no-stdin"); !gjson.ValidBytes(r.stdout) {
		r.t.Fatalf("printed: %s", r.stdout)
	}
	results := gjson.GetBytes(r.stdout, `#(role=="tool")#`).Array()
	if len(results) != r.rounds*len(sessionTools) {
		r.t.Fatalf("%d results:\n%s", len(results), r.kept)
	}
	log, _ := os.ReadFile(r.path("log"))
	for _, result := range results {
		id, text := result.Get("tool_call_id").String(), result.Get("content").String()
		switch {
		case strings.HasPrefix(text, "[toolpipe] outcome unknown: ") && strings.Contains(r.kept, `{"sending":"`+id+`"}`):
			unknown++
		case text != id || !strings.Contains(string(log), `{"text":"`+id+`"`):
			r.t.Fatalf("the result of %s is %q:\n%s\nthe server:\n%s", id, text, r.kept, log)
		}
	}
	return unknown
}

// TestFaultSessionKilled kills runs at random points, from before the first request to
// after the end. No call is sent twice, no result that was kept is lost, and the
// file can always be gone on with.
func TestFaultSessionKilled(t *testing.T) {
	t.Parallel()
	r := newSessionRuns(t, 3, newFault(t, ""))
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	r.next()
	began := time.Now()
	r.begin(r.command())
	whole := time.Since(began)
	r.finish()
	kills, unknown, ended := load.Of(t, 200, 10), 0, 0
	for killed := 0; killed < kills; {
		r.next()
		for over := false; !over && killed < kills; killed++ {
			r.begin(r.command() + " &")
			time.Sleep(time.Duration(random.Float64() * float64(whole)))
			syscall.Kill(r.running.pid, syscall.SIGKILL)
			r.begin("wait => any")
			r.look()
			whole = min(whole*21/20, time.Second) // so that some runs are killed and some end, however loaded the machine is
			if over = strings.Contains(r.kept, `"content":"Done"`); over {
				ended++
				whole = whole * 6 / 10
			}
		}
		unknown += r.finish()
	}
	t.Logf("seed %d: %d kills in %d conversations, %d calls unknown, %d runs had ended", seed, kills, r.number, unknown, ended)
}

// sessionFaults are what can happen to a write of the session.
var sessionFaults = map[string]string{
	"killed before it":      "syscall.Kill(os.Getpid(), syscall.SIGKILL); select {}",
	"killed in the middle":  "f.Write(lines[:len(lines)/2]); syscall.Kill(os.Getpid(), syscall.SIGKILL); select {}",
	"killed before its end": "f.Write(lines[:len(lines)-1]); syscall.Kill(os.Getpid(), syscall.SIGKILL); select {}",
	"killed after it":       "f.Write(lines); syscall.Kill(os.Getpid(), syscall.SIGKILL); select {}",
	"disk full":             "return 0, syscall.ENOSPC",
	"disk full within it":   "n, _ := f.Write(lines[:len(lines)/2]); return n, syscall.ENOSPC",
}

// TestFaultSessionWrite has each write of a session fail in turn, without load every
// second one. A run whose line cannot be written ends with 8 and sends no call after it.
func TestFaultSessionWrite(t *testing.T) {
	t.Parallel()
	if !load.Full(t) {
		t.Skip("it builds the program anew, with TOOLPIPE_LOAD")
	}
	program, err := faultyProgram()
	if err != nil {
		t.Fatal(err)
	}
	for fault := range sessionFaults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r := newSessionRuns(t, 1, newFaulty(t, program, ""))
			status := "137"
			if strings.HasPrefix(fault, "disk") {
				status = "8"
			}
			r.env["SESSION_FAULT"] = fault
			writes := 1 + 1 + 2*len(sessionTools) + 1 // the prompt, the calls, each call and its result, the answer
			for at := 1; at <= writes; at++ {
				r.next()
				r.env["SESSION_FAULT_AT"] = fmt.Sprint(at)
				r.begin(r.command() + " => " + status)
				if status == "8" && !strings.Contains(string(r.stderr), "error: --session "+r.path("jsonl")+": no space left on device") {
					t.Fatalf("%s", r.stderr)
				}
				r.look()
				delete(r.env, "SESSION_FAULT_AT")
				r.finish()
			}
			r.next()
			r.env["SESSION_FAULT_AT"] = fmt.Sprint(writes + 1)
			r.begin(r.command()) // there is no further write
		})
	}
}

// injectSessionFaults has a write of the session do what SESSION_FAULT says when it is
// write number SESSION_FAULT_AT.
func injectSessionFaults(o *overlay) error {
	file, err := o.replace("s.f.Write(lines)", "failing(s.f, lines)")
	if err != nil {
		return err
	}
	var cases strings.Builder
	for _, fault := range slices.Sorted(maps.Keys(sessionFaults)) {
		fmt.Fprintf(&cases, "case %q:\n%s\n", fault, sessionFaults[fault])
	}
	o.put(filepath.Join(filepath.Dir(file), "failing.go"), `package session

import (
	"os"
	"strconv"
	"syscall"
)

var writes int

func failing(f *os.File, lines []byte) (int, error) {
	writes++
	if os.Getenv("SESSION_FAULT_AT") == strconv.Itoa(writes) {
		switch os.Getenv("SESSION_FAULT") {
		`+cases.String()+`
		}
	}
	return f.Write(lines)
}
`)
	return nil
}
