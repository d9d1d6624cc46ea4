package config

import (
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/failure"
)

// An entry is one server of a config file, the user's own or another host's,
// while it is read.
type entry struct {
	Server
	c        *Config
	own      bool     // the user's own config: strict, and may grant trust
	keys     []string // variables that hold a model's key, which only the user's own config may name
	warn     func(code, server, message string)
	args     []string
	written  []string // args as they stand in the file
	authEnv  string
	token    string
	disabled bool
}

// serverKeys are the keys of a server in the user's own config.
var serverKeys = []string{
	"command", "args", "env", "environment", "inherit_env", "cwd", "framing", "url", "httpUrl", "serverUrl", "headers",
	"insecure_http", "auth_token", "auth_env", "token_command", "oauth", "required", "trusted", "startup_timeout",
	"tool_timeout", "tools", "exclude_tools", "protocol", "parallel", "instructions", "type",
}

func (e *entry) parse(v Value) error {
	if v.Kind() != '{' {
		return v.Errorf("not an object")
	}
	for _, m := range v.Members() {
		if m.IsNull() {
			continue
		}
		known, err := e.readTarget(m)
		if err == nil && !known {
			known, err = e.readTreatment(m)
		}
		if err == nil && !known {
			known, err = e.readOfOtherHosts(m)
		}
		if err == nil && !known {
			err = e.unknown(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readTarget reads the keys that say how to reach the server.
func (e *entry) readTarget(m member) (known bool, err error) {
	switch m.Key {
	case "command":
		var words []string
		if words, err = m.Words(); err == nil && len(words) > 0 {
			e.Command = words
		}
	case "args":
		if m.Kind() == '"' { // nothing splits it, so it would be one argument
			return true, m.Errorf(`%s is not a list of strings, such as ["…", "…"]`, m.Short())
		}
		if e.written, err = m.Words(); err == nil {
			e.args, err = e.words(m.Value)
		}
	case "env", "environment":
		e.Env, err = e.table(m.Value)
	case "inherit_env":
		e.InheritEnv, err = m.Words()
	case "cwd":
		e.Dir, err = m.str()
	case "framing":
		e.Framing, err = m.oneOf("newline", "content-length")
	case "url", "httpUrl", "serverUrl":
		if e.Shown, err = m.str(); err == nil {
			e.URL, err = e.expand(m.Value, e.Shown)
		}
	case "headers":
		e.Headers, err = e.table(m.Value)
	case "insecure_http":
		e.InsecureHTTP, err = m.boolean()
	case "auth_token":
		e.token, err = m.str()
	case "auth_env":
		e.authEnv, err = m.str()
	case "token_command":
		e.TokenCommand, err = m.Words()
	case "oauth":
		e.OAuth, err = e.oauth(m.Value)
	default:
		return false, nil
	}
	return true, err
}

// readTreatment reads the keys that say how to treat the server: whether it is
// required and trusted, its bounds and its tools.
func (e *entry) readTreatment(m member) (known bool, err error) {
	var on bool
	switch m.Key {
	case "required":
		on, err = m.boolean()
		e.Optional = !on
	case "trusted":
		on, err = m.boolean()
		if e.own {
			e.Trusted = on
		} else if on {
			e.warn("trust_ignored", e.Name, m.At.origin()+": trusted counts only in your own config; --trust "+e.Name+" does it")
		}
	case "startup_timeout":
		e.StartupTimeout, err = m.duration()
	case "tool_timeout":
		e.ToolTimeout, err = m.duration()
	case "tools":
		e.Tools, err = m.Words()
	case "exclude_tools":
		e.Exclude, err = m.Words()
	case "protocol":
		e.Protocol, err = m.oneOf("auto", "legacy", "2026-07-28")
	case "parallel":
		e.Parallel, err = m.count()
	case "instructions":
		on, err = m.boolean()
		e.Instructions = &on
	default:
		return false, nil
	}
	return true, err
}

// readOfOtherHosts reads the keys that only the files of other hosts have. A
// key that would approve calls is ignored with a warning: only the user's own
// flags, policy and config approve.
func (e *entry) readOfOtherHosts(m member) (known bool, err error) {
	switch m.Key {
	case "type", "transport":
		// stdio, http, sse, streamable-http, local, remote: the url or the command says it too
	case "timeout":
		e.ToolTimeout, err = milliseconds(m.Value)
	case "includeTools":
		e.Tools, err = m.Words()
	case "excludeTools":
		e.Exclude, err = m.Words()
	case "disabled":
		e.disabled, err = m.boolean()
	case "enabled":
		var on bool
		on, err = m.boolean()
		e.disabled = !on
	case "trust", "autoApprove", "alwaysAllow":
		if m.Kind() != 'f' && len(m.Elements()) > 0 || m.Kind() == 't' {
			e.warn("trust_ignored", e.Name, m.At.origin()+": "+m.Key+" is ignored; --allow and --trust approve calls")
		}
	default:
		return false, nil
	}
	if e.own && m.Key != "type" { // the user's own config has other keys for these
		return true, e.unknown(m)
	}
	return true, err
}

// unknown is an error in the user's own config, and a warning in another
// host's file.
func (e *entry) unknown(m member) error {
	if e.own {
		return m.Unknown(serverKeys)
	}
	e.warn("unknown_key", e.Name, m.At.origin()+": unknown key "+strconv.Quote(m.Key)+" is ignored")
	return nil
}

// oneOf reads a string that is one of the words.
func (m member) oneOf(words ...string) (string, error) {
	s, err := m.str()
	if err == nil && !slices.Contains(words, s) {
		err = m.Errorf("%q is not one of: %s", s, JoinWords(words))
	}
	return s, err
}

// finish checks the whole entry when all keys are read. auth_token wins over
// auth_env.
func (e *entry) finish(at Value) error {
	switch {
	case e.URL != "" && len(e.Command) > 0:
		return at.Errorf("server %q has both a url and a command", e.Name)
	case e.URL == "" && len(e.Command) == 0:
		return at.Errorf("server %q has neither a url nor a command", e.Name)
	}
	if e.token != "" {
		e.Bearer = e.token
	} else if e.authEnv != "" {
		token, ok, err := e.variable(at, e.authEnv)
		if err != nil {
			return err
		}
		if !ok || token == "" {
			return at.Errorf("server %q: the variable %q of auth_env is not set", e.Name, e.authEnv)
		}
		e.Bearer = token
	}
	if len(e.Command) > 0 {
		e.Shown = QuoteWords(append(e.Command, e.written...))
		e.Command = append(e.Command, e.args...)
		if e.Dir == "" {
			e.Dir = neutralDir
		}
	}
	if e.URL != "" {
		if _, err := checkURL(e.URL); err != nil {
			return at.within(failure.Within("server "+strconv.Quote(e.Name), err))
		}
	}
	return nil
}

// variable looks up a variable that the entry names. An entry of another
// host's file does not get a variable that holds a model's key: such a file
// may come with a repository, and could send the key anywhere.
func (e *entry) variable(at Value, name string) (v string, set bool, err error) {
	if !e.own && slices.Contains(e.keys, name) {
		err := at.Errorf("server %q: the variable %q holds a model's key, which only your own config gives to a server", e.Name, name)
		err.Hints = []string{"a server that is meant to have it goes into mcpServers of your own config; for a token of its own use a variable of another name"}
		return "", false, err
	}
	v, set = e.c.lookupEnv(name)
	if e.variables == nil {
		e.variables = map[string]string{}
	}
	e.variables[name] = v
	return v, set, nil
}

// expand replaces ${VAR} and ${VAR:-default}. A variable that is not set and
// has no default is an error naming it; values are never shown.
func (e *entry) expand(at Value, s string) (string, error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return "", at.Errorf("%q: ${ is not closed", s)
		}
		name, fallback, hasFallback := strings.Cut(name, ":-")
		name = strings.TrimPrefix(name, "env:") // VS Code
		v, set, err := e.variable(at, name)
		if err != nil {
			return "", err
		}
		if v == "" && hasFallback {
			v = fallback
		} else if !set {
			return "", at.Errorf("the variable %q is not set and has no default", name)
		}
		b.WriteString(v)
		s = after
	}
}

// words reads an array of strings and expands each.
func (e *entry) words(v Value) ([]string, error) {
	words, err := v.Words()
	for i := range words {
		if err == nil {
			words[i], err = e.expand(v, words[i])
		}
	}
	return words, err
}

// table reads an object of strings and expands each value.
func (e *entry) table(v Value) (map[string]string, error) {
	t, err := v.table()
	for k := range t {
		if err == nil {
			t[k], err = e.expand(v, t[k])
		}
	}
	return t, err
}
