// Package processes is the built-in tool server for programs that run while the model works:
// servers, builds, interactive programs. A program is started like a command of
// mcp/builtin/shell, with the same environment and in the same directories, but no call waits
// for its end. The beginning and the end of its output are kept. A program with a terminal
// also has a screen: the part of its output that a person would see now. No program outlives
// the run, or the connection of the client that started it.
package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
	"toolpipe/stream/text/screen"
)

// A Spec configures how programs are started.
type Spec struct {
	Commands shell.CommandSpec
	Limit    time.Duration // the longest wait; 0: 10 min
	Version  string
}

const (
	maxPrograms = 32 // programs that the server keeps at once, including ended ones
	maxName     = 32 // bytes of the name of a program
	nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	maxWait     = 10 * time.Minute // the run's own limit for a silent call pauses meanwhile
	defaultWait = 30 * time.Second
	killLimit   = 2 * time.Second // for the end of a killed program
	signalTime  = time.Second     // for its end after a signal
	termTime    = 2 * time.Second // for its end after SIGTERM, before it is killed
	inputTime   = 5 * time.Second // for it to read its input
)

// A server starts the programs of one client. It keeps ended programs until others need room.
type server struct {
	commands *shell.Commands
	note     string        // about the restrictions of programs
	limit    time.Duration // of a wait

	mu       sync.Mutex // locked while a program is started
	programs []*program // in the order of their start
	count    int        // the number in the last id that the server chose
	over     bool       // the client has disconnected: no more programs are started
}

// New makes the server, in which each client has separate programs. Errors are about the
// directory or PathPrepend of the commands.
func New(spec Spec) (*toolserver.Server, error) {
	s, err := newServer(spec)
	if err != nil {
		return nil, err
	}
	clientOf := func(ctx context.Context) context.Context { return confine.BoundsOf(ctx).Client }
	return toolserver.PerClient(clientOf, func() (*toolserver.Server, func()) {
		own := &server{commands: s.commands, note: s.note, limit: s.limit}
		return own.offer(spec.Version), own.close
	}), nil
}

func newServer(spec Spec) (*server, error) {
	commands, err := shell.NewCommands(spec.Commands)
	return &server{commands: commands, note: spec.Commands.Note, limit: cmp.Or(spec.Limit, maxWait)}, err
}

func (s *server) offer(version string) *toolserver.Server {
	local := toolserver.New("processes", version)
	for _, t := range s.tools() {
		local.AddBuiltin(t.Builtin, t.run)
	}
	return local
}

// close ends all programs, concurrently.
func (s *server) close() {
	s.mu.Lock()
	s.over = true
	all := s.programs
	s.mu.Unlock()
	goroutine.SideBySide(len(all), func(i int) {
		all[i].end()
		all[i].close()
	})
}

type tool struct {
	*toolserver.Builtin
	run toolserver.BuiltinFunc
}

