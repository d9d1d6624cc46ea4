// Package builtin makes the built-in tool servers, and the sandboxes that limit the commands
// of a model and the programs of tool servers, from flags, config and policy.
//
// A sandbox is a cage (package mcp/process/cage), a private directory for temporary files,
// and a watch over the files in it that other programs run.
package builtin

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/protected"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/process"
	"toolpipe/mcp/process/cage"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/stream/goroutine"
)

// A Sandbox is the cage of commands, or of a server, for the whole run.
type Sandbox struct {
	wording
	said    config.Sandbox
	roots   []string // writable besides temp, without symbolic links
	scope   confine.Scope
	spec    cage.Spec
	cage    *cage.Cage
	partial []string // gaps that the cage leaves, in words
	holder  Holder
}

// A wording is what messages about the sandbox refer to.
type wording struct {
	flag string // the flag with the list of options
	home string
	dir  string   // where commands start; "": not known
	path []string // directories with programs, of PATH
}

// A Holder finds, once, the program that holds sandboxes.
type Holder func() cage.Holder

// FindHolder makes a Holder. It calls environ only when a sandbox is made.
func FindHolder(environ func() []string) Holder {
	return sync.OnceValue(func() cage.Holder {
		return cage.FindHolder(func(name string) (string, error) { return process.LookPath(name, environ()) })
	})
}

// newSandbox makes a sandbox; Make makes its cage. flag is the flag with the list of options.
// Programs may write below roots and the directories in said. They have the given network unless
// said has another one.
func newSandbox(c *config.Config, flag string, said config.Sandbox, roots []string, network cage.Network, holder Holder) (*Sandbox, error) {
	if c.ReplayTools { // no program runs: only the rules about it count
		holder = func() cage.Holder { return cage.Holder{} }
	} else if err := cage.Available(); err != nil {
		return nil, failure.UsageError([]string{"off, or leaving it out, starts programs with all your rights"}, "%v", err)
	}
	s := &Sandbox{wording: wording{flag: flag, home: c.Getenv("HOME"), path: programDirs(c.Getenv("PATH"))}, said: said, holder: holder}
	s.spec.Network = network
	switch said.Network {
	case "none":
		s.spec.Network = cage.NoNetwork
	case "all":
		s.spec.Network = cage.WholeNetwork
	case "loopback":
		s.spec.Network = cage.OwnNetwork
		if held := holder(); held.Without != "" {
			return nil, failure.UsageError([]string{"apt install bubblewrap; net=none and net=all do not need it"}, "net=loopback is a private network, which needs bubblewrap: %s", held.Without)
		}
	}
	for _, paths := range [][]string{said.Write, said.Show, said.Hide} {
		for i, path := range paths {
			if rest, found := strings.CutPrefix(path, "~/"); found {
				paths[i] = filepath.Join(s.home, rest)
			}
		}
	}
	if err := s.addRoots(c.FilesAnyway, roots, said.Write); err != nil {
		return nil, err
	}
	if said.Cache != "" {
		var err error
		if s.said.Cache, err = s.openCache(said.Cache, c.Getenv("XDG_CACHE_HOME")); err != nil {
			return nil, err
		}
	}
	temp, err := confine.PrivateTempDir("toolpipe-sandbox-")
	if err != nil {
		return nil, failure.Usage("%v", err)
	}
	s.spec.Write = []string{temp}
	goroutine.Start(func() { holder() }) // beside what comes before Make
	return s, nil
}

