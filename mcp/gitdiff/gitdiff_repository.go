package gitdiff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/goroutine"
)

// privateGit is a git directory of our own: a configuration of ours, copies of
// the repository's index, references and attributes, and the repository's
// objects as alternates. git never reads the repository's configuration, so no
// filter, driver, monitor, hook or remote of it can run a program. Beside it is
// a working tree of our own, which gets copies of the files to compare: git is
// never started in the real one, where the names in an index may lead anywhere.
type privateGit struct {
	v       *confine.Access
	at      descent
	program Program
	dir     string
	index   string    // the path of the index that git reads
	room    int64     // bytes that may still be copied
	indexed time.Time // when the repository's index was written
}

const maxRepository = 256 << 20 // bytes of a repository that are copied

func (g *privateGit) gitDir() string { return filepath.Join(g.dir, "git") }
func (g *privateGit) tree() string   { return filepath.Join(g.dir, "tree") }

func (g *privateGit) remove() {
	g.at.close()
	if g.dir != "" {
		os.RemoveAll(g.dir)
	}
}

// env is git's environment: what every child gets, and nothing of the user's
// or the system's configuration.
func (g *privateGit) env() []string {
	return process.ChildEnv(g.program.Environ, map[string]string{
		"GIT_DIR": g.gitDir(), "GIT_WORK_TREE": g.tree(), "GIT_INDEX_FILE": g.index,
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_ATTR_NOSYSTEM": "1", "HOME": g.dir, "XDG_CONFIG_HOME": g.dir,
		"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1",
		"GIT_LITERAL_PATHSPECS": "1", "GIT_PAGER": "cat", "LC_ALL": "C",
	}, nil)
}

// openRepository makes the private copy of the root's repository.
func openRepository(ctx context.Context, v *confine.Access, program Program) (*privateGit, error) {
	if now, err := os.Stat(v.Real); err != nil || !os.SameFile(now, v.Info) {
		return nil, errors.New("the allowed root was moved; there is no diff of it")
	}
	g := &privateGit{v: v, at: descent{v: v, git: true}, program: program, room: maxRepository}
	git, common, err := g.find()
	if err == nil {
		g.dir, err = confine.PrivateTempDir("toolpipe-git-")
	}
	if err == nil {
		g.index = filepath.Join(g.gitDir(), "index")
		err = g.fill(ctx, git, common)
	}
	if err != nil {
		g.remove()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return g, nil
}

// find says where in the root the git directory is, and the directory with what
// all worktrees share: .git, or where the files .git and commondir lead
// (gitrepository-layout(5)). Neither may lead out of the root.
func (g *privateGit) find() (git, common string, err error) {
	git = ".git"
	if _, err := g.at.to(git); err != nil {
		if git, err = g.pointer("", ".git", "gitdir: "); err != nil {
			return "", "", fmt.Errorf("the allowed root %q is not a git repository: it has no directory .git, nor a file .git that leads to one inside the root", g.v.Path)
		}
		if _, err := g.at.to(git); err != nil {
			return "", "", refused(git, err)
		}
	}
	common, err = g.pointer(git, "commondir", "")
	if errors.Is(err, fs.ErrNotExist) {
		common, err = git, nil
	}
	if err != nil {
		return "", "", refused("commondir", err)
	}
	for _, dir := range [...]string{git, common} {
		if dir != ".git" && g.v.Withholds(".", dir) {
			return "", "", fmt.Errorf("the repository's directory %q may not be read: no diff is made", dir)
		}
	}
	return git, common, nil
}

// pointer is the path from the root to which a file leads, in a directory that
// is at a path from the root.
func (g *privateGit) pointer(at, name, prefix string) (string, error) {
	content, err := g.read(at, name)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), prefix)
	if !filepath.IsAbs(target) {
		target = filepath.Join(g.v.Absolute(at), target)
	}
	rel, err := filepath.Rel(g.v.Real, target)
	if rel = filepath.ToSlash(rel); !ok || err != nil || !localName(rel) {
		return "", fmt.Errorf("the repository keeps things elsewhere (%s): no diff is made", name)
	}
	return rel, nil
}

