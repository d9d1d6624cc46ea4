package builtin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

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
		if refusal := s.refusalOf(refusedPath(line)); refusal != "" {
			return refusal
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

// refusedPath is the path that a line says was refused; "" for none. Programs name it before what
// the system said ("cp: /x/y: Permission denied") or behind it ("permission denied, mkdir '/x/y'"),
// and their own name first.
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

// refusalOf is what is said of a path that was refused; "" if the sandbox is not what refuses it.
// The word that shows a secret is not named: the line may be there to have somebody use it.
func (s *Sandbox) refusalOf(path string) string {
	relative := !filepath.IsAbs(path)
	if path == "" || path == "/" || relative && len(s.roots) == 0 {
		return ""
	}
	if relative { // from the first root, as far as is known
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
	if dir := openable(path, s.home); dir != "" {
		return s.allowing(dir)
	}
	return ""
}

func (s *Sandbox) allowing(path string) string {
	return "the sandbox refuses that; " + s.flag + config.ShellQuote("write="+s.short(path)) + " would allow it"
}

// openable is the directory to open for a path to be written: the nearest that exists, or what
// has to be made first where that is as much as a home directory or one of the system. It is ""
// where the user could not write there either, so that no sandbox is what refuses it, and for a
// program, which was perhaps to be executed.
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
