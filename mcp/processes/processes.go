// Package processes is the built-in tool server of programs that go on while the
// model works: servers, builds, programs that ask. They are the commands of
// mcp/shell that nobody waits for: the same environment, the same directories, the
// same end. What they write is kept, the beginning and the end of it, and none of
// them outlives the run.
package processes

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"toolpipe/mcp/command"
	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// A Spec says how programs are started.
type Spec struct {
	Commands command.Spec
	Limit    time.Duration // the longest that a wait may take; 0: 10 min
	Version  string
}

const (
	maxPrograms = 32               // that are known at once, with those that have ended
	maxName     = 32               // bytes
	maxWait     = 10 * time.Minute // with a pause of the run's own idle deadline
	defaultWait = 30 * time.Second
	endGrace    = 2 * time.Second // for the end of a program, before and after SIGKILL
)

// server has the programs, in the order of their start.
type server struct {
	commands *command.Commands
	limit    time.Duration

	mu       sync.Mutex // held while a program is started
	programs []*program
	count    int // numbers the ids
}

// New makes the server. An error is about the directory or PathPrepend of the
// commands.
func New(spec Spec) (*toolserver.Server, error) {
	s, err := newServer(spec)
	if err != nil {
		return nil, err
	}
	local := toolserver.New("processes", spec.Version)
	for _, t := range s.tools() {
		local.AddBuiltin(&t.Builtin, t.run)
	}
	return local, nil
}

func newServer(spec Spec) (*server, error) {
	commands, err := command.New(spec.Commands)
	if err != nil {
		return nil, err
	}
	if spec.Limit <= 0 {
		spec.Limit = maxWait
	}
	return &server{commands: commands, limit: spec.Limit}, nil
}

type tool struct {
	toolserver.Builtin
	run func(context.Context, toolserver.Arguments, func(wire.Progress)) (*wire.Result, error)
}

