//go:build unix

package endtoend

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A fakeModel is a scripted model endpoint: a loopback HTTP server that
// answers the n-th request with the n-th reply of its script, byte for byte.
//
// A script is one instruction a line; `#` begins a comment. STRING is a Go
// string in double quotes.
//
//	dialect chat|messages|responses   how text, call, … are written (chat)
//	reply [STATUS]      begins the next reply (200)
//	again               all further requests get this reply too
//	header NAME: VALUE
//	text STRING         a delta of the answer
//	reasoning STRING    a delta of the model's thoughts
//	call [#ID] NAME ARGUMENTS   a tool call; the arguments come in two pieces
//	finish WORD         the finish reason
//	usage IN OUT
//	done                the end marker
//	many N INSTRUCTION  the instruction N times
//	data TEXT           one event with this data
//	raw STRING          these bytes
//	body TEXT           the rest of the line as the whole body, as application/json
//	delay DURATION
//	hold                waits for the script command `release`
//	hang                waits until the client goes away
//	cut                 ends the body here, cleanly
//	drop                closes the connection in the middle of the body
//	reset               resets the connection
//
// A reply gets the usual end unless the script writes it: a finish reason (calls
// or stop), `usage 10 5` and the end marker. Nothing is added to a reply with raw,
// body, done, hang, cut, drop or reset.
type fakeModel struct {
	server  *rawServer
	capture string // folder for N.json, the body, and N.head, the request line and headers

	mu       sync.Mutex
	replies  []*modelReply
	requests []*modelRequest
	extra    int // requests for which the script has no reply
	released int
	release  *sync.Cond
}

type modelRequest struct {
	method, path string
	header       http.Header
	body         []byte
}

type modelReply struct {
	status int
	header []string
	again  bool
	steps  []modelStep
}

type modelStep struct {
	action string // "send", "delay", or an instruction's name
	data   []byte
	joined bool // written together with the step before it, where both send
	delay  time.Duration
}

// writeSize is about how much the steps of one `many` send in one write.
const writeSize = 32 << 10

// newFakeModel starts an endpoint that follows script.
func newFakeModel(script, capture string) (*fakeModel, error) {
	m := &fakeModel{capture: capture}
	m.release = sync.NewCond(&m.mu)
	if err := m.parse(script); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(capture, 0o755); err != nil {
		return nil, err
	}
	var err error
	m.server, err = newRawServer(func(w io.Writer, r *http.Request, body []byte) bool {
		target := r.URL.RequestURI()
		if r.Method == http.MethodConnect {
			target = r.Host
		}
		return m.answer(w.(*net.TCPConn), m.record(&modelRequest{r.Method, target, r.Header, body}))
	})
	return m, err
}

func (m *fakeModel) url() string { return m.server.url() + "/v1" }

func (m *fakeModel) close() {
	m.server.close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.released = 1 << 30
	m.release.Broadcast()
}

// parse fills replies.
func (m *fakeModel) parse(script string) error {
	dialect := "chat"
	var reply *modelReply
	var writer replyWriter
	var finished, counted, ended, calls bool
	finish := func() {
		if reply == nil || ended || reply.status != 200 {
			return
		}
		word := "stop"
		if calls {
			word = "calls"
		}
		if !finished {
			reply.send(writer.finish(word))
		}
		if !counted {
			reply.send(writer.usage(10, 5))
		}
		reply.send(writer.done())
	}
	for number, line := range strings.Split(script, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		count := 1
		if rest, ok := strings.CutPrefix(line, "many "); ok {
			digits, instruction, _ := strings.Cut(rest, " ")
			count, _ = strconv.Atoi(digits)
			line = instruction
		}
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "dialect":
			dialect = rest
			continue
		case "reply":
			finish()
			reply, writer = &modelReply{status: 200}, newReplyWriter(dialect, len(m.replies)+1)
			finished, counted, ended, calls = false, false, false, false
			if rest != "" {
				reply.status, _ = strconv.Atoi(rest)
			}
			m.replies = append(m.replies, reply)
			continue
		}
		if reply == nil {
			return fmt.Errorf("model script, line %d: %q before the first reply", number+1, word)
		}
		text := rest
		if word == "text" || word == "reasoning" || word == "raw" || word == "refusal" {
			var err error
			if text, err = strconv.Unquote(rest); err != nil {
				return fmt.Errorf("model script, line %d: %q is not a Go string", number+1, rest)
			}
		}
		first, delta := len(reply.steps), ""
		for range count {
			switch word {
			case "again":
				reply.again = true
			case "header":
				reply.header = append(reply.header, rest)
			case "text":
				if len(reply.steps) == first || dialect != "chat" { // in other dialects events are numbered
					delta = writer.text(text)
				}
				reply.send(delta)
			case "reasoning":
				reply.send(writer.reasoning(text))
			case "call":
				id := ""
				if strings.HasPrefix(rest, "#") {
					id, rest, _ = strings.Cut(rest[1:], " ")
				}
				name, arguments, _ := strings.Cut(rest, " ")
				reply.send(writer.call(id, name, arguments))
				calls = true
			case "finish":
				reply.send(writer.finish(rest))
				finished = true
			case "usage":
				var in, out int
				fmt.Sscan(rest, &in, &out)
				reply.send(writer.usage(in, out))
				counted = true
			case "done":
				reply.send(writer.done())
				ended = true
			case "data":
				reply.send("data: " + rest + "\n\n")
			case "raw":
				reply.send(text)
				ended = true
			case "body":
				reply.header = append(reply.header, "Content-Type: application/json")
				reply.send(rest)
				ended = true
			case "delay":
				d, err := time.ParseDuration(rest)
				if err != nil {
					return err
				}
				reply.steps = append(reply.steps, modelStep{action: word, delay: d})
			case "hold":
				reply.steps = append(reply.steps, modelStep{action: word})
			case "hang", "cut", "drop", "reset":
				reply.steps = append(reply.steps, modelStep{action: word})
				ended = true
			default:
				return fmt.Errorf("model script, line %d: unknown instruction %q", number+1, word)
			}
		}
		for i := first + 1; i < len(reply.steps); i++ {
			reply.steps[i].joined = reply.steps[i].action == "send"
		}
	}
	finish()
	return nil
}

