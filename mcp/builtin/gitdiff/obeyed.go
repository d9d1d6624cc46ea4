package gitdiff

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
)

const maxSettings = 4 << 20 // bytes of a configuration that git prints

// AskGit returns a function that asks git which files of a repository it runs or obeys. Git
// reads the configuration of the user and of the system as usual, in a cage in which it executes
// no other program and writes nothing. ctx limits all answers together.
func AskGit(ctx context.Context, program Program) confine.AskGitFunc {
	git := sync.OnceValues(func() (c caged, err error) {
		c.program = program
		if _, _, err = c.find(); err == nil {
			c.git.Env = process.ChildEnv(program.Environ, map[string]string{"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"},
				[]string{"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})
			c.git.Args = append(c.git.Args, "--no-optional-locks", "-c", "core.fsmonitor=false")
		}
		return c, err
	})
	return func(dir, tree string) (confine.Obeyed, error) {
		c, err := git()
		a := asking{caged: c, ctx: ctx, dir: dir}
		if err == nil {
			err = a.all(tree)
		}
		return a.Obeyed, err
	}
}

// An asking is the questions about one repository.
type asking struct {
	caged
	confine.Obeyed
	ctx context.Context
	dir string
}

// all asks everything. Git starts hooks and other programs in the working tree, and their paths
// are relative to it.
func (a *asking) all(tree string) error {
	a.git.Dir = filepath.Dir(a.dir)
	settings, err := a.settings()
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(settings, func(s setting) bool { return s.key == "core.worktree" }); tree == "" && at >= 0 {
		tree = a.absolute(settings[at].value, a.dir)
	}
	if info, err := os.Stat(tree); err == nil && info.IsDir() {
		a.git.Dir, a.Trees = tree, []string{tree}
	}
	for _, s := range settings {
		for _, word := range strings.FieldsFunc(s.value, func(r rune) bool { return strings.ContainsRune(" \t\n\"'!;&|()=", r) }) {
			path := a.absolute(word, a.git.Dir)
			if info, err := os.Stat(path); strings.Contains(word, "/") && err == nil && info.Mode().IsRegular() {
				a.Files = append(a.Files, path) // a program of an alias or a filter, or another file that git obeys
			}
		}
	}
	if err := a.directories(settings); err != nil {
		return err
	}
	return a.submodules()
}

// directories adds the git directories and the directory of hooks. git is asked where they may be
// elsewhere.
func (a *asking) directories(settings []setting) error {
	_, err := os.Lstat(filepath.Join(a.dir, "commondir"))
	if os.IsNotExist(err) && !slices.ContainsFunc(settings, func(s setting) bool { return s.key == "core.hookspath" }) {
		a.Dirs, a.Files = []string{a.dir, a.dir}, append(a.Files, filepath.Join(a.dir, "hooks"))
		return nil
	}
	out, err := a.question("rev-parse", "--absolute-git-dir", "--git-common-dir", "--git-path", "hooks")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 3 {
		return errors.New("its path has a line break")
	}
	for i, line := range lines {
		lines[i] = a.absolute(line, a.git.Dir)
	}
	a.Dirs, a.Files = lines[:2], append(a.Files, lines[2])
	return nil
}

// submodules adds the working trees of submodules.
func (a *asking) submodules() error {
	modules := filepath.Join(a.git.Dir, ".gitmodules")
	if info, err := os.Lstat(modules); len(a.Trees) == 0 || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	settings, err := a.list("--file", modules)
	for _, s := range settings {
		if strings.HasPrefix(s.key, "submodule.") && strings.HasSuffix(s.key, ".path") {
			a.Trees = append(a.Trees, a.absolute(s.value, a.git.Dir))
		}
	}
	return err
}

// A setting is a line of a configuration, with its file.
type setting struct{ origin, key, value string }

// settings are the settings of a repository. A file that is included only under a condition is
// asked about separately, because a change of the repository can make the condition true.
func (a *asking) settings() (all []setting, err error) {
	for from := []string{""}; len(from) > 0; from = from[1:] {
		var some []setting
		if from[0] == "" {
			some, err = a.list("--includes")
		} else if info, e := os.Stat(from[0]); e == nil && info.Mode().IsRegular() {
			some, err = a.list("--includes", "--file", from[0])
		}
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		for _, s := range some {
			if s.origin != "" && !slices.Contains(a.Files, s.origin) {
				a.Files = append(a.Files, s.origin)
			}
		}
		for _, s := range some {
			if section, _, _ := strings.Cut(s.key, "."); section != "include" && section != "includeif" || !strings.HasSuffix(s.key, ".path") {
				continue
			}
			if path := a.absolute(s.value, filepath.Dir(s.origin)); !slices.Contains(a.Files, path) {
				a.Files = append(a.Files, path)
				from = append(from, path)
			}
		}
	}
	return all, nil
}

// list asks for settings.
func (a *asking) list(args ...string) (all []setting, err error) {
	out, err := a.question(append([]string{"config", "--list", "--show-origin", "-z"}, args...)...)
	for parts := strings.Split(out, "\x00"); len(parts) > 1; parts = parts[2:] {
		origin, isFile := strings.CutPrefix(parts[0], "file:")
		if isFile {
			origin = a.absolute(origin, a.git.Dir)
		} else {
			origin = ""
		}
		key, value, _ := strings.Cut(parts[1], "\n")
		all = append(all, setting{origin, key, value})
	}
	return all, err
}

// question asks git one question about the repository.
func (a *asking) question(args ...string) (string, error) {
	out, err := a.run(a.ctx, nil, maxSettings, append([]string{"--git-dir=" + a.dir, "--work-tree=" + a.git.Dir}, args...)...)
	switch {
	case a.ctx.Err() != nil:
		err = context.Cause(a.ctx)
	case err != nil:
		err = errors.New("git cannot read it")
	case len(out) > maxSettings:
		err = errors.New("its configuration is too long")
	}
	return string(out), err
}

// absolute is a path in a setting, which may begin with ~/.
func (a *asking) absolute(path, from string) string {
	if rest, is := strings.CutPrefix(path, "~/"); is {
		at := slices.IndexFunc(a.git.Env, func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })
		if at < 0 {
			return path
		}
		return filepath.Join(strings.TrimPrefix(a.git.Env[at], "HOME="), rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(from, path)
	}
	return path
}
