package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const gitTimeout = 30 * time.Second

func (v *view) getGitDiff(ctx context.Context, args arguments) (*Result, error) {
	base, head := args.text("base_rev"), args.text("head_rev")
	for _, rev := range [...]string{base, head} {
		if err := checkRevision(rev); err != nil {
			return nil, err
		}
	}
	if base == "" {
		base = "HEAD"
	}
	path, err := v.diffPath(args)
	if err != nil {
		return nil, err
	}
	git, err := LookPath("git", ChildEnv(v.spec.Environ, nil, nil))
	if err != nil {
		return nil, errors.New("git is not installed")
	}
	repo, err := v.borrowRepository()
	if err != nil {
		return nil, err
	}
	defer repo.remove()
	argv := []string{"git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
		"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/",
		"--end-of-options", base + "^{commit}"}
	if head != "" {
		argv = append(argv, head+"^{commit}")
	}
	if argv = append(argv, "--"); path != "." {
		argv = append(argv, path)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gitTimeout, fmt.Errorf("git diff did not end within %v", gitTimeout))
	defer cancel()
	return v.runDiff(ctx, &exec.Cmd{Path: git, Args: argv, Env: repo.env(v), Dir: v.real}, repo)
}

// checkRevision refuses what git would take for an option, for a range, or
// for a file's content.
func checkRevision(rev string) error {
	switch {
	case strings.HasPrefix(rev, "-"):
		return fmt.Errorf("revision %q begins with -", rev)
	case len(rev) > 250, strings.ContainsFunc(rev, func(r rune) bool { return r <= ' ' || r == 0x7F }):
		return fmt.Errorf("%q is no revision", rev)
	case strings.Contains(rev, ".."), strings.ContainsRune(rev, ':'):
		return fmt.Errorf("revision %q must name one commit; base_rev and head_rev are the two ends", rev)
	}
	return nil
}

// diffPath is the path argument from the root, what it names being there or not.
func (v *view) diffPath(args arguments) (string, error) {
	if v.only != "" {
		return "", errNoGit
	}
	if !args.has("path") {
		return ".", nil
	}
	p, err := v.find(args.text("path"))
	if err == nil {
		defer p.close()
		return p.rel, nil
	}
	if _, absent := errors.AsType[*noFile](err); !absent {
		return "", err
	}
	names, err := v.split(args.text("path")) // it may be there in a commit
	if err != nil {
		return "", err
	}
	path := filepath.Clean(strings.Join(names, "/"))
	if !filepath.IsLocal(path) {
		return "", v.outside(args.text("path"))
	}
	return filepath.ToSlash(path), nil
}

// borrowed is a git directory of ours that has the repository's objects and
// references but nothing of its configuration: git never reads that, so that
// no filter, driver, monitor, hook or remote of it can run a program or lead
// out of the root.
type borrowed struct{ dir, git string }

func (b *borrowed) remove() { os.RemoveAll(b.dir) }

// env is git's environment: what every child gets, and nothing of the user's
// or the system's configuration.
func (b *borrowed) env(v *view) []string {
	return ChildEnv(v.spec.Environ, map[string]string{
		"GIT_DIR": b.dir, "GIT_WORK_TREE": v.real, "GIT_INDEX_FILE": filepath.Join(b.git, "index"), "GIT_OBJECT_DIRECTORY": filepath.Join(b.git, "objects"),
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_ATTR_NOSYSTEM": "1", "HOME": b.dir, "XDG_CONFIG_HOME": b.dir,
		"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1",
		"GIT_LITERAL_PATHSPECS": "1", "GIT_PAGER": "cat", "LC_ALL": "C",
	}, nil)
}

// borrowRepository looks at .git in the root, which has to be a plain
// directory with all its own objects.
func (v *view) borrowRepository() (*borrowed, error) {
	if now, err := os.Stat(v.real); err != nil || !os.SameFile(now, v.info) {
		return nil, errors.New("the allowed root was moved; there is no diff of it")
	}
	info, err := v.root.Lstat(".git")
	if err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the allowed root %q is not a git repository: it has no directory .git", v.path)
	}
	for _, name := range [...]string{"objects", "refs", "HEAD", "index", "packed-refs", "config"} {
		if info, err := v.root.Lstat(".git/" + name); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("the repository's %s is a %s: no diff is made", name, kindOf(info.Mode()))
		}
	}
	for _, name := range [...]string{"commondir", "objects/info/alternates"} {
		if _, err := v.root.Lstat(".git/" + name); err == nil {
			return nil, fmt.Errorf("the repository keeps things elsewhere (%s): no diff is made", name)
		}
	}
	for _, name := range [...]string{".git/objects", ".git/objects/pack"} {
		if err := v.noLinks(name); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "toolpipe-git-")
	if err != nil {
		return nil, reason(err)
	}
	b := &borrowed{dir: dir, git: filepath.Join(v.real, ".git")}
	if err := b.fill(v); err != nil {
		b.remove()
		return nil, fmt.Errorf("the repository cannot be read: %w", reason(err))
	}
	return b, nil
}

