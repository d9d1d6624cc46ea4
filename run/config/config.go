// Package config turns files and flags into settings: the config file, the
// server entries of other hosts' files, profiles of models, words and
// durations. A value knows the file and the line it came from, so that an
// error about it can name them. Package run and its siblings read the result.
package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream"
	"toolpipe/stream/jsontext"
)

// Processes is the registry of every process that a run starts, so that main
// can end them all at once when there is no time for more.
type Processes = process.Processes

// Mode is what a run does.
type Mode uint8

const (
	Answer Mode = iota // let model and tools take turns
	ListTools
	DescribeTool
	CallTool
	ListServers
	ListResources
	ListPrompts
	UpdateLock
	Explain
	ReadResource
	ListModels
	Check
	SignIn // get a login at the server Target
	SignOut
	ListLogins
	Serve // be a server over standard input and output
)

// Config is one invocation as plain data: what the flags said, nothing
// resolved. The zero value of a field means that its flag was not given.
type Config struct {
	Version   string
	Environ   []string // the process's environment, "NAME=value"
	Processes *Processes
	Resumed   <-chan os.Signal // SIGCONT, so that a question is drawn again; may be nil

	// Watch lets signals end the run in order; before, they kill the process. The
	// first call takes 0.2 to 0.5 ms, since the Go runtime starts threads for it. It
	// may be nil. See WatchSignals.
	Watch func()

	clientMetadataURL string // of the config file, for every server

	Mode   Mode
	Target string // of DescribeTool, CallTool, Explain, ReadResource, SignIn and SignOut

	// input
	Args       []string // the prompt arguments
	Input      string   // auto, text or messages; "" is auto
	NoStdin    bool
	Files      []string
	Refresh    bool // tell the model of changes to files
	System     *string
	SystemFile string
	Session    string   // the file of a conversation that goes on
	Resources  []string // NAME:URI
	Prompt     string   // NAME:PROMPT[,arg=value…]

	// model
	Model           string
	BaseURL         string
	API             string
	KeyEnv          *string
	KeyFile         string
	InsecureHTTP    []string
	MaxTokens       int
	Temperature     string
	ReasoningEffort string
	Params          []string // NAME=JSON
	Schema          string   // a file, or the schema itself
	ThinkTags       bool
	RetryFor        time.Duration

	// tools
	Servers        []string // [NAME=]TARGET, NAME?=TARGET
	ServerConfigs  []string // --mcp-config
	ServerAuthEnv  []string // NAME=VAR
	ServerEnv      []string // NAME=VAR[,VAR…]
	ServerDirs     []string // [NAME=]DIR
	ChosenServers  []string // comma lists of names; nil: all that the files have
	Trust          []string
	LoginScopes    string // that SignIn asks for beside others, separated by blanks
	Elicit         string
	FileRoots      []string // [NAME=]DIR
	FilesAnyway    bool
	Code           bool
	Shell          bool
	Background     bool // with Shell: programs that go on
	Fetch          bool
	Notes          string
	Agents         []string // [NAME=]PROFILE
	FetchAllow     []string
	Tools          []string
	ExcludeTools   []string
	FindTools      string // never, auto or always; "" is never
	Parallel       int
	MaxResultBytes int64
	CmdLines       bool
	DryRun         bool

	// approvals
	AutoApprove bool
	Allow, Deny []string
	Policies    []string
	ToolsLock   string
	Start       string // of servers: first, beside or call; "" is first
	Unapproved  string // stop or deny; "" is stop
	NoInput     bool
	Egress      string // off, warn, ask or deny; "" is warn
	Approver    string // command or URL

	// output
	Output  string // text, ndjson, json, messages, block or block:LANG; "" is text
	Stream  *bool  // nil: as the output and the tools ask for
	Quiet   bool
	Verbose int
	Color   string // auto, always or never; "" is auto
	Log     string
	Record  string
	Replay  string

	// limits and config
	MaxRounds      *int
	Timeout        time.Duration
	ToolTimeout    time.Duration
	StartupTimeout time.Duration
	MaxTotalTokens int
	ConfigFile     string
	NoConfig       bool
}

// Getenv looks a name up in the environment of the invocation.
func (c *Config) Getenv(name string) string {
	v, _ := c.LookupEnv(name)
	return v
}

// LookupEnv is Getenv, and tells whether there is such a variable. Of two the later
// counts, as in os/exec.
func (c *Config) LookupEnv(name string) (string, bool) {
	for i := len(c.Environ) - 1; i >= 0; i-- {
		if e := c.Environ[i]; len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			return e[len(name)+1:], true
		}
	}
	return "", false
}

// InCI tells whether a continuous-integration system runs this process: then
// nobody is there who could answer a question.
func (c *Config) InCI() bool {
	switch c.Getenv("CI") {
	case "", "0", "false":
		return false
	}
	return true
}

// choice is a flag whose values are words.
type choice struct {
	flag, value string
	words       []string
}

