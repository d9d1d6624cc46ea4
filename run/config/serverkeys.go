package config

// A serverKey is one key of a server's entry. Hosts differ in the names of
// their keys and in the forms of the values, so both are data here.
type serverKey struct {
	name string
	host bool // it stands only in the files of other hosts
	to   any  // see member.fill
}

const everyFile, hostFile = false, true

// serverKeys are the keys of a server's entry.
func (e *entry) serverKeys() []serverKey {
	return []serverKey{
		{"command", everyFile, e.readCommand},
		{"args", everyFile, e.readArgs},
		{"env", everyFile, into(&e.Env, e.table)},
		{"environment", everyFile, into(&e.Env, e.table)}, // opencode
		{"envFile", hostFile, into(&e.envFile, e.path)},   // VS Code
		{"inherit_env", everyFile, &e.InheritEnv},
		{"cwd", everyFile, into(&e.Dir, e.path)},
		{"framing", everyFile, word{&e.Framing, []string{"newline", "content-length"}}},
		{"url", everyFile, e.readURL},
		{"httpUrl", everyFile, e.readURL},   // Gemini
		{"serverUrl", everyFile, e.readURL}, // Windsurf
		{"headers", everyFile, into(&e.Headers, e.table)},
		{"http_headers", hostFile, into(&e.Headers, e.table)}, // Codex
		{"requestInit", hostFile, ignored},
		{"transport", hostFile, e.checkTransport},
		{"type", everyFile, e.checkTransport},
		{"insecure_http", everyFile, &e.InsecureHTTP},
		{"auth_token", everyFile, into(&e.token, e.expanded)},
		{"auth_env", everyFile, &e.authEnv},
		{"token_command", everyFile, &e.TokenCommand},
		{"oauth", everyFile, into(&e.OAuth, e.oauth)},

		{"required", everyFile, (*not)(&e.Optional)},
		{"trusted", everyFile, e.readTrusted},
		{"disabled", everyFile, &e.off},
		{"enabled", hostFile, (*not)(&e.off)}, // opencode
		{"startup_timeout", everyFile, &e.StartupTimeout},
		{"tool_timeout", everyFile, &e.ToolTimeout},
		{"timeout", hostFile, e.readTimeout},
		{"tools", everyFile, &e.Tools}, // of the Copilot CLI too
		{"includeTools", hostFile, e.readIncludeTools},
		{"exclude_tools", everyFile, &e.Exclude},
		{"excludeTools", hostFile, &e.Exclude},  // Gemini
		{"disabledTools", hostFile, &e.Exclude}, // Kiro, Roo
		{"protocol", everyFile, word{&e.Protocol, []string{"auto", "legacy", "2026-07-28"}}},
		{"parallel", everyFile, &e.Parallel},
		{"instructions", everyFile, &e.Instructions},
		{"labels", everyFile, e.readLabels},

		{"trust", hostFile, e.refuse},
		{"autoApprove", hostFile, e.refuse},
		{"alwaysAllow", hostFile, e.refuse},
		{"description", hostFile, ignored},
		{"name", hostFile, ignored},
		{"gallery", hostFile, ignored},
		{"version", hostFile, ignored},
		{"source", hostFile, ignored},     // Zed
		{"settings", hostFile, ignored},   // Zed
		{"path", hostFile, e.readCommand}, // Zed: of command
	}
}

// ignored reads what means nothing here.
func ignored(member) error { return nil }

// nestedKeys may hold an object with keys of a server: a command of Zed, a
// transport of Cursor, requestInit of JetBrains.
var nestedKeys = []string{"command", "transport", "requestInit"}

// ownKeys are the keys of a server in the user's own config.
func ownKeys() (names []string) {
	for _, k := range new(entry).serverKeys() {
		if !k.host {
			names = append(names, k.name)
		}
	}
	return names
}