func (s *server) tools() []tool {
	id := toolserver.Parameter{Name: "id", Kind: "string", About: "id of the process, from start or list", Required: true}
	runs := shell.Effects()
	brings := toolserver.Effects{Private: true, Untrusted: true} // output of a program
	lost := "a long output"
	if s.maxRead() > toolserver.MaxText {
		lost = fmt.Sprintf("an output of more than %d MiB", shell.MaxOutput>>20)
	}
	return []tool{
		{toolserver.Define("start", "Start a program that goes on in the background, such as a server, a long build or an interactive program, and return its id. "+
			strings.TrimSpace("Give argv, or script for /bin/sh. It is killed at the end of the run, or of the connection that started it. "+s.note), toolserver.RunsFree, runs, append(shell.Parameters(),
			toolserver.Parameter{Name: "env", Kind: "object", About: `variables to set for it, such as {"PORT":"8080"}`},
			toolserver.Parameter{Name: "name", Kind: "string", About: "its id, such as server: letters, digits, - and _; p1, p2 and so on when absent"},
			toolserver.Parameter{Name: "pty", Kind: "boolean", About: "give it a terminal, for programs that ask, edit lines, react to keys or fill a screen; TERM=" + screenTerm + " unless env says otherwise"},
			toolserver.Parameter{Name: "cols", Kind: "integer", About: fmt.Sprintf("columns of the terminal, %d when absent, at most %d", usualColumns, screen.MaxColumns)},
			toolserver.Parameter{Name: "rows", Kind: "integer", About: fmt.Sprintf("rows of the terminal, %d when absent, at most %d", usualRows, screen.MaxRows)},
		)...), s.start},
		{toolserver.Define("list", "List the processes that were started, with their state and the size of their output.", toolserver.ReadsOnly, brings), s.list},
		{toolserver.Define("output", "Read the output of a process (stdout and stderr together), without escape sequences, and the offset after it. The middle of "+lost+" is lost.", toolserver.ReadsOnly, brings, id,
			toolserver.Parameter{Name: "since", Kind: "integer", About: "offset to read from; when absent, the last max_bytes are read"},
			toolserver.Parameter{Name: "max_bytes", Kind: "integer", About: fmt.Sprintf("number of bytes to read; %d when absent, at most %d", defaultRead, s.maxRead())},
			toolserver.Parameter{Name: "raw", Kind: "boolean", About: "keep escape sequences and control characters"},
			toolserver.Parameter{Name: "screen", Kind: "boolean", About: "with pty: the screen of the terminal as rows of text, with the position of the cursor and a version that grows with each change"},
		), s.forProgram(s.readOutput)},
		{toolserver.Define("search", "Find the lines of output that match an RE2 regular expression.", toolserver.ReadsOnly, brings,
			toolserver.Parameter{Name: "pattern", Kind: "string", About: "regular expression, such as error|warning", Required: true},
			toolserver.Parameter{Name: "id", Kind: "string", About: "id of one process; all of them when absent"},
			toolserver.Parameter{Name: "screen", Kind: "boolean", About: "with pty: search the rows of the screen instead"},
		), s.search},
		{toolserver.Define("wait", "Wait for processes: until a line of output matches pattern, until their screen changes, until they are quiet for idle_s, or until they end. Without ids it is a timer: it sleeps for timeout_s.", toolserver.ReadsOnly, brings,
			toolserver.Parameter{Name: "ids", Kind: "strings", About: `ids of the processes, such as ["server"]`},
			toolserver.Parameter{Name: "all", Kind: "boolean", About: "wait for all of them; for the first one when absent"},
			toolserver.Parameter{Name: "pattern", Kind: "string", About: "RE2 regular expression for a line of output, such as listening on"},
			toolserver.Parameter{Name: "since", Kind: "integer", About: "offset in the output at which the search for the pattern begins; 0 when absent"},
			toolserver.Parameter{Name: "screen_pattern", Kind: "string", About: "with pty: RE2 regular expression for a row of the screen"},
			toolserver.Parameter{Name: "screen_after", Kind: "integer", About: "with pty: version of a screen; wait for a later one, on which screen_pattern matches if it is given"},
			toolserver.Parameter{Name: "idle_s", Kind: "number", About: "seconds without output"},
			toolserver.Parameter{Name: "exit", Kind: "boolean", About: "wait until they end; without pattern and idle_s this is the default. The wait for a process always ends when it ends"},
			toolserver.Parameter{Name: "timeout_s", Kind: "number", About: fmt.Sprintf("longest time to wait; %v when absent, at most %v", min(defaultWait, s.limit).Seconds(), s.limit.Seconds())},
		), s.wait},
		{toolserver.Define("input", "Type into a process: text, then key.", toolserver.RunsFree, runs, id,
			toolserver.Parameter{Name: "text", Kind: "string", About: `text to type, unchanged; key "enter" after it ends the line`},
			toolserver.Parameter{Name: "key", Kind: "string", About: terminalKeys + "; without pty: enter, tab, and ctrl-d, which closes its input"},
			toolserver.Parameter{Name: "tail_s", Kind: "number", About: "return the output that follows too: wait for it up to this many seconds, until it pauses"},
		), s.forProgram(s.input)},
		{toolserver.Define("resize", "Give the terminal of a process another size.", toolserver.RunsFree, runs, id,
			toolserver.Parameter{Name: "cols", Kind: "integer", About: fmt.Sprintf("columns, at most %d; unchanged when absent", screen.MaxColumns)},
			toolserver.Parameter{Name: "rows", Kind: "integer", About: fmt.Sprintf("rows, at most %d; unchanged when absent", screen.MaxRows)},
		), s.forProgram(resize)},
		{toolserver.Define("ports", "List the addresses on which a process and its children listen, and the URLs in its output.", toolserver.ReadsOnly, brings, id), s.forProgram(findPorts)},
		{toolserver.Define("signal", "Send a signal to a process and its group, and report whether it ended. KILL ends its children wherever they are.", toolserver.RunsFree, runs, id,
			toolserver.Parameter{Name: "signal", Kind: "string", About: "TERM (when absent), " + otherSignals},
		), s.forProgram(sendSignal)},
		{toolserver.Define("restart", "End a process and its children, and start it again as it was started, under its id. Its output and its screen begin anew.", toolserver.RunsFree, runs, id), s.forProgram(s.restart)},
	}
}

// forProgram makes the function of a tool with a program as its argument id.
func (s *server) forProgram(run func(context.Context, *program, toolserver.Arguments, func(wire.Progress)) (*wire.Result, error)) toolserver.BuiltinFunc {
	return func(ctx context.Context, args toolserver.Arguments, progress func(wire.Progress)) (*wire.Result, error) {
		p, err := s.find(args.Text("id"))
		if err != nil {
			return nil, err
		}
		return run(ctx, p, args, progress)
	}
}

