package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/stream"
)

func conn(name, spelling string, tools ...string) *Connection {
	c := &Connection{Server: servers.Server{Spec: mcp.Spec{Name: name}, Spelling: spelling}}
	for _, tool := range tools {
		c.add(wire.Tool{Name: tool})
	}
	return c
}

// TestIndex: a tool can be named by the name that the model knows, by the name of its server
// here, and by that in the file that it comes from. A pattern that names none is warned
// about, unless a server that starts later may have such a tool, and so is a second tool
// with the same name for the model.
func TestIndex(t *testing.T) {
	for _, x := range []struct {
		conns   []*Connection
		exclude string
		later   bool
		left    string
		warned  string // what each warning contains
	}{
		{[]*Connection{conn("fs", "", "read", "write")}, "fs__r*", false, "fs__write", ""},
		{[]*Connection{conn("fs", "", "read", "write")}, "__r*", false, "fs__read fs__write", "no tool has a name like"},
		{[]*Connection{conn("fs", "my fs", "read", "write")}, "my fs__r*", false, "fs__write", ""},
		{[]*Connection{conn("fs", "my fs", "read")}, "__r*", false, "fs__read", "no tool has a name like"},
		{[]*Connection{conn("fs", "", "read")}, "fs__w*", false, "fs__read", "no tool has a name like"},
		{[]*Connection{conn("fs", "", "read")}, "fs__w*", true, "fs__read", ""},
		{[]*Connection{conn("fs", "", "read")}, "gh__w*", true, "fs__read", "no tool has a name like"},
	} {
		b := &Toolbox{Conns: x.conns}
		if x.later {
			x.conns[0].later = &laterStart{}
		}
		var warned []string
		b.index(nil, []string{x.exclude}, func(code, _, message string) { warned = append(warned, code+": "+message) })
		var left []string
		for _, tool := range b.All() {
			left = append(left, tool.ModelName)
		}
		if strings.Join(left, " ") != x.left || (x.warned == "") != (warned == nil) || !strings.Contains(strings.Join(warned, ""), x.warned) {
			t.Errorf("%q: %q %q", x.exclude, left, warned)
		}
	}
	b := &Toolbox{Conns: []*Connection{conn("a", "", "x"), conn("a", "", "x")}}
	var warned []string
	b.index(nil, nil, func(code, server, _ string) { warned = append(warned, code+" "+server) })
	if len(b.All()) != 1 || b.Tool("a__x") != b.All()[0] || !slices.Equal(warned, []string{"tool_dropped a"}) {
		t.Errorf("%d tools, %q", len(b.All()), warned)
	}
}

// TestToolboxClose: all sessions are closed, those of servers that started later too. A start
// that goes on is cancelled and waited for, and none begins any more.
func TestToolboxClose(t *testing.T) {
	New(nil).Close()
	synctest.Test(t, func(t *testing.T) {
		session := func() (s *mcp.Session, closed *bool) {
			ended := new(bool)
			server := toolserver.New("s", "")
			s, err := mcp.Connect(t.Context(), mcp.Spec{Name: "s", Local: func() wire.Transport { return &closing{server.Pipe(), ended} }}, mcp.Hooks{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s, ended
		}
		first, firstClosed := session()
		second, secondClosed := session()
		begun := &laterStart{done: make(chan struct{}), started: &Connection{firstStart: firstStart{Session: second}}, check: func(*Connection) *failure.Error { return nil }}
		close(begun.done)
		b := &Toolbox{Conns: []*Connection{{firstStart: firstStart{Session: first}}, {later: begun}, {later: &laterStart{done: make(chan struct{})}}, {}}}
		ctx, cancel := context.WithCancel(t.Context())
		b.starts.cancel = cancel
		ended := false
		b.starts.begin(func() {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
		})
		b.Close()
		if !ended || !*firstClosed || !*secondClosed {
			t.Errorf("the start has ended: %v; the sessions: %v %v", ended, *firstClosed, *secondClosed)
		}
		if b.starts.begin(func() {}) {
			t.Error("a start began after the end")
		}
	})
}

// closing is a transport that tells when it is closed.
type closing struct {
	wire.Transport
	closed *bool
}

func (c *closing) Close() error {
	*c.closed = true
	return c.Transport.Close()
}

// TestSettle: what a session is about to warn about is told before the end of the run, and
// of a server that did not list its tools nothing is told to be there.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, warned := toolserver.New("s", ""), make(chan string, 1)
		server.Add(wire.Tool{Name: "one", InputSchema: []byte(`{"type":"object"}`)}, func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
			return toolserver.TextResult("ok"), nil
		})
		b := &Toolbox{Conns: []*Connection{NewConnection(servers.Server{Spec: mcp.Spec{Name: "s", Local: func() wire.Transport { return &changing{Transport: server.Pipe()} }}})}}
		hooks := mcp.Hooks{Warning: func(code, _ string) { warned <- code }}
		b.connect(func(c *Connection) { c.Start(t.Context(), &config.Processes{}, hooks) }, func(err error) { t.Error(err) }, func(string) {})
		defer b.Close()
		if _, err := b.Conns[0].Session.Call(t.Context(), "one", []byte("{}"), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(warned) > 0 {
			t.Fatal("the list has been read too soon for this test")
		}
		b.Settle()
		synctest.Wait()
		select {
		case code := <-warned:
			if code != "tools_changed" {
				t.Error(code)
			}
		default:
			t.Error("the end of the run did not wait for the warning")
		}
		if infos := b.infos(); len(infos) != 1 || infos[0].Tools != 1 {
			t.Errorf("%+v", infos)
		}
		failed := &Toolbox{Conns: []*Connection{{firstStart: firstStart{Err: errors.New("no list")}}}}
		if infos := failed.infos(); len(infos) != 0 {
			t.Errorf("%+v", infos)
		}
	})
}