func (r *modelReply) send(text string) {
	if text != "" {
		r.steps = append(r.steps, modelStep{action: "send", data: []byte(text)})
	}
}

// record keeps a request and returns the reply to it.
func (m *fakeModel) record(r *modelRequest) *modelReply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r)
	n := len(m.requests)
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s\n", r.method, r.path)
	r.header.Write(&head)
	name := filepath.Join(m.capture, strconv.Itoa(n))
	os.WriteFile(name+".json", r.body, 0o644)
	os.WriteFile(name+".head", head.Bytes(), 0o644)
	m.release.Broadcast()
	if n <= len(m.replies) {
		return m.replies[n-1]
	}
	if len(m.replies) > 0 && m.replies[len(m.replies)-1].again {
		return m.replies[len(m.replies)-1]
	}
	m.extra++
	return &modelReply{status: 400, header: []string{"Content-Type: application/json"},
		steps: []modelStep{{action: "send", data: []byte(`{"error":{"message":"the script has no reply for this request"}}`)}}}
}

// answer writes one reply and reports whether the connection goes on.
func (m *fakeModel) answer(conn *net.TCPConn, reply *modelReply) bool {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nTransfer-Encoding: chunked\r\n", reply.status, http.StatusText(reply.status))
	typed := false
	for _, line := range reply.header {
		head += line + "\r\n"
		typed = typed || strings.HasPrefix(strings.ToLower(line), "content-type:")
	}
	if !typed {
		head += "Content-Type: text/event-stream\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return false
	}
	var chunks []byte
	for i, step := range reply.steps {
		switch step.action {
		case "send":
			chunks = fmt.Appendf(chunks, "%x\r\n%s\r\n", len(step.data), step.data)
			if i+1 < len(reply.steps) && reply.steps[i+1].joined && len(chunks) < writeSize {
				continue
			}
			if _, err := conn.Write(chunks); err != nil {
				return false
			}
			chunks = chunks[:0]
		case "delay":
			time.Sleep(step.delay)
		case "hold":
			m.hold()
		case "hang":
			io.Copy(io.Discard, conn)
			return false
		case "cut":
			_, err := io.WriteString(conn, "0\r\n\r\n")
			return err == nil
		case "drop":
			return false
		case "reset":
			conn.SetLinger(0)
			return false
		}
	}
	_, err := io.WriteString(conn, "0\r\n\r\n")
	return err == nil
}

// hold waits for the next release.
func (m *fakeModel) hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.released == 0 {
		m.release.Wait()
	}
	m.released--
}

// awaitRequests waits until n requests have come.
func (m *fakeModel) awaitRequests(n int) error {
	expired := false
	timer := time.AfterFunc(hangGuard, func() {
		m.mu.Lock()
		expired = true
		m.release.Broadcast()
		m.mu.Unlock()
	})
	defer timer.Stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.requests) < n {
		if expired {
			return fmt.Errorf("%d requests came, not %d", len(m.requests), n)
		}
		m.release.Wait()
	}
	return nil
}
