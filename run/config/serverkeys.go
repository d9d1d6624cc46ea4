package config

// A serverKey is one key of a server's entry. Hosts differ in the names of
// their keys and in the forms of the values, so both are data here.
type serverKey struct {
	name string
	host bool // it stands only in the files of other hosts
	// field is what the value fills, and so says which values there are: see
	// entry.fill.
	field func(e *entry) any
}

const everyFile, hostFile = false, true

// What a serverKey fills beside fields of the entry.
type (
	text  string // with its variables expanded
	path  string // the same, and absolute
	table map[string]string
	not   bool // the opposite of the value
	word  struct {
		to    *string
		words []string
	}
	ignored struct{}
	refused struct{} // it would approve calls, which only the user's own flags, policy and config do
)

var serverKeys = [...]serverKey{
	{"command", everyFile, func(e *entry) any { return e.readCommand }},
	{"args", everyFile, func(e *entry) any { return e.readArgs }},
	{"env", everyFile, func(e *entry) any { return (*table)(&e.Env) }},
	{"environment", everyFile, func(e *entry) any { return (*table)(&e.Env) }}, // opencode
	{"envFile", hostFile, func(e *entry) any { return (*path)(&e.envFile) }},   // VS Code
	{"inherit_env", everyFile, func(e *entry) any { return &e.InheritEnv }},
	{"cwd", everyFile, func(e *entry) any { return (*path)(&e.Dir) }},
	{"framing", everyFile, func(e *entry) any { return word{&e.Framing, []string{"newline", "content-length"}} }},
	{"url", everyFile, func(e *entry) any { return (*text)(&e.URL) }},
	{"httpUrl", everyFile, func(e *entry) any { return (*text)(&e.URL) }},   // Gemini
	{"serverUrl", everyFile, func(e *entry) any { return (*text)(&e.URL) }}, // Windsurf
	{"headers", everyFile, func(e *entry) any { return (*table)(&e.Headers) }},
	{"http_headers", hostFile, func(e *entry) any { return (*table)(&e.Headers) }}, // Codex
	{"requestInit", hostFile, func(*entry) any { return ignored{} }},
	{"transport", hostFile, func(e *entry) any { return e.checkTransport }},
	{"type", everyFile, func(e *entry) any { return e.checkTransport }},
	{"insecure_http", everyFile, func(e *entry) any { return &e.InsecureHTTP }},
	{"auth_token", everyFile, func(e *entry) any { return (*text)(&e.token) }},
	{"auth_env", everyFile, func(e *entry) any { return &e.authEnv }},
	{"token_command", everyFile, func(e *entry) any { return &e.TokenCommand }},
	{"oauth", everyFile, func(e *entry) any { return e.readOAuth }},

	{"required", everyFile, func(e *entry) any { return (*not)(&e.Optional) }},
	{"trusted", everyFile, func(e *entry) any { return e.readTrusted }},
	{"disabled", everyFile, func(e *entry) any { return &e.off }},
	{"enabled", hostFile, func(e *entry) any { return (*not)(&e.off) }}, // opencode
	{"startup_timeout", everyFile, func(e *entry) any { return &e.StartupTimeout }},
	{"tool_timeout", everyFile, func(e *entry) any { return &e.ToolTimeout }},
	{"timeout", hostFile, func(e *entry) any { return e.readTimeout }},
	{"tools", everyFile, func(e *entry) any { return &e.Tools }}, // of the Copilot CLI too
	{"includeTools", hostFile, func(e *entry) any { return e.readIncludeTools }},
	{"exclude_tools", everyFile, func(e *entry) any { return &e.Exclude }},
	{"excludeTools", hostFile, func(e *entry) any { return &e.Exclude }},  // Gemini
	{"disabledTools", hostFile, func(e *entry) any { return &e.Exclude }}, // Kiro, Roo
	{"protocol", everyFile, func(e *entry) any { return word{&e.Protocol, []string{"auto", "legacy", "2026-07-28"}} }},
	{"parallel", everyFile, func(e *entry) any { return &e.Parallel }},
	{"instructions", everyFile, func(e *entry) any { return e.readInstructions }},

	{"trust", hostFile, func(*entry) any { return refused{} }},
	{"autoApprove", hostFile, func(*entry) any { return refused{} }},
	{"alwaysAllow", hostFile, func(*entry) any { return refused{} }},
	{"description", hostFile, func(*entry) any { return ignored{} }},
	{"name", hostFile, func(*entry) any { return ignored{} }},
	{"gallery", hostFile, func(*entry) any { return ignored{} }},
	{"version", hostFile, func(*entry) any { return ignored{} }},
	{"source", hostFile, func(*entry) any { return ignored{} }},     // Zed
	{"settings", hostFile, func(*entry) any { return ignored{} }},   // Zed
	{"path", hostFile, func(e *entry) any { return e.readCommand }}, // Zed: of command
}

// nestedKeys may hold an object with keys of a server: a command of Zed, a
// transport of Cursor, requestInit of JetBrains.
var nestedKeys = []string{"command", "transport", "requestInit"}

// ownKeys are the keys of a server in the user's own config.
func ownKeys() (names []string) {
	for _, k := range serverKeys {
		if !k.host {
			names = append(names, k.name)
		}
	}
	return names
}
