//go:build unix

// Command toolpipe lets a model and tool servers take turns in a pipeline.
//
// It reads a prompt or a JSON message array from standard input, asks a
// model, runs the tools that the model calls and that the user approves, and
// writes the answer as text or as NDJSON events to standard output.
//
// This file alone touches the arguments, the environment, the real standard
// streams, signals and the exit status.
//
// It builds on Linux, macOS and the BSDs. Elsewhere there are no process groups
// and no /dev/tty, without which its promises cannot be kept; under Windows it
// runs in WSL.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/pflag"

	"toolpipe/run"
	"toolpipe/stream/goroutine"
)

const version = "0.1.0"

const shortUsage = `usage: toolpipe [flags] [PROMPT ...]

Lets a model and MCP tool servers take turns until the answer is done. The
prompt is the arguments, then standard input; the answer goes to stdout.

  git diff | toolpipe 'review this diff'
  toolpipe --files . --allow @read-only 'which tests cover the parser?' </dev/null
  toolpipe -t gh=https://mcp.example.com/mcp -o ndjson <prompt.txt | jq -r 'select(.type=="end").text'

  -m, --model NAME        model, or profile of the config
      --base-url URL      endpoint, ending in /v1 (or TOOLPIPE_BASE_URL)
      --key-env NAME      variable that holds the key (TOOLPIPE_API_KEY)
  -s, --system TEXT       system message
  -f, --file PATH         attach a text file or a picture (repeatable)
  -i, --input FORM        auto, text or messages

  -t, --mcp NAME=TARGET   tool server: a URL or a command line (repeatable)
      --mcp-config FILE   servers from the JSON that other hosts use
      --files DIR         built-in file tools, confined to DIR
      --shell             built-in command tool
      --list-tools        print the tools and their verdicts
      --call NAME [JSON]  make one tool call without a model

  -a, --allow PATTERNS    tools that may run: fs__read_*,gh__* or @read-only
      --deny PATTERNS     tools that may not, whatever else is said
      --policy FILE       rules over tools and their arguments
  -y, --auto-approve      everything that is not denied
      --dry-run           run only trusted read-only tools

  -o, --output FORM       text, ndjson, json or messages
      --max-rounds N      rounds of calls (8)
      --timeout D         bound on the whole run, such as 90s or 5m
  -q, --quiet             only errors on stderr; -v more, -vv wire traffic

  -h, --help              this; --help=all everything
      --version

exit status: 0 answered, 2 usage, 3 model, 4 server, 5 unapproved,
6 limit, 7 outcome unknown, 8 output, 128+N signal N
`

// group is one part of the full help.
type group struct {
	title string
	names []string
}

var groups = []group{
	{"input", []string{"input", "no-stdin", "file", "system", "system-file", "resource", "prompt"}},
	{"model", []string{"model", "base-url", "api", "key-env", "key-file", "insecure-http", "max-tokens", "temperature", "reasoning-effort", "param", "schema", "think-tags"}},
	{"tools", []string{"mcp", "mcp-config", "mcp-auth-env", "trust", "elicit", "files", "files-anyway", "shell", "cmd-lines", "fetch", "fetch-allow",
		"tools", "exclude-tools", "parallel", "max-result-bytes", "tool-timeout"}},
	{"without a model", []string{"list-tools", "describe-tool", "tools-lock-update", "call", "explain", "list-servers", "list-resources", "list-prompts"}},
	{"approvals", []string{"auto-approve", "allow", "deny", "policy", "tools-lock", "approver", "unapproved", "no-input", "dry-run"}},
	{"output", []string{"output", "stream", "quiet", "verbose", "color", "log", "record", "replay"}},
	{"limits and config", []string{"max-rounds", "timeout", "max-total-tokens", "config", "no-config"}},
	{"about", []string{"help", "version"}},
}

func main() {
	if len(os.Args) == 0 {
		os.Exit(2)
	}
	os.Exit(invoke(os.Args[1:]))
}