// noLinks refuses a directory of objects that are elsewhere.
func (v *view) noLinks(name string) error {
	f, err := v.root.Open(name)
	if err != nil {
		return nil // not there
	}
	defer f.Close()
	entries, err := f.ReadDir(100_000)
	if err != nil && err != io.EOF {
		return reason(err)
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			return fmt.Errorf("the repository keeps things elsewhere (%s/%s): no diff is made", name, shownName(e.Name()))
		}
	}
	return nil
}

func (b *borrowed) fill(v *view) error {
	head, err := v.gitFile("HEAD")
	if err != nil {
		return err
	}
	config, err := v.gitFile("config")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for name, content := range map[string][]byte{"HEAD": head, "config": plainConfig(config)} {
		if err := os.WriteFile(filepath.Join(b.dir, name), content, 0o600); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(b.dir, "objects"), 0o700); err != nil {
		return err
	}
	links := []string{"refs", "packed-refs", "reftable"}
	shared, _ := filepath.Glob(filepath.Join(b.git, "sharedindex.*"))
	for _, path := range shared {
		links = append(links, filepath.Base(path))
	}
	for _, name := range links {
		if _, err := v.root.Lstat(".git/" + name); err != nil {
			continue
		}
		if err := os.Symlink(filepath.Join(b.git, name), filepath.Join(b.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) gitFile(name string) ([]byte, error) {
	f, err := v.root.OpenFile(".git/"+name, openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	return io.ReadAll(io.LimitReader(f, 1<<20))
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

// runDiff runs git and keeps of its output what may be shown.
func (v *view) runDiff(ctx context.Context, cmd *exec.Cmd, repo *borrowed) (*Result, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, reason(err)
	}
	defer r.Close()
	var errs capture
	cmd.Stdout, cmd.Stderr = w, &errs
	procs := v.spec.Processes
	if procs == nil {
		procs = &Processes{}
	}
	p, err := procs.Start(cmd)
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("git did not start: %w", reason(err))
	}
	stop := context.AfterFunc(ctx, func() { p.Kill(); r.SetReadDeadline(time.Now()) })
	defer stop()
	text, cut, err := v.shownDiff(r)
	if cut || err != nil {
		p.Kill()
	}
	failed := p.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("git's output could not be read: %w", reason(err))
	case cut:
		text = append(wholeRunes(text), "\n[toolpipe] the diff goes on and is cut here; a path shows less of it\n"...)
	case failed != nil:
		said := strings.ReplaceAll(string(errs.bytes()), repo.dir, ".git")
		if strings.Contains(said, "bad revision") {
			return nil, errors.New(strings.ReplaceAll("a revision names no commit: "+strings.TrimSpace(said), "^{commit}", ""))
		}
		return nil, fmt.Errorf("git diff failed: %s", strings.TrimSpace(said))
	case len(text) == 0:
		text = []byte("no differences\n")
	}
	return textResult(text), nil
}

// shownDiff reads a diff and leaves out the files that may not be read. Every
// line of content begins with a blank, a sign or a backslash, so that nothing
// in a file looks like the beginning of another.
func (v *view) shownDiff(r io.Reader) (text []byte, cut bool, err error) {
	in := bufio.NewReaderSize(r, readChunk)
	shown, fresh := true, true // fresh: at the beginning of a line
	for {
		piece, err := in.ReadSlice('\n')
		if fresh && bytes.HasPrefix(piece, []byte("diff --git ")) {
			shown = v.mayShow(string(bytes.TrimSuffix(piece[len("diff --git "):], []byte("\n"))))
		}
		fresh = bytes.HasSuffix(piece, []byte("\n"))
		if shown {
			text = append(text, piece...)
		}
		switch {
		case len(text) > maxText:
			return text[:maxText], true, nil
		case err == io.EOF:
			return text, false, nil
		case err != nil && err != bufio.ErrBufferFull:
			return text, false, err
		}
	}
}

// mayShow says whether the file that "a/NAME b/NAME" names may be read.
func (v *view) mayShow(names string) bool {
	half := len(names) / 2
	first := names[:half]
	if len(names)%2 == 0 || names[half] != ' ' {
		return false
	}
	if strings.HasPrefix(first, `"`) {
		var ok bool
		if first, ok = unquoteC(first); !ok {
			return false
		}
	}
	name, ok := strings.CutPrefix(first, "a/")
	if !ok || v.own.at(filepath.Join(v.real, filepath.FromSlash(name))) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if secret(part) != "" {
			return false
		}
	}
	info, err := v.root.Lstat(filepath.FromSlash(name))
	return err != nil || !v.own.has(info)
}

// unquoteC undoes git's quoting of names, which is that of C.
func unquoteC(s string) (string, bool) {
	if u, err := strconv.Unquote(s); err == nil {
		return u, true
	}
	return "", false
}
