package run

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"time"

	"toolpipe/mcp"
)

// Processes is the registry of every process that a run starts, so that main
// can end them all at once when there is no time for more.
type Processes = mcp.Processes

// Streams are the standard streams of a run and what main knows of them.
type Streams struct {
	In          io.Reader
	Out, Err    io.Writer
	InTerminal  bool
	InFile      bool // a regular file: reading it never waits
	OutTerminal bool
	OutFile     bool // what goes to Out appears on no screen: a file, a null device
	ErrTerminal bool
	Width       func() int // columns of stderr's terminal; nil or 0: unknown

	// Background tells whether this process is in the background of stderr's
	// terminal, and whether the terminal stops who writes to it from there
	// (stty tostop). Nil: it never is.
	Background func() (background, stops bool)

	// Suspend brings functions that stop the process, as ^Z asks for, and
	// return when it goes on: the screen is left clean before. It may be nil.
	Suspend <-chan func()
}

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
)

// Config is one invocation as plain data: what the flags said, nothing
// resolved. The zero value of a field means that its flag was not given.
type Config struct {
	Version   string
	Environ   []string // the process's environment, "NAME=value"
	Processes *Processes
	Resumed   <-chan os.Signal // SIGCONT, so that a question is drawn again; may be nil

	Mode   Mode
	Target string // of DescribeTool, CallTool and Explain

	// input, DESIGN part 2
	Args       []string // the prompt arguments
	Input      string   // auto, text or messages; "" is auto
	NoStdin    bool
	Files      []string
	System     *string
	SystemFile string
	Resources  []string // NAME:URI
	Prompt     string   // NAME:PROMPT[,arg=value…]

	// model, part 3
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
	SchemaFile      string
	ThinkTags       bool

	// tools, part 4
	Servers        []string // [NAME=]TARGET, NAME?=TARGET
	ServerConfigs  []string // --mcp-config
	ServerAuthEnv  []string // NAME=VAR
	Trust          []string
	Elicit         string
	FileRoots      []string // [NAME=]DIR
	FilesAnyway    bool
	Shell          bool
	Fetch          bool
	FetchAllow     []string
	Tools          []string
	ExcludeTools   []string
	Parallel       int
	MaxResultBytes int64
	CmdLines       bool
	DryRun         bool

	// approvals, part 5
	AutoApprove bool
	Allow, Deny []string
	Policies    []string
	ToolsLock   string
	Unapproved  string // stop or deny; "" is stop
	NoInput     bool
	Approver    string // command or URL

	// output, part 6
	Output  string // text, ndjson, json or messages; "" is text
	Stream  bool
	Quiet   bool
	Verbose int
	Color   string // auto, always or never; "" is auto
	Log     string
	Record  string
	Replay  string

	// limits and config, part 7
	MaxRounds      *int
	Timeout        time.Duration
	ToolTimeout    time.Duration
	MaxTotalTokens int
	ConfigFile     string
	NoConfig       bool
}

// getenv looks a name up in the environment of the invocation.
func (c *Config) getenv(name string) string {
	v, _ := c.lookupEnv(name)
	return v
}

func (c *Config) lookupEnv(name string) (string, bool) {
	for i := len(c.Environ) - 1; i >= 0; i-- { // the later of two wins, as in os/exec
		if e := c.Environ[i]; len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			return e[len(name)+1:], true
		}
	}
	return "", false
}

// inCI tells whether a continuous-integration system says that it runs us:
// then nobody is there to be asked.
func (c *Config) inCI() bool {
	switch c.getenv("CI") {
	case "", "0", "false":
		return false
	}
	return true
}

// validate refuses values and combinations that cannot be meant.
func (c *Config) validate() error {
	for _, f := range []struct {
		flag, value string
		words       []string
	}{
		{"--input", c.Input, []string{"auto", "text", "messages"}},
		{"--output", c.Output, []string{"text", "ndjson", "json", "messages"}},
		{"--color", c.Color, []string{"auto", "always", "never"}},
		{"--unapproved", c.Unapproved, []string{"stop", "deny"}},
		{"--elicit", c.Elicit, []string{"off", "decline", "defaults", "ask"}},
		{"--api", c.API, []string{"chat", "messages", "responses"}},
	} {
		if f.value != "" && !slices.Contains(f.words, f.value) {
			return usageError([]string{f.flag + " is one of: " + joinWords(f.words)}, "%s: %q is not one of its values", f.flag, f.value)
		}
	}
	switch {
	case c.Parallel < 0:
		return usage("--parallel: %d is not a number of calls", c.Parallel)
	case c.MaxRounds != nil && *c.MaxRounds < 0:
		return usage("--max-rounds: %d is not a number of rounds", *c.MaxRounds)
	case c.MaxTokens < 0:
		return usage("--max-tokens: %d is not a number of tokens", c.MaxTokens)
	case c.MaxTotalTokens < 0:
		return usage("--max-total-tokens: %d is not a number of tokens", c.MaxTotalTokens)
	case c.MaxResultBytes < 0:
		return usage("--max-result-bytes: %d is not a number of bytes", c.MaxResultBytes)
	case c.Temperature != "" && !isNumber(c.Temperature):
		return usage("--temperature: %q is not a number", c.Temperature)
	case c.System != nil && c.SystemFile != "":
		return usage("--system and --system-file: only one of them can be given")
	case c.Record != "" && c.Replay != "":
		return usage("--record and --replay: only one of them can be given")
	case c.NoConfig && c.ConfigFile != "":
		return usage("--config and --no-config: only one of them can be given")
	case c.CmdLines && !c.Shell:
		return usageError([]string{"add --shell, or leave --cmd-lines out"}, "--cmd-lines: needs --shell, whose tool runs the lines")
	case c.FilesAnyway && len(c.FileRoots) == 0:
		return usage("--files-anyway: goes with --files DIR")
	case c.Mode == UpdateLock && c.ToolsLock == "":
		return usage("--tools-lock-update: goes with --tools-lock FILE")
	case len(c.FetchAllow) > 0 && !c.Fetch:
		return usage("--fetch-allow: goes with --fetch")
	case c.Mode != Answer && c.Output == "messages":
		return usage("--output messages: there is no conversation to print; use text, ndjson or json")
	case c.Quiet && c.Verbose > 0:
		return usage("--quiet and --verbose: only one of them can be given")
	}
	return nil
}

func isNumber(s string) bool {
	return json.Valid([]byte(s)) && (s[0] == '-' || s[0] >= '0' && s[0] <= '9')
}
