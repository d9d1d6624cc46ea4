package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/local"
	"toolpipe/run/failure"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

type choice struct {
	flag, value string
	words       []string
}

func (c *Config) choices() []choice {
	form, report, list := c.Output, "", ""
	switch c.Mode {
	case Report:
		report = c.Target
	case List:
		list = c.Target
	}
	if _, isBlock := c.Block(); isBlock {
		form = "block"
	}
	return []choice{
		{"input", c.Input, []string{"auto", "text", "messages"}},
		{"output", form, []string{"text", "ndjson", "json", "messages", "block"}},
		{"color", c.Color, []string{"auto", "always", "never"}},
		{"unapproved", c.Unapproved, []string{"stop", "deny"}},
		{"ask-host", c.AskHost, []string{"off", "calls", "all"}},
		{"egress", c.Egress, []string{"off", "warn", "ask", "deny"}},
		{"start", c.Start, []string{"first", "beside", "call"}},
		{"find-tools", c.FindTools, []string{"never", "auto", "always"}},
		{"shell-tools", c.ShellTools, []string{"off", "also", "only"}},
		{"elicit", c.Elicit, []string{"off", "decline", "defaults", "ask"}},
		{"list", list, []string{"servers", "models", "resources", "prompts", "skills", "logins", "presets"}},
		{"report", report, []string{"markdown", "html"}},
		{"api", c.API, stream.APIs()},
		{"trim", "", []string{"auto", "off"}}, // or a number: ValidateValues checks it
	}
}

// Choices are the values that a flag can have; nil if they are not a list of words.
func Choices(flag string) []string {
	for _, f := range new(Config).choices() {
		if f.flag == flag {
			return f.words
		}
	}
	return nil
}

// Validate refuses invalid values of flags, and flags that contradict each other.
func (c *Config) Validate() error {
	if err := c.ValidateValues(); err != nil {
		return err
	}
	if err := firstMade(slices.Concat(c.mistakes(), c.listening(), c.shellTools())); err != nil {
		return err
	}
	return c.checkWritten()
}

// ValidateValues refuses values that are invalid whatever the other flags are.
func (c *Config) ValidateValues() error {
	for _, f := range c.choices() {
		if f.value != "" && !slices.Contains(f.words, f.value) {
			hints := DidYouMean("--"+f.flag+" ", Nearest(f.value, f.words), "--"+f.flag+" is one of: "+JoinWords(f.words))
			return failure.UsageError(hints, "--%s: %q is not one of its values", f.flag, f.value)
		}
	}
	return firstMade([]mistake{
		{c.MaxTotal.Cost != "" && !(IsNumber(c.MaxTotal.Cost) && c.MaxTotal.Cost[0] != '-'), "--max-cost: " + strconv.Quote(c.MaxTotal.Cost) + " is not a number from 0 on", nil},
		{!c.trims(), "--trim: " + strconv.Quote(c.Trim) + " is not auto, off or a number of tokens from 1000 on", nil},
		{c.Temperature != "" && !IsNumber(c.Temperature), "--temperature: " + strconv.Quote(c.Temperature) + " is not a number", nil},
	})
}

// firstMade is the error for the first mistake that was made.
func firstMade(mistakes []mistake) error {
	for _, m := range mistakes {
		if m.made {
			return failure.UsageError(m.hints, "%s", m.message)
		}
	}
	return nil
}

type flagFile struct{ flag, path string }

func flagFiles(flag string, paths ...string) []flagFile {
	var files []flagFile
	for _, path := range paths {
		if path != "" {
			files = append(files, flagFile{flag, path})
		}
	}
	return files
}

// checkWritten refuses to write a file that the same run also uses for something else, because its
// content would be lost.
func (c *Config) checkWritten() error {
	written := slices.Concat(flagFiles("--record", c.Record), flagFiles("--log", c.Log), flagFiles("--session", c.Session), flagFiles("--stage", c.Stage),
		flagFiles("--notes", c.Notes), flagFiles("--tools-lock", c.ToolsLock))
	if len(written) == 0 {
		return nil
	}
	settings := slices.Concat(flagFiles("--config", c.ConfigFile), flagFiles("--policy", c.Policies...),
		flagFiles("--mcp-config", c.ServerConfigs...), flagFiles("--key-file", c.KeyFile))
	for i, w := range written {
		others := slices.Concat(written[i+1:], settings)
		if w.flag == "--record" { // it starts with an empty file; the others keep old content
			others = slices.Concat(others, flagFiles("--file", c.Files...), flagFiles("--system-file", c.SystemFile))
		}
		for _, o := range others {
			if sameFile(w.path, o.path) {
				return failure.Usage("%s and %s: both are the file %q", w.flag, o.flag, o.path)
			}
		}
	}
	return nil
}