func (c *Config) choices() []choice {
	form := c.Output
	if _, isBlock := c.Block(); isBlock {
		form = "block"
	}
	return []choice{
		{"input", c.Input, []string{"auto", "text", "messages"}},
		{"output", form, []string{"text", "ndjson", "json", "messages", "block"}},
		{"color", c.Color, []string{"auto", "always", "never"}},
		{"unapproved", c.Unapproved, []string{"stop", "deny"}},
		{"egress", c.Egress, []string{"off", "warn", "ask", "deny"}},
		{"start", c.Start, []string{"first", "beside", "call"}},
		{"find-tools", c.FindTools, []string{"never", "auto", "always"}},
		{"elicit", c.Elicit, []string{"off", "decline", "defaults", "ask"}},
		{"api", c.API, stream.APIs()},
	}
}

// Block tells whether the output is a block of the answer, and of which language;
// "" is any.
func (c *Config) Block() (language string, ok bool) {
	language, ok = strings.CutPrefix(c.Output, "block:")
	if ok && language != "" {
		return language, true
	}
	return "", c.Output == "block"
}

// WatchSignals calls Watch, if there is one. A run calls it before there is anything
// to end in order: a child, a log or events that have begun, a request. It may be
// called again, by any goroutine.
func (c *Config) WatchSignals() {
	if c.Watch != nil {
		c.Watch()
	}
}

// AttachesInput tells whether standard input is one of the attached files.
func (c *Config) AttachesInput() bool { return slices.Contains(c.Files, "-") }

// Streams tells whether --stream asks for text as it comes, Holds whether
// --stream=false asks for it in one piece.
func (c *Config) Streams() bool { return c.Stream != nil && *c.Stream }
func (c *Config) Holds() bool   { return c.Stream != nil && !*c.Stream }

// Choices are the values that a flag can have, nil if they are no list of words.
func Choices(flag string) []string {
	for _, f := range new(Config).choices() {
		if f.flag == flag {
			return f.words
		}
	}
	return nil
}

// Validate refuses values that a flag does not take, and flags that
// contradict each other.
func (c *Config) Validate() error {
	for _, f := range c.choices() {
		if f.value != "" && !slices.Contains(f.words, f.value) {
			return failure.UsageError([]string{"--" + f.flag + " is one of: " + JoinWords(f.words)}, "--%s: %q is not one of its values", f.flag, f.value)
		}
	}
	_, isBlock := c.Block()
	switch {
	case c.Parallel < 0:
		return failure.Usage("--parallel: %d is not a number of calls", c.Parallel)
	case c.MaxRounds != nil && *c.MaxRounds < 0:
		return failure.Usage("--max-rounds: %d is not a number of rounds", *c.MaxRounds)
	case c.MaxTokens < 0:
		return failure.Usage("--max-tokens: %d is not a number of tokens", c.MaxTokens)
	case c.MaxTotalTokens < 0:
		return failure.Usage("--max-total-tokens: %d is not a number of tokens", c.MaxTotalTokens)
	case c.MaxResultBytes < 0:
		return failure.Usage("--max-result-bytes: %d is not a number of bytes", c.MaxResultBytes)
	case c.Temperature != "" && !IsNumber(c.Temperature):
		return failure.Usage("--temperature: %q is not a number", c.Temperature)
	case c.System != nil && c.SystemFile != "":
		return failure.Usage("--system and --system-file: only one of them can be given")
	case c.AttachesInput() && (c.NoStdin || c.Input == "messages" || len(slices.DeleteFunc(slices.Clone(c.Files), func(p string) bool { return p != "-" })) > 1):
		return failure.Usage("--file -: standard input can be attached once, and be nothing else")
	case c.Record != "" && c.Replay != "":
		return failure.Usage("--record and --replay: only one of them can be given")
	case c.Schema != "" && isBlock:
		return failure.Usage("--schema and --output block: the answer is one JSON value, without blocks")
	case c.Mode != Answer && isBlock:
		return failure.Usage("--output block: there is no answer to take a block of; use text, ndjson or json")
	case isBlock && c.Streams():
		return failure.UsageError([]string{"leave --stream out"}, "--output block and --stream: the block is held until the answer is whole")
	case c.Schema != "" && c.Streams():
		return failure.UsageError([]string{"leave --stream out"}, "--schema and --stream: the answer is held until it is checked")
	case c.Input != "messages" && c.Session == "" && slices.ContainsFunc(c.Allow, func(list string) bool { return slices.Contains(strings.Split(list, ","), "@open") }):
		return failure.Usage("--allow @open: goes with --input messages or --session, whose open calls it allows")
	case c.NoConfig && c.ConfigFile != "":
		return failure.Usage("--config and --no-config: only one of them can be given")
	case c.CmdLines && !c.Shell:
		return failure.UsageError([]string{"add --shell, or leave --cmd-lines out"}, "--cmd-lines: needs --shell, whose tool runs the lines")
	case c.Background && !c.Shell:
		return failure.UsageError([]string{"add --shell, or leave --shell-background out"}, "--shell-background: needs --shell, whose environment and limits it has")
	case c.Refresh && len(c.Files)+len(c.FileRoots) == 0:
		return failure.Usage("--refresh: goes with -f or --files, whose files it looks at again")
	case c.FilesAnyway && len(c.FileRoots) == 0:
		return failure.Usage("--files-anyway: goes with --files DIR")
	case c.Code && len(c.FileRoots) == 0:
		return failure.UsageError([]string{"--files . --code works in the current directory"}, "--code: needs --files DIR, below which it works")
	case c.Mode == UpdateLock && c.ToolsLock == "":
		return failure.Usage("--tools-lock-update: goes with --tools-lock FILE")
	case c.Start != "" && c.Start != "first" && c.ToolsLock == "":
		return failure.UsageError([]string{"--tools-lock FILE --tools-lock-update writes one"}, "--start %s: needs --tools-lock FILE, which tells the tools before a server starts", c.Start)
	case c.LoginScopes != "" && c.Mode != SignIn:
		return failure.Usage("--login-scope: goes with --login NAME")
	case len(c.FetchAllow) > 0 && !c.Fetch:
		return failure.Usage("--fetch-allow: goes with --fetch")
	case c.Mode != Answer && c.Output == "messages":
		return failure.Usage("--output messages: there is no conversation to print; use text, ndjson or json")
	case c.Quiet && c.Verbose > 0:
		return failure.Usage("--quiet and --verbose: only one of them can be given")
	case c.Session != "":
		if err := c.checkSession(); err != nil {
			return err
		}
	}
	if c.Mode == Serve {
		return c.checkServe()
	}
	return nil
}