// invoke does everything between the arguments and the exit status. A run
// that ended by a signal dies by it here, so that the caller's shell sees it.
func invoke(args []string) (status int) {
	streams := run.Streams{
		In: os.Stdin, Out: run.Blocking(os.Stdout), Err: run.Blocking(os.Stderr),
		InTerminal: isTerminal(os.Stdin), InFile: isFile(os.Stdin), OutTerminal: isTerminal(os.Stdout), ErrTerminal: isTerminal(os.Stderr),
		OutFile: isUnseen(os.Stdout),
		Width:   func() int { return run.TerminalWidth(os.Stderr) },

		Background: func() (background, stops bool) { return run.InBackground(os.Stderr) },
	}
	cfg := &run.Config{Version: version, Environ: os.Environ(), Processes: new(run.Processes)}
	defer func() {
		if p := recover(); p != nil {
			status = panicked(cfg, streams, goroutine.NewPanic(p))
		}
	}()
	help, err := parse(cfg, args)
	switch {
	case err != nil:
		run.PrintError(context.Background(), cfg, streams, err)
		return run.ExitStatus(err)
	case help != "":
		return printHelp(cfg, streams, help)
	}
	run.Harden()
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	cfg.Resumed = resumed
	if streams.ErrTerminal {
		streams.Suspend = watchSuspend()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	goroutine.OnPanic(func(p *goroutine.Panic) {
		cancel(p)
		goroutine.AfterFunc(graceful, func() { os.Exit(panicked(cfg, streams, p)) }) // the run waits for what panicked
	})
	watchSignals(cancel, cfg.Processes)
	err = run.Run(ctx, cfg, streams)
	cancel(nil)
	if e, ok := errors.AsType[*run.Error](err); ok && e.Signal != 0 {
		dieBy(e.Signal)
	}
	return run.ExitStatus(err)
}

// panicked ends what a run that cannot end in order leaves behind, and returns
// the exit status.
func panicked(cfg *run.Config, s run.Streams, p *goroutine.Panic) int {
	cfg.Processes.Sweep(sudden)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	run.PrintError(ended, cfg, s, p)
	return run.ExitStatus(p)
}

func printHelp(cfg *run.Config, s run.Streams, text string) int {
	if _, err := io.WriteString(s.Out, text); err != nil {
		if errors.Is(err, syscall.EPIPE) {
			dieBy(syscall.SIGPIPE)
		}
		run.PrintError(context.Background(), cfg, s, &run.Error{Status: run.StatusOutput, Message: "standard output: " + plainCause(err)})
		return 8
	}
	return 0
}

// plainCause is err without the operation and the path.
func plainCause(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		err = p.Err
	}
	return err.Error()
}

// isTerminal tells whether f is a terminal, under Cygwin too.
func isTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

