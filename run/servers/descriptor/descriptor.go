// Package descriptor reads the files that describe a server so that many hosts can start it:
// the server.json of the MCP registry, and the manifest.json of an unpacked bundle (MCPB). What
// they leave to the user comes from variables of the environment. Nothing is fetched or started.
package descriptor

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/document"
	"toolpipe/run/failure"
)

// A Machine is what a description needs to know of where its server is to run.
type Machine struct {
	System string // as in GOOS
	Home   string // the user's home directory; "" for none
	Dir    string // the directory of the file, absolute; "" for standard input
	Here   string // the working directory, absolute: relative paths of the user begin there
	// Variable is the value of an environment variable, "" if it is not set. secret says that
	// it may not be shown, whatever the variable is called.
	Variable func(at document.Value, name string, secret bool) (string, error)
	// Withheld reports whether a variable is not for servers that another's file describes,
	// such as the key of a model.
	Withheld  func(name string) bool
	Installed func(program string) bool
}

// A Text is a word for a server: its value, and the same with the names of variables in place
// of their values.
type Text struct{ Value, Shown string }

// A Note is something that a user has to know about a description. Its code is that of a
// warning, or Detail.
type Note struct{ Code, Message string }

// Detail is the code of a note for users who want to know more.
const Detail = "server_described"

// A Server is how a described server is started or reached.
type Server struct {
	Command []Text // with its arguments; nil for a server at a URL
	Env     map[string]string
	Dir     string // the working directory; "" if the description says none
	URL     Text
	Headers map[string]string
	Notes   []Note
}

// A Description is a file, or a part of one, that describes a server.
type Description struct {
	Name string         // as the file has it; "" for none
	At   document.Value // what describes the server
	read func(*reader) error
}

// Find returns the description in a document; ok is false if it has none.
func Find(v document.Value) (d Description, ok bool, err error) {
	inner, _ := v.Get("server")
	switch {
	case isBundle(v, inner):
		return Description{text(v, "name"), v, (*reader).bundle}, true, nil
	case isRegistry(v):
		return Description{lastPart(text(v, "name")), v, (*reader).registry}, true, nil
	case inner.Doc != nil && isRegistry(inner): // as the registry's API answers
		return Description{lastPart(text(inner, "name")), v, (*reader).registry}, true, nil
	}
	if list, _ := v.Get("servers"); list.Doc != nil && slices.ContainsFunc(list.Elements(), func(e document.Value) bool { return isRegistry(unwrapped(e)) }) {
		err := list.Errorf("this is a list of the registry, with %d servers; a file describes one", len(list.Elements()))
		err.Hints = []string{"jq '.servers[0]' takes the first out of it"}
		return d, false, err
	}
	return d, false, nil
}

// Read reads the description. With an error there is a server too, as far as it is known, to be
// shown.
func (d Description) Read(m Machine) (*Server, error) {
	r := &reader{Machine: m, at: d.At, said: map[string]bool{}}
	err := d.read(r)
	if err == nil && len(r.missing) > 0 {
		err = r.missingError()
	}
	if err != nil && len(r.Command) == 0 && r.URL.Shown == "" {
		r.Command = literals("?")
	}
	if len(r.leftOut) > 0 {
		r.note(Detail, "no value was given for these, which are left out: %s", listed(r.leftOut))
	}
	return &r.Server, err
}

// A reader reads one description.
type reader struct {
	Server
	Machine
	at      document.Value // what is read, for errors about all of it
	missing []string       // the variables that have to be set
	leftOut []string       // what is optional and has no value, with its variable
	said    map[string]bool
}

// note notes something about the description.
func (r *reader) note(code, format string, args ...any) {
	r.noteOnce(code, r.at.Errorf(format, args...).Message)
}

// noteOnce notes something, unless it is noted already.
func (r *reader) noteOnce(code, message string) {
	if r.isNew(message) {
		r.Notes = append(r.Notes, Note{code, message})
	}
}

// isNew reports whether something is said for the first time.
func (r *reader) isNew(what string) bool {
	before := r.said[what]
	r.said[what] = true
	return !before
}

func (r *reader) missingError() *failure.Error {
	e := r.at.Errorf("the server needs variables that are not set: %s", listed(r.missing))
	e.Hints = []string{"export " + r.missing[0] + "=…, which is handed to the server"}
	return e
}

// lack notes a variable that has to be set, and returns what shows of it.
func (r *reader) lack(variable string) []Text {
	if r.isNew("missing " + variable) {
		r.missing = append(r.missing, variable)
	}
	return []Text{{"", "${" + variable + "}"}}
}

// leaveOut notes something optional without a value.
func (r *reader) leaveOut(what, variable string) {
	if what != variable {
		what += " (" + variable + ")"
	}
	if r.isNew("left out " + what) {
		r.leftOut = append(r.leftOut, what)
	}
}

// fields are members of an object, by their names as they are written today.
type fields map[string]document.Value

