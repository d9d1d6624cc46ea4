// Package config holds one invocation as plain data: the flags and the environment. It checks them,
// and reads the files that they name.
package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/local"
	"toolpipe/mcp/process"
	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
)

// Processes is the registry of every process that a run starts. With it main can end all of them at
// once when there is no time for more.
type Processes = process.Processes

// Mode is what a run does.
type Mode uint8

const (
	Answer Mode = iota // let model and tools take turns
	List               // list the servers, models, resources, prompts or logins, as Target says
	ListTools
	DescribeTool
	CallTool
	CallMany // make the calls listed on standard input
	Apply    // make the calls of the plan Target
	UpdateLock
	Explain
	ReadResource
	Check
	SignIn // log in at the server Target
	SignOut
	Serve  // serve tools over standard input and output, or a socket
	Report // write a document, in the form Target, about the logs and sessions of runs
)

// ServerFlags are the flags about a single server.
type ServerFlags struct {
	ServerAuthEnv []string // NAME=VAR
	ServerEnv     []string // NAME=VAR[,VAR…]
	ServerDirs    []string // [NAME=]DIR
	Elicit        string
}

// Listening is how a server accepts many clients.
type Listening struct {
	Listen string        // the socket of Serve, unix:PATH; "" is standard input and output
	Idle   time.Duration // end after this time without a client; 0: never
}

// Approvals are the flags about which calls may run.
type Approvals struct {
	AutoApprove bool
	Allow, Deny []string
	Policies    []string
	ToolsLock   string
	Start       string // when servers start: first, beside or call; "" is first
	Unapproved  string // stop or deny; "" is stop
	NoInput     bool
	Egress      string // off, warn, ask or deny; "" is warn
	Staging
	Approver string // command or URL
	AskHost  string // off, calls or all; "" is off
}

// Commands are the flags about commands that a model may run.
type Commands struct {
	Shell      bool
	Background bool   // with Shell: programs may keep running while the model goes on
	Sandbox    string // on, off or a list; "": as the config says
	// ServerSandboxes are NAME or NAME=LIST, for servers that are commands.
	ServerSandboxes []string
	ShellTools      string // off, also or only; "" is off
	MaxInnerCalls   int    // of one command; 0: 1000
}

// OpensDoors reports whether commands of the model can call tools of the run.
func (c *Commands) OpensDoors() bool { return c.ShellTools == "also" || c.ShellTools == "only" }

// Staging is the review of calls before they are made.
type Staging struct {
	Stage       string // the file to which calls are written
	ApplyDigest string // the digest that the file of --apply must have
	KeepGoing   bool   // an error does not end --apply or --calls
}

// Context says how requests follow changes during a run.
type Context struct {
	Refresh bool   // report changes of files to the model
	Trim    string // auto, off or a number of tokens; "" is auto
}

// ServerMessages are the texts and images of servers at the beginning of a conversation.
type ServerMessages struct {
	Resources []string // NAME:URI
	Prompt    string   // NAME:PROMPT[,arg=value…]
	Skills    []string // NAME:SKILL, the name or the URI of a skill
}

// AsksServers reports whether the run needs servers for more than their tools.
func (m *ServerMessages) AsksServers() bool {
	return m.Prompt != "" || len(m.Resources)+len(m.Skills) > 0
}

// Setup is where the settings come from that are not flags.
type Setup struct {
	ConfigFile string
	NoConfig   bool
	Preset     Preset
}

// A Preset is words of the command line and a prompt that the config has under a name.
type Preset struct {
	Name   string // "": the run uses none
	Words  []string
	Prompt string // "" for none
	From   string // its position in the config
}

// Command is the words and the prompt as a command line.
func (p Preset) Command() string {
	words := p.Words
	if p.Prompt != "" {
		words = append(slices.Clip(words), p.Prompt)
	}
	return QuoteWords(words)
}

func (p Preset) String() string { return p.Name + " (" + p.From + "): " + p.Command() }

// Hint adds to a usage error what the preset gives: its flags are not on the command line.
func (p Preset) Hint(err error) error {
	if e, ok := err.(*failure.Error); ok && p.Name != "" && e.Status == failure.StatusUsage {
		e.Hints = append(slices.Clip(e.Hints), "with --preset "+p.String())
	}
	return err
}