// sameFile reports whether two paths lead to one regular file, or to the same missing file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	if err == nil && err2 == nil {
		return x.Mode().IsRegular() && os.SameFile(x, y)
	}
	return filepath.Clean(a) == filepath.Clean(b) && errors.Is(err, fs.ErrNotExist)
}

// A mistake is a wrong combination of flags, and its error.
type mistake struct {
	made    bool
	message string
	hints   []string
}

// maxID is the longest word of --id, in bytes.
const maxID = 200

// listening are the mistakes with flags for many runs.
func (c *Config) listening() []mistake {
	address, isSocket := local.Path(c.Listen)
	return []mistake{
		{len(c.ID) > maxID || strings.ContainsFunc(c.ID, func(r rune) bool { return r <= ' ' || r == 0x7f }), "--id: is a word of at most " + strconv.Itoa(maxID) + " bytes", nil},
		{c.Listen != "" && c.Mode != Serve && c.Mode != Check, "--listen: goes with --serve", nil},
		{c.Idle != 0 && c.Listen == "", "--idle: goes with --serve --listen unix:PATH, and ends that server", nil},
		{c.Listen != "" && (!isSocket || address == ""), "--listen: " + strconv.Quote(c.Listen) + " is not unix:PATH", []string{"--listen unix:$XDG_RUNTIME_DIR/tools", "a reverse proxy offers a socket over TCP or HTTP"}},
	}
}

// shellTools are the mistakes with --shell-tools.
func (c *Config) shellTools() []mistake {
	if c.ShellTools == "" && c.MaxInnerCalls == 0 {
		return nil
	}
	return []mistake{
		{c.OpensDoors() && !c.Shell, "--shell-tools: needs --shell, and lets its commands call tools", []string{"add --shell, or leave --shell-tools out"}},
		{c.ShellTools == "only" && (c.FindTools == "auto" || c.FindTools == "always"), "--shell-tools only and --find-tools: the model finds its tools by commands", []string{"leave --find-tools out"}},
		{c.MaxInnerCalls > 0 && !c.OpensDoors(), "--max-inner-calls: goes with --shell-tools also or only", nil},
	}
}