// fields reads an object. Members that are not known are warned about: what they ask for is not done.
func (r *reader) fields(v document.Value, known string) (fields, error) {
	if v.Kind() != '{' {
		return nil, v.Errorf("%s is not an object", v.Short())
	}
	all := fields{}
	for _, m := range v.Members() {
		switch key := camel(m.Key); {
		case !slices.Contains(strings.Fields(known), key):
			if len(r.Notes) > mostNotes { // each takes the time to count lines
				continue
			}
			r.noteOnce("unknown_key", m.At.Origin()+": unknown key "+strconv.Quote(m.Key)+" is ignored")
		case !m.IsNull():
			all[key] = m.Value
		}
	}
	return all, nil
}

// text is a field that is a string, "" for any other.
func (f fields) text(key string) string {
	v, ok := f[key]
	if !ok {
		return ""
	}
	return v.Text()
}

// fill reads fields that must be strings or switches. A number or a boolean is the text that it is.
func (f fields) fill(to map[string]any) (err error) {
	for _, key := range slices.Sorted(maps.Keys(to)) {
		v, ok := f[key]
		if !ok || err != nil {
			continue
		}
		switch to := to[key].(type) {
		case *string:
			*to, err = scalar(v)
		case *bool:
			*to, err = v.Boolean()
		}
	}
	return err
}

// camel writes is_required as isRequired: files of before 2025-09-16 have the former.
func camel(key string) string {
	words := strings.Split(key, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// text is a member that is a string, "" for any other.
func text(v document.Value, key string) string {
	m, ok := v.Get(key)
	if !ok {
		return ""
	}
	return m.Text()
}

// scalar is a string, or a number or boolean as the text that it is.
func scalar(v document.Value) (string, error) {
	if strings.ContainsRune("0tf", rune(v.Kind())) {
		return string(v.Raw()), nil
	}
	return v.Str()
}

// literal is a text that no variable is part of.
func literal(s string) Text { return Text{s, s} }

func literals(words ...string) (all []Text) {
	for _, w := range words {
		all = append(all, literal(w))
	}
	return all
}

// joined is texts as one.
func joined(parts []Text) Text {
	var value, shown strings.Builder
	for _, p := range parts {
		value.WriteString(p.Value)
		shown.WriteString(p.Shown)
	}
	return Text{value.String(), shown.String()}
}

// Limits of what is told of one description.
const (
	mostListed = 50
	mostNotes  = 100
)

// listed is a list for a message, which does not become long.
func listed(words []string) string {
	if n := len(words) - mostListed; n > 0 {
		words = append(slices.Clone(words[:mostListed]), "and "+strconv.Itoa(n)+" more")
	}
	return strings.Join(words, ", ")
}

// inputVariable is the variable with the value of an input, as for ${input:NAME} of VS Code: names such
// as port and path mean something else in the environment.
func inputVariable(name string) string { return "TOOLPIPE_INPUT_" + word(name) }

// word is a text as a part of a variable's name.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '-' && document.IsWord(r) {
			return r
		}
		return '_'
	}, s)
}

// variableOf is the variable with the value of a key of user_config: its name in capitals, unless that is a variable of
// every session, or is withheld.
func (r *reader) variableOf(key string) string {
	name := strings.ToUpper(word(key))
	if slices.Contains(strings.Fields(session), name) || r.Withheld(name) {
		return inputVariable(name)
	}
	return name
}

// session are variables that say something of the user's session.
const session = "HOME PATH USER USERNAME LOGNAME SHELL PWD OLDPWD TERM LANG LANGUAGE TZ TMPDIR HOSTNAME EDITOR DISPLAY MAIL"

// absolute is a path that the user gave. The server starts somewhere else.
func (r *reader) absolute(path string) string {
	switch {
	case strings.HasPrefix(path, "~/") && r.Home != "":
		return filepath.Join(r.Home, path[2:])
	case filepath.IsAbs(path):
		return path
	}
	return filepath.Join(r.Here, path)
}

// given is what the user gives in a variable: nothing, a value, or several where there may be several, one on each
// line.
func (r *reader) given(at document.Value, variable string, secret, several bool) (all []string, err error) {
	value, err := r.Variable(at, variable, secret)
	switch {
	case err != nil || value == "":
		return nil, err
	case !several:
		return []string{value}, nil
	}
	for line := range strings.Lines(value) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			all = append(all, line)
		}
	}
	return all, nil
}

// checked is a value that the user gave for an input of a format: number, boolean, or a path,
// which becomes absolute.
func (r *reader) checked(at document.Value, variable, value, format string) (string, error) {
	switch format {
	case "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return "", at.Errorf("the variable %s does not hold a number", variable)
		}
	case "boolean":
		if value != "true" && value != "false" {
			return "", at.Errorf("the variable %s holds neither true nor false", variable)
		}
	case "filepath", "file", "directory":
		return r.absolute(value), nil
	}
	return value, nil
}