// fill copies what git needs besides the objects.
func (g *privateGit) fill(ctx context.Context, git, common string) error {
	for _, dir := range [...]string{"git/objects/info", "git/info", "git/refs", "git/reftable", "tree"} {
		if err := os.MkdirAll(filepath.Join(g.dir, dir), 0o700); err != nil {
			return confine.Reason(err)
		}
	}
	config, err := g.read(common, "config")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the repository's configuration cannot be read: %w", confine.Reason(err))
	}
	if err := g.write("config", plainConfig(config)); err != nil {
		return err
	}
	names, err := g.list(git, ".")
	if err != nil {
		return err
	}
	for _, e := range names {
		if name := e.Name(); strings.HasSuffix(name, "HEAD") || name == "index" || strings.HasPrefix(name, "sharedindex.") {
			err = errors.Join(err, g.take(ctx, git, name))
		}
	}
	tables, e := g.list(common, "reftable")
	if err = errors.Join(err, e, g.take(ctx, common, "info/attributes")); len(tables) > 0 && git != common {
		err = errors.Join(err, errors.New("a worktree of a repository with reftables is not supported: no diff is made"))
	}
	for _, e := range tables {
		err = errors.Join(err, g.take(ctx, common, "reftable/"+e.Name()))
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(g.gitDir(), "HEAD")); err != nil {
		return errors.New("the repository cannot be read: it has no HEAD")
	}
	return errors.Join(g.references(ctx, git, common), g.objects(ctx, common))
}

