package gitdiff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/builtin/confine"
)

// repository is a private copy of what git needs of the root's repository: a git
// directory with a configuration of ours, copies of the index, the references
// and the attributes, and the repository's objects as alternates. Git never
// reads the repository's own configuration, so no filter, driver, monitor, hook
// or remote of it can run a program.
//
// Git opens files by path, and another process may exchange any part of a path
// for a link at any time. So git gets copies of files that are opened here. Only
// the objects it reads in place, after a look that none of them is a link or a
// special file: whoever exchanges one for a link at that moment can have git read
// objects of another repository, if these have the very ids that git looks for.
//
// The private working tree has copies of the files that may differ from the index,
// and the private index says of all others that they are unchanged. Git never runs
// in the real working tree, where the names in an index may lead anywhere.
type repository struct {
	access  *confine.Access
	program Program
	path    string // what is to be shown; "." for all
	dir     string // has the private git directory "git" (and "shared", for a worktree) and the working tree "tree"

	room     int64     // bytes of the git directory that may still be copied
	treeRoom int64     // bytes of the working tree that may still be copied
	indexed  time.Time // when the repository's index was written
	noLinks  bool      // the working tree has files in the place of links: core.symlinks is false

	near       *os.Root        // directory of the file last looked at, often also of the next
	nearAt     string          // its path
	same, open bytes.Buffer    // the entries of unchanged files, and of those that git compares
	copied     string          // the name of the last copy
	left       map[string]bool // names of files that could not be compared
	notes      []string        // on these
	unshown    bool            // a file that is not shown may differ
}

const maxRepository = 256 << 20 // bytes of a repository that are copied, and of a list that git prints

// openRepository makes the private copy of the root's repository, to show what
// changed at a path from the root.
func openRepository(ctx context.Context, access *confine.Access, program Program, path string) (*repository, error) {
	if now, err := os.Stat(access.Real); err != nil || !os.SameFile(now, access.Info) {
		return nil, errors.New("the allowed root was moved; there is no diff of it")
	}
	r := &repository{access: access, program: program, path: path, room: maxRepository, treeRoom: maxCopied, left: map[string]bool{}}
	if err := r.fill(ctx); err != nil {
		r.remove()
		return nil, err
	}
	return r, nil
}

func (r *repository) remove() {
	if r.near != nil {
		r.near.Close()
	}
	os.RemoveAll(r.dir)
}

// write writes a private file, and makes its directory.
func (r *repository) write(name string, content []byte, mode fs.FileMode) error {
	file := filepath.Join(r.dir, name)
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, content, 0o600|mode&0o100)
	}
	return confine.Reason(err)
}

// pointer is the path from the root that a file in a directory names, which is at
// a path from the root.
func (r *repository) pointer(dir *os.Root, at, name, prefix string) (string, error) {
	content, _, err := r.readPlain(dir, name, maxRepository)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), prefix)
	if !filepath.IsAbs(target) {
		target = filepath.Join(r.access.Absolute(at), target)
	}
	rel, err := filepath.Rel(r.access.Real, target)
	if !ok || err != nil || !localName(rel) {
		return "", errors.New("it leads out of the root")
	}
	return rel, nil
}

// fill copies what git needs, from the git directory and from the directory that
// all worktrees share, which the file commondir names. The git directory is .git, or
// where a file .git leads (gitrepository-layout(5)). Neither may lead out of the root.
func (r *repository) fill(ctx context.Context) error {
	git, err := r.pointer(r.access.Root, ".", ".git", "gitdir: ")
	if err != nil {
		git = ".git"
	}
	dir, err := r.openBelow(git, true)
	if err != nil {
		return fmt.Errorf("the allowed root %q is not a git repository: it has no directory .git, nor a file .git that leads to one inside the root", r.access.Path)
	}
	defer dir.Close()
	if r.dir, err = confine.PrivateTempDir("toolpipe-git-"); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(r.dir, "tree"), 0o700); err != nil {
		return confine.Reason(err)
	}
	common, err := r.pointer(dir, git, "commondir", "")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r.copyDirectory(ctx, git, "git")
	case err != nil:
		return refused("commondir", err)
	}
	pointer := r.write("git/commondir", []byte("../shared\n"), 0)
	return errors.Join(pointer, r.copyDirectory(ctx, common, "shared"), r.copyDirectory(ctx, git, "git"))
}

// needed are the parts of a git directory that a diff depends on, beside the files
// whose names end with HEAD, as those are revisions, and the parts of a split index.
var needed = []string{"config", "index", "info", "objects", "packed-refs", "refs", "reftable"}

