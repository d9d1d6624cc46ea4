package run

import (
	"context"
	"strconv"
	"strings"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/stream/goroutine"
)

// A connector starts the servers of a plan, holds their sessions and tools, and puts
// these under the rules of the plan. Every mode works with it.
type connector struct {
	*plan
	box *toolbox // empty until the servers are about to start
}

// stdinGrace is how long standard input is still read after a server failed when
// --output messages has to print the conversation, which may be there already.
const stdinGrace = time.Second

// connectAndRead starts all servers, but for those that start later, and meanwhile reads
// standard input. The first required server that fails ends that.
func (k *connector) connectAndRead(ctx context.Context) ([]byte, error) {
	reads := k.cfg.ReadsInput(k.streams.InTerminal)
	k.box = newToolbox(k.servers)
	names := k.putOff(ctx)
	if len(names) == 0 && (k.streams.InFile || !reads) {
		if !reads {
			return nil, nil
		}
		return config.ReadLimited(k.streams.In, "standard input", input.MaxInput)
	}
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	starting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k.face.Connecting(names)
	required := func(err error) {
		cancel(err)
		if k.cfg.Output == "messages" {
			goroutine.AfterFunc(stdinGrace, func() { stop(err) })
		} else {
			stop(err)
		}
	}
	if k.cfg.ShowsServers() { // it shows all of them, each with its failure
		required = func(error) {}
	}
	connected := goroutine.Done(func() {
		k.box.connect(starting, k.cfg.Processes, k.hooks, required, k.face.ServerReady)
	})
	var data []byte
	var err error
	if reads {
		k.face.ReadingStdin(true)
		data, err = input.Read(reading, k.streams.In, k.sayWaiting)
		if err != nil {
			cancel(err)
		}
		k.face.ReadingStdin(false)
	}
	k.face.AwaitServers()
	<-connected
	k.face.Awaiting("")
	for _, c := range k.box.conns {
		if c.Optional || k.cfg.ShowsServers() {
			c.warnOfLogin(k.Emit, c.err, false)
		}
	}
	return data, err
}

// checkServers gives the error of a required server that failed. Only if there is
// none it warns about the optional servers: when a required server fails, those
// that are still starting are cancelled, which is no failure of theirs.
// --list-servers shows all of them before it fails.
func (k *connector) checkServers() error {
	for _, c := range k.box.conns {
		switch {
		case c.err == nil || c.Optional:
		case failure.IsCancelled(c.err):
			return c.err
		case !k.cfg.ShowsServers():
			return c.failure()
		}
	}
	for _, c := range k.box.conns {
		if c.err != nil && c.Optional && !k.cfg.ShowsServers() && !failure.IsCancelled(c.err) {
			k.warn("server_failed", c.Name, c.failure().Message)
		}
	}
	return nil
}

// useServers puts the tools of the connected servers under the rules that flags,
// policy and lock make.
func (k *connector) useServers() error {
	if err := k.checkServers(); err != nil {
		return err
	}
	k.box.index(k.cfg.Tools, k.cfg.ExcludeTools, k.warn)
	known := k.box.known()
	for _, s := range k.unused { // a rule for a server that this run does not use is no mistake
		known = append(known, approve.Server{Name: s.Name, Spelling: s.Spelling, Root: s.Root})
	}
	if k.cfg.FindsTools() { // its server starts when the tools of all others are known
		known = append(known, approve.Server{Name: finderServer, Started: true, Tools: []string{finderTool}})
	}
	warnings, err := k.gate.Check(known)
	if err != nil {
		return failure.Usage("%v", err)
	}
	for _, w := range warnings {
		k.warn("pattern_unused", "", w)
	}
	k.box.withhold(k.gate)
	k.box.label(k.gate)
	if k.locked == nil {
		return nil
	}
	diff := lockDiff(k.inUse(""), k.box.locks(k.locked))
	if diff == "" {
		return nil
	}
	return &failure.Error{Status: failure.StatusServer, Message: "the tools are not those of " + strconv.Quote(k.cfg.ToolsLock) + ":" + diff, Hints: []string{reviewLock}}
}

// emitStart emits the start event with what is known by now.
func (k *connector) emitStart() error {
	e := &event.Start{Version: k.cfg.Version, Policy: k.policy, Servers: k.box.infos()}
	if k.endpoint != nil {
		e.Model, e.API = k.endpoint.Model, k.endpoint.API
	}
	if k.settings != nil {
		e.ConfigRules = len(k.settings.Rules)
	}
	return k.Emit(e)
}

// hooks handle what a server sends beside its answers.
func (k *connector) hooks(s *config.Server) mcp.Hooks {
	h := mcp.Hooks{
		Warning: func(code, message string) {
			if code == "input_refused" {
				message += "; --elicit ask lets it ask you on the terminal"
			}
			if k.concerns(code, s.Name, message) {
				k.warn(code, s.Name, message)
			} else {
				k.face.VerboseLine(message)
			}
		},
		Wire:       k.face.Wire(s.Name),
		OutputWait: k.readers.Time,
		Secrets:    k.secrets,
	}
	if k.cfg.Verbose > 0 { // a server is asked to log only when somebody reads it
		h.Log = func(line string) { k.face.VerboseLine(s.Name + ": " + line) }
	}
	if k.cfg.Mode == config.Serve {
		h.LogMessage = func(params []byte) { k.toHost(s.Name, params) }
	}
	if s.Elicit == "ask" {
		h.Elicit = elicit(k.gate.Terminal, s.Name)
	}
	return h
}

// concerns tells whether a server's warning matters for this run. Without a model
// the list of tools was used already when it changes, and who asks about one tool
// wants to hear of no other.
func (k *connector) concerns(code, server, message string) bool {
	switch k.cfg.Mode {
	case config.Answer, config.Serve:
		return true
	case config.CallTool, config.Explain, config.DescribeTool:
		if name, ok := strings.CutPrefix(k.cfg.Target, server+"__"); code == "tool_dropped" {
			return ok && strings.Contains(message, "tool "+strconv.Quote(name)+" ")
		}
	}
	return code != "tools_changed"
}