// Replaying says what a run takes from a recording instead of the model and the servers.
type Replaying struct {
	Replay      string
	ReplayTools bool // also the answers of tools and servers: none starts, and nobody is asked
}

// Config is one invocation as plain data: the flags, nothing resolved. The zero value of a field
// means that the flag was not given.
type Config struct {
	Version   string
	Environ   []string // the process's environment, "NAME=value"
	Processes *Processes
	Resumed   <-chan os.Signal // SIGCONT: draw a question again; may be nil

	// Watch makes signals end the run in order; before it is called, they kill the process. The
	// first call takes 0.2 to 0.5 ms, since the Go runtime starts threads for it. May be nil. See
	// WatchSignals.
	Watch func()

	ClientMetadataURL string // client_metadata_url of the config file, for every server

	Mode   Mode
	Target string // the argument of List, DescribeTool, CallTool, Apply, Explain, ReadResource, SignIn and SignOut, and the form of Report

	// input
	Args       []string // the prompt arguments; with Report the files that it reads
	Input      string   // auto, text or messages; "" is auto
	NoStdin    bool
	NamesInput bool // the prompt - asks for standard input, even from a terminal
	Files      []string
	Context
	System     *string
	SystemFile string
	Session    string // the file that keeps the conversation
	ServerMessages

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
	Params          []string       // NAME=JSON
	Schema          string         // a file, or the schema itself
	RetryFor        *time.Duration // 0: nothing is sent again; nil: three times

	// tools
	Servers       []string // [NAME=]TARGET, NAME?=TARGET
	ServerConfigs []string // --mcp-config
	ServerFlags
	ChosenServers []string // comma lists of names; nil: all servers of the files
	Trust         []string
	Listening
	FileRoots   []string // [NAME=]DIR
	FilesAnyway bool
	Code        bool
	Commands
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

	Approvals

	// output
	Output  string // text, ndjson, json, messages, block or block:LANG; "" is text
	Stream  *bool  // nil: decided by the output and the tools
	Quiet   bool
	Verbose int
	Color   string // auto, always or never; "" is auto
	Log     string
	ID      string // a word that marks the events of this run
	Record  string
	Replaying

	// limits and config
	MaxRounds      *int
	Timeout        time.Duration
	ToolTimeout    time.Duration
	StartupTimeout time.Duration
	MaxTotal       Total
	Setup
}

// Getenv returns a variable from the environment of the invocation.
func (c *Config) Getenv(name string) string {
	v, _ := c.LookupEnv(name)
	return v
}

// LookupEnv is Getenv, and reports whether the variable exists. The last definition counts, as in
// os/exec.
func (c *Config) LookupEnv(name string) (string, bool) {
	for i := len(c.Environ) - 1; i >= 0; i-- {
		if e := c.Environ[i]; len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			return e[len(name)+1:], true
		}
	}
	return "", false
}

// Trace is the trace that this run belongs to.
func (c *Config) Trace() Trace {
	return ParseTrace(c.Getenv("TRACEPARENT"), c.Getenv("TRACESTATE"))
}

// InCI reports whether a continuous-integration system runs this process: nobody can then answer a
// question.
func (c *Config) InCI() bool {
	ci := c.Getenv("CI")
	return ci != "" && ci != "0" && ci != "false"
}

// Block reports whether the output is a code block of the answer, and its language; "" is any.
func (c *Config) Block() (language string, ok bool) {
	language, ok = strings.CutPrefix(c.Output, "block:")
	if ok && language != "" {
		return language, true
	}
	return "", c.Output == "block"
}

// WatchSignals calls Watch, if it is set. A run calls it before it creates something that must end
// in order: a child, a server, a log or the first event. Any goroutine may call it, several times.
func (c *Config) WatchSignals() {
	if c.Watch != nil {
		c.Watch()
	}
}

// NamesServers reports whether the command line names servers, before any config is read.
func (c *Config) NamesServers() bool { return len(c.Servers)+len(c.ServerConfigs) > 0 }