func isFile(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// isUnseen tells whether what is written to f shows nowhere: it is neither a
// terminal nor goes to somebody who may write to one.
func isUnseen(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 && !isTerminal(f)
}

// watchSuspend turns ^Z into functions that stop the process, for the run to
// call when its screen is clean. A run that does not is stopped all the same.
func watchSuspend() <-chan func() {
	if run.Stop == nil || signal.Ignored(syscall.SIGTSTP) {
		return nil
	}
	asked, stops := make(chan os.Signal, 1), make(chan func())
	signal.Notify(asked, syscall.SIGTSTP)
	goroutine.Start(func() {
		for range asked {
			select {
			case stops <- run.Stop:
			case <-time.After(100 * time.Millisecond):
				run.Stop()
			}
		}
	})
	return stops
}

// After a signal a run may take graceful to end in order, then sudden to be
// ended: together less than the 5 s that are promised (security.md P2).
const (
	graceful = 4300 * time.Millisecond
	sudden   = 500 * time.Millisecond
)

// watchSignals cancels the run at the first signal. At the second, or when
// the run does not end in time, everything is killed at once. A signal that
// was ignored at start stays ignored. SIGQUIT kills everything at once, and
// leaves no stacks in a CI log. SIGPIPE is caught, so that a closed
// stdout is an error to clean up after and not a sudden death that leaves
// children behind (security.md D.2).
func watchSignals(cancel context.CancelCauseFunc, procs *run.Processes) {
	signals := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	goroutine.Start(func() {
		first, ok := (<-signals).(syscall.Signal)
		if !ok {
			return
		}
		cancel(&run.Interrupted{Signal: first})
		select {
		case <-signals:
		case <-time.After(graceful):
		}
		procs.Sweep(sudden)
		dieBy(first)
	})
	if !signal.Ignored(syscall.SIGQUIT) {
		quit := make(chan os.Signal, 1)
		signal.Notify(quit, syscall.SIGQUIT)
		goroutine.Start(func() {
			<-quit
			procs.Sweep(sudden)
			os.Exit(128 + int(syscall.SIGQUIT)) // dying by it would print the stacks of the runtime
		})
	}
}

// dieBy ends this process by s, so that a shell sees what happened and not
// only a number. The number is for when s is blocked or ignored.
func dieBy(s syscall.Signal) {
	signal.Reset(s)
	run.Raise(s)
	os.Exit(128 + int(s))
}

// parse fills cfg from the arguments. help is the text that was asked for
// instead of a run.
func parse(cfg *run.Config, args []string) (help string, err error) {
	fs, v := flags(cfg)
	bad := fs.Parse(args)
	flagged := args
	if n := fs.ArgsLenAtDash(); n >= 0 { // a "--" may also be a flag's value
		flagged = args[:len(args)-(fs.NArg()-n)-1]
	}
	if err := refuseApproveValue(flagged); err != nil {
		return "", err
	}
	if bad != nil {
		return "", flagError(bad, fs, args)
	}
	cfg.Args = fs.Args()
	switch {
	case v.version:
		return "toolpipe " + version + "\n", nil
	case v.help == "all" || v.help != "" && len(cfg.Args) > 0 && cfg.Args[0] == "all":
		return fullHelp(fs), nil
	case v.help == "short":
		return shortUsage, nil
	case fs.Changed("help"):
		return "", &run.Error{Status: run.StatusUsage, Message: fmt.Sprintf("--help: %q is not all", v.help)}
	}
	return "", v.apply(cfg, fs)
}

// refuseApproveValue refuses a value behind -y, and a pattern that stands
// there: it would approve everything, and --allow is what was meant (DESIGN
// part 5). args end before a "--" that ends the flags. In a cluster of switches, such as -qyv, the y may stand anywhere.
func refuseApproveValue(args []string) error {
	for i, a := range args {
		value, wrong := strings.CutPrefix(a, "--auto-approve=")
		bare := a == "--auto-approve"
		if isCluster(a) {
			rest := strings.TrimLeft(a[1:], "qvy")
			if _, behind, ok := strings.Cut(a[:len(a)-len(rest)], "y"); ok {
				if value, wrong = strings.CutPrefix(rest, "="); !wrong {
					value = behind + rest
					wrong = looksLikePattern(value)
				}
				bare = rest == ""
			}
		}
		if bare && i+1 < len(args) && looksLikePattern(args[i+1]) {
			value, wrong = args[i+1], true
		}
		if wrong {
			meant := "PATTERNS"
			if looksLikePattern(value) {
				meant = "'" + value + "'"
			}
			return &run.Error{Status: run.StatusUsage, Message: fmt.Sprintf("--auto-approve: takes no value, but %q follows it", value),
				Hints: []string{"--allow " + meant + " approves these tools and nothing else", "--auto-approve alone approves everything that is not denied"}}
		}
	}
	return nil
}

// isCluster tells whether a is one-letter flags.
func isCluster(a string) bool { return len(a) > 1 && a[0] == '-' && a[1] != '-' }

func looksLikePattern(w string) bool {
	for i := 0; i < len(w); i++ {
		if c := w[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("_@*?,.-", c) >= 0) {
			return false
		}
	}
	return w != "" && (strings.Contains(w, "__") || strings.Contains(w, "*") || w[0] == '@')
}

// flagError words an error of the flag library as one of ours.
func flagError(err error, fs *pflag.FlagSet, args []string) error {
	e := &run.Error{Status: run.StatusUsage, Message: err.Error(), Hints: []string{"toolpipe --help=all shows every flag"}}
	if n, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := n.GetSpecifiedName()
		e.Message = fmt.Sprintf("unknown flag: %q", strings.Repeat("-", min(len(name), 2))+name)
		for _, a := range args {
			if len(name) == 1 && a != "-"+name && isCluster(a) && strings.HasSuffix(a, n.GetSpecifiedShortnames()) {
				e.Message = fmt.Sprintf("unknown flag: %q in %q", "-"+name, a)
				break
			}
		}
		var names []string
		fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearestFlag(name, names); near != "" {
			e.Hints = append([]string{"did you mean --" + near + "?"}, e.Hints...)
		}
		if slices.Contains([]string{"api-key", "key", "token", "password"}, name) {
			e.Hints = []string{"a secret never goes on the command line: --key-env NAME or --key-file PATH"}
		}
	}
	if r, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		e.Message = needsValue(r.GetFlag())
	}
	if i, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		e.Message = fmt.Sprintf("--%s: %q %s", i.GetFlag().Name, i.GetValue(), valueCause(i.Unwrap()))
		if i.GetFlag().Value.Type() == "bool" {
			e.Message = fmt.Sprintf("--%s: takes no value, but got %q", i.GetFlag().Name, i.GetValue())
		}
	}
	return e
}

