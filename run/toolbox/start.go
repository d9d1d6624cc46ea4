package toolbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/builtin"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/run/servers"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// stdinGrace is how long standard input is still read after a server failed. --output messages may
// print the conversation in it, which may be complete already.
const stdinGrace = time.Second

// Begin begins a run without a conversation: it starts the servers, reads standard input if
// necessary, checks the tools, and emits the start event.
func (b *Toolbox) Begin(ctx context.Context) (*input.Stdin, error) {
	data, err := b.ConnectAndRead(ctx)
	if err == nil {
		err = b.UseServers()
	}
	if err == nil {
		err = b.EmitStart()
	}
	return data, err
}

// ConnectAndRead starts all servers, except those that start later, and meanwhile reads standard
// input. The first failure of a required server stops both.
func (b *Toolbox) ConnectAndRead(ctx context.Context) (*input.Stdin, error) {
	reads := b.inv.Config.ReadsInput(b.inv.Streams.InTerminal)
	b.heedHost()
	for _, s := range b.inv.Servers {
		b.Conns = append(b.Conns, NewConnection(s))
	}
	if err := b.holdServers(); err != nil {
		return nil, err
	}
	var later context.Context
	later, b.starts.cancel = context.WithCancel(ctx)
	names := b.putOff(later)
	b.reviveLost(later)
	if len(names) == 0 && (b.inv.Streams.InFile || !reads) {
		if !reads {
			return new(input.Stdin), nil
		}
		return input.Whole(b.inv.Config, b.inv.Streams.In)
	}
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	starting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.inv.Face.Connecting(names)
	required := func(err error) {
		cancel(err)
		if b.inv.Config.Output == "messages" {
			goroutine.AfterFunc(stdinGrace, func() { stop(err) })
		} else {
			stop(err)
		}
	}
	if b.inv.Config.ShowsServers() { // each server is listed with its failure
		required = func(error) {}
	}
	connected := goroutine.Done(func() {
		b.connect(func(c *Connection) { b.start(starting, c) }, required, b.inv.Face.ServerReady)
	})
	data, err := new(input.Stdin), error(nil)
	if reads {
		b.inv.Face.ReadingStdin(true)
		data, err = input.Read(reading, b.inv.Config, b.inv.Streams.In, b.inv.SayWaiting)
		if err != nil {
			cancel(err)
		}
		b.inv.Face.ReadingStdin(false)
	}
	b.inv.Face.AwaitServers()
	<-connected
	b.inv.Face.Awaiting("")
	for _, c := range b.Conns {
		if c.Optional || b.inv.Config.ShowsServers() {
			c.WarnOfLogin(b.inv.Emit, c.Err, false)
		}
	}
	return data, cmp.Or(err, b.splitFar())
}

// hostWait is how long servers with --serve wait for the host's first message. A host sends it as
// soon as it has started this process.
const hostWait = time.Second

// heedHost sets whether servers may ask the user of the host, if --elicit does not say it. Servers
// of legacy revisions may ask if the host's first message declares support; servers of 2026-07-28
// may ask in calls that declare it. A server may hide a tool from a client that cannot be asked, so
// support is not promised if every question would be declined.
func (b *Toolbox) heedHost() {
	external := func(s servers.Server) bool { return s.Local == nil }
	if b.inv.Config.Mode != config.Serve || b.inv.Config.Elicit != "" || !slices.ContainsFunc(b.inv.Servers, external) {
		return
	}
	how := "each" // client of --listen declares it separately
	if b.inv.Config.Listen == "" && toolserver.DeclaresForms(b.inv.FirstLine(hostWait)) {
		how = "ask"
	}
	for i := range b.inv.Servers {
		b.inv.Servers[i].Elicit = how
	}
}

// start starts a server, first with the protocol revision in the lock, if there is one. With
// --serve, or if its tools follow its list, it asks the server to announce changes.
func (b *Toolbox) start(ctx context.Context, c *Connection) {
	only := c.Spec.Protocol.Only
	if only == "" || only == "auto" {
		c.Spec.Protocol.Known = b.locked.revisions[c.Name]
	}
	c.Start(ctx, b.inv.Config.Processes, b.Hooks(&c.Server))
	if c.Session == nil {
		return
	}
	b.compareRevision(c)
	if mode := b.inv.Config.Mode; c.Local == nil && mode == config.Serve || mode == config.Answer && b.Follows(c) {
		c.Session.Watch()
	}
}

