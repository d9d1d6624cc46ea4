package servers

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
)

// An entry is one server of a config file, the user's or another host's, while it is read.
type entry struct {
	Server // own: parsed strictly, may grant trust
	c      *config.Config
	host
	command []string // words of command and path, not expanded
	args    []string // words of args, not expanded
	words   []string // args, expanded
	authEnv string
	envFile string
	declared
	certificate config.ClientCertificate
}

// host is common to all entries of another host's file.
type host struct {
	root   string   // directory of its plugin; "" for none
	dollar bool     // $NAME is a variable, as in Gemini
	keys   []string // variables with a model's key, which only the user's config may name
}

// declared is what an entry declares about all tools of its server.
type declared struct {
	traits approve.Traits
	said   []string // the keys that declare it
}

// Parse reads the servers of the user's config. There unknown keys are errors, trust is accepted,
// and variables with a model's key may be named.
func Parse(c *config.Config, v document.Value) ([]Server, error) {
	return parseAll(entry{c: c, Server: Server{own: true}}, v)
}

// parseAll reads the servers of a config file; each entry starts as a copy of of.
func parseAll(of entry, v document.Value) ([]Server, error) {
	if v.Kind() != '{' {
		return nil, v.Errorf("the servers are not an object of names")
	}
	var all []Server
	for _, m := range v.Members() {
		e := of
		e.Name, e.origin = m.Key, m.At.Origin()
		if err := CheckName(m.Key, ""); err != nil && e.own {
			return nil, m.At.Within(err)
		} else if err != nil {
			e.Spelling = cmp.Or(m.Key, "-")
		}
		if err := e.parse(m.Value); err != nil {
			return nil, err
		}
		if err := e.contain(e.finish(m.At)); err != nil {
			return nil, err
		}
		all = append(all, e.Server)
	}
	return all, nil
}

func (e *entry) warner(code, _, message string) { e.warn(code, message) }

// unresolved is an error about a variable or a file that an entry names and that does not exist.
type unresolved struct{ err *failure.Error }

func (u unresolved) Error() string { return u.err.Error() }
func (u unresolved) Unwrap() error { return u.err }

// contain limits an error to this server if the entry is in a file of another host, or names a
// missing variable or file. The server is then unusable, and contain returns nil. It returns any
// other error: the whole config is wrong.
func (e *entry) contain(err error) error {
	if err == nil {
		return nil
	}
	if _, missing := errors.AsType[unresolved](err); e.own && !missing {
		return err
	}
	f := *failure.Of(err)
	f.Status = failure.StatusServer
	e.unusable(&f)
	return nil
}

// unusable records why the server cannot be started; the first reason is kept.
func (s *Server) unusable(err *failure.Error) {
	if s.Unusable == nil {
		s.Unusable = err
	}
}

func (e *entry) parse(v document.Value) error {
	if v.Kind() != '{' {
		return e.contain(v.Errorf("not an object"))
	}
	if _, gemini := v.Get("httpUrl"); gemini {
		e.dollar = true
	}
	keys := e.ownKeys()
	if !e.own {
		keys = append(keys, e.hostKeys()...)
	}
	for _, m := range v.Members() {
		if m.IsNull() {
			continue
		}
		if err := e.contain(e.read(m, keys)); err != nil {
			return err
		}
	}
	return nil
}

func (e *entry) read(m document.Member, keys []document.Key) error {
	switch {
	case !e.own && m.Kind() == '{' && slices.Contains(nestedKeys, m.Key):
		return e.parse(m.Value)
	case e.own || slices.Contains(document.NamesOf(keys), m.Key):
		return m.ReadKey(keys)
	}
	e.warn("unknown_key", m.At.Origin()+": unknown key "+strconv.Quote(m.Key)+" is ignored")
	return nil
}

// readURL reads the address, and keeps the unexpanded one for display.
func (e *entry) readURL(m document.Member) (err error) {
	e.URL, err = e.expanded(m)
	e.Shown = m.Text()
	return err
}

// refuse ignores keys that would approve calls: only the user's flags, policy and config do that.
func (e *entry) refuse(m document.Member) error {
	if m.Kind() == 't' || len(m.Elements()) > 0 {
		e.warn("trust_ignored", m.At.Origin()+": "+m.Key+" is ignored; --allow and --trust approve calls")
	}
	return nil
}

// readCommand reads the program, and in opencode's form its arguments too.
func (e *entry) readCommand(m document.Member) (err error) {
	if e.command, err = m.Words(); err != nil {
		return err
	}
	for i, w := range e.command {
		if w, err = e.expand(m.Value, w); err != nil {
			return err
		}
		if i == 0 {
			w = FromHome(e.c, w)
		}
		e.Command = append(e.Command, w)
	}
	return nil
}

func (e *entry) readArgs(m document.Member) error {
	if m.Kind() != '[' { // a string would become one argument, since nothing splits it
		return m.Errorf(`%s is not a list of strings, such as ["…", "…"]`, m.Short())
	}
	for _, v := range m.Elements() {
		s, err := e.scalar(v)
		if err != nil {
			return err
		}
		e.args = append(e.args, s)
		if s, err = e.expand(v, s); err != nil {
			return err
		}
		e.words = append(e.words, s)
	}
	return nil
}

// scalar reads a string or, like other hosts, a number or boolean as text.
func (e *entry) scalar(v document.Value) (string, error) {
	if k := v.Kind(); !e.own && (k == '0' || k == 't' || k == 'f') {
		return string(v.Raw()), nil
	}
	return v.Str()
}

// table reads an object of strings and expands each value.
func (e *entry) table(m document.Member) (map[string]string, error) {
	return m.Value.Table(func(v document.Value) (string, error) {
		s, err := e.scalar(v)
		if err != nil {
			return "", err
		}
		if !e.own && strings.HasPrefix(s, copilotPrefix) {
			return e.bareSecret(v, s)
		}
		return e.expand(v, s)
	})
}