// GivesPrompt reports whether the command line alone contains a prompt.
func (c *Config) GivesPrompt() bool {
	return len(c.Args)+len(c.Files) > 0 || c.AsksServers()
}

// AttachesInput reports whether standard input is one of the attached files.
func (c *Config) AttachesInput() bool { return slices.Contains(c.Files, "-") }

// Streams reports whether --stream asks for text as it comes. Holds reports whether --stream=false
// asks for it in one piece.
func (c *Config) Streams() bool { return c.Stream != nil && *c.Stream }
func (c *Config) Holds() bool   { return c.Stream != nil && !*c.Stream }

// UserPath is the path of a toolpipe file below the directory that an XDG Base Directory variable
// names, else below the usual directory in HOME; "" if there is neither. A relative path in a
// variable is ignored, as the specification requires.
func (c *Config) UserPath(variable string, usual func(home string) string, name string) string {
	dir, home := c.Getenv(variable), c.Getenv("HOME")
	switch {
	case filepath.IsAbs(dir):
		return filepath.Join(dir, "toolpipe", name)
	case filepath.IsAbs(home):
		return filepath.Join(usual(home), "toolpipe", name)
	}
	return ""
}

// DeniesUnapproved reports whether the run denies a call that nobody can approve, and goes on.
func (c *Config) DeniesUnapproved() bool {
	return c.Unapproved == "deny" || c.Mode == Serve && c.Unapproved == ""
}

// MakesCalls reports whether this run may call tools.
func (c *Config) MakesCalls() bool {
	return c.Mode == Answer || c.Mode == CallTool || c.Mode == CallMany || c.Mode == Serve || c.Mode == Apply
}

// Plan is the file of --stage or --apply; "" without either.
func (c *Config) Plan() string {
	if c.Mode == Apply {
		return c.Target
	}
	return c.Stage
}

// Door is the address of the door to the run that started this program in a command, if this
// invocation goes through it; "" otherwise.
func (c *Config) Door() string {
	uses := []Mode{ListTools, DescribeTool, CallTool, CallMany, ReadResource}
	if value := c.Getenv(local.DoorVariable); value != "" && slices.Contains(uses, c.Mode) {
		return local.DoorAddress(value)
	}
	return ""
}

// RequestMeta are the members of _meta in requests other than calls, without braces.
func (c *Config) RequestMeta() []byte {
	if c.Door() != "" && (c.Mode == CallTool || c.Mode == DescribeTool) {
		return append([]byte(`"`+local.OnlyKey+`":`), jsontext.Quoted(c.Target)...)
	}
	return c.Trace().Meta()
}

// ShowsServers reports whether this run lists every server, including failures.
func (c *Config) ShowsServers() bool { return c.Lists("servers") || c.Mode == Check }

// Lists reports whether this run is --list WHAT.
func (c *Config) Lists(what string) bool { return c.Mode == List && c.Target == what }

// StartsLater reports whether the run takes the tools from the lock, and starts a server when it is
// needed. Modes that show servers or pin tools start all of them.
func (c *Config) StartsLater() bool {
	usesTools := []Mode{Answer, ListTools, DescribeTool, CallTool, CallMany, Explain, ReadResource, Serve}
	return (c.Start == "beside" || c.Start == "call") && slices.Contains(usesTools, c.Mode)
}

// FindsTools reports whether the model may have to find its tools.
func (c *Config) FindsTools() bool {
	return c.Mode == Answer && (c.FindTools == "auto" || c.FindTools == "always")
}

// ReadsInput reports whether this run reads standard input; terminal is true if standard input is a
// terminal.
func (c *Config) ReadsInput(terminal bool) bool {
	switch {
	case c.NoStdin || terminal && !c.NamesInput || slices.Contains(c.ServerConfigs, "-"):
		return false
	case c.Mode == CallTool || c.Mode == Explain:
		return len(c.Args) == 1 && c.Args[0] == "-"
	}
	return c.Mode == Answer
}

// A Warner warns the user. code names the warning for programs. server is the name of the server
// concerned, or "".
type Warner = func(code, server, message string)

// A Total is the most that a run may use, including its nested runs.
type Total struct {
	Tokens int    // 0: no limit
	Cost   string // in the currency of the models' prices; "": no limit
}