func (s *server) tools() []tool {
	id := toolserver.Parameter{Name: "id", Kind: "string", About: "id of the process, as start and list say it", Required: true}
	define := func(name, annotations, about string, run func(context.Context, toolserver.Arguments, func(wire.Progress)) (*wire.Result, error), params ...toolserver.Parameter) tool {
		return tool{toolserver.Builtin{Name: name, About: about, Params: params, Annotations: annotations}, run}
	}
	return []tool{
		define("start", toolserver.RunsFree, "Start a program that goes on in the background, such as a server, a long build or an interactive program, and answer its id. "+
			"Give argv, or script for /bin/sh. It is killed at the end of the run.", s.start, append(command.Parameters(),
			toolserver.Parameter{Name: "env", Kind: "object", About: `variables to set for it, such as {"PORT":"8080"}`},
			toolserver.Parameter{Name: "name", Kind: "string", About: "its id, such as server: letters, digits, - and _; p1, p2 and so on when absent"},
			toolserver.Parameter{Name: "pty", Kind: "boolean", About: "give it a terminal, for programs that ask, edit lines or react to keys; 80 columns, 24 rows, TERM=dumb unless env says otherwise"},
		)...),
		define("list", toolserver.ReadsOnly, "List the processes that were started, with their state and the size of their output.", s.list),
		define("output", toolserver.ReadsOnly, "Read what a process wrote (stdout and stderr together), without escape sequences, and the offset that follows. Of a long output the middle is lost.", s.output, id,
			toolserver.Parameter{Name: "since", Kind: "integer", About: "offset to read from; when absent, the last max_bytes are read"},
			toolserver.Parameter{Name: "max_bytes", Kind: "integer", About: fmt.Sprintf("how much to read; %d when absent, at most %d", defaultRead, toolserver.MaxText)},
			toolserver.Parameter{Name: "raw", Kind: "boolean", About: "keep escape sequences and control characters"},
		),
		define("search", toolserver.ReadsOnly, "Find the lines of output that match an RE2 regular expression.", s.search,
			toolserver.Parameter{Name: "pattern", Kind: "string", About: "regular expression, such as error|warning", Required: true},
			toolserver.Parameter{Name: "id", Kind: "string", About: "id of one process; all of them when absent"},
		),
		define("wait", toolserver.ReadsOnly, "Wait for processes: until a line of output matches pattern, until they are quiet for idle_s, or until they end. Without ids it is a delay of timeout_s.", s.wait,
			toolserver.Parameter{Name: "ids", Kind: "strings", About: `ids of the processes, such as ["server"]`},
			toolserver.Parameter{Name: "all", Kind: "boolean", About: "wait for all of them; for the first one when absent"},
			toolserver.Parameter{Name: "pattern", Kind: "string", About: "RE2 regular expression for a line of output, such as listening on"},
			toolserver.Parameter{Name: "since", Kind: "integer", About: "offset in the output from which the pattern is looked for; 0, all of it, when absent"},
			toolserver.Parameter{Name: "idle_s", Kind: "number", About: "seconds without output"},
			toolserver.Parameter{Name: "exit", Kind: "boolean", About: "until they end, which is so without pattern and idle_s too; an end always ends the wait for that process"},
			toolserver.Parameter{Name: "timeout_s", Kind: "number", About: fmt.Sprintf("longest time to wait; %v when absent, at most %v", min(defaultWait, s.limit).Seconds(), s.limit.Seconds())},
		),
		define("input", toolserver.RunsFree, "Type into a process: text, then key.", s.input, id,
			toolserver.Parameter{Name: "text", Kind: "string", About: `text as it is; key "enter" behind it ends the line`},
			toolserver.Parameter{Name: "key", Kind: "string", About: "enter, tab, escape, backspace, delete, up, down, left, right, home, end, page-up, page-down, or ctrl-a to ctrl-z; without pty: enter, tab, and ctrl-d, which closes its input"},
			toolserver.Parameter{Name: "tail_s", Kind: "number", About: "answer the output that follows too: wait for it up to so many seconds, until it pauses"},
		),
		define("ports", toolserver.ReadsOnly, "Tell the addresses that a process and its children listen on, and the URLs in its output.", s.ports, id),
		define("signal", toolserver.RunsFree, "Send a signal to a process and its group, and answer whether it has ended. KILL ends its children wherever they are.", s.signal, id,
			toolserver.Parameter{Name: "signal", Kind: "string", About: "TERM (when absent), INT, HUP, QUIT, KILL, USR1, USR2, ALRM, STOP, CONT, TSTP or WINCH"},
		),
		define("restart", toolserver.RunsFree, "End a process and its children, and start it again as it was started, under its id. Its output begins anew.", s.restart, id),
	}
}

func (s *server) start(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	env, err := variables(args["env"])
	if err != nil {
		return nil, err
	}
	pty := args.Flag("pty")
	if _, named := env["TERM"]; pty && !named {
		env["TERM"] = "dumb" // what the program writes is read as text, in order
	}
	cmd, err := s.commands.Command(confine.BoundsOf(ctx), args, env)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := s.freeID(args)
	if err != nil {
		return nil, err
	}
	i, err := s.place(id)
	if err != nil {
		return nil, err
	}
	p, err := s.launch(id, *cmd, pty)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		s.programs[i].forget()
		s.programs = slices.Delete(s.programs, i, i+1)
	}
	s.programs = append(s.programs, p)
	return toolserver.TextResult(fmt.Sprintf("[toolpipe] %s was started (pid %d)\n", id, p.process.Pid())), nil
}

// variables are those that a call sets.
func variables(raw []byte) (map[string]string, error) {
	env := map[string]string{}
	for literal, value := range jsontext.Members(raw) {
		name := jsontext.Unquote(literal)
		_, twice := env[name]
		switch {
		case jsontext.Kind(value) != '"':
			return nil, fmt.Errorf("env %q must be a string, not %s", name, wire.Snippet(value))
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return nil, fmt.Errorf("env %q is no name of a variable", name)
		case twice:
			return nil, fmt.Errorf("env %q is given twice", name)
		}
		if env[name] = jsontext.Text(value); strings.IndexByte(env[name], 0) >= 0 {
			return nil, fmt.Errorf("env %q cannot have a NUL byte", name)
		}
	}
	return env, nil
}