// compareRevision says which setting saves the second start of the server in the next run.
func (b *Toolbox) compareRevision(c *Connection) {
	spoken, known := c.Session.Protocol(), c.Spec.Protocol.Known
	switch {
	case known != "" && known != spoken:
		b.inv.Warn("protocol_mismatch", c.Name, "server "+strconv.Quote(c.Name)+" speaks "+spoken+", not "+known+" as "+strconv.Quote(b.inv.Config.ToolsLock)+" says, which can cost one extra start; --tools-lock-update writes the file anew")
	case known == "" && c.Session.Restarted():
		b.inv.Face.Notef(`server %q was started twice, because it speaks only %s; "protocol": "legacy" in its entry, or --tools-lock, saves the first start`, c.Name, spoken)
	}
}

// Hooks handle messages of a server other than answers.
func (b *Toolbox) Hooks(s *servers.Server) mcp.Hooks {
	h := mcp.Hooks{
		Warning: func(code, message string) {
			if code == "input_refused" {
				message += "; --elicit ask lets it ask you on the terminal"
			}
			byRevival := code == "server_lost" && revives(s) // it warns when it knows what follows
			if !byRevival && b.concerns(code, s.Name, message) {
				b.inv.Warn(code, s.Name, message)
			} else {
				b.inv.Face.VerboseLine(message)
			}
		},
		Wire:       b.inv.Face.Wire(s.Name),
		OutputWait: b.inv.Readers.Time,
		Tape:       b.tape(s),
		Secrets:    b.inv.Secrets,
	}
	if b.inv.Config.Verbose > 0 { // servers are asked for logs only if somebody reads them
		h.Log = func(line string) { b.inv.Face.VerboseLine(s.Name + ": " + line) }
	}
	if b.inv.Config.Mode == config.Serve {
		h.LogMessage = func(params []byte) { b.inv.ToHost(s.Name, params) }
		h.Announced = func(method string, params []byte) { b.inv.Announced(s.Name, method, params) }
	}
	if s.Elicit == "ask" && b.inv.Config.Mode != config.Serve { // the terminal belongs to the host
		h.Elicit = askOnTerminal(b.inv.Gate.Terminal, s.Name)
	}
	return h
}

// concerns reports whether a server's warning matters for this run. Without a model, a changed list of
// tools is not needed, and a user who asks about one tool needs no warning about another.
func (b *Toolbox) concerns(code, server, message string) bool {
	switch b.inv.Config.Mode {
	case config.Answer, config.Serve:
		return true
	case config.CallTool, config.Explain, config.DescribeTool:
		if name, ok := strings.CutPrefix(b.inv.Config.Target, server+"__"); code == "tool_dropped" {
			return ok && strings.Contains(message, "tool "+strconv.Quote(name)+" ")
		}
	}
	return code != "tools_changed"
}

// IsTaped reports whether a recording has the answers of a server. Agents, and the tools that find
// tools and read results, work in a replay too: what they use is recorded.
func IsTaped(s *servers.Server) bool {
	return !s.Agent && s.Name != finderServer && s.Name != builtin.ResultsName
}

// tape keeps the answers of a server in the recording, or takes them from it; nil without one.
func (b *Toolbox) tape(s *servers.Server) mcp.Tape {
	t := b.inv.Tape()
	if t == nil || !IsTaped(s) {
		return nil
	}
	return func(method string, params []byte, ask func() ([]byte, error)) ([]byte, error) {
		asked := fmt.Appendf(nil, `{"server":%s,"method":%q,"params":%s}`, jsontext.Quoted(s.Name), method, params)
		if !t.Replays() {
			answer, err := ask()
			if err != nil {
				answer = []byte("null")
			}
			t.Keep(asked, answer)
			return answer, err
		}
		answer, err := t.Take(asked)
		switch {
		case err != nil:
			return nil, failure.Of(err) // also where it is the failure of an optional server
		case string(answer) == "null":
			return nil, &wire.RPCError{Code: wire.CodeMethodNotFound, Message: "it failed in the recorded run"}
		}
		return answer, nil
	}
}
