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
	"toolpipe/stream/disk"
)

// maxRefusal is how many bytes at the end of an output are searched for a refusal.
const maxRefusal = 16 << 10

// Refusal reads the output of a program in the sandbox. If the sandbox refused something that the
// output names, it returns a message; "" for nothing. To a program a refusal of the sandbox looks
// like missing permissions of a file, and a reader of its message would search there.
//
// Any program can print such a message to make somebody open the sandbox. So the message names an
// option only if the option is harmless for a path that the sandbox really refuses.
func (s *Sandbox) Refusal(output string) string {
	if s == nil {
		return ""
	}
	output, errors, _ := strings.Cut(output, "\nSTDERR:\n")
	for _, part := range [...]string{errors, output} { // test runners write errors to standard output
		part = part[max(0, len(part)-maxRefusal):]
		for line := range strings.Lines(part) {
			if refusal := s.refusalOf(refusedPath(line)); refusal != "" {
				return refusal
			}
		}
		if s.spec.Network != cage.WholeNetwork && needsNetwork(part, s.spec.Network == cage.NoNetwork) {
			return s.networkRefusal()
		}
	}
	return ""
}

func (s *Sandbox) networkRefusal() string {
	if s.spec.Network == cage.OwnNetwork {
		return "the sandbox has only a private network; " + s.flag + "net=all gives the complete one"
	}
	return "the sandbox has no network; " + s.flag + "net=loopback (with bubblewrap) gives a private network, net=all the complete one"
}

// needsNetwork reports whether an output has an error of a program that looked for a host, or that
// needed a socket where there are none.
func needsNetwork(output string, noSockets bool) bool {
	const near = 400 // bytes: a stack trace names the socket some lines before the error
	at := 0
	for line := range strings.Lines(output) {
		before := output[max(0, at-near):at]
		at += len(line)
		switch {
		case has(line, "could not resolve", "unable to resolve host", "name or service not known", "failure in name resolution", "temporary failure resolving", "network is unreachable"):
			return true
		case has(line, "getaddrinfo") && has(line, "eai_", "enotfound", "fail", "error", "not permitted", "eperm"):
			return true
		case noSockets && has(line, "operation not permitted", "eperm") && (has(before+line, "socket") || has(line, "listen", "connect", "dial")):
			return true
		}
	}
	return false
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

// refusalOf is the message about a refused path; "" if the sandbox did not refuse it, or if nobody
// should open what a program asks for.
func (s *Sandbox) refusalOf(path string) string {
	relative := path != "" && !filepath.IsAbs(path)
	if relative && s.dir != "" {
		path = filepath.Join(s.dir, path)
	}
	if !filepath.IsAbs(path) {
		return ""
	}
	holds := func(dir string) bool { return confine.IsBelow(path, dir) }
	switch {
	case slices.ContainsFunc(s.spec.Hide, holds):
		return "the sandbox hides " + config.ShellQuote(s.short(path))
	case slices.ContainsFunc(s.spec.Protect, holds):
		return "the sandbox does not let programs write " + config.ShellQuote(s.short(path)) + ", because other programs run or obey it"
	case relative: // the program may have changed its directory
		return ""
	}
	if real := existing(path); s.openable(real) {
		return "the sandbox refuses that; " + s.flag + config.ShellQuote("write="+s.short(real)) + " would allow it"
	}
	return ""
}

// existing is a path, or the nearest directory above it that exists, without symbolic links; "" for
// none.
func existing(path string) string {
	for ; ; path = filepath.Dir(path) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		if _, err := os.Lstat(path); err == nil || path == "/" { // a link that leads nowhere yet
			return ""
		}
	}
}

// openable reports whether a user would allow programs to write a file or directory, which has no
// symbolic links in its path: it is the user's own, the sandbox refuses it, it contains nothing
// that the sandbox keeps from programs, and other programs neither start nor obey what is there.
func (s *Sandbox) openable(real string) bool {
	info, err := os.Stat(real)
	if err != nil || int(disk.Uid(info)) != os.Geteuid() || syscall.Access(real, mayWrite) != nil {
		return false
	}
	if mode := info.Mode(); !mode.IsDir() && (!mode.IsRegular() || mode&0o111 != 0) {
		return false
	}
	inside := func(dir string) bool { return confine.IsBelow(real, dir) }
	around := func(path string) bool { return confine.IsBelow(path, real) }
	either := func(dir string) bool { return inside(dir) || around(dir) }
	switch {
	case slices.ContainsFunc(s.spec.Write, inside):
		return false
	case slices.ContainsFunc(slices.Concat(s.spec.Write, s.roots), around):
		return false
	case slices.ContainsFunc(slices.Concat(s.spec.Hide, s.said.Show, s.path), either):
		return false
	case confine.Broad(real, s.home) != "" || protected.Hides(s.home, real) || protected.Secret(s.home, "/", real) != "" || protected.ReadOnly("/", real) != "":
		return false
	}
	return !isObeyed(real)
}

// isObeyed reports whether programs start or obey what is at a path, according to its names: a
// directory of the system or directly below /, a hidden one, such as ~/.config, or a file like
// ~/.bashrc, and a directory of programs, modules or start-up files.
func isObeyed(path string) bool {
	names := strings.Split(path, "/")[1:]
	switch names[0] {
	case "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "run", "sbin", "snap", "sys", "usr",
		"Applications", "Library", "System":
		return true
	case "var":
		if os.Geteuid() == 0 && (len(names) < 2 || names[1] != "tmp") {
			return true
		}
	}
	return len(names) < 2 || len(names) == 2 && names[0] == "var" || slices.ContainsFunc(names, func(name string) bool {
		switch name {
		case "bin", "sbin", "libexec", "Library", "hooks", "systemd", "init.d", "autostart", "node_modules", "site-packages", "dist-packages":
			return true
		}
		return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "cron")
	})
}

const mayWrite = 2 // W_OK of access(2)

// short is a path with ~ for the home directory.
func (s *Sandbox) short(path string) string {
	if rest, found := strings.CutPrefix(path, s.home+"/"); found && s.home != "" {
		return "~/" + rest
	}
	return path
}
