package mcp

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolpipe/stream/goroutine"
)

// borrowed is a git directory of ours with the repository's objects and
// references but nothing of its configuration: git never reads that, so that
// no filter, driver, monitor, hook or remote of it can run a program or lead
// out of the root. Nothing in it leads back by a path either: files are
// copies, or are there as the very files that were opened. Beside it is a
// working tree of ours, for what is to be compared.
type borrowed struct {
	v       *view
	git     *os.Root // the repository's git directory
	program gitProgram
	dir     string
	index   string     // the one that git reads
	lent    []*os.File // open in git as well, from descriptor 3 on
	room    int64      // bytes that may still be copied
	indexed time.Time  // when the repository's index was written

	ids      int             // bytes of an object's id
	contents map[string]bool // loose contents of files, by id, that git has not got
	inflate  inflater
	pack     packWriter // of loose objects
}

const (
	maxBorrowed = 256 << 20 // bytes of a repository that are copied
	maxLent     = 160       // files that git gets open; it may have no more than 256
	smallFile   = 1 << 20   // up to here a file is copied
	blockSize   = 4 << 10   // what the smallest file takes
)

func (b *borrowed) gitDir() string { return filepath.Join(b.dir, "git") }
func (b *borrowed) tree() string   { return filepath.Join(b.dir, "tree") }

func (b *borrowed) remove() {
	for _, f := range append(b.lent, b.pack.file) {
		f.Close()
	}
	if b.git != nil {
		b.git.Close()
	}
	os.RemoveAll(b.dir)
}

// env is git's environment: what every child gets, and nothing of the user's
// or the system's configuration.
func (b *borrowed) env() []string {
	return ChildEnv(b.program.environ, map[string]string{
		"GIT_DIR": b.gitDir(), "GIT_WORK_TREE": b.tree(), "GIT_INDEX_FILE": b.index,
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_ATTR_NOSYSTEM": "1", "HOME": b.dir, "XDG_CONFIG_HOME": b.dir,
		"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1",
		"GIT_LITERAL_PATHSPECS": "1", "GIT_PAGER": "cat", "LC_ALL": "C",
	}, nil)
}

// borrowRepository takes what git needs of .git in the root, which has to be
// a plain directory with all its own objects.
func (v *view) borrowRepository(ctx context.Context, program gitProgram, revs ...string) (*borrowed, error) {
	if now, err := os.Stat(v.real); err != nil || !os.SameFile(now, v.info) {
		return nil, errors.New("the allowed root was moved; there is no diff of it")
	}
	git, err := v.openBelow(v.root, ".git", ".git")
	if err != nil {
		return nil, fmt.Errorf("the allowed root %q is not a git repository: it has no directory .git", v.path)
	}
	for _, name := range [...]string{"commondir", "objects/info/alternates"} {
		if _, err := git.Lstat(name); err == nil {
			git.Close()
			return nil, fmt.Errorf("the repository keeps things elsewhere (%s): no diff is made", name)
		}
	}
	dir, err := privateTempDir("toolpipe-git-")
	if err != nil {
		git.Close()
		return nil, err
	}
	b := &borrowed{v: v, git: git, program: program, dir: dir, room: maxBorrowed, ids: sha1.Size, contents: map[string]bool{}}
	b.index = filepath.Join(b.gitDir(), "index")
	if err := b.fill(ctx, revs); err != nil {
		b.remove()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return b, nil
}

// fill takes the parts in the order in which git makes them, backwards:
// nothing names what is not there yet, and packs come into being before the
// objects in them go.
func (b *borrowed) fill(ctx context.Context, revs []string) error {
	for _, dir := range [...]string{b.gitDir(), b.tree(), filepath.Join(b.gitDir(), "objects", "pack"), filepath.Join(b.gitDir(), "refs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return reason(err)
		}
	}
	config, err := b.config(b.git)
	if err == nil {
		config = plainConfig(config)
		if bytes.Contains(config, []byte("objectformat = sha256\n")) {
			b.ids = sha256.Size
		}
		err = os.WriteFile(filepath.Join(b.gitDir(), "config"), config, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the repository's configuration cannot be read: %w", reason(err))
	}
	if err := b.takeRefs(ctx, revs...); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(b.gitDir(), "HEAD")); err != nil {
		return errors.New("the repository cannot be read: it has no HEAD")
	}
	if err := b.take(ctx, b.git, "info", func(rel string, _ fs.FileMode) bool { return rel == "info/attributes" }); err != nil {
		return err
	}
	top, err := b.git.Open(".")
	if err != nil {
		return reason(err)
	}
	names, err := top.Readdirnames(maxKept)
	top.Close()
	if err != nil && err != io.EOF {
		return reason(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "sharedindex.") })
	for _, name := range append([]string{"packed-refs", "reftable", "index"}, names...) {
		if err := b.take(ctx, b.git, name, anything); err != nil {
			return err
		}
	}
	if err := b.take(ctx, b.git, "objects", isLoose); err != nil {
		return err
	}
	if err := b.finish(); err != nil {
		return err
	}
	return b.take(ctx, b.git, "objects", isPacked)
}