// freeID is the id of a new program: the name of the call, which no running program
// has, or a number. s.mu is held.
func (s *server) freeID(args toolserver.Arguments) (string, error) {
	if name := args.Text("name"); args.Has("name") {
		letter := func(r rune) bool {
			return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		}
		if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return !letter(r) }) {
			return "", fmt.Errorf("name %.100q: a name is letters, digits, - and _, at most %d", name, maxName)
		}
		if p := s.byID(name); p != nil && !p.hasEnded() {
			return "", fmt.Errorf("%s is running already: restart starts it again, signal ends it", name)
		}
		return name, nil
	}
	for {
		s.count++
		if id := fmt.Sprintf("p%d", s.count); s.byID(id) == nil {
			return id, nil
		}
	}
}

// place is the index of the program whose place a new one takes, -1 for none: the one
// of that id, which has ended, and otherwise the oldest that has, when there are too
// many. What the one of that id left behind ends here, since it may have the port that
// the new one needs. s.mu is held.
func (s *server) place(id string) (int, error) {
	i := slices.IndexFunc(s.programs, func(p *program) bool { return p.id == id })
	switch {
	case i >= 0:
		s.programs[i].process.KillTree(endGrace)
	case len(s.programs) >= maxPrograms:
		if i = slices.IndexFunc(s.programs, (*program).hasEnded); i < 0 {
			return i, fmt.Errorf("%d processes are running, more are not allowed: end one by signal", maxPrograms)
		}
	}
	return i, nil
}

// byID is the program of that id, nil if there is none. s.mu is held.
func (s *server) byID(id string) *program {
	for _, p := range s.programs {
		if p.id == id {
			return p
		}
	}
	return nil
}

// find is the program that a call names.
func (s *server) find(id string) (*program, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.byID(id); p != nil {
		return p, nil
	}
	if len(s.programs) == 0 {
		return nil, errors.New("no process was started yet")
	}
	var ids []string
	for _, p := range s.programs {
		ids = append(ids, p.id)
	}
	return nil, fmt.Errorf("no process has the id %.100q; there are %s", id, strings.Join(ids, ", "))
}

// all are the programs that are known.
func (s *server) all() []*program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.programs)
}

func (s *server) list(context.Context, toolserver.Arguments, func(wire.Progress)) (*wire.Result, error) {
	var b []byte
	for _, p := range s.all() {
		b = fmt.Appendf(b, "%s; %d bytes of output: %s\n", p.describe(), p.out.Size(), shortened(strings.Join(p.cmd.Args, " "), 200))
	}
	if b == nil {
		b = []byte("[toolpipe] no process was started yet\n")
	}
	return toolserver.TextResult(b), nil
}

// restart starts a program again in the directory that was looked at when it was
// started first.
func (s *server) restart(_ context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	old, err := s.find(args.Text("id"))
	if err != nil {
		return nil, err
	}
	if !old.end() {
		return nil, fmt.Errorf("%s could not be ended within %v, so it was not started again", old.id, 2*endGrace)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.programs, old)
	if i < 0 {
		return nil, fmt.Errorf("%s was started again by another call meanwhile", old.id)
	}
	p, err := s.launch(old.id, old.cmd, old.pty)
	if err != nil {
		return nil, fmt.Errorf("%s has ended, and %w", old.id, err)
	}
	old.forget()
	s.programs[i] = p
	return toolserver.TextResult(fmt.Sprintf("[toolpipe] %s was started again (pid %d); its output begins anew\n", p.id, p.process.Pid())), nil
}

// startable is what a program is started with each time.
func startable(cmd exec.Cmd) *exec.Cmd {
	return &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir}
}