func (c *Config) mistakes() []mistake {
	_, isBlock := c.Block()
	attached := len(slices.DeleteFunc(slices.Clone(c.Files), func(path string) bool { return path != "-" }))
	usesInput := c.NoStdin || c.AttachesInput() || slices.Contains(c.ServerConfigs, "-")
	inSession, serves, stages := c.Session != "", c.Mode == Serve, c.Stage != ""
	allowsOpen := slices.Contains(Elements(c.Allow), "@open")
	leave := func(flag string) []string { return []string{"leave " + flag + " out"} }
	addShell := func(flag string) []string { return []string{"add --shell, or leave " + flag + " out"} }
	return []mistake{
		{c.KeyFile != "" && c.KeyEnv != nil && *c.KeyEnv != "", "--key-env and --key-file: only one of them can be given", nil},
		{c.System != nil && c.SystemFile != "", "--system and --system-file: only one of them can be given", nil},
		{attached > 1 || attached == 1 && (c.NoStdin || c.Input == "messages"), "--file -: standard input can be attached only once, and then has no other use", nil},
		{c.Record != "" && c.Replay != "", "--record and --replay: only one of them can be given", nil},
		{c.ReplayTools && (c.Replay == "" || c.Mode != Answer && c.Mode != Check), "--replay-tools: goes with --replay FILE and a prompt", nil},
		{c.ReplayTools && stages, "--replay-tools and --stage: the calls of a replay change nothing, so there is nothing to apply", leave("--replay-tools")},
		{c.Schema != "" && isBlock, "--schema and --output block: the answer is one JSON value, without blocks", nil},
		{c.Mode != Answer && isBlock, "--output block: there is no answer with a block; use text, ndjson or json", nil},
		{isBlock && c.Streams(), "--output block and --stream: the block is kept back until the answer is complete", leave("--stream")},
		{c.Schema != "" && c.Streams(), "--schema and --stream: the answer is kept back until it is checked", leave("--stream")},
		{c.Input != "messages" && !inSession && allowsOpen, "--allow @open: goes with --input messages or --session, and allows their open calls", nil},
		{c.NoConfig && c.ConfigFile != "", "--config and --no-config: only one of them can be given", nil},
		{c.CmdLines && !c.Shell, "--cmd-lines: needs --shell, because its tool runs the lines", addShell("--cmd-lines")},
		{c.Background && !c.Shell, "--shell-background: needs --shell, and uses its environment and limits", addShell("--shell-background")},
		{c.Sandbox != "" && c.Sandbox != "off" && !c.Shell && !c.Code, "--sandbox: needs --shell or --code, and limits their programs", addShell("--sandbox " + ShellQuote(c.Sandbox))},
		{c.Refresh && len(c.Files)+len(c.FileRoots) == 0, "--refresh: goes with -f or --files, and reads their files again", nil},
		{c.Code && len(c.FileRoots) == 0, "--code: needs --files DIR, and works below that directory", []string{"--files . --code works in the current directory"}},
		{c.Mode == UpdateLock && c.ToolsLock == "", "--tools-lock-update: goes with --tools-lock FILE", nil},
		{c.Start != "" && c.Start != "first" && c.ToolsLock == "", "--start " + c.Start + ": needs --tools-lock FILE, which lists the tools before a server starts",
			[]string{"--tools-lock FILE --tools-lock-update writes one"}},
		{len(c.FetchAllow) > 0 && !c.Fetch, "--fetch-allow: goes with --fetch", nil},
		{c.Mode != Answer && c.Output == "messages", "--output messages: there is no conversation to print; use text, ndjson or json", nil},
		{c.Quiet && c.Verbose > 0, "--quiet and --verbose: only one of them can be given", nil},

		{inSession && c.Mode != Answer && c.Mode != Check, "--session: goes with a prompt; there is no conversation without a model", nil},
		{inSession && c.Input == "messages", "--session and --input messages: the conversation is in the session file",
			[]string{"-o messages with --session prints the conversation, and -i messages continues a copy of it"}},
		{inSession && c.DryRun, "--session and --dry-run: the session would keep results of calls that never ran",
			[]string{"toolpipe --session FILE -o messages | toolpipe -i messages --dry-run, with no prompt, leaves the file as it is"}},
		{inSession && c.CmdLines, "--session and --cmd-lines: a command line has no id, so a later run cannot know that it was run", nil},

		{stages && c.AutoApprove, "--stage and --auto-approve: --stage keeps calls for a review, --auto-approve runs them", nil},
		{stages && c.Unapproved != "", "--stage and --unapproved: a call without an approval is staged", nil},
		{stages && c.DryRun, "--stage and --dry-run: a dry run makes no plan", []string{"--apply FILE --dry-run shows one"}},
		{stages && c.AskHost != "" && c.AskHost != "off", "--stage and --ask-host: nobody is asked about a call that is staged", nil},
		{stages && c.Mode != Answer && c.Mode != CallTool && c.Mode != CallMany && !serves && c.Mode != Check, "--stage: goes with a prompt, --call, --calls or --serve", []string{"--apply FILE makes the calls of a plan"}},
		{c.ApplyDigest != "" && c.Mode != Apply || c.KeepGoing && c.Mode != Apply && c.Mode != CallMany, "--apply-digest and --keep-going: go with --apply FILE, the latter also with --calls", nil},
		{c.ApplyDigest != "" && !isDigest(c.ApplyDigest), "--apply-digest: " + strconv.Quote(c.ApplyDigest) + " is not a SHA-256 of 64 hexadecimal digits", []string{"--apply FILE --dry-run prints it"}},

		{serves && c.Output != "", "--serve and --output: standard output carries the protocol", []string{"--log FILE gets the events"}},
		{serves && usesInput, "--serve: standard input carries the protocol, so that no other flag can use it or leave it out", nil},
		{c.AskHost != "" && !serves && c.Mode != Check, "--ask-host: goes with --serve, and asks its host", nil},
		{serves && (c.FindTools == "auto" || c.FindTools == "always"), "--serve and --find-tools: the list of tools that a host gets stays the same", nil},
		{serves && c.MaxResultBytes > 0, "--serve and --max-result-bytes: results are not cut", nil},
	}
}

func isDigest(s string) bool {
	digest, err := hex.DecodeString(s)
	return err == nil && len(digest) == sha256.Size
}

func (c *Config) trims() bool {
	tokens, err := strconv.ParseUint(c.Trim, 10, 31)
	return c.Trim == "" || c.Trim == "auto" || c.Trim == "off" || err == nil && tokens >= fewestTokens
}

// fewestTokens is less than any model takes. The user of a smaller number means thousands.
const fewestTokens = 1000

// IsNumber reports whether s is a number as JSON writes it.
func IsNumber(s string) bool {
	return jsontext.IsNumber([]byte(s)) && jsontext.Check([]byte(s), jsontext.Options{}) == nil
}
