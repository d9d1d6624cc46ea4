package mcp

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

const (
	okResult     = `{"content":[{"type":"text","text":"ok"}]}`
	oneTool      = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	modernResult = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
)

func initResult(version string) string {
	return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}`, version)
}

// legacyResult is what the double answers as a plain legacy server with the
// tool "t", over every transport; "" for an unknown method.
func legacyResult(m wire.Message) string {
	switch jsontext.Text(m.Method) {
	case "initialize":
		return initResult(jsontext.Text(jsontext.Member(m.Params, "protocolVersion")))
	case "tools/list":
		return oneTool
	case "tools/call":
		return okResult
	}
	return ""
}

// double is the server's end of a pipe: it reads one message a line and writes
// what it is told to.
type double struct {
	in  *bufio.Reader
	out io.Writer
}

func (d *double) read() (wire.Message, bool) {
	line, err := d.in.ReadBytes('\n')
	if err != nil {
		return wire.Message{}, false
	}
	m, err := wire.ParseMessage(line)
	if err != nil {
		panic(err)
	}
	return m, true
}

func (d *double) write(format string, args ...any) {
	fmt.Fprintf(d.out, format+"\n", args...)
}

func (d *double) result(m wire.Message, result string) {
	d.write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (d *double) fail(m wire.Message, code int, what string) {
	d.write("%s", wire.ReplyError(m.ID, code, what))
}

// answer answers as a plain legacy server.
func (d *double) answer(m wire.Message) {
	if result := legacyResult(m); result != "" {
		d.result(m, result)
	} else if m.ID != nil && m.Method != nil {
		d.fail(m, wire.CodeMethodNotFound, "no such method")
	}
}

// serve hands each message to the first handler that takes it.
func (d *double) serve(handlers ...func(d *double, m wire.Message) bool) {
next:
	for {
		m, ok := d.read()
		if !ok {
			return
		}
		for _, h := range handlers {
			if h(d, m) {
				continue next
			}
		}
		d.answer(m)
	}
}

// on handles one method.
func on(method string, f func(d *double, m wire.Message)) func(*double, wire.Message) bool {
	return func(d *double, m wire.Message) bool {
		if jsontext.Text(m.Method) != method {
			return false
		}
		f(d, m)
		return true
	}
}

func init() {
	programs["double"] = func(args []string) int {
		doubles[args[0]](&double{in: bufio.NewReader(os.Stdin), out: os.Stdout})
		return 0
	}
}

// serveFramed reads and writes Content-Length frames only.
func (d *double) serveFramed() {
	d.out = &framer{d.out}
	for {
		header, err := d.in.ReadString('\n')
		if err != nil {
			return
		}
		var n int
		if _, err := fmt.Sscanf(header, "Content-Length: %d\r\n", &n); err != nil {
			fmt.Fprintln(os.Stderr, "no frame: "+header)
			os.Exit(2)
		}
		d.in.ReadString('\n')
		body := make([]byte, n)
		io.ReadFull(d.in, body)
		m, err := wire.ParseMessage(body)
		if err != nil {
			panic(err)
		}
		d.answer(m)
	}
}

func (d *double) junk() {
	for {
		if _, err := fmt.Fprintln(d.out, "debug: still working"); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// framer writes each line as a Content-Length frame.
type framer struct{ w io.Writer }

func (f *framer) Write(p []byte) (int, error) {
	body := strings.TrimSuffix(string(p), "\n")
	_, err := fmt.Fprintf(f.w, "content-length: %d\r\nContent-Type: application/json\r\n\r\n%s", len(body), body)
	return len(p), err
}

// dribble writes a byte at a time.
type dribble struct{ w io.Writer }

func (f *dribble) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := f.w.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}