func (s *server) start(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	env, err := variables(args["env"])
	if err != nil {
		return nil, err
	}
	of, err := terminalSize(args)
	if err != nil {
		return nil, err
	}
	if _, given := env["TERM"]; of != (size{}) && !given && !s.commands.Sets("TERM") {
		env["TERM"] = screenTerm
	}
	cmd, err := s.commands.Command(confine.BoundsOf(ctx), args, env)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, i, err := s.place(args)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		s.programs[i].process.KillTree(killLimit) // its remaining processes may use the port that the new one needs
	}
	p, err := s.launch(ctx, id, cmd, of)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		s.programs[i].close()
		s.programs = slices.Delete(s.programs, i, i+1)
	}
	s.programs = append(s.programs, p)
	return toolserver.TextResult(fmt.Sprintf("[toolpipe] %s was started (pid %d)\n", id, p.process.Pid())), nil
}

// terminalSize is the size of the terminal that a call of start requests, the zero value for
// none.
func terminalSize(args toolserver.Arguments) (size, error) {
	if args.Flag("pty") {
		return sizeOf(args, size{usualColumns, usualRows})
	}
	if args.Has("cols") || args.Has("rows") {
		return size{}, errors.New("cols and rows need a terminal: give pty too")
	}
	return size{}, nil
}

func variables(raw []byte) (map[string]string, error) {
	env := map[string]string{}
	for literal, value := range jsontext.Members(raw) {
		name := jsontext.Unquote(literal)
		switch {
		case jsontext.Kind(value) != '"':
			return nil, fmt.Errorf("env %q must be a string, not %s", name, wire.Snippet(value))
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return nil, fmt.Errorf("env %q is not the name of a variable", name)
		}
		if env[name] = jsontext.Text(value); strings.IndexByte(env[name], 0) >= 0 {
			return nil, fmt.Errorf("env %q cannot have a NUL byte", name)
		}
	}
	return env, nil
}

// place chooses the id of a new program, the argument name or a number, and the index of the
// program that it replaces, -1 for none. A program replaces the one with its id, which must
// have ended, or, if there is no room, the oldest ended one. The caller holds s.mu.
func (s *server) place(args toolserver.Arguments) (id string, index int, err error) {
	id, index = args.Text("name"), -1
	switch {
	case !args.Has("name"):
		for id == "" || s.index(id) >= 0 {
			s.count++
			id = fmt.Sprintf("p%d", s.count)
		}
	case id == "" || len(id) > maxName || strings.Trim(id, nameLetters) != "":
		return "", -1, fmt.Errorf("name %.100q: a name is letters, digits, - and _, at most %d", id, maxName)
	default:
		if index = s.index(id); index >= 0 && !s.programs[index].hasEnded() {
			return "", -1, fmt.Errorf("%s is running already: restart starts it again, signal ends it", id)
		}
	}
	if index < 0 && len(s.programs) >= maxPrograms {
		if index = slices.IndexFunc(s.programs, (*program).hasEnded); index < 0 {
			return "", -1, fmt.Errorf("%d processes are running, more are not allowed: end one by signal", maxPrograms)
		}
	}
	return id, index, nil
}

// index is the index of the program with that id, -1 if there is none. The caller holds s.mu.
func (s *server) index(id string) int {
	return slices.IndexFunc(s.programs, func(p *program) bool { return p.id == id })
}

func (s *server) find(id string) (*program, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(id); i >= 0 {
		return s.programs[i], nil
	}
	if len(s.programs) == 0 {
		return nil, errors.New("no process was started yet")
	}
	var ids []string
	for _, p := range s.programs {
		ids = append(ids, p.id)
	}
	return nil, fmt.Errorf("no process has the id %.100q; known ids: %s", id, strings.Join(ids, ", "))
}

func (s *server) all() []*program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.programs)
}

func (s *server) list(context.Context, toolserver.Arguments, func(wire.Progress)) (*wire.Result, error) {
	var b []byte
	for _, p := range s.all() {
		b = fmt.Appendf(b, "%s; %d bytes of output: %s\n", p.describe(), p.out.Size(), readable.Cut(strings.Join(p.cmd.Args, " "), 200, "…"))
	}
	if b == nil {
		b = []byte("[toolpipe] no process was started yet\n")
	}
	return toolserver.TextResult(b), nil
}

// restart starts a program again in the directory that was checked at its first start.
func (s *server) restart(ctx context.Context, old *program, _ toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	if !old.end() {
		return nil, fmt.Errorf("%s could not be ended within %v, so it was not started again", old.id, termTime+killLimit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.programs, old)
	if i < 0 {
		return nil, fmt.Errorf("%s was started again by another call meanwhile", old.id)
	}
	var of size
	if v, err := old.view(); err == nil {
		of = shownSize(v)
	}
	p, err := s.launch(ctx, old.id, old.cmd, of)
	if err != nil {
		return nil, fmt.Errorf("%s has ended, and %w", old.id, err)
	}
	old.close()
	s.programs[i] = p
	return toolserver.TextResult(fmt.Sprintf("[toolpipe] %s was started again (pid %d); its output begins anew\n", p.id, p.process.Pid())), nil
}