// addRoots adds the directories in which programs may write: their own, of which the first is where
// commands start, and the directories of write=DIR. If that starting directory is broad, such as a
// home directory, commands start there without writing, if write=DIR names another one.
func (s *Sandbox) addRoots(anyway bool, own, named []string) error {
	for i, dir := range slices.Concat(own, named) {
		real, err := confine.WritableRoot(dir, s.home, anyway)
		broad := errors.Is(err, confine.ErrBroadRoot)
		if i == 0 && own != nil {
			s.dir = real
		}
		switch {
		case broad && i < len(own) && len(named) > 0:
			continue
		case broad && i < len(own):
			return failure.UsageError([]string{"start in the project; " + s.flag + "write=DIR names another directory, and --files-anyway allows this one"}, "programs would write in all of it: %v", err)
		case broad:
			return failure.UsageError([]string{"--files-anyway allows such a directory all the same"}, "%v", err)
		case errors.Is(err, fs.ErrNotExist):
			return failure.UsageError([]string{"a directory for writing must exist"}, "%v", err)
		case err != nil:
			return failure.Usage("%v", err)
		}
		s.roots = append(s.roots, real)
	}
	return nil
}

// programDirs are the directories of a PATH, without symbolic links.
func programDirs(path string) (dirs []string) {
	for _, dir := range filepath.SplitList(path) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(real) {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// Processes is procs inside the sandbox, or unchanged without one.
func (s *Sandbox) Processes(procs *process.Processes) *process.Processes {
	if s == nil {
		return procs
	}
	return procs.In(s.start)
}

func (s *Sandbox) start(cmd *exec.Cmd) (release func(), wrapped bool, err error) {
	if s.cage == nil {
		return func() {}, false, cmd.Start()
	}
	return s.cage.Start(cmd)
}

// Hold makes commands start in the sandbox.
func (s *Sandbox) Hold(commands *shell.CommandSpec) {
	env := s.Environ()
	maps.Copy(env, commands.Env)
	commands.Env, commands.Note = env, "A command runs in a sandbox: "+s.about()+"."
	commands.Processes = s.Processes(commands.Processes)
}

// Held adds the sandbox, if there is one, to the traits of a tool: the programs that the tool runs
// are inside it. Without network the tool sends nothing.
func (s *Sandbox) Held(t approve.Traits) approve.Traits {
	if s == nil || !t.Labels.Has(approve.Runs) {
		return t
	}
	t.By += ", in a sandbox"
	t.Caged = true
	if s.spec.Network != cage.WholeNetwork {
		t.Labels &^= approve.Sends
		t.Held = approve.Sends
	}
	return t
}

// Writes reports whether programs in the sandbox may write below a directory; false without one.
func (s *Sandbox) Writes(dir string) bool {
	if s == nil {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	return err != nil || slices.ContainsFunc(s.roots, func(root string) bool { return confine.IsBelow(real, root) })
}

// temp is the private temporary directory.
func (s *Sandbox) temp() string { return s.spec.Write[0] }

// Environ are variables for the temporary files and caches of programs, so that they are writable.
func (s *Sandbox) Environ() map[string]string {
	at := func(name string) string { return filepath.Join(cmp.Or(s.said.Cache, s.temp()), name) }
	vars := map[string]string{"TMPDIR": s.temp(), "XDG_CACHE_HOME": at("cache"), "GOCACHE": at("go-build"), "npm_config_cache": at("npm"), "PIP_CACHE_DIR": at("pip")}
	if s.said.Cache != "" && s.spec.Network == cage.WholeNetwork { // without it, the user's downloads are needed
		vars["GOMODCACHE"], vars["CARGO_HOME"] = at("go-mod"), at("cargo")
	}
	return vars
}

// Limit takes the roots out of the scope in which rules deny writing. It comes before the watch.
func (s *Sandbox) Limit(rules approve.Closed) {
	s.scope.Except = s.opened()
	s.scope.Roots = slices.DeleteFunc(slices.Clone(s.roots), func(root string) bool {
		return slices.ContainsFunc(rules.Writes, func(dir string) bool { return confine.IsBelow(root, dir) })
	})
}

// Make makes the cage from the flags and from the rules about reading and writing. Programs
// do not see the files own, and do not change what the watch protects. It calls warn for each
// thing that the cage leaves open.
func (s *Sandbox) Make(rules approve.Closed, own []string, watch *Watch, warn func(what string)) error {
	hide := slices.Concat(s.said.Hide, rules.Reads, own, protected.Places(homes(s.home)))
	spec := &s.spec
	spec.Holder = s.holder()
	s.partial = rules.Partial
	for _, root := range s.scope.Roots {
		spec.Write = append(spec.Write, root)
		for _, dir := range rules.Writes {
			if real, err := filepath.EvalSymlinks(dir); !confine.IsBelow(dir, root) {
			} else if err == nil && spec.Holder.Below {
				spec.Protect = append(spec.Protect, real)
			} else {
				s.partial = append(s.partial, named(dir, rules)+" stays writable below "+strconv.Quote(root))
			}
		}
	}
	protected, secret, gaps := watch.protected(s)
	if s.partial = append(s.partial, gaps...); spec.Holder.Below {
		spec.Protect = append(spec.Protect, protected...)
		hide = append(hide, secret...)
	}
	spec.Hide = slices.DeleteFunc(hide, func(path string) bool {
		return slices.ContainsFunc(s.said.Show, func(shown string) bool { return confine.IsBelow(path, shown) })
	})
	spec.Reach = s.said.Show
	s.allowCache(rules)
	made, open, err := cage.New(*spec)
	if err != nil {
		return failure.Usage("%v", err)
	}
	s.cage = made
	s.leavesOpen(open, rules)
	for _, what := range s.partial {
		warn(what)
	}
	return nil
}

// opened are the directories inside a root that were named as writable: nothing is protected there.
func (s *Sandbox) opened() (dirs []string) {
	for i, dir := range s.roots {
		if slices.ContainsFunc(s.roots, func(root string) bool { return root != dir && confine.IsBelow(dir, root) }) {
			dirs = append(dirs, s.roots[i])
		}
	}
	return dirs
}

// named is a path with its rule, if there is one.
func named(path string, rules approve.Closed) string {
	if rule := rules.Rules[path]; rule != "" {
		return strconv.Quote(path) + " of " + rule
	}
	return strconv.Quote(path)
}

// leavesOpen adds what the finished cage leaves open to partial. Paths that the user or a rule
// asked to hide are named even if they do not exist.
func (s *Sandbox) leavesOpen(open cage.Open, rules approve.Closed) {
	var shown []string
	asked := slices.Concat(s.said.Hide, rules.Reads)
	for _, path := range open.Paths {
		if _, err := os.Lstat(path); err == nil || slices.Contains(asked, path) {
			shown = append(shown, named(path, rules))
		}
	}
	if shown != nil { // a path below a writable root can be read too
		s.partial = append(s.partial, fewOf(shown)+" can be read and written: a writable directory contains them")
	}
	s.partial = append(s.partial, open.Words...)
}

// fewOf lists at most the first few names.
func fewOf(names []string) string {
	const most = 3
	if n := len(names) - most; n > 0 {
		names = append(slices.Clone(names[:most]), strconv.Itoa(n)+" more")
	}
	return config.JoinWords(names)
}

// Close ends the sandbox, if there is one. Running programs stay inside it.
func (s *Sandbox) Close() error {
	if s == nil {
		return nil
	}
	s.holder() // its trial has ended then
	if s.cage != nil {
		s.cage.Close()
	}
	return confine.RemoveTree(s.temp())
}

// Says names the mechanism of the sandbox and what programs may do in it; "" if none is made.
func (s *Sandbox) Says() string {
	if s == nil || s.cage == nil {
		return ""
	}
	return s.spec.Holder.Name + ": " + s.about()
}

// about says what a program in the sandbox may do.
func (s *Sandbox) about() string {
	dirs := slices.Clone(s.roots)
	if s.said.Cache != "" {
		dirs = append(dirs, s.said.Cache)
	}
	text := "it writes only below " + config.JoinWords(append(dirs, "$TMPDIR"))
	switch s.spec.Network {
	case cage.NoNetwork:
		text += ", and has no network"
	case cage.OwnNetwork:
		text += ", and has a private network without other hosts"
	}
	return text
}
