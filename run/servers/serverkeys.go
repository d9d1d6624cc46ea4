package servers

import (
	"maps"

	"toolpipe/run/document"
)

// ownKeys are the keys of a server's entry in the user's config. Files of other hosts may have them
// too.
func (e *entry) ownKeys() []document.Key {
	return document.Keys(
		"command", e.readCommand,
		"args", e.readArgs,
		"env environment", e.readEnv, // the latter for opencode
		"inherit_env", &e.InheritEnv,
		"cwd", document.Into(&e.Dir, e.path),
		"framing", document.WordOf(&e.Framing, "newline", "content-length"),
		"url httpUrl serverUrl", e.readURL, // the latter two for Gemini and Windsurf
		"headers", document.Into(&e.Headers, e.table),
		"type", e.checkTransport,
		"insecure_http", &e.InsecureHTTP,
		"auth_token", document.Into(&e.Bearer, e.expanded),
		"auth_env", &e.authEnv,
		"token_command", &e.TokenCommand,
		"client_cert client_key", e.certificate.ReadKey,
		"oauth", document.Into(&e.OAuth, e.oauth),

		"required", (*document.Not)(&e.Optional),
		"trusted", e.readTrusted,
		"disabled", &e.off,
		"startup_timeout", &e.StartupTimeout,
		"tool_timeout", &e.ToolTimeout,
		"tools", &e.Tools, // also in the Copilot CLI
		"exclude_tools", &e.Exclude,
		"protocol", document.WordOf(&e.Protocol.Only, "auto", "legacy", "2026-07-28"),
		"parallel", &e.Parallel,
		"instructions", &e.Instructions,
		"labels reads writes runs sends", e.readTraits,
		"sandbox", e.readSandbox,
	)
}

// hostKeys are further keys in files of other hosts. Hosts differ in the names of keys and in the
// forms of values.
func (e *entry) hostKeys() []document.Key {
	return document.Keys(
		"envFile", document.Into(&e.envFile, e.path), // VS Code
		"http_headers env_http_headers", e.addHeaders, // codex, also the keys below
		"bearer_token_env_var", &e.authEnv,
		"env_vars", e.readEnvVars,
		"enabled_tools", &e.Tools,
		"disabled_tools", &e.Exclude,
		"startup_timeout_sec", &e.StartupTimeout,
		"tool_timeout_sec", &e.ToolTimeout,
		"transport", e.checkTransport,
		"enabled", (*document.Not)(&e.off), // opencode
		"timeout", e.readTimeout,
		"includeTools", e.readIncludeTools,
		"excludeTools disabledTools", &e.Exclude, // Gemini; Kiro and Roo
		"path", e.readCommand, // Zed: of command
		"trust autoApprove alwaysAllow", e.refuse,
		"requestInit description name gallery version source settings", func(document.Member) error { return nil }, // ignored here
	)
}

// nestedKeys may contain an object with keys of a server: a command of Zed, a transport of Cursor,
// requestInit of JetBrains.
var nestedKeys = []string{"command", "transport", "requestInit"}

// addHeaders reads codex's http_headers, or env_http_headers, which names a variable for each
// header.
func (e *entry) addHeaders(m document.Member) error {
	table, err := e.table(m)
	if err != nil {
		return err
	}
	for name, value := range table {
		if m.Key == "env_http_headers" {
			if table[name], err = e.required(m.Value, value); err != nil {
				return err
			}
		}
	}
	e.Headers = merged(e.Headers, table)
	return nil
}

// readEnvVars reads codex's env_vars: names of variables that the server gets if they are set.
func (e *entry) readEnvVars(m document.Member) error {
	names, err := m.Words()
	if err != nil {
		return err
	}
	given := map[string]string{}
	for _, name := range names {
		value, set, err := e.variable(m.Value, name)
		if err != nil {
			return err
		}
		if set {
			given[name] = value
		}
	}
	e.Env = merged(given, e.Env)
	return nil
}

// readEnv reads env. It has precedence over env_vars.
func (e *entry) readEnv(m document.Member) error {
	table, err := e.table(m)
	if err == nil {
		e.Env = merged(e.Env, table)
	}
	return err
}

// merged combines two tables; the second has precedence.
func merged(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}