// nearestFlag is what an unknown flag is most likely meant to be: what other
// programs call so, a flag that it begins, or one that it is a slip of.
func nearestFlag(name string, flags []string) string {
	switch name {
	case "yes":
		return "auto-approve"
	case "json", "ndjson", "jsonl":
		return "output " + strings.Replace(name, "jsonl", "ndjson", 1)
	}
	if i := slices.IndexFunc(flags, func(f string) bool { return len(name) > 2 && strings.HasPrefix(f, name) }); i >= 0 {
		return flags[i]
	}
	return run.Nearest(name, flags)
}

func needsValue(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	return fmt.Sprintf("--%s: needs a value: --%[1]s %s", f.Name, strings.ToUpper(value))
}

// refuseNothing refuses a value that the run would take for none: "", which a
// shell makes of an unset variable, and 0 for a limit. It would take away in
// silence what the flag stands for, be it a guard such as --approver. And "-",
// by which other programs mean a standard stream, for a file.
func refuseNothing(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		switch {
		case slices.Contains(values, "") && !slices.Contains([]string{"system", "key-env", "base-url"}, f.Name):
			err = &run.Error{Status: run.StatusUsage, Message: needsValue(f), Hints: []string{"its value is empty: a variable of the shell that is not set?"}}
		case slices.Contains(values, "-") && takesFile(f):
			err = &run.Error{Status: run.StatusUsage, Message: "--" + f.Name + `: "-" is not a file`, Hints: []string{"./- names a file that is called -"}}
		case f.Value.Type() == "int" && values[0] == "0" && f.Name != "max-rounds":
			err = &run.Error{Status: run.StatusUsage, Message: fmt.Sprintf("--%s: 0 is not a number from 1 on", f.Name)}
		}
	})
	return err
}

// takesFile tells whether f's value is a file. "-" is none: as the prompt or
// the arguments of a call it stands for standard input.
func takesFile(f *pflag.Flag) bool {
	value, _ := pflag.UnquoteUsage(f)
	return value == "PATH" || value == "FILE"
}

func valueCause(err error) string {
	if n, ok := errors.AsType[*strconv.NumError](err); ok {
		if errors.Is(n.Err, strconv.ErrRange) {
			return "is too large"
		}
		return "is not a number"
	}
	return "is not its value: " + err.Error()
}

// values are the flags that are not plain fields of run.Config.
type values struct {
	help           string
	version        bool
	keyEnv, system string
	rounds         int
	timeout, tool  string
	resultBytes    string
}

func flags(c *run.Config) (*pflag.FlagSet, *values) {
	v := &values{}
	fs := pflag.NewFlagSet("toolpipe", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	fs.Usage = func() {}
	inputFlags(fs, c, v)
	modelFlags(fs, c, v)
	toolFlags(fs, c, v)
	approvalFlags(fs, c)
	outputFlags(fs, c, v)
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" {
			f.Value = onOff{f.Value}
		}
	})
	return fs, v
}

// onOff is a switch. The library takes 1, t and T for true as well: nobody
// means them, and they may be what belongs to another flag.
type onOff struct{ pflag.Value }

func (o onOff) Set(s string) error {
	if s != "true" && s != "false" {
		return errors.New("is no value of a switch")
	}
	return o.Value.Set(s)
}

