package flags

import "toolpipe/run/config"

func modelFlags(c *config.Config) []Flag {
	return []Flag{
		{Name: "model", Everyday: true, Short: "m", Value: "NAME", Setting: &c.Model,
			Help: "model, or the name of a profile of the config; a,b falls back on profile b; also TOOLPIPE_MODEL"},
		{Name: "base-url", Everyday: true, Value: "URL", EmptyOK: true, Setting: &c.BaseURL,
			Help: "endpoint, ending in /v1 (or TOOLPIPE_BASE_URL); also OPENAI_BASE_URL"},
		{Name: "api", Value: "DIALECT", Setting: &c.API,
			Help: "chat (default), messages or responses"},
		{Name: "key-env", Everyday: true, Value: "NAME", Setting: &c.KeyEnv,
			Help: "variable with the key (default TOOLPIPE_API_KEY); then OPENAI_API_KEY; '' sends no key"},
		{Name: "key-file", Value: "PATH", Setting: &c.KeyFile,
			Help: "file with the key"},
		{Name: "insecure-http", Value: "HOST", Setting: &c.InsecureHTTP,
			Help: "allow plain http to HOST for a key or an approver"},
		{Name: "max-tokens", Value: "N", Setting: &c.MaxTokens,
			Help: "limit of the answer, in tokens"},
		{Name: "temperature", Value: "X", Setting: &c.Temperature, Help: "sampling temperature"},
		{Name: "reasoning-effort", Value: "WORD", Setting: &c.ReasoningEffort,
			Help: "such as low, medium or high"},
		{Name: "param", Value: "NAME=JSON", Setting: &c.Params,
			Help: "any field of the request"},
		{Name: "schema", Value: "FILE|JSON", Setting: &c.Schema,
			Help: "JSON Schema that the answer must fit"},
		{Name: "retry-for", Value: "D", Setting: &c.RetryFor,
			Help: "how long to retry a failed connection, 429 and 503 (default: three times); 0 is never"},
	}
}

func inputFlags(c *config.Config) []Flag {
	return []Flag{
		{Name: "system", Everyday: true, Short: "s", Value: "TEXT", Setting: &c.System,
			Help: "system message; '' sends none, not even the default one about tools"},
		{Name: "system-file", Value: "PATH", Setting: &c.SystemFile,
			Help: "file with the system message"},
		{Name: "file", Everyday: true, Short: "f", Value: "PATH", Setting: &c.Files,
			Help: "attach a text file or a picture (repeatable); UTF-8, PNG, JPEG, GIF, WebP or PDF; - is standard input"},
		{Name: "refresh", Setting: &c.Refresh,
			Help: "after each round of calls, show the model which of its files have changed"},
		{Name: "trim", Value: "HOW", Setting: &c.Trim,
			Help: "when requests leave the oldest results of tools out: auto (default) if the endpoint refuses for length, off, or above N tokens"},
		{Name: "input", Everyday: true, Short: "i", Value: "FORM", Setting: &c.Input,
			Help: "what stdin is: auto (default), text or messages; messages is a JSON message array"},
		{Name: "no-stdin", Setting: &c.NoStdin,
			Help: "never read standard input; use it in loops"},
		{Name: "session", Value: "FILE", Setting: &c.Session,
			Help: "keep the conversation in FILE, and continue it"},
		{Name: "mcp-resource", Value: "NAME:URI", Setting: &c.Resources,
			Help: "attach the resource URI of the tool server NAME"},
		{Name: "mcp-prompt", Value: "NAME:PROMPT[,ARG=VALUE...]", Setting: &c.Prompt,
			Help: "begin with a prompt of the tool server NAME"},
		{Name: "skill", Value: "NAME:SKILL", Setting: &c.Skills,
			Help: "attach a skill of the tool server NAME, by its name or its URI"},
	}
}

