package builtin

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/run/failure"
)

// openCache makes the directory of cache=DIR, if it is missing, and returns its path without symbolic
// links. Later runs trust what is in it, so nobody else may write there, and the file tools do not
// reach it. Programs outside do not use it: it is neither their cache nor above it. xdg is
// XDG_CACHE_HOME.
func (s *Sandbox) openCache(dir, xdg string) (string, error) {
	if rest, found := strings.CutPrefix(dir, "~/"); found {
		dir = filepath.Join(s.home, rest)
	}
	usage := func(format string, args ...any) (string, error) {
		return "", failure.UsageError([]string{"cache=~/.cache/toolpipe is a directory of its own"}, "cache=%s: "+format, append([]any{dir}, args...)...)
	}
	at := existing(dir)
	if _, err := confine.WritableRoot(at, s.home, true); err != nil { // before anything is made there
		return usage("%v", err)
	}
	if slices.ContainsFunc(s.roots, func(root string) bool { return confine.IsBelow(at, root) }) {
		return usage("programs may write there already, and the tools reach it")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return usage("%s", failure.Cause(err))
	}
	real, err := confine.WritableRoot(dir, s.home, false)
	if err != nil {
		return usage("%v", err)
	}
	if err := confine.SafeDirectory(real); err != nil {
		return usage("%v", err)
	}
	above := func(other string) bool { return confine.IsBelow(other, real) }
	if slices.ContainsFunc(s.roots, above) {
		return usage("a directory in which programs may write is in it")
	}
	for _, outside := range [...]string{xdg, filepath.Join(s.home, ".cache"), filepath.Join(s.home, ".npm"), filepath.Join(s.home, ".cargo")} {
		if other, err := filepath.EvalSymlinks(outside); above(outside) || err == nil && above(other) {
			return usage("programs outside the sandbox use this cache")
		}
	}
	return real, nil
}

// allowCache makes the cache writable, unless a rule denies writing in all of it. The watch does not
// look there: no program outside uses it.
func (s *Sandbox) allowCache(rules approve.Closed) {
	dir := s.said.Cache
	if dir == "" || slices.ContainsFunc(rules.Writes, func(closed string) bool { return confine.IsBelow(dir, closed) }) {
		return
	}
	s.spec.Write = append(s.spec.Write, dir)
	for _, closed := range rules.Writes {
		if confine.IsBelow(closed, dir) {
			s.partial = append(s.partial, named(closed, rules)+" stays writable below "+strconv.Quote(dir))
		}
	}
}
