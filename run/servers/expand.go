package servers

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/stream/text/secrets"
)

func (e *entry) expanded(m document.Member) (string, error) {
	s, err := m.Str()
	if err != nil {
		return "", err
	}
	return e.expand(m.Value, s)
}

// path reads a path, expands it and makes it absolute. Like other hosts it starts from the
// project's directory, where this program was called.
func (e *entry) path(m document.Member) (string, error) {
	s, err := e.expanded(m)
	if err != nil || s == "" {
		return "", err
	}
	abs, err := filepath.Abs(FromHome(e.c, s))
	if err != nil {
		return "", m.Errorf("%v", err)
	}
	return abs, nil
}

// An Expander expands variables in texts of the user's config outside of server entries, and
// records which variables were used.
type Expander struct{ of entry }

func NewExpander(c *config.Config) *Expander {
	return &Expander{entry{c: c, Server: Server{own: true}}}
}

// Expand returns text with its variables expanded. The error names the position at, and a variable
// without a value or a default.
func (x *Expander) Expand(at document.Value, text string) (string, error) {
	return x.of.expand(at, text)
}

// AddSecrets adds the values of the used variables that are secrets by their names.
func (x *Expander) AddSecrets(set *secrets.Set) { x.of.AddSecrets(set) }

// FromHome expands ~/ at the start of a path.
func FromHome(c *config.Config, path string) string {
	if home := c.Getenv("HOME"); home != "" && strings.HasPrefix(path, "~/") {
		return home + path[1:]
	}
	return path
}

// variable looks up a variable that the entry names. An entry of another host's file gets no
// variable with a model's key: such a file may come with a repository, and could send the key
// anywhere.
func (e *entry) variable(at document.Value, name string) (v string, set bool, err error) {
	if !e.own && slices.Contains(e.keys, name) {
		err := at.Errorf("server %q: the variable %q contains a model's key, which only your own config gives to a server", e.Name, name)
		err.Hints = []string{"to give it to a server, put the server into mcpServers of your own config; for another token use a variable with another name"}
		return "", false, err
	}
	v, set = e.c.LookupEnv(name)
	e.remember(name, v)
	return v, set, nil
}

// required is the value of a variable that must be set.
func (e *entry) required(at document.Value, name string) (string, error) {
	v, set, err := e.variable(at, name)
	if err == nil && !set {
		err = unresolved{at.Errorf("the variable %q is not set", name)}
	}
	return v, err
}

// expand replaces the variables in s: ${NAME}, ${NAME:-default}, ${env:NAME} and ${input:NAME} (VS
// Code), {env:NAME} (opencode), $NAME (Gemini). A variable without a value or a default is an error
// that names it. Values are never shown.
func (e *entry) expand(at document.Value, s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); {
		name, size := ReferenceAt(s[i:], e.dollar || !e.own && strings.HasPrefix(s[i:], "$"+copilotPrefix))
		switch {
		case size == 0:
			e.sayLiteral(at, s[i:])
			b.WriteByte(s[i])
			i++
			continue
		case size < 0:
			return "", at.Errorf("%q: %s is not closed", s, s[i:i+2])
		}
		v, err := e.resolve(at, name)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		i += size
	}
	return b.String(), nil
}

// copilotPrefix is the prefix of secrets of Copilot's agents.
const copilotPrefix = "COPILOT_MCP_"

// bareSecret is a value that may be only the name of a secret, as in Copilot's files.
func (e *entry) bareSecret(at document.Value, s string) (string, error) {
	value, set, err := e.variable(at, s)
	if err == nil && !set {
		e.warn("unknown_variable", at.Place()+": "+s+" stays unchanged: no variable of this name is set")
		return s, nil
	}
	return value, err
}

// sayLiteral warns about a $NAME at the start of s that stays unchanged although some hosts would
// replace it by a secret.
func (e *entry) sayLiteral(at document.Value, s string) {
	if e.own || s[0] != '$' {
		return
	}
	if name, size := ReferenceAt(s, true); size > 0 && secrets.Named(name) {
		e.warn("unknown_variable", at.Place()+": "+name+" after a $ without braces stays unchanged; ${"+name+"} would be the variable")
	}
}