// changing is a transport that announces another list of tools behind the answer of a call,
// and gives it half a second after it was asked for.
type changing struct {
	wire.Transport
	called, announced bool
}

func (c *changing) Receive() ([]byte, error) {
	if c.called && !c.announced {
		c.announced = true
		return []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), nil
	}
	msg, err := c.Transport.Receive()
	c.called = c.called || bytes.Contains(msg, []byte(`"content"`))
	if c.announced {
		time.Sleep(time.Second / 2)
		msg = bytes.ReplaceAll(msg, []byte(`"one"`), []byte(`"two"`))
	}
	return msg, err
}

// TestRevivalPause: a server that does not start again is tried three times in a row, and
// then once a minute. An answered call gives it three tries again.
func TestRevivalPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, warned, works := 0, 0, false
		server := toolserver.New("s", "")
		r := &revival{warn: func(string, string) { warned++ }}
		r.start = func(*mcp.Session) *laterStart {
			starts++
			l := &laterStart{begin: func() {}, done: make(chan struct{}), started: &Connection{firstStart: firstStart{Err: errors.New("no disk")}}}
			l.check = func(c *Connection) *failure.Error { return failure.Usage("no disk") }
			if works {
				s, err := mcp.Connect(t.Context(), mcp.Spec{Name: "s", Local: func() wire.Transport { return server.Pipe() }}, mcp.Hooks{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				l.started.firstStart = firstStart{Session: s}
				l.check = func(*Connection) *failure.Error { return nil }
			}
			close(l.done)
			return l
		}
		c := &Connection{again: r}
		r.next = r.start(nil)
		use := func(times, want, wantWarned int) {
			t.Helper()
			starts, warned = 0, 0
			for range times {
				if _, err := c.Use(t.Context()); wire.MayHaveArrived(err) {
					t.Error(err)
				}
			}
			if starts != want || warned != wantWarned {
				t.Errorf("%d starts, want %d; %d warnings", starts, want, warned)
			}
		}
		use(6, 3, 1)
		time.Sleep(time.Minute)
		use(6, 1, 1)
		time.Sleep(time.Minute)
		works = true
		use(6, 1, 0)
		c.Answered()
		works = false
		r.next.session().Close()
		use(6, 3, 1)
	})
}

// TestFollowLate: a change that is announced 10 ms after the result of a call is read before
// the next request. A server that announces nothing is awaited only a little.
func TestFollowLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := toolserver.New("s", "")
		add := func(name string) {
			server.Add(wire.Tool{Name: name, InputSchema: []byte(`{"type":"object"}`)}, func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
				return toolserver.TextResult("ok"), nil
			})
		}
		add("one")
		session, err := mcp.Connect(t.Context(), mcp.Spec{Name: "s", Local: func() wire.Transport { return &late{Transport: server.Pipe()} }}, mcp.Hooks{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		b := &Toolbox{inv: &invocation.Invocation{Config: &config.Config{}, Gate: &approve.Gate{}}, table: table{byName: map[string]*Tool{}}}
		c := &Connection{Server: servers.Server{Spec: mcp.Spec{Name: "s"}}, firstStart: firstStart{Session: session}}
		c.Trusted = true
		b.Conns = []*Connection{c}
		b.Offer(c.add(session.Tools()[0]))
		follow := func(want bool, wait time.Duration) {
			t.Helper()
			began := time.Now()
			changed := b.Follow(t.Context(), []stream.Call{{Name: "s__one"}}, func(do func()) { do() })
			if took := time.Since(began); changed != want || took != wait {
				t.Errorf("changed: %v, after %v", changed, took)
			}
		}
		follow(false, announceDelay)
		add("two")
		if _, err := session.Call(t.Context(), "one", []byte("{}"), nil); err != nil {
			t.Fatal(err)
		}
		follow(true, announceDelay)
		if b.Tool("s__two") == nil {
			t.Errorf("the tools are %q", b.Names())
		}
		c.Trusted = false
		follow(false, 0)
	})
}

// late is a transport of a server that announces a change 10 ms after the result of a call.
type late struct {
	wire.Transport
	called, announced bool
}

func (l *late) Receive() ([]byte, error) {
	if l.called && !l.announced {
		l.announced = true
		time.Sleep(10 * time.Millisecond)
		return []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), nil
	}
	msg, err := l.Transport.Receive()
	l.called = l.called || bytes.Contains(msg, []byte(`"content"`))
	return bytes.Replace(msg, []byte(`"tools":{}`), []byte(`"tools":{"listChanged":true}`), 1), err
}