// list is what is in a directory of a git directory, at rel from it; nothing if
// there is no such directory, or not any more: git tidies up now and then.
func (g *privateGit) list(git, rel string) ([]fs.DirEntry, error) {
	dir, err := g.at.to(path.Join(git, rel))
	var f *os.File
	if err == nil {
		f, err = dir.Open(".")
	}
	var list []fs.DirEntry
	if err == nil {
		defer f.Close()
		list, err = f.ReadDir(-1)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, refused(rel, err)
}

// walk calls do for all that is in a directory and below it but for directories.
func (g *privateGit) walk(ctx context.Context, git, rel string, do func(rel string, e fs.DirEntry) error) error {
	list, err := g.list(git, rel)
	for _, e := range list {
		switch at := rel + "/" + e.Name(); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case e.IsDir():
			err = g.walk(ctx, git, at, do)
		default:
			err = do(at, e)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// objects has git read the repository's objects, in which no name may lead out
// of the root or make git wait: there are only directories and files.
func (g *privateGit) objects(ctx context.Context, common string) error {
	if err := g.walk(ctx, common, "objects", func(rel string, e fs.DirEntry) error {
		switch {
		case !e.Type().IsRegular():
			return refused(rel, &wrongKind{e.Type()})
		case rel == "objects/info/alternates":
			return errors.New("the repository keeps things elsewhere (objects/info/alternates): no diff is made")
		}
		return nil
	}); err != nil {
		return err
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(g.v.Absolute(common + "/objects"))
	return g.write("objects/info/alternates", []byte(`"`+quoted+"\"\n"))
}

// references writes all references into one file packed-refs, but for those
// that name another.
func (g *privateGit) references(ctx context.Context, git, common string) error {
	ids := map[string]string{}
	packed, err := g.read(common, "packed-refs")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refused("packed-refs", err)
	}
	for line := range strings.Lines(string(packed)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case id == "#" || strings.HasPrefix(id, "^"): // what a tag names, which git finds by itself
		case !isID(id) || !strings.HasPrefix(name, "refs/"):
			return errors.New("packed-refs has a line that is no reference; git fsck says more")
		default:
			ids[name] = id
		}
	}
	for _, dir := range slices.Compact([]string{common, git}) {
		if err := g.walk(ctx, dir, "refs", func(rel string, _ fs.DirEntry) error { return g.loose(dir, rel, ids) }); err != nil {
			return err
		}
	}
	out := []byte("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		out = fmt.Appendf(out, "%s %s\n", ids[name], name)
	}
	return g.write("packed-refs", out)
}

// loose reads a reference that has a file of its own. One that is damaged is as
// if it was not there.
func (g *privateGit) loose(git, rel string, ids map[string]string) error {
	content, err := g.read(git, rel)
	if errors.Is(err, fs.ErrNotExist) || strings.Contains(rel, "\n") {
		return nil
	}
	word := strings.TrimSpace(string(content))
	if target, ok := strings.CutPrefix(word, "ref:"); ok {
		delete(ids, rel)
		return g.write(rel, []byte("ref: "+strings.TrimSpace(target)+"\n"))
	}
	if isID(word) {
		ids[rel] = word
	}
	return refused(rel, err)
}

func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// refused says what of the repository an error is about.
func refused(rel string, err error) error {
	if wrong, ok := errors.AsType[*wrongKind](err); ok {
		if wrong.mode&fs.ModeSymlink != 0 {
			return fmt.Errorf("the repository keeps things elsewhere (%s is a link): no diff is made", confine.ShownName(rel))
		}
		return fmt.Errorf("the repository's %s is a %s: no diff is made", confine.ShownName(rel), confine.KindOf(wrong.mode))
	}
	if _, system := errors.AsType[*fs.PathError](err); system {
		return fmt.Errorf("the repository's %s cannot be read: %w", confine.ShownName(rel), confine.Reason(err))
	}
	return err
}

// open opens a file of a git directory, at rel from it, for a copy.
func (g *privateGit) open(git, rel string) (*os.File, fs.FileInfo, error) {
	dir, err := g.at.to(path.Join(git, path.Dir(rel)))
	if err != nil {
		return nil, nil, err
	}
	f, info, err := openPlain(g.v, dir, path.Base(rel))
	if err != nil {
		return nil, nil, err
	}
	if g.room -= info.Size(); g.room < 0 {
		f.Close()
		return nil, nil, fmt.Errorf("the repository has too much that would be copied (more than %d bytes); git gc makes it less", maxRepository)
	}
	return f, info, nil
}

func (g *privateGit) read(git, rel string) ([]byte, error) {
	f, info, err := g.open(git, rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, info.Size()))
}

// write makes a file of the private git directory.
func (g *privateGit) write(rel string, content []byte) error {
	to := filepath.Join(g.gitDir(), filepath.FromSlash(rel))
	return errors.Join(confine.Reason(os.MkdirAll(filepath.Dir(to), 0o700)), confine.Reason(os.WriteFile(to, content, 0o600)))
}

// take copies a file of a git directory, if it is there.
func (g *privateGit) take(ctx context.Context, git, rel string) error {
	f, info, err := g.open(git, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refused(rel, err)
	}
	defer f.Close()
	if rel == "index" {
		g.indexed = info.ModTime()
	}
	w, err := os.OpenFile(filepath.Join(g.gitDir(), filepath.FromSlash(rel)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return confine.Reason(err)
	}
	return confine.Reason(copyAll(ctx, w, f, info.Size()))
}

// copyAll copies as many bytes as a file had when it was opened, and closes w.
func copyAll(ctx context.Context, w io.WriteCloser, f io.Reader, size int64) error {
	_, err := io.Copy(w, contextReader{ctx, io.LimitReader(f, size)})
	if e := w.Close(); err == nil {
		err = e
	}
	return err
}

// run runs git with a file as its input, and has its output
// read. An error of read ends git.
func (g *privateGit) run(ctx context.Context, input string, read func(io.Reader) error, args ...string) error {
	path, err := process.LookPath("git", process.ChildEnv(g.program.Environ, nil, nil))
	if err != nil {
		return errors.New("git is not installed")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return confine.Reason(err)
	}
	defer r.Close()
	var errs toolserver.Capture
	args = append([]string{"git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
		"-c", fmt.Sprint("core.bigFileThreshold=", maxCompared)}, args...)
	cmd := &exec.Cmd{Path: path, Args: args, Env: g.env(), Dir: g.tree(), Stdout: w, Stderr: &errs}
	in, err := os.Open(input)
	if err != nil {
		w.Close()
		return confine.Reason(err)
	}
	defer in.Close()
	cmd.Stdin = in
	procs := g.program.Processes
	if procs == nil {
		procs = &process.Processes{}
	}
	p, err := procs.Start(cmd)
	w.Close()
	if err != nil {
		return fmt.Errorf("git did not start: %w", confine.Reason(err))
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
		return gitFailure(string(errs.Bytes()), args)
	}
	return nil
}

// plainConfig takes from a repository's configuration what says how its files
// are stored, and no more. Values are words without meaning to a shell.
func plainConfig(config []byte) []byte {
	b := []byte("[core]\n\trepositoryformatversion = 1\n\tbare = false\n")
	section := ""
	for line := range bytes.Lines(bytes.ToLower(config)) {
		line := strings.TrimSpace(string(line))
		if strings.HasPrefix(line, "[") {
			section = strings.TrimSpace(strings.Trim(line, "[]"))
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch section + "." + name {
		case "core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "extensions.objectformat", "extensions.refstorage":
			if value != "" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
				b = fmt.Appendf(b, "[%s]\n\t%s = %s\n", section, name, value)
			}
		}
	}
	return b
}