func serverFlags(c *config.Config) []Flag {
	return []Flag{
		{Name: "mcp", Everyday: true, Short: "t", Value: "[NAME=]TARGET", Setting: &c.Servers,
			Help: "tool server: URL, unix:PATH or command (repeatable); NAME?=TARGET may fail"},
		{Name: "mcp-config", Everyday: true, Value: "FILE|-", Setting: &c.ServerConfigs,
			Help: "servers from the JSON file of another host; such as Claude, Cursor, VS Code, opencode, Zed; - is stdin"},
		{Name: "servers", Value: "NAMES", EmptyOK: true, Setting: &c.ChosenServers,
			Help: "use only these servers of the config and of --mcp-config: a comma list; '' is none"},
		{Name: "start", Value: "WHEN", Setting: &c.Start,
			Help: "when servers start: first (default), and with --tools-lock also beside (during the first request) or call (at their first call)"},
		{Name: "mcp-auth-env", Value: "NAME=VAR", Setting: &c.ServerAuthEnv,
			Help: "variable VAR with the bearer token of the server NAME"},
		{Name: "mcp-sandbox", Value: "NAME[=LIST]", Setting: &c.ServerSandboxes,
			Help: "limit a server that is a command, or '*' for all, to the rights in LIST, see --help=sandbox"},
		{Name: "mcp-env", Value: "NAME=VAR[,VAR...]", Setting: &c.ServerEnv,
			Help: "pass variables, by their names, to the server NAME, which is a command"},
		{Name: "mcp-cwd", Value: "[NAME=]DIR", Setting: &c.ServerDirs,
			Help: "directory where the server NAME starts, or all servers of -t and --mcp-config without a cwd"},
		{Name: "trust", Value: "NAME", Setting: &c.Trust,
			Help: "believe the read-only annotations of the server NAME"},
		{Name: "elicit", Value: "HOW", Setting: &c.Elicit,
			Help: "answer servers' questions: off (default), decline, defaults or ask (on the terminal)"},
	}
}

func toolFlags(c *config.Config) []Flag {
	return []Flag{
		{Name: "files", Everyday: true, Value: "[NAME=]DIR", Setting: &c.FileRoots,
			Help: "built-in file tools, confined to DIR; DIR can be one file"},
		{Name: "files-anyway", Setting: &c.FilesAnyway,
			Help: "allow / and home directories for --files and for writing in a sandbox"},
		{Name: "code", Setting: &c.Code,
			Help: "built-in tools for the definitions in source files below --files; needs universal-ctags"},
		{Name: "shell", Everyday: true, Setting: &c.Shell,
			Help: "built-in command tool; not confined by --files"},
		{Name: "shell-background", Setting: &c.Background,
			Help: "with --shell: built-in tools for programs that run while the model works, see --help=processes"},
		{Name: "shell-tools", Value: "HOW", Setting: &c.ShellTools,
			Help: "with --shell: commands call the tools of this run by toolpipe --call: off (default), also, or only (the model has no tools but the shell), see --help=shell-tools"},
		{Name: "sandbox", Value: "on|off|LIST", Setting: &c.Sandbox,
			Help: "with --shell: the kernel lets commands write only below --files, without network; LIST is write=DIR,read=DIR,hide=PATH, cache=DIR,net=loopback|all, see --help=sandbox"},
		{Name: "cmd-lines", Setting: &c.CmdLines,
			Help: "with --shell, for models without tool calls: run lines 'CMD: ...' of an answer as commands"},
		{Name: "fetch", Setting: &c.Fetch,
			Help: "built-in tool that fetches URLs"},
		{Name: "fetch-allow", Value: "PATTERN", Setting: &c.FetchAllow,
			Help: "private network (10.1.*, 10.1.0.0/16), address or host that --fetch may also reach"},
		{Name: "notes", Value: "FILE", Setting: &c.Notes,
			Help: "built-in tools for notes in FILE, which several runs can share, and to call your attention"},
		{Name: "agent", Value: "[NAME=]PROFILE", Setting: &c.Agents,
			Help: "built-in tool that gives a task to the model of a profile, with this run's tools, rules and limits"},
		{Name: "tools", Value: "GLOB", Setting: &c.Tools,
			Help: "offer only tools that match, by their names NAME__TOOL"},
		{Name: "exclude-tools", Value: "GLOB", Setting: &c.ExcludeTools,
			Help: "do not offer tools that match"},
		{Name: "find-tools", Value: "WHEN", Setting: &c.FindTools,
			Help: "offer one tool that finds the others: never (default), auto (if there are many) or always"},
		{Name: "parallel", Value: "N", Setting: &c.Parallel,
			Help: "read-only calls at once (default 8)"},
		{Name: "max-result-bytes", Value: "N", Setting: &c.MaxResultBytes,
			Help: "how much of a result the model gets, such as 64K or 1M (default 256K)"},
		{Name: "tool-timeout", Value: "D", Setting: &c.ToolTimeout,
			Help: "longest time without progress of a call (default 120s)"},
		{Name: "startup-timeout", Value: "D", Setting: &c.StartupTimeout,
			Help: "longest start of a server (default 30s)"},
	}
}