// copyDirectory copies what is needed of the git directory at a path from the root. Git
// reads its objects in place.
func (r *repository) copyDirectory(ctx context.Context, at, to string) error {
	if at != ".git" && r.access.Withholds(".", at) {
		return fmt.Errorf("the repository's directory %q may not be read: no diff is made", at)
	}
	dir, err := r.openBelow(at, true)
	if err != nil {
		return refused(at, err)
	}
	defer dir.Close()
	objects := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(r.access.Absolute(at + "/objects"))
	err = r.write(to+"/objects/info/alternates", []byte(`"`+objects+"\"\n"), 0)
	if err = errors.Join(err, os.Mkdir(filepath.Join(r.dir, to, "refs"), 0o700)); err != nil {
		return confine.Reason(err)
	}
	return fs.WalkDir(dir.FS(), ".", func(rel string, e fs.DirEntry, err error) error {
		part, _, _ := strings.Cut(rel, "/")
		isNeeded := slices.Contains(needed, part) || strings.HasSuffix(part, "HEAD") || strings.HasPrefix(part, "sharedindex.")
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist), rel == ".":
			return nil // git tidies up now and then
		case err != nil && isNeeded:
			return refused(rel, err)
		case e.IsDir() && !isNeeded:
			return fs.SkipDir
		case rel == "reftable" && to == "shared":
			return errors.New("a worktree of a repository with reftables is not supported: no diff is made")
		case !isNeeded, e.IsDir(), part == "info" && rel != "info" && rel != "info/attributes":
			return nil
		case part != "objects":
			return r.copyFile(ctx, dir, rel, to)
		case !e.Type().IsRegular():
			return refused(rel, &confine.WrongKindError{Mode: e.Type()})
		case rel == "objects/info/alternates":
			return errors.New("the repository keeps things elsewhere (objects/info/alternates): no diff is made")
		}
		return nil
	})
}

// copyFile copies a file of a git directory. A small one takes as much room as a
// block of a disk.
func (r *repository) copyFile(ctx context.Context, dir *os.Root, rel, to string) error {
	content, info, err := r.readPlain(dir, rel, maxRepository)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return refused(rel, err)
	case rel == "index":
		r.indexed = info.ModTime()
	case rel == "config":
		content, err = r.plainConfig(ctx, content)
	}
	if r.room -= max(info.Size(), 4<<10); r.room < 0 {
		return fmt.Errorf("the repository has too much that would be copied (more than %d bytes); git gc makes it less", maxRepository)
	}
	return errors.Join(err, r.write(to+"/"+rel, content, 0))
}

// plainConfig takes from a repository's configuration what says how its files
// are stored, and no more. Values are words without meaning to a shell.
func (r *repository) plainConfig(ctx context.Context, config []byte) ([]byte, error) {
	list, err := r.git(ctx, config, maxRepository, "config", "--no-includes", "--file", "-", "-z", "--list")
	plain := []byte("[core]\n\trepositoryformatversion = 1\n")
	for setting := range strings.SplitSeq(string(list), "\x00") {
		key, value, given := strings.Cut(strings.ToLower(setting), "\n")
		if !given {
			value = "true"
		}
		switch section, name, _ := strings.Cut(key, "."); key {
		case "core.symlinks":
			r.noLinks = slices.Contains([]string{"false", "no", "off", "0", ""}, value) // git-config(1), "Values"
		case "core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.precomposeunicode", "extensions.objectformat", "extensions.refstorage":
			if value != "" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
				plain = fmt.Appendf(plain, "[%s]\n\t%s = %s\n", section, name, value)
			}
		}
	}
	return plain, err
}

// refused says which part of the repository an error is about.
func refused(rel string, err error) error {
	return fmt.Errorf("the repository's %s cannot be read: %w", confine.ShownName(rel), confine.Reason(err))
}

// localName reports whether a path from git names something below the root.
func localName(name string) bool {
	return name != "." && path.Clean(name) == name && filepath.IsLocal(name)
}

func (r *repository) readPlain(dir *os.Root, name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := confine.OpenRegular(dir, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	switch {
	case r.access.Refuses(info):
		return nil, nil, errors.New("it belongs to toolpipe")
	case info.Size() > limit:
		return nil, nil, fmt.Errorf("it has %d bytes, at most %d are read", info.Size(), limit)
	}
	content, err := io.ReadAll(io.LimitReader(f, info.Size()))
	return content, info, err
}

// openBelow opens the directory at a path from the root, which is of the repository when
// it is for git. A link on the way is an error.
func (r *repository) openBelow(at string, forGit bool) (*os.Root, error) {
	dir, err := r.access.Root.OpenRoot(".")
	rel := "."
	for name := range strings.SplitSeq(at, "/") {
		if err != nil || name == "." {
			break
		}
		above := dir
		rel = path.Join(rel, name)
		dir, err = r.access.OpenDirectory(above, name, rel, forGit)
		above.Close()
	}
	return dir, err
}