// ReferenceAt returns the variable at the start of s without its brackets, and its length with
// them; 0 for none, -1 if it is not closed. dollar says whether $NAME is a variable.
func ReferenceAt(s string, dollar bool) (name string, size int) {
	open := 0
	switch {
	case strings.HasPrefix(s, "${"):
		open = 2
	case strings.HasPrefix(s, "{env:"):
		open = 1
	case dollar && s[0] == '$':
		for size = 1; size < len(s) && s[size] != '-' && document.IsWord(s[size]); size++ {
		}
		if size > 1 && (s[1] < '0' || s[1] > '9') {
			return s[1:size], size
		}
		return "", 0
	default:
		return "", 0
	}
	depth := 0
	for i, c := range []byte(s[open-1:]) {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return s[open : open-1+i], open + i
			}
		}
	}
	return "", -1
}

func (e *entry) resolve(at document.Value, reference string) (string, error) {
	name, fallback, hasFallback := strings.Cut(reference, ":-")
	secret, isSecret := strings.CutPrefix(strings.Trim(name, "{ }"), "secrets.") // ${{ secrets.NAME }} of Copilot
	if isSecret = isSecret && !e.own && name[0] == '{'; isSecret {
		name = secret
	}
	switch name {
	case "/", "pathSeparator":
		return string(os.PathSeparator), nil
	case "workspaceFolder", "PWD": // the directory of the invocation, even if PWD is not exported
		dir, err := os.Getwd()
		if err != nil {
			return "", unresolved{at.Errorf("%s: %s", name, failure.Cause(err))}
		}
		return dir, nil
	case "userHome":
		name = "HOME"
	}
	input, isInput := strings.CutPrefix(name, "input:")
	if isInput {
		name = inputVariable(input)
	}
	name = strings.TrimPrefix(name, "env:")
	v, set, err := e.variable(at, name)
	if set && isSecret {
		e.variables[name] = variable{v, true}
	}
	if name == "CLAUDE_PLUGIN_ROOT" && !set && e.root != "" {
		return e.root, err
	}
	switch {
	case err != nil || v != "":
		return v, err
	case hasFallback:
		return e.expand(at, fallback)
	case set:
		return "", nil
	case isInput:
		return "", unresolved{at.Errorf("the input %q of VS Code is read from the variable %s, which is not set", input, name)}
	}
	return "", unresolved{at.Errorf("the variable %q is not set and has no default", name)}
}

// inputVariable is the environment variable for an input of VS Code.
func inputVariable(input string) string {
	return "TOOLPIPE_INPUT_" + strings.Map(func(r rune) rune {
		if r != '-' && document.IsWord(r) {
			return r
		}
		return '_'
	}, input)
}

// readEnvFile adds the variables of the entry's envFile that are not in its env. Lines have the
// form NAME=value; quotes around the value and "export" are ignored.
func (e *entry) readEnvFile(at document.Value) error {
	data, err := config.RuleFile.Read(e.c, at.Origin()+": envFile", e.envFile, 1<<20, e.warner)
	if err != nil {
		return unresolved{failure.Of(err)}
	}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" || name[0] == '#' {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		if _, given := e.Env[name]; !given {
			if e.Env == nil {
				e.Env = map[string]string{}
			}
			e.Env[name] = value
			e.remember(name, value)
		}
	}
	return nil
}

// Unexpanded replaces the values of the entry's variables in a message by their names.
func (s *Server) Unexpanded(message string) string {
	longestFirst := func(a, b string) int {
		return cmp.Or(len(s.variables[b].value)-len(s.variables[a].value), strings.Compare(a, b))
	}
	for _, name := range slices.SortedFunc(maps.Keys(s.variables), longestFirst) {
		if value := s.variables[name].value; len(value) > 3 {
			message = strings.ReplaceAll(message, value, "${"+name+"}")
		}
	}
	return message
}
