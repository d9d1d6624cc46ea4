package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process/cage"
	"toolpipe/run/config"
)

// maxRefusal is how much of an output, from its end, is searched for a refusal.
const maxRefusal = 16 << 10

// Refusal says, of what a program in the sandbox wrote, which word of its list would have
// allowed what the system seems to have refused; "" for nothing. To a program a sandbox looks
// like the mode of a file, and whoever reads its message would look there.
func (s *Sandbox) Refusal(output string) string {
	if s == nil {
		return ""
	}
	if _, errors, found := strings.Cut(output, "\nSTDERR:\n"); found {
		output = errors
	} else if strings.HasPrefix(output, "STDOUT:") { // of a command that reported nothing
		return ""
	}
	output = output[max(0, len(output)-maxRefusal):]
	for line := range strings.Lines(output) {
		if has(line, "permission denied", "read-only file system", "eacces", "erofs") {
			if refusal := s.refusalIn(line); refusal != "" {
				return refusal
			}
		}
	}
	if s.spec.Network == cage.NoNetwork && has(output, "operation not permitted", "eperm") && has(output, "socket", "listen", "connect", "bind", "dial") {
		return "the sandbox has no network; " + s.flag + "net=loopback (with bubblewrap) gives one of its own, net=all the whole"
	}
	return ""
}

// has reports whether a text has one of words, which are in lower case.
func has(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// refusalIn is what is said of the first path in a line that the sandbox closes; "" for none. The
// word that shows a secret is not named: the line may be there to have somebody use it.
func (s *Sandbox) refusalIn(line string) string {
	allow := func(path string) string {
		return "the sandbox refuses that; " + s.flag + config.ShellQuote("write="+s.short(path)) + " would allow it"
	}
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r <= ' ' || strings.ContainsRune("'\"`‘’:,;()<>", r) }) {
		path := word
		if strings.HasPrefix(word, "../") {
			path = filepath.Join(s.base(), word)
		}
		if !filepath.IsAbs(path) || path == "/" {
			continue
		}
		below := func(dirs []string) bool {
			return slices.ContainsFunc(dirs, func(dir string) bool { return confine.IsBelow(path, dir) })
		}
		switch {
		case below(s.spec.Hide):
			return "the sandbox hides " + config.ShellQuote(s.short(path))
		case below(s.spec.Protect):
			return allow(path)
		case !below(s.spec.Write):
			return allow(s.openable(path))
		}
	}
	return ""
}

// base is where relative paths start, as far as is known.
func (s *Sandbox) base() string {
	if len(s.roots) == 0 {
		return "/"
	}
	return s.roots[0]
}

// openable is the directory to open for a path to be written: the nearest that exists, but not
// as much as a home directory or a directory of the system.
func (s *Sandbox) openable(path string) string {
	dir := path
	for parent := filepath.Dir(path); ; parent = filepath.Dir(parent) {
		if parent == s.home || strings.Count(parent, "/") < 2 {
			return dir
		}
		if info, err := os.Stat(parent); err == nil && info.IsDir() {
			return parent
		}
		dir = parent
	}
}

// short is a path with ~ for the home directory.
func (s *Sandbox) short(path string) string {
	if rest, found := strings.CutPrefix(path, s.home+"/"); found && s.home != "" {
		return "~/" + rest
	}
	return path
}