// IsNumber tells whether s is a number as JSON writes it.
func IsNumber(s string) bool {
	return jsontext.IsNumber([]byte(s)) && jsontext.Check([]byte(s), jsontext.Options{}) == nil
}

// userConfigDir is the directory of the user's config files, "" if there is
// none. A relative path in a variable is ignored, as the XDG Base Directory
// specification says: nothing is read from the working directory unless a flag
// names it.
func userConfigDir(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return stdio.DefaultConfigDir(home)
	}
	return ""
}

// DeniesUnapproved tells whether a call that nobody can approve is denied, and the
// run goes on.
func (c *Config) DeniesUnapproved() bool {
	return c.Unapproved == "deny" || c.Mode == Serve && c.Unapproved == ""
}

// checkServe refuses what contradicts --serve: standard input and output carry the
// protocol, and results pass whole.
func (c *Config) checkServe() error {
	switch {
	case c.Output != "":
		return failure.UsageError([]string{"--log FILE gets the events"}, "--serve and --output: standard output carries the protocol")
	case c.NoStdin || c.AttachesInput() || slices.Contains(c.ServerConfigs, "-"):
		return failure.Usage("--serve: standard input carries the protocol, so that no other flag can use it or leave it out")
	case c.Elicit == "ask":
		return failure.Usage("--serve and --elicit ask: nobody is asked on the terminal, which belongs to the host")
	case c.FindTools == "auto" || c.FindTools == "always":
		return failure.Usage("--serve and --find-tools: the list of tools that a host gets stays the same")
	case c.MaxResultBytes > 0:
		return failure.Usage("--serve and --max-result-bytes: results pass whole")
	}
	return nil
}

// MakesCalls tells whether this run may call tools.
func (c *Config) MakesCalls() bool {
	switch c.Mode {
	case ListTools, DescribeTool, ListServers, ListResources, ListPrompts, UpdateLock, Explain, ReadResource, ListModels, Check, SignIn, SignOut, ListLogins:
		return false
	}
	return true
}

// ShowsServers tells whether this run shows every server, each with its failure.
func (c *Config) ShowsServers() bool { return c.Mode == ListServers || c.Mode == Check }

// StartsLater tells whether the run takes the tools from the lock, and starts a server
// when it is needed. What shows the servers, or pins their tools, starts all of them.
func (c *Config) StartsLater() bool {
	if c.Start != "beside" && c.Start != "call" {
		return false
	}
	switch c.Mode {
	case Answer, ListTools, DescribeTool, CallTool, Explain, ReadResource, Serve:
		return true
	}
	return false
}

// FindsTools tells whether the model may have to find its tools.
func (c *Config) FindsTools() bool {
	return c.Mode == Answer && (c.FindTools == "auto" || c.FindTools == "always")
}

// ReadsInput tells whether this run reads standard input; terminal says that
// standard input is a terminal.
func (c *Config) ReadsInput(terminal bool) bool {
	switch {
	case c.NoStdin || terminal || slices.Contains(c.ServerConfigs, "-"):
		return false
	case c.Mode == CallTool || c.Mode == Explain:
		return len(c.Args) == 1 && c.Args[0] == "-"
	}
	return c.Mode == Answer
}

// A Warner warns the user. code is the warning's name for programs, server the
// name of the server that it is about, or "".
type Warner = func(code, server, message string)