// checkTransport reads the transport. It is redundant with url or command, but other transports are
// refused.
func (e *entry) checkTransport(m document.Member) error {
	s, err := m.Str()
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) {
	case "", "stdio", "local", "http", "sse", "streamablehttp", "streamable", "remote", "custom":
		return nil
	}
	return m.Errorf("the transport %q is unknown; stdio and http (with sse) are known", s)
}

func (e *entry) readTrusted(m document.Member) error {
	on, err := m.Boolean()
	if e.own {
		e.Trusted = on
	} else if on {
		e.warn("trust_ignored", m.At.Origin()+": trusted counts only in your own config; --trust "+e.Name+" does it")
	}
	return err
}

// readSandbox reads the sandbox of the server's program. Another host's file may only add
// restrictions.
func (e *entry) readSandbox(m document.Member) error {
	var said config.Sandbox
	if err := said.ReadKey(m); err != nil {
		return err
	}
	if !e.own && (said.Write != nil || said.Cache != "" || said.Show != nil || said.Network == "all") {
		e.warn("unknown_key", m.At.Origin()+": rights that sandbox allows are ignored; they count only in your own config and in --mcp-sandbox")
		said.Write, said.Cache, said.Show, said.Network = nil, "", nil, ""
	}
	e.Sandbox = said
	return nil
}

// readTraits reads the effects of the server's tools: labels, or an effect with the arguments for its
// paths or destinations. Another host's file could remove labels with them, so there they are ignored.
func (e *entry) readTraits(m document.Member) error {
	if !e.own {
		e.warn("unknown_key", m.At.Origin()+": "+m.Key+" is ignored; it counts only in your own config and in policies")
		return nil
	}
	t := &e.traits
	e.Traits = t
	t.By = m.At.Origin()
	e.said = append(e.said, m.Key)
	labelled := slices.Contains(e.said, "labels")
	t.Declared(labelled, !labelled || len(e.said) > 1)
	if m.Key == "runs" {
		on, err := m.Boolean()
		if on {
			t.Labels |= approve.Runs
		}
		return err
	}
	if m.Kind() != '[' {
		return m.Errorf("%s is not a list of %s", m.Short(), map[bool]string{true: "labels", false: "arguments"}[m.Key == "labels"])
	}
	words, err := m.Words()
	if err != nil {
		return err
	}
	if m.Key == "labels" {
		err = t.Label(words)
	} else {
		err = t.DeclareNamed(m.Key, words)
	}
	if err != nil {
		return m.Errorf("%v", err)
	}
	return nil
}

// readIncludeTools reads Gemini's list. An empty list means all tools.
func (e *entry) readIncludeTools(m document.Member) error {
	words, err := m.Words()
	if len(words) > 0 {
		e.Tools = words
	}
	return err
}

// readTimeout reads the timeout of another host's file: milliseconds in some (Gemini, opencode),
// seconds in others (Cline, Roo, at most an hour). A long timeout does less harm than a short one.
func (e *entry) readTimeout(m document.Member) error {
	n, err := m.Count()
	unit := time.Millisecond
	if n <= 3600 {
		unit = time.Second
	}
	e.ToolTimeout = time.Duration(n) * unit
	return err
}

// finish checks the entry after all keys are read. auth_token has precedence over auth_env.
func (e *entry) finish(at document.Value) error {
	if len(e.command) > 0 { // as in the file, without values of variables
		e.Shown = config.QuoteWords(slices.Concat(e.command, e.args))
	}
	switch {
	case e.Unusable != nil: // it is only listed
		if len(e.command) > 0 {
			e.Command = e.command
		} else {
			e.URL = e.Shown
		}
		return nil
	case e.URL != "" && len(e.command) > 0:
		return at.Errorf("server %q has both a url and a command", e.Name)
	case e.URL == "" && len(e.command) == 0:
		return at.Errorf("server %q has neither a url nor a command", e.Name)
	}
	if err := e.loadCertificate(at); err != nil {
		return err
	}
	if e.Bearer == "" && e.authEnv != "" {
		token, ok, err := e.variable(at, e.authEnv)
		if err != nil {
			return err
		}
		if !ok || token == "" {
			return unresolved{at.Errorf("server %q: the variable %q of auth_env is not set", e.Name, e.authEnv)}
		}
		e.Bearer = token
	}
	if e.URL != "" {
		if len(e.Env) > 0 {
			e.warn("key_unused", e.origin+": server "+strconv.Quote(e.Name)+" is at a URL, so its env is not used")
		}
		_, err := checkURL(e.URL)
		if e.AtSocket() {
			err = checkEntrySocket(e.URL)
		}
		if err != nil {
			return at.Within(failure.Within("server "+strconv.Quote(e.Name), err))
		}
		return nil
	}
	e.Command = append(e.Command, e.words...)
	if e.envFile != "" {
		return e.readEnvFile(at)
	}
	return nil
}

// loadCertificate reads the client certificate of a server at an https URL.
func (e *entry) loadCertificate(at document.Value) (err error) {
	if err := e.certificate.Check(at); err != nil {
		return err
	}
	if e.certificate.KeyFile() == "" {
		return nil
	}
	if !strings.HasPrefix(strings.ToLower(e.URL), "https://") {
		return at.Errorf("server %q: a client certificate needs a URL with https", e.Name)
	}
	e.KeyFiles = append(e.KeyFiles, e.certificate.KeyFile())
	if e.Client.Certificate, err = e.certificate.Load(e.warner); errors.Is(err, os.ErrNotExist) {
		err = unresolved{failure.Of(err)}
	}
	return err
}