func modeFlags(c *config.Config) []Flag {
	return []Flag{
		{Name: "list-tools", Everyday: true, Setting: config.ListTools,
			Help: "print the tools and their verdicts; with -v also findings in their definitions"},
		{Name: "list", Everyday: true, Value: "WHAT", Setting: config.List,
			Help: "print servers, models, resources, prompts or skills; also logins"},
		{Name: "describe-tool", Value: "NAME", Setting: config.DescribeTool,
			Help: "print the definition of the tool NAME and exit"},
		{Name: "call", Everyday: true, Value: "NAME", Setting: config.CallTool,
			Help: "call a tool with key=value, key:=JSON or JSON; once, approvals included; key=@FILE is the text of a file, - JSON from stdin"},
		{Name: "calls", Setting: config.CallMany,
			Help: "make the calls in stdin, each a line of JSON with id, name, arguments; each result is a line of JSON"},
		{Name: "apply", Value: "FILE", Setting: config.Apply,
			Help: "make the calls of a reviewed plan of --stage, in order and at most once; with --dry-run show them and the digest of the plan"},
		{Name: "apply-digest", Value: "SHA256", Setting: &c.ApplyDigest,
			Help: "with --apply: refuse any plan but the one with this digest"},
		{Name: "keep-going", Setting: &c.KeepGoing,
			Help: "with --apply and --calls: go on after an error, and after a call with unknown outcome"},
		{Name: "read", Value: "NAME:URI", Setting: config.ReadResource,
			Help: "write the bytes of the resource URI of the server NAME"},
		{Name: "explain", Value: "NAME", Setting: config.Explain,
			Help: "print the verdict on a call of NAME, arguments as for --call"},
		{Name: "tools-lock-update", Setting: config.UpdateLock,
			Help: "write the file of --tools-lock and exit"},
		{Name: "check", Everyday: true, Setting: config.Check,
			Help: "check the setup of a run without the run; the exit status is the same as of the run"},
		{Name: "serve", Everyday: true, Setting: config.Serve,
			Help: "be an MCP server on stdin and stdout; it offers these tools, with the approvals of these flags"},
		{Name: "listen", Value: "unix:PATH", Setting: &c.Listen,
			Help: "with --serve: listen at this socket, for any number of clients of the same user at once"},
		{Name: "idle", Value: "D", Setting: &c.Idle,
			Help: "with --listen: end after this time without a client (default never)"},
		{Name: "report", Everyday: true, Value: "FORM", Setting: config.Report,
			Help: "show logs, sessions and plans as html or markdown; the arguments are the files, by default stdin"},
		{Name: "login", Everyday: true, Value: "NAME|URL", Setting: config.SignIn,
			Help: "sign in to a tool server, in the browser; by its name or its URL"},
		{Name: "logout", Value: "NAME|URL", Setting: config.SignOut,
			Help: "delete the login at a tool server, and revoke it"},
	}
}