func inputFlags(fs *pflag.FlagSet, c *run.Config, v *values) {
	fs.StringVarP(&c.Input, "input", "i", "", "what stdin is, `FORM`: auto, text or messages (a JSON message array)")
	fs.BoolVar(&c.NoStdin, "no-stdin", false, "never read standard input")
	fs.StringArrayVarP(&c.Files, "file", "f", nil, "attach the file `PATH`: UTF-8 text, PNG, JPEG, GIF or WebP (repeatable)")
	fs.StringVarP(&v.system, "system", "s", "", "system message `TEXT`; '' sends none, not even the frame about tools")
	fs.StringVar(&c.SystemFile, "system-file", "", "system message from the file `PATH`")
	fs.StringArrayVar(&c.Resources, "resource", nil, "attach the resource `NAME:URI` of a tool server (repeatable)")
	fs.StringVar(&c.Prompt, "prompt", "", "begin with the server's prompt `NAME:PROMPT[,ARG=VALUE...]`")
}

func modelFlags(fs *pflag.FlagSet, c *run.Config, v *values) {
	fs.StringVarP(&c.Model, "model", "m", "", "model `NAME`, or the name of a profile of the config (TOOLPIPE_MODEL)")
	fs.StringVar(&c.BaseURL, "base-url", "", "endpoint `URL`, ending in /v1 (TOOLPIPE_BASE_URL, OPENAI_BASE_URL)")
	fs.StringVar(&c.API, "api", "", "`DIALECT`: chat (default), messages or responses")
	fs.StringVar(&v.keyEnv, "key-env", "", "variable `NAME` that holds the key (default TOOLPIPE_API_KEY, then OPENAI_API_KEY); '' sends none")
	fs.StringVar(&c.KeyFile, "key-file", "", "file `PATH` that holds the key")
	fs.StringArrayVar(&c.InsecureHTTP, "insecure-http", nil, "let a key go to `HOST` over plain http, or an approver be asked there (repeatable)")
	fs.IntVar(&c.MaxTokens, "max-tokens", 0, "limit of the answer, `N` tokens")
	fs.StringVar(&c.Temperature, "temperature", "", "sampling temperature `X`")
	fs.StringVar(&c.ReasoningEffort, "reasoning-effort", "", "`WORD` such as low, medium or high")
	fs.StringArrayVar(&c.Params, "param", nil, "any request field, `NAME=JSON` (repeatable)")
	fs.StringVar(&c.SchemaFile, "schema", "", "JSON Schema in `FILE` for the answer")
	fs.BoolVar(&c.ThinkTags, "think-tags", false, "text between <think> and </think> is reasoning")
}

func toolFlags(fs *pflag.FlagSet, c *run.Config, v *values) {
	fs.StringArrayVarP(&c.Servers, "mcp", "t", nil, "tool server `[NAME=]TARGET`: an http(s) URL or a command line; NAME?= may fail (repeatable)")
	fs.StringArrayVar(&c.ServerConfigs, "mcp-config", nil, "servers from `FILE`: mcpServers, servers or mcp, as other hosts write them (repeatable)")
	fs.StringArrayVar(&c.ServerAuthEnv, "mcp-auth-env", nil, "`NAME=VAR`: the server's bearer token is in the variable VAR (repeatable)")
	fs.StringArrayVar(&c.Trust, "trust", nil, "believe the server `NAME` about its tools being read-only (repeatable)")
	fs.StringVar(&c.Elicit, "elicit", "", "answer servers' questions `HOW`: off (default), decline, defaults or ask (on the terminal)")
	fs.StringArrayVar(&c.FileRoots, "files", nil, "built-in file tools confined to `[NAME=]DIR`, or to one file (repeatable)")
	fs.BoolVar(&c.FilesAnyway, "files-anyway", false, "let --files name / or a home directory")
	fs.BoolVar(&c.Shell, "shell", false, "built-in command tool; not confined by --files")
	fs.BoolVar(&c.CmdLines, "cmd-lines", false, "with --shell: lines 'CMD: ...' of an answer are commands, for models without tool calls")
	fs.BoolVar(&c.Fetch, "fetch", false, "built-in tool that fetches URLs")
	fs.StringArrayVar(&c.FetchAllow, "fetch-allow", nil, "private network (10.1.*, 10.1.0.0/16), address or host that --fetch may reach, as a `PATTERN` (repeatable)")
	fs.StringArrayVar(&c.Tools, "tools", nil, "offer only tools that match the `GLOB` over NAME__TOOL (repeatable)")
	fs.StringArrayVar(&c.ExcludeTools, "exclude-tools", nil, "do not offer tools that match the `GLOB` (repeatable)")
	fs.IntVar(&c.Parallel, "parallel", 0, "read-only calls at once, `N` (default 8)")
	fs.StringVar(&v.resultBytes, "max-result-bytes", "", "of a result the model gets `N` bytes, such as 64K or 1M (default 256K)")
	fs.StringVar(&v.tool, "tool-timeout", "", "longest time without progress of a call, `D` (default 120s)")
	fs.Bool("list-tools", false, "print the tools, the verdict each would get, and exit")
	fs.String("describe-tool", "", "print the definition of the tool `NAME` and exit")
	fs.Bool("tools-lock-update", false, "write the file of --tools-lock and exit")
	fs.String("call", "", "call the tool `NAME` once, approvals included; the prompt argument is its JSON, - for stdin")
	fs.String("explain", "", "print the verdict on a call of `NAME`, arguments as for --call")
	fs.Bool("list-servers", false, "print the servers and exit")
	fs.Bool("list-resources", false, "print the servers' resources and exit")
	fs.Bool("list-prompts", false, "print the servers' prompts and exit")
}

