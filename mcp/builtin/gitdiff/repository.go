package gitdiff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
)

// repository is the root's repository with our own configuration for git. The configuration
// is in a private directory with links to the parts of the repository that all its worktrees
// share (GIT_COMMON_DIR in git(1)). So git knows no filter, driver, monitor, hook or remote
// of the repository's configuration. The cage prevents everything else that a repository can
// make git do: git executes no other program, writes nothing, and reads only what it is
// given.
//
// Another process may replace any part of a path by a link at any time. So the cage names the
// files that git may read by open files, which are opened here without following links. The
// repository's directories are given as a whole. In the working tree git sees the state of
// all files, but reads only those that it must show, and their attributes.
type repository struct {
	caged
	access *confine.Access
	path   string     // the path to show; "." for all
	dir    string     // the private directory
	opened []*os.File // files that git may read by descriptor

	left    map[string]bool // names of files that could not be compared
	notes   []string        // about these
	unshown bool            // a file that is not shown differs
}

// openRepository prepares to show what changed at a path from the root.
func openRepository(ctx context.Context, access *confine.Access, program Program, path string) (*repository, error) {
	if now, err := os.Stat(access.Real); err != nil || !os.SameFile(now, access.Info) {
		return nil, errors.New("the allowed root was moved; there is no diff of it")
	}
	r := &repository{caged: caged{program: program}, access: access, path: path, left: map[string]bool{}}
	err := r.findGit(ctx)
	if err == nil {
		err = r.prepare(ctx)
	}
	if err != nil {
		r.remove()
		return nil, err
	}
	return r, nil
}

func (r *repository) remove() {
	for _, f := range r.opened {
		f.Close()
	}
	os.RemoveAll(r.dir)
}

// hold keeps a file open, and returns the path that identifies this very file for a cage,
// even if its name is taken by another file meanwhile.
func (r *repository) hold(f *os.File) string {
	r.opened = append(r.opened, f)
	return confine.DescriptorPath(f.Fd())
}

// prepare makes the private directory. The git directory is .git, or the target of a file
// .git. A file commondir in it names the directory that all worktrees share
// (gitrepository-layout(5)). Neither may lead out of the root.
func (r *repository) prepare(ctx context.Context) error {
	at, err := r.pointer(r.access.Root, ".", ".git", "gitdir: ")
	if err != nil {
		at = ".git"
	}
	dir, err := r.openBelow(at)
	if err != nil {
		return fmt.Errorf("the allowed root %q is not a git repository: it has neither a directory .git nor a file .git that leads to one inside the root", r.access.Path)
	}
	defer dir.Close()
	common, err := r.pointer(dir, at, "commondir", "")
	if errors.Is(err, fs.ErrNotExist) {
		common = at
	} else if err != nil {
		return refused("commondir", err)
	} else if err := r.check(ctx, at, needed, false); err != nil {
		return err
	}
	if err := r.check(ctx, common, needed, true); err != nil {
		return err
	}
	if r.dir, err = confine.PrivateTempDir("toolpipe-git-"); err != nil {
		return err
	}
	for _, name := range []string{"objects", "refs", "packed-refs", "reftable", "info"} {
		if err := os.Symlink(filepath.Join(r.access.Absolute(common), name), filepath.Join(r.dir, name)); err != nil {
			return confine.Reason(err)
		}
	}
	r.may.Read = append(r.may.Read, r.dir)
	r.git.Env = process.ChildEnv(r.program.Environ, map[string]string{
		"GIT_DIR": r.access.Absolute(at), "GIT_WORK_TREE": r.access.Real, "GIT_COMMON_DIR": r.dir,
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_ATTR_NOSYSTEM": "1", "HOME": r.dir, "XDG_CONFIG_HOME": r.dir,
		"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C",
	}, nil)
	return r.configure(ctx, r.access.Absolute(common+"/config"))
}

// pointer is the path that a file in a directory names, as a path from the root. at is the
// path of the directory from the root.
func (r *repository) pointer(dir *os.Root, at, name, prefix string) (string, error) {
	f, _, err := confine.OpenRegular(dir, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, 64<<10))
	target, ok := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), prefix)
	if !filepath.IsAbs(target) {
		target = filepath.Join(r.access.Absolute(at), target)
	}
	rel, relErr := filepath.Rel(r.access.Real, target)
	if err != nil || !ok || relErr != nil || !localName(rel) {
		return "", errors.New("it leads out of the root")
	}
	return rel, nil
}