func approvalFlags(c *config.Config) []Flag {
	return []Flag{
		{Name: "allow", Everyday: true, Short: "a", Value: "PATTERNS", Setting: &c.Allow,
			Help: "tools that may run: fs__read_*,gh__* or @read-only; a comma list of NAME__TOOL globs; @writes, @runs and @sends are tools that do only this; @open is the open calls of -i messages or a session"},
		{Name: "deny", Everyday: true, Value: "PATTERNS", Setting: &c.Deny,
			Help: "tools that never run, despite any other flag; as for --allow; @writes is all tools that may write"},
		{Name: "policy", Everyday: true, Value: "FILE", Setting: &c.Policies, Help: "rules over tools and their arguments"},
		{Name: "auto-approve", Everyday: true, Short: "y", Setting: &c.AutoApprove,
			Help: "run every call that no rule denies"},
		{Name: "dry-run", Everyday: true, Setting: &c.DryRun,
			Help: "run only approved calls of trusted read-only tools"},
		{Name: "stage", Value: "FILE", Setting: &c.Stage,
			Help: "write calls that no rule allows to the plan FILE, and go on; --apply FILE makes them after a review"},
		{Name: "tools-lock", Value: "FILE", Setting: &c.ToolsLock,
			Help: "fail if a tool's definition differs from the file"},
		{Name: "approver", Value: "COMMAND|URL", Setting: &c.Approver,
			Help: "ask this program or address about every call that is not denied"},
		{Name: "ask-host", Value: "WHAT", Setting: &c.AskHost,
			Help: "with --serve: the host asks its user about calls: off (default), calls, or all (also questions of --egress or a rule with when)"},
		{Name: "egress", Value: "WHAT", Setting: &c.Egress,
			Help: "if a call sends data after private data and an outsider's text were read: off, warn (default), ask or deny"},
		{Name: "unapproved", Value: "WHAT", Setting: &c.Unapproved,
			Help: "if nobody can approve a call: stop (default), or deny and go on"},
		{Name: "no-input", Setting: &c.NoInput,
			Help: "never ask on the terminal"},
	}
}

func (t *Table) outputFlags() []Flag {
	c := t.settings
	return []Flag{
		{Name: "output", Everyday: true, Short: "o", Value: "FORM", Setting: &c.Output,
			Help: "text, ndjson, json, messages or block[:LANG]; text is the default, ndjson the events, json the end event, block only the answer's first fenced block"},
		{Name: "block", Everyday: true, Short: "x", Setting: &t.block,
			Help: "the same as -o block"},
		{Name: "stream", Setting: &c.Stream,
			Help: "write text as it comes, even if tools are offered; --stream=false: the answer in one piece at its end"},
		{Name: "quiet", Everyday: true, Short: "q", Setting: &c.Quiet,
			Help: "nothing on stderr but errors"},
		{Name: "verbose", Everyday: true, Short: "v", Setting: (*count)(&c.Verbose),
			Help: "more on stderr, -vv wire traffic; without secrets"},
		{Name: "color", Value: "WHEN", Setting: &c.Color,
			Help: "auto (default), always or never"},
		{Name: "log", Value: "FILE", Setting: &c.Log,
			Help: "append the events to the file"},
		{Name: "id", Value: "WORD", Setting: &c.ID,
			Help: "an id for this run, which appears in start, end and -o json"},
		{Name: "record", Value: "FILE", Setting: &c.Record,
			Help: "store the model exchanges in the file"},
		{Name: "replay", Value: "FILE", Setting: &c.Replay,
			Help: "answer from the exchanges in the file, offline"},
	}
}

func limitFlags(c *config.Config) []Flag {
	return []Flag{
		{Name: "max-rounds", Everyday: true, Value: "N", Setting: &c.MaxRounds,
			Help: "rounds of calls (default 8)"},
		{Name: "max-inner-calls", Value: "N", Setting: &c.MaxInnerCalls,
			Help: "calls that one command may make with --shell-tools (default 1000)"},
		{Name: "timeout", Everyday: true, Value: "D", Setting: &c.Timeout,
			Help: "longest run, such as 90s or 5m"},
		{Name: "max-total-tokens", Value: "N", Setting: &c.MaxTotal.Tokens, Help: "stop when the run has used N tokens"},
		{Name: "max-cost", Value: "X", Setting: &c.MaxTotal.Cost,
			Help: "stop when the run has cost X; its profiles need a price, see --help=config"},
		{Name: "config", Value: "FILE", Setting: &c.ConfigFile,
			Help: "config (default TOOLPIPE_CONFIG, then toolpipe/config.json in your config directory)"},
		{Name: "no-config", Setting: &c.NoConfig, Help: "read no config"},
	}
}

func (t *Table) aboutFlags() []Flag {
	return []Flag{
		{Name: "help", Everyday: true, Short: "h", Value: "[=TOPIC]", Setting: &t.Help,
			Help: "the everyday flags, =all: every one, =topics: pages; =man: everything as roff"},
		{Name: "completion", Value: "SHELL", Setting: &t.Completion,
			Help: "print the completion for bash, zsh or fish"},
		{Name: "version", Everyday: true, Setting: &t.Version, Help: "print the version"},
	}
}
