// Package servers reads which tool servers flags and files configure. An entry is one server in a
// file: in the user's own config, which may grant trust, or in another host's.
package servers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/local"
	"toolpipe/mcp/toolserver"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/stream/text/secrets"
)

// Server is one configured tool server: how to reach it, and the user's settings for it. The zero
// value of Trusted does not trust.
type Server struct {
	mcp.Spec
	Spelling string // its name in another host's file if that name is not legal; "" otherwise
	Optional bool
	Trusted  bool
	Parallel int // calls at once; 0: no limit for this server
	choice
	Instructions *bool               // nil: as trusted
	Traits       *approve.Traits     // of its tools, from the user's config; nil: not declared
	KeyFiles     []string            // files with private keys: of its oauth, of its client certificate
	variables    map[string]variable // the variables of its entry
	Root         string              // directory for relative paths in its tools' arguments
	origin       string              // position of its configuration, for the warning if it is shadowed
	own          bool                // from the user's config
	fromFlag     bool                // from -t
	off          bool                // its file disables it
	notes        []note
	file         string             // its file of --mcp-config; "" for none
	loginArgs    []string           // arguments of the command in LoginCommand
	Borrowed     bool               // from another host's file, with the name of a server in the user's config
	Shown        string             // URL or command as configured, ${VAR} not expanded; "": show the real one
	Own          *toolserver.Server // the server itself with the traits of its tools, if it is built in; else nil
	Agent        bool               // its calls are nested runs, without a session
	Unusable     *failure.Error     // why it cannot be started: its entry is wrong, or names something missing
}

// Target is the URL or the command line of the server, as it was configured; "" for a server in
// this process.
func (s *Server) Target() string {
	if s.URL != "" {
		return cmp.Or(s.Shown, s.URL)
	}
	return cmp.Or(s.Shown, config.QuoteWords(s.Command))
}

// AtSocket reports whether the server is at a Unix domain socket, or at the door of a command.
func (s *Server) AtSocket() bool {
	_, atSocket := local.Path(s.URL)
	_, atDoor := local.DoorValue(s.URL)
	return atSocket || atDoor
}

// choice is the user's settings for a server's tools and its program.
type choice struct {
	Tools   []string // globs for the server's tool names; nil: all
	Exclude []string
	Sandbox config.Sandbox // for its program, if it is a command
	// Far says that it is a toolpipe at a socket that passes on its servers with their names.
	// FarTrust names the trusted ones.
	Far      bool
	FarTrust []string
}

// variable is an environment variable that a server gets. secret says that its value is secret,
// whatever its name is.
type variable struct {
	value  string
	secret bool
}

// note is a warning about a server that is shown only if the server is used.
type note struct{ code, message string }

func (s *Server) warn(code, message string) { s.notes = append(s.notes, note{code, message}) }

// AddSecrets adds to set the values of variables that the server gets.
func (s *Server) AddSecrets(set *secrets.Set) {
	for name, v := range s.variables {
		if v.secret {
			set.AddFrom(name, v.value)
		} else {
			set.AddNamed(name, v.value)
		}
	}
}

// is reports whether name is the server's name, or its name in its file.
func (s *Server) is(name string) bool {
	return s.Name == name || s.Spelling != "" && s.Spelling == name
}

// MayOffer reports whether one of the globs for NAME__TOOL matches a possible tool of the server.
// Each glob may be a comma list.
func (s *Server) MayOffer(globs []string) bool {
	return slices.ContainsFunc(config.Elements(globs), func(glob string) bool {
		return approve.MatchGlobPrefix(glob, s.Name+"__") || s.Spelling != "" && approve.MatchGlobPrefix(glob, s.Spelling+"__")
	})
}

// OptionalHint says how a run can continue without the server; "" if it cannot.
func (s *Server) OptionalHint() string {
	if _, atDoor := local.DoorValue(s.URL); atDoor {
		return ""
	}
	if s.fromFlag {
		return "a server that may be missing is optional: --mcp " + config.ShellQuote(s.Name+"?=…")
	}
	return `a server that may be missing is optional: "required": false; --servers NAMES uses only those`
}

// reserved names belong to the built-in servers.
var reserved = []string{"files", "shell", "fetch", "code", "processes", "notes", "agent", "tools"}

func IsReserved(name string) bool { return slices.Contains(reserved, name) }

// CheckName refuses a name that is not legal, or that belongs to a built-in server other than own.
func CheckName(name, own string) error {
	switch {
	case name == "", len(name) > maxName, strings.Contains(name, "__"), strings.HasSuffix(name, "_"), strings.ContainsFunc(name, func(r rune) bool { return !document.IsWord(r) }):
		return failure.Usage("server name %q: a name is letters, digits, - and _, at most 32, without __ and without _ at the end", name)
	case name != own && IsReserved(name):
		return failure.Usage("the name %q is reserved for a built-in server", name)
	}
	return nil
}

const maxName = 32

// legalName makes a server name from any text: illegal bytes become "-".
func legalName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if !document.IsWord(c) || c == '_' && i > 0 && b[i-1] == '_' {
			b[i] = '-'
		}
	}
	name := strings.TrimRight(string(b[:min(len(b), maxName)]), "_")
	if name == "" {
		return "-"
	}
	return name
}

// giveNames replaces illegal server names by the most similar legal ones. A name that is taken or
// reserved gets a hash of the original as suffix, so it does not depend on the order in the file.
func giveNames(all []Server) {
	for i := range all {
		s := &all[i]
		if s.Spelling == "" {
			continue
		}
		name := strings.TrimLeft(legalName(s.Spelling), "-")
		if name == "" || IsReserved(name) || Find(all, name) != nil {
			sum := sha256.Sum256([]byte(s.Spelling))
			name = strings.Trim(name[:min(len(name), maxName-9)], "-_") + "-" + hex.EncodeToString(sum[:4])
			name = strings.TrimLeft(name, "-")
		}
		s.Name = name
		s.warn("server_renamed", "server "+strconv.Quote(s.Spelling)+" of "+s.origin+" is called "+name)
		// A pattern such as files__* must not match a server that names itself files, or files__x.
		if IsReserved(s.Spelling) || strings.Index(s.Spelling+"__", "__") != len(s.Spelling) {
			s.Spelling = ""
		}
	}
}

// Find returns the server with this name; nil for none.
func Find(all []Server, name string) *Server {
	for i := range all {
		if all[i].is(name) {
			return &all[i]
		}
	}
	return nil
}

// Known returns a hint with the names of the servers.
func Known(all []Server) []string {
	if len(all) == 0 {
		return []string{"no server is configured; --mcp NAME=TARGET adds one"}
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return []string{"servers: " + config.JoinWords(names)}
}

// Builtin is a server in this process as one of the invocation. It is trusted. root is
// the directory that relative paths among the arguments of its tools start from; "" for none.
func Builtin(local *toolserver.Server, root string) Server {
	return Server{Spec: mcp.Spec{Name: local.Name(), Local: local.Pipe}, Trusted: true, Root: root, Own: local}
}
