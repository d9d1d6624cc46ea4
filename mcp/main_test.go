package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/testdata/mcpdouble"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/processtest"
)

// programs are what this test binary can be besides itself. Test files add
// theirs in init.
var programs = processtest.Programs

func init() { programs["double"] = mcpdouble.Main }

func TestMain(m *testing.M) { os.Exit(processtest.Main(m, os.Args)) }

// program is the argument vector that runs one of programs.
func program(name string, args ...string) []string { return processtest.Argv(name, args...) }

// hang is the guard of a test against hanging; no test depends on its length.
const hang = 60 * time.Second

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	return ctx
}

// record keeps what hooks were told.
type record struct {
	mu       sync.Mutex
	warnings []string // "code: message"
	logs     []string
	wire     []string
}

func (r *record) hooks() Hooks {
	add := func(to *[]string, line string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		*to = append(*to, line)
	}
	return Hooks{
		Warning: func(code, message string) { add(&r.warnings, code+": "+message) },
		Log:     func(line string) { add(&r.logs, line) },
		Wire:    func(direction byte, line []byte) { add(&r.wire, string(direction)+string(line)) },
	}
}

func (r *record) snapshot(of *[]string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), *of...)
}

// warned counts the warnings with a code.
func (r *record) warned(code string) (n int) {
	for _, w := range r.snapshot(&r.warnings) {
		if strings.HasPrefix(w, code+": ") {
			n++
		}
	}
	return n
}

// sentLines are the messages that went out and contain part.
func (r *record) sentLines(part string) (lines []string) {
	for _, w := range r.snapshot(&r.wire) {
		if w[0] == '>' && strings.Contains(w, part) {
			lines = append(lines, w[1:])
		}
	}
	return lines
}

// connect connects and fails the test if that fails. The session is closed,
// and its children are checked to be gone, at the end of the test.
func connect(t *testing.T, spec Spec) (*Session, *record) {
	t.Helper()
	s, rec, err := tryConnect(t, spec)
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, dump(err))
	}
	return s, rec
}

func tryConnect(t *testing.T, spec Spec) (*Session, *record, error) {
	t.Helper()
	rec := &record{}
	procs := &process.Processes{}
	if spec.Name == "" {
		spec.Name = "peer"
	}
	spec.Client.Version = "test"
	if spec.StartupTimeout == 0 {
		spec.StartupTimeout = hang
	}
	if spec.probeTimeout == 0 {
		spec.probeTimeout = hang // a loaded machine is no silent server
	}
	s, err := Connect(bounded(t), spec, rec.hooks(), procs)
	t.Cleanup(func() {
		if s != nil {
			s.Close()
		}
		if n := reflect.ValueOf(procs).Elem().FieldByName("running").Len(); n > 0 {
			t.Errorf("%d children are left", n)
		}
	})
	return s, rec, err
}

func dump(err error) string {
	if e, ok := err.(*ConnectError); ok {
		return fmt.Sprintf("hint: %s\nstderr: %s", e.Hint, e.Stderr)
	}
	return ""
}

// toolNames are the names of the tools.
func toolNames(s *Session) string { return namesOf(s.Tools()) }

// listAgain asks the server for its tools.
func listAgain(t *testing.T, s *Session) string {
	t.Helper()
	tools, err := s.list(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return namesOf(tools.tools)
}

func namesOf(tools []wire.Tool) string {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// called makes a call and returns its text, or the error as text.
func called(t *testing.T, s *Session, tool, args string) string {
	t.Helper()
	r, err := s.Call(bounded(t), tool, json.RawMessage(args), nil)
	if refusal, ok := err.(*wire.RPCError); ok {
		return "error: " + refusal.Message
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return jsontext.Unquote(r.Render().JSON)
}

// failedCall is the error of a call.
type failedCall struct {
	error
	Sent, RPC bool
	Code      int
	Message   string
}

func (f *failedCall) Unwrap() error { return f.error }

// callFails makes a call that is to fail.
func callFails(t *testing.T, s *Session, tool, args string) *failedCall {
	t.Helper()
	return callFailsWith(t, bounded(t), s, tool, args)
}

// callFailsWith does so with a context that the test may end.
func callFailsWith(t *testing.T, ctx context.Context, s *Session, tool, args string) *failedCall {
	t.Helper()
	r, err := s.Call(ctx, tool, json.RawMessage(args), nil)
	switch e := err.(type) {
	case nil:
		t.Fatalf("the call succeeded: %s", r.Raw)
	case *wire.RPCError:
		return &failedCall{error: err, RPC: true, Code: e.Code, Message: e.Message}
	case *wire.NoReplyError:
		return &failedCall{error: err, Sent: e.Sent, Message: e.Error()}
	}
	t.Fatalf("the error is a %T", err)
	return nil
}