func (b *borrowed) config(git *os.Root) ([]byte, error) {
	f, _, err := b.v.openPlain(git, "config")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

func anything(string, fs.FileMode) bool { return true }

// isLoose is for loose objects and the directories they are in.
func isLoose(rel string, _ fs.FileMode) bool {
	dir, name, file := strings.Cut(strings.TrimPrefix(rel, "objects/"), "/")
	return len(dir) == 2 && isHex(dir) && (!file || isHex(name) && (len(name) == 38 || len(name) == 62))
}

func isPacked(rel string, _ fs.FileMode) bool {
	return rel == "objects/pack" || path.Dir(rel) == "objects/pack" && (path.Ext(rel) == ".pack" || path.Ext(rel) == ".idx")
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// take takes what is at rel in .git, which is in dir; of what is below a
// directory, that which is wanted.
func (b *borrowed) take(ctx context.Context, dir *os.Root, rel string, wanted func(rel string, mode fs.FileMode) bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	info, err := dir.Lstat(path.Base(rel))
	switch {
	case err == nil && info.IsDir():
		err = b.takeAll(ctx, dir, rel, wanted)
	case err == nil && isLoose(rel, 0):
		err = b.loose(ctx, dir, rel)
	case err == nil:
		err = b.lend(ctx, dir, rel)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // or not any more: git tidies up now and then
	}
	return refused(rel, err)
}

// refused says what of the repository an error is about.
func refused(rel string, err error) error {
	if wrong, ok := errors.AsType[*wrongKind](err); ok {
		if wrong.mode&fs.ModeSymlink != 0 {
			return fmt.Errorf("the repository keeps things elsewhere (%s is a link): no diff is made", shownName(rel))
		}
		return fmt.Errorf("the repository's %s is a %s: no diff is made", shownName(rel), kindOf(wrong.mode))
	}
	if _, system := errors.AsType[*fs.PathError](err); system {
		return fmt.Errorf("the repository's %s cannot be read: %w", shownName(rel), reason(err))
	}
	return err
}

func (b *borrowed) takeAll(ctx context.Context, dir *os.Root, rel string, wanted func(rel string, mode fs.FileMode) bool) error {
	if strings.Count(rel, "/") > maxDescent {
		return fmt.Errorf("the repository's %s is too deep", shownName(rel))
	}
	sub, err := b.v.openBelow(dir, path.Base(rel), ".git/"+rel)
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := os.MkdirAll(filepath.Join(b.gitDir(), filepath.FromSlash(rel)), 0o700); err != nil {
		return err
	}
	f, err := sub.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(readAtOnce)
		for _, e := range entries {
			if at := rel + "/" + e.Name(); wanted(at, e.Type()) {
				if err := b.take(ctx, sub, at, wanted); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lend gives git a file of .git. A large one is not copied: git gets it open,
// and where the system does not give an open file a name, by a second name
// that certainly is this file's.
func (b *borrowed) lend(ctx context.Context, dir *os.Root, rel string) error {
	f, info, err := b.v.openPlain(dir, path.Base(rel))
	if err != nil {
		return err
	}
	to := filepath.Join(b.gitDir(), filepath.FromSlash(rel))
	if _, err := os.Lstat(to); err == nil {
		f.Close()
		return nil // git has it
	}
	if rel == "index" {
		b.indexed = info.ModTime()
	}
	if info.Size() > smallFile {
		most := maxLent
		if !isPacked(rel, 0) {
			most /= 2 // large loose objects leave room for packs
		}
		if same, err := os.Stat(descriptor(f.Fd())); err == nil && os.SameFile(same, info) && len(b.lent) < most {
			b.lent = append(b.lent, f)
			return os.Symlink(descriptor(uintptr(2+len(b.lent))), to)
		}
	}
	defer f.Close()
	if info.Size() > smallFile && os.Link(filepath.Join(b.v.real, ".git", filepath.FromSlash(rel)), to) == nil {
		if same, err := os.Lstat(to); err == nil && os.SameFile(same, info) {
			return nil
		}
		os.Remove(to)
	}
	return b.copy(ctx, f, info, to)
}

var errRoom = fmt.Errorf("the repository has too much that would be copied (more than %d bytes); git gc makes it less", maxBorrowed)

// descriptor is the name that an open file has for the process itself.
func descriptor(fd uintptr) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func (b *borrowed) copy(ctx context.Context, f *os.File, info fs.FileInfo, to string) error {
	if b.room -= max(info.Size(), blockSize); b.room < 0 {
		return errRoom
	}
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, attentive{ctx, io.LimitReader(f, info.Size())})
	if e := w.Close(); err == nil {
		err = e
	}
	return err
}

// run runs git and has its output read. An error of read ends git.
func (b *borrowed) run(ctx context.Context, read func(io.Reader) error, args ...string) error {
	path, err := LookPath("git", ChildEnv(b.program.environ, nil, nil))
	if err != nil {
		return errors.New("git is not installed")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return reason(err)
	}
	defer r.Close()
	var errs capture
	args = append([]string{"git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
		"-c", fmt.Sprint("core.bigFileThreshold=", maxCompared)}, args...)
	cmd := &exec.Cmd{Path: path, Args: args, Env: b.env(), Dir: b.tree(), Stdout: w, Stderr: &errs, ExtraFiles: b.lent}
	procs := b.program.processes
	if procs == nil {
		procs = &Processes{}
	}
	p, err := procs.Start(cmd)
	w.Close()
	if err != nil {
		return fmt.Errorf("git did not start: %w", reason(err))
	}
	stop := goroutine.AfterContext(ctx, func() { p.Kill(); r.SetReadDeadline(time.Now()) })
	defer stop()
	if err = read(r); err != nil {
		p.Kill()
	}
	failed := p.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case failed != nil:
		return gitFailure(string(errs.bytes()), args)
	}
	return nil
}

// plainConfig takes from a repository's configuration what says how its files
// are stored, and no more. Values are words without meaning to a shell.
func plainConfig(config []byte) []byte {
	b := []byte("[core]\n\trepositoryformatversion = 1\n\tbare = false\n")
	section := ""
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.TrimSpace(strings.Trim(line, "[]")))
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		key := section + "." + strings.ToLower(strings.TrimSpace(name))
		value = strings.ToLower(strings.TrimSpace(value))
		switch key {
		case "core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "extensions.objectformat", "extensions.refstorage":
		default:
			continue
		}
		if value != "" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
			dot := strings.IndexByte(key, '.')
			b = fmt.Appendf(b, "[%s]\n\t%s = %s\n", key[:dot], key[dot+1:], value)
		}
	}
	return b
}
