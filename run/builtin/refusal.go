package builtin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/protected"
	"toolpipe/mcp/process/cage"
	"toolpipe/run/config"
)

// maxRefusal is how many bytes at the end of an output are searched for a refusal.
const maxRefusal = 16 << 10

// Refusal reads the output of a program in the sandbox. If the sandbox seems to have refused
// something, it returns a message with the option that would allow it; "" for nothing. To a program a
// refusal of the sandbox looks like missing permissions of a file, and a reader of its message
// would search there.
func (s *Sandbox) Refusal(output string) string {
	if s == nil {
		return ""
	}
	if _, errors, found := strings.Cut(output, "\nSTDERR:\n"); found {
		output = errors
	} else if strings.HasPrefix(output, "STDOUT:") { // the command wrote no errors
		return ""
	}
	output = output[max(0, len(output)-maxRefusal):]
	for line := range strings.Lines(output) {
		if refusal := s.refusalOf(refusedPath(line)); refusal != "" {
			return refusal
		}
	}
	if s.spec.Network == cage.NoNetwork && has(output, "operation not permitted", "eperm") && has(output, "socket", "listen", "connect", "bind", "dial") {
		return "the sandbox has no network; " + s.flag + "net=loopback (with bubblewrap) gives a private network, net=all the complete one"
	}
	return ""
}

// has reports whether a text contains one of words, which are lower-case.
func has(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// refusedPath is the path that was refused according to a line; "" for none. Programs write it
// before the system's message ("cp: /x/y: Permission denied") or after it ("permission denied,
// mkdir '/x/y'"). Their name comes first.
func refusedPath(line string) string {
	folded := strings.ToLower(line)
	for _, phrase := range [...]string{"permission denied", "read-only file system"} {
		at := strings.Index(folded, phrase)
		if at < 0 || len(folded) != len(line) {
			continue
		}
		apart := func(r rune) bool { return r <= ' ' || strings.ContainsRune("'\"`‘’:,;()<>[]", r) }
		for _, word := range strings.FieldsFunc(line[at+len(phrase):], apart) {
			if filepath.IsAbs(word) {
				return word
			}
		}
		if words := strings.FieldsFunc(line[:at], apart); len(words) > 1 {
			return words[len(words)-1]
		}
	}
	return ""
}

// refusalOf is the message about a refused path; "" if the sandbox did not refuse it. For a hidden
// secret it names no option: the output may be there to make somebody use the option.
func (s *Sandbox) refusalOf(path string) string {
	relative := !filepath.IsAbs(path)
	if path == "" || path == "/" || relative && len(s.roots) == 0 {
		return ""
	}
	if relative { // from the first root, as far as known
		path = filepath.Join(s.roots[0], path)
	}
	holds := func(dir string) bool { return confine.IsBelow(path, dir) }
	switch protected := slices.IndexFunc(s.spec.Protect, holds); {
	case slices.ContainsFunc(s.spec.Hide, holds):
		return "the sandbox hides " + config.ShellQuote(s.short(path))
	case protected >= 0:
		return s.allowing(s.spec.Protect[protected])
	case relative || slices.ContainsFunc(s.spec.Write, holds):
		return ""
	}
	if dir := openable(path, s.home); dir != "" && !protected.Hides(s.home, path) {
		return s.allowing(dir)
	}
	return ""
}

func (s *Sandbox) allowing(path string) string {
	return "the sandbox refuses that; " + s.flag + config.ShellQuote("write="+s.short(path)) + " would allow it"
}

// openable is the directory to allow so that path can be written: the nearest existing one, or the
// path to create first if the nearest one is a home or system directory. It is "" if the user could
// not write there without the sandbox either, and for a program, which was perhaps to be executed.
func openable(path, home string) string {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return ""
	}
	dir := path
	for parent := filepath.Dir(path); ; parent = filepath.Dir(parent) {
		broad := parent == home || strings.Count(parent, "/") < 2
		info, err := os.Stat(parent)
		switch exists := err == nil && info.IsDir(); {
		case exists && syscall.Access(parent, mayWrite) != nil:
			return ""
		case exists && !broad:
			return parent
		case broad:
			return dir
		}
		dir = parent
	}
}

const mayWrite = 2 // W_OK of access(2)

// short is a path with ~ for the home directory.
func (s *Sandbox) short(path string) string {
	if rest, found := strings.CutPrefix(path, s.home+"/"); found && s.home != "" {
		return "~/" + rest
	}
	return path
}
