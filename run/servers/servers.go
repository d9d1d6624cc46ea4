// Package servers is which tool servers flags and files configure. An entry is one server
// in a file: in the user's own config, which may grant trust, or in another host's.
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
	"toolpipe/mcp/socket"
	"toolpipe/mcp/toolserver"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/stream/text/secrets"
)

// Server is one configured tool server: how to reach it, and what the user
// says of it. The zero value of trusted does not trust.
type Server struct {
	mcp.Spec
	Spelling string // its name as the file of another host has it, where that is no legal name; "" else
	Optional bool
	Trusted  bool
	Parallel int // calls at once; 0: no limit of its own
	choice
	Instructions *bool               // nil: as trusted
	Traits       *approve.Traits     // of its tools, as the user's own config says; nil: it does not say
	KeyFile      string              // the private key that its oauth names
	variables    map[string]variable // those that its entry names
	Root         string              // the directory that relative paths in its tools' arguments start from
	origin       string              // where it was configured, for the warning when it is shadowed
	own          bool                // the user's own config has it
	fromFlag     bool                // -t has it
	off          bool                // its file switches it off
	notes        []note
	file         string             // the file of --mcp-config that has it; "" for none
	loginArgs    []string           // the arguments of the command that LoginCommand shows
	Borrowed     bool               // another host's file has it, under the name of a server in the user's own config
	Shown        string             // URL or command as configured, ${VAR} not expanded; "": show the real one
	Own          *toolserver.Server // the server itself, which declares its tools, if it is built in; else nil
	Agent        bool               // its calls are nested runs, and no session makes them
	Unusable     *failure.Error     // why it cannot be started: its entry is wrong, or names what there is not
}

// Target is the URL or the command line of the server, as it was configured; "" for one in
// this process.
func (s *Server) Target() string {
	if s.URL != "" {
		return cmp.Or(s.Shown, s.URL)
	}
	return cmp.Or(s.Shown, config.QuoteWords(s.Command))
}

// AtSocket reports whether the server is at a Unix domain socket.
func (s *Server) AtSocket() bool {
	_, is := socket.Path(s.URL)
	return is
}

// choice is what the user says of a server's tools and of its program.
type choice struct {
	Tools   []string // globs over the server's own names; nil: all
	Exclude []string
	Sandbox config.Sandbox // of its program, if it is a command
	// Far says that it is a toolpipe at a socket, whose servers keep their names, and FarTrust
	// names those of them that are trusted.
	Far      bool
	FarTrust []string
}

// variable is a variable of the environment that a server gets. secret says that its value is one, whatever the
// variable is called.
type variable struct {
	value  string
	secret bool
}

// note is a warning about a server, given only if the server is used.
type note struct{ code, message string }

// warn notes a warning about the server.
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

// is reports whether name is the server's name, or that in its file.
func (s *Server) is(name string) bool {
	return s.Name == name || s.Spelling != "" && s.Spelling == name
}

// MayOffer reports whether one of the globs over NAME__TOOL, each of which may be
// a comma list, matches a tool that the server might have.
func (s *Server) MayOffer(globs []string) bool {
	return slices.ContainsFunc(config.Elements(globs), func(glob string) bool {
		return approve.MatchGlobPrefix(glob, s.Name+"__") || s.Spelling != "" && approve.MatchGlobPrefix(glob, s.Spelling+"__")
	})
}

// OptionalHint says how a run goes on without the server.
func (s *Server) OptionalHint() string {
	if s.fromFlag {
		return "a server that may be missing is optional: --mcp " + config.ShellQuote(s.Name+"?=…")
	}
	return `a server that may be missing is optional: "required": false; --servers NAMES uses only those`
}

// reserved names belong to the built-in servers.
var reserved = []string{"files", "shell", "fetch", "code", "processes", "notes", "agent", "tools"}

// IsReserved reports whether a name belongs to a built-in server.
func IsReserved(name string) bool { return slices.Contains(reserved, name) }

// CheckName refuses a name that no server may have, or that belongs to a
// built-in server other than own.
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

// legalName makes a server name of any text: illegal bytes become "-".
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

// giveNames gives a legal name to each server whose file has another: the
// nearest, with a hash of the original where that is taken or reserved. So the name
// does not depend on the order in the file.
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
		// A pattern such as files__* must not match a server that calls itself files, or files__x.
		if IsReserved(s.Spelling) || strings.Index(s.Spelling+"__", "__") != len(s.Spelling) {
			s.Spelling = ""
		}
	}
}

// Find returns the server of that name, nil if there is none.
func Find(all []Server, name string) *Server {
	for i := range all {
		if all[i].is(name) {
			return &all[i]
		}
	}
	return nil
}

// Known returns a hint that names the servers there are.
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
