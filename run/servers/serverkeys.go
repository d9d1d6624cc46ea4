package servers

import "toolpipe/run/document"

// ownKeys are the keys of a server's entry in the user's own config. The files of
// other hosts may have them too.
func (e *entry) ownKeys() []document.Key {
	return document.Keys(
		"command", e.readCommand,
		"args", e.readArgs,
		"env environment", document.Into(&e.Env, e.table), // the latter is of opencode
		"inherit_env", &e.InheritEnv,
		"cwd", document.Into(&e.Dir, e.path),
		"framing", document.WordOf(&e.Framing, "newline", "content-length"),
		"url httpUrl serverUrl", e.readURL, // the latter two are of Gemini and Windsurf
		"headers", document.Into(&e.Headers, e.table),
		"type", e.checkTransport,
		"insecure_http", &e.InsecureHTTP,
		"auth_token", document.Into(&e.Bearer, e.expanded),
		"auth_env", &e.authEnv,
		"token_command", &e.TokenCommand,
		"oauth", document.Into(&e.OAuth, e.oauth),

		"required", (*document.Not)(&e.Optional),
		"trusted", e.readTrusted,
		"disabled", &e.off,
		"startup_timeout", &e.StartupTimeout,
		"tool_timeout", &e.ToolTimeout,
		"tools", &e.Tools, // the Copilot CLI has it too
		"exclude_tools", &e.Exclude,
		"protocol", document.WordOf(&e.Protocol.Only, "auto", "legacy", "2026-07-28"),
		"parallel", &e.Parallel,
		"instructions", &e.Instructions,
		"labels reads writes runs sends", e.readTraits,
		"sandbox", e.readSandbox,
	)
}

// hostKeys are the keys that stand only in the files of other hosts. Hosts differ in
// the names of their keys and in the forms of the values.
func (e *entry) hostKeys() []document.Key {
	return document.Keys(
		"envFile", document.Into(&e.envFile, e.path), // VS Code
		"http_headers", document.Into(&e.Headers, e.table), // Codex
		"transport", e.checkTransport,
		"enabled", (*document.Not)(&e.off), // opencode
		"timeout", e.readTimeout,
		"includeTools", e.readIncludeTools,
		"excludeTools disabledTools", &e.Exclude, // Gemini; Kiro and Roo
		"path", e.readCommand, // Zed: of command
		"trust autoApprove alwaysAllow", e.refuse,
		"requestInit description name gallery version source settings", func(document.Member) error { return nil }, // they mean nothing here
	)
}

// nestedKeys may hold an object with keys of a server: a command of Zed, a
// transport of Cursor, requestInit of JetBrains.
var nestedKeys = []string{"command", "transport", "requestInit"}