func approvalFlags(fs *pflag.FlagSet, c *run.Config) {
	fs.BoolVarP(&c.AutoApprove, "auto-approve", "y", false, "allow everything that no rule denies")
	fs.StringArrayVarP(&c.Allow, "allow", "a", nil, "allow tools: comma list `PATTERNS` of NAME__TOOL globs, or @read-only (repeatable)")
	fs.StringArrayVar(&c.Deny, "deny", nil, "deny tools: `PATTERNS` as for --allow (repeatable)")
	fs.StringArrayVar(&c.Policies, "policy", nil, "rules from `FILE` (repeatable)")
	fs.StringVar(&c.ToolsLock, "tools-lock", "", "fail if a tool's definition is not that in `FILE`")
	fs.StringVar(&c.Approver, "approver", "", "ask `COMMAND|URL` about every call that is not denied")
	fs.StringVar(&c.Unapproved, "unapproved", "", "`WHAT` a call does that nobody can approve: stop (default), or deny and go on")
	fs.BoolVar(&c.NoInput, "no-input", false, "never ask on the terminal")
	fs.BoolVar(&c.DryRun, "dry-run", false, "run only approved calls of trusted read-only tools")
}

func outputFlags(fs *pflag.FlagSet, c *run.Config, v *values) {
	fs.StringVarP(&c.Output, "output", "o", "", "`FORM`: text (default), ndjson (events), json (the end event) or messages")
	fs.BoolVar(&c.Stream, "stream", false, "write text as it comes, also while tools are offered")
	fs.BoolVarP(&c.Quiet, "quiet", "q", false, "nothing on stderr but errors")
	fs.CountVarP(&c.Verbose, "verbose", "v", "more on stderr; -vv the wire, without secrets")
	fs.StringVar(&c.Color, "color", "", "`WHEN`: auto (default), always or never")
	fs.StringVar(&c.Log, "log", "", "append the events to `FILE`")
	fs.StringVar(&c.Record, "record", "", "store the model exchanges in `FILE`")
	fs.StringVar(&c.Replay, "replay", "", "answer from the exchanges in `FILE`, offline")
	fs.IntVar(&v.rounds, "max-rounds", 8, "rounds of calls, `N`")
	fs.StringVar(&v.timeout, "timeout", "", "bound on the whole run, `D` such as 90s or 5m")
	fs.IntVar(&c.MaxTotalTokens, "max-total-tokens", 0, "stop when the run has used `N` tokens")
	fs.StringVar(&c.ConfigFile, "config", "", "config `FILE` (default TOOLPIPE_CONFIG, then toolpipe/config.json in the user's config directory)")
	fs.BoolVar(&c.NoConfig, "no-config", false, "read no config")
	fs.StringVarP(&v.help, "help", "h", "", "help; --help=all shows every flag")
	fs.Lookup("help").NoOptDefVal = "short"
	fs.BoolVar(&v.version, "version", false, "print the version")
}