// needed reports whether a diff depends on a part of a git directory. Files with names that
// end with HEAD are revisions.
func needed(rel string) bool {
	first, _, below := strings.Cut(rel, "/")
	switch first {
	case "objects", "refs", "reftable":
		return true
	case "info":
		return !below || rel == "info/attributes"
	case "config", "index", "packed-refs":
		return !below
	}
	return !below && (strings.HasPrefix(first, "sharedindex.") || strings.HasSuffix(first, "HEAD"))
}

// check checks the needed parts of the git directory at a path from the root, and then lets git
// read it. Git itself would wait for the other end of a FIFO, and report links badly.
func (r *repository) check(ctx context.Context, at string, needed func(rel string) bool, isShared bool) error {
	if at != ".git" && r.access.Withholds(".", at) {
		return fmt.Errorf("the repository's directory %q may not be read: no diff is made", at)
	}
	dir, err := r.openBelow(at)
	if err != nil {
		return refused(at, err)
	}
	defer dir.Close()
	whole, err := dir.Open(".")
	if err != nil {
		return refused(at, err)
	}
	held := r.hold(whole)
	err = fs.WalkDir(dir.FS(), ".", func(rel string, e fs.DirEntry, err error) error {
		isNeeded := needed(rel)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case rel == ".", errors.Is(err, fs.ErrNotExist): // git removes files now and then
			return nil
		case err != nil && isNeeded:
			return refused(rel, err)
		case e.IsDir() && !isNeeded:
			return fs.SkipDir
		case rel == "reftable" && !isShared:
			return errors.New("a worktree of a repository with reftables is not supported: no diff is made")
		case isNeeded && rel == "objects/info/alternates":
			return errors.New("the repository keeps things elsewhere (objects/info/alternates): no diff is made")
		case !isNeeded, e.IsDir(), e.Type().IsRegular() && strings.HasPrefix(rel, "objects"):
			return nil
		}
		f, _, err := confine.OpenRegular(dir, rel)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return refused(rel, err)
		}
		f.Close()
		return nil
	})
	if err == nil {
		r.may.Read = append(r.may.Read, held)
	}
	return err
}

// configure copies from a repository's configuration only how its files are stored. Values
// are words without meaning to a shell.
func (r *repository) configure(ctx context.Context, file string) error {
	plain := []byte("[core]\n\trepositoryformatversion = 1\n")
	if _, err := os.Lstat(file); err == nil {
		list, err := r.run(ctx, nil, maxList, "config", "--no-includes", "--file", file, "-z", "--list")
		if err != nil {
			return err
		}
		for setting := range strings.SplitSeq(string(list), "\x00") {
			key, value, given := strings.Cut(strings.ToLower(setting), "\n")
			if !given {
				value = "true"
			}
			switch section, name, _ := strings.Cut(key, "."); key {
			case "core.symlinks", "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.precomposeunicode", "extensions.objectformat", "extensions.refstorage":
				if strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
					plain = fmt.Appendf(plain, "[%s]\n\t%s = %s\n", section, name, value)
				}
			}
		}
	}
	return confine.Reason(os.WriteFile(filepath.Join(r.dir, "config"), plain, 0o600))
}

// refused names the part of the repository that an error is about.
func refused(rel string, err error) error {
	return fmt.Errorf("the repository's %s cannot be read: %w", confine.ShownName(rel), confine.Reason(err))
}

// localName reports whether a path from git is below the root.
func localName(name string) bool {
	return name != "." && path.Clean(name) == name && filepath.IsLocal(name)
}

// openBelow opens the directory at a path from the root. A link on the path is an error.
func (r *repository) openBelow(at string) (*os.Root, error) {
	dir, err := r.access.Root.OpenRoot(".")
	rel := "."
	for name := range strings.SplitSeq(at, "/") {
		if err != nil {
			break
		}
		above := dir
		rel = path.Join(rel, name)
		dir, err = r.access.OpenDirectory(above, name, rel, true)
		above.Close()
	}
	return dir, err
}
