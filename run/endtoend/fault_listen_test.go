//go:build unix

package endtoend

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// listening starts a server with the fake server fs behind it.
func listening(t *testing.T, s *script, tools string) {
	t.Helper()
	s.begin(`toolpipe --serve --listen unix:s.sock -y -t fs="$MCP -tools ` + tools + ` -log $WORK/calls" &
await stderr 'listening on'`)
}

// A socketClient speaks with the server by lines.
type socketClient struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, s *script) *socketClient {
	t.Helper()
	c, err := net.Dial("unix", filepath.Join(s.work, "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(hangGuard))
	return &socketClient{c, bufio.NewReader(c)}
}

func (c *socketClient) call(id int, tool, args string) {
	fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, args)
}

func (c *socketClient) answer(t *testing.T) gjson.Result {
	t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return gjson.Parse(line)
}

// TestFaultListenMany has many clients at once, each of which makes a call while all are there.
// Each gets its own answer, the server behind is one, and all together take little memory.
func TestFaultListenMany(t *testing.T) {
	t.Parallel()
	clients := load.Of(t, 1000, 100)
	s := newFault(t, "")
	s.memory = 100 << 20
	listening(t, s, "echo")
	var all []*socketClient
	for range clients {
		all = append(all, dial(t, s))
	}
	for i, c := range all {
		c.call(i, "fs__echo", fmt.Sprintf(`{"text":"client %d"}`, i))
	}
	for i, c := range all {
		if a := c.answer(t); a.Get("id").Int() != int64(i) || a.Get("result.content.0.text").Str != fmt.Sprint("client ", i) {
			t.Fatalf("client %d got %s", i, a)
		}
	}
	s.do("signal TERM\nwait => 143")
	calls, _ := s.read("calls")
	if n := strings.Count(string(calls), "tools/call"); n != clients || strings.Count(string(calls), "server/discover") > 1 {
		t.Errorf("%d calls, %d starts", n, strings.Count(string(calls), "server/discover"))
	}
}

// TestFaultListenDeaf has clients that do not read their answers, and one that sends a line
// without an end. They hold up nobody, and what they are owed has a bound.
func TestFaultListenDeaf(t *testing.T) {
	t.Parallel()
	s := newFault(t, "")
	s.memory = 450 << 20 // the results twice, and a line of 64 MiB
	listening(t, s, "big,echo")
	for range 3 {
		deaf := dial(t, s)
		go func() {
			for i := range 30 {
				deaf.call(i, "fs__big", `{"bytes":1000000}`)
			}
		}()
	}
	endless := dial(t, s)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		io.WriteString(endless, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"`)
		piece := []byte(strings.Repeat("x", 1<<20))
		for range load.Of(t, 1024, 20) {
			if _, err := endless.Write(piece); err != nil {
				return
			}
		}
	}()
	for i := range 20 {
		c := dial(t, s)
		c.call(i, "fs__echo", `{"text":"hi"}`)
		if a := c.answer(t); a.Get("result.content.0.text").Str != "hi" {
			t.Fatalf("%s", a)
		}
		c.Close()
	}
	<-sent
	s.do("signal TERM\nwait => 143")
}