// apply puts into c what needs a look first.
func (v *values) apply(c *run.Config, fs *pflag.FlagSet) (err error) {
	if err := refuseNothing(fs); err != nil {
		return err
	}
	if fs.Changed("key-env") {
		c.KeyEnv = &v.keyEnv
	}
	if fs.Changed("system") {
		c.System = &v.system
	}
	if fs.Changed("max-rounds") {
		c.MaxRounds = &v.rounds
	}
	for _, d := range []struct {
		flag, text string
		to         *time.Duration
	}{{"timeout", v.timeout, &c.Timeout}, {"tool-timeout", v.tool, &c.ToolTimeout}} {
		if !fs.Changed(d.flag) {
			continue
		}
		if *d.to, err = run.ParseDuration(d.text); err == nil && *d.to == 0 {
			err = fmt.Errorf("%q is no time at all", d.text)
		}
		if err != nil {
			return &run.Error{Status: run.StatusUsage, Message: fmt.Sprintf("--%s: %v", d.flag, err),
				Hints: []string{"a duration is written 30s, 2m or as a number of seconds"}}
		}
	}
	if fs.Changed("max-result-bytes") {
		if c.MaxResultBytes, err = parseBytes(v.resultBytes); err != nil {
			return err
		}
	}
	if err := mode(c, fs); err != nil {
		return err
	}
	if c.Mode == run.Answer && len(c.Args) == 1 && c.Args[0] == "-" {
		c.Args = nil // as for --call: standard input, which is read anyway
	}
	return nil
}

// mode finds out what the run does: at most one flag says so.
func mode(c *run.Config, fs *pflag.FlagSet) error {
	chosen := ""
	for _, m := range []struct {
		flag string
		mode run.Mode
	}{
		{"list-tools", run.ListTools}, {"list-servers", run.ListServers}, {"list-resources", run.ListResources}, {"list-prompts", run.ListPrompts},
		{"tools-lock-update", run.UpdateLock}, {"describe-tool", run.DescribeTool}, {"call", run.CallTool}, {"explain", run.Explain},
	} {
		f := fs.Lookup(m.flag)
		if f.Value.String() == f.DefValue {
			continue
		}
		if chosen != "" {
			return &run.Error{Status: run.StatusUsage, Message: "--" + chosen + " and --" + m.flag + ": only one of them can be given"}
		}
		chosen, c.Mode, c.Target = m.flag, m.mode, f.Value.String()
	}
	if c.Mode != run.Answer && c.Mode != run.CallTool && c.Mode != run.Explain && len(c.Args) > 0 {
		return &run.Error{Status: run.StatusUsage, Message: fmt.Sprintf("--%s: takes no prompt, but %q was given", chosen, c.Args[0])}
	}
	return nil
}

// parseBytes reads a number of bytes with an optional K, M or G.
func parseBytes(s string) (int64, error) {
	digits, shift := s, 0
	if n := len(s) - 1; n > 0 {
		if i := strings.IndexByte("KMG", s[n]&^0x20); i >= 0 {
			digits, shift = s[:n], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n <= 0 || n<<shift > 1<<30 {
		return 0, &run.Error{Status: run.StatusUsage, Message: fmt.Sprintf("--max-result-bytes: %q is not a number of bytes up to 1G", s),
			Hints: []string{"--max-result-bytes 65536, 64K or 1M"}}
	}
	return n << shift, nil
}

// fullHelp is every flag, grouped.
func fullHelp(fs *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString(shortUsage[:strings.Index(shortUsage, "\n\n  -m, --model")] + "\n")
	noValue := strings.NewReplacer(`--help string[="short"]`, "--help[=all]           ", "--verbose count", "--verbose      ") // of equal length: the columns stay
	for _, g := range groups {
		part := pflag.NewFlagSet("", pflag.ContinueOnError)
		part.SortFlags = false
		for _, name := range g.names {
			part.AddFlag(fs.Lookup(name))
		}
		b.WriteString("\n" + g.title + "\n" + noValue.Replace(part.FlagUsagesWrapped(100)))
	}
	b.WriteString(helpTail)
	return b.String()
}

const helpTail = `
approvals: the strictest matching rule wins, whatever the order: deny, ask,
allow. A call that no rule matches is asked about on the terminal; where nobody
can be asked the run stops with status 5. Nothing overrides a deny.

exit status
  0 the answer is complete             6 a limit: rounds, time, tokens, length
  1 --call: an error or a refusal      7 a call's outcome is unknown
  2 usage: flags, input, config        8 the output could not be written
  3 the model failed                  70 a defect of toolpipe
  4 a required tool server failed     129, 130, 143 signals; 141 the reader of
  5 a call needed an approval             stdout went away
`
