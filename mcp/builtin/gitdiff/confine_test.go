//go:build unix

package gitdiff

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"toolpipe/mcp"
	"toolpipe/testdata/load"
	"toolpipe/testdata/servertest"
)

// walledRepository is a repository beside a file and another repository that
// no diff may read. otherID is a blob of the other one.
func walledRepository(t *testing.T, files map[string]string) (dir, outside, otherID string, s *mcp.Session, git func(args ...string) string) {
	t.Helper()
	dir, s, git = newRepository(t, files)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	servertest.Put(t, filepath.Join(outside, "f"), "outside secret\n")
	git("init", "-q", outside)
	git("-C", outside, "add", "f")
	git("-C", outside, "commit", "-q", "-m", "outside secret")
	return dir, outside, git("-C", outside, "rev-parse", "HEAD:f"), s, git
}

// craftIndex writes an index with empty files of these names, which git
// itself would not take.
func craftIndex(t *testing.T, path string, names ...string) {
	t.Helper()
	slices.Sort(names)
	empty, _ := hex.DecodeString("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
	out := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(names)))
	for _, name := range names {
		entry := make([]byte, 40, 80)
		entry[26], entry[27] = 0o100644>>8, 0o100644&0xFF
		entry = append(binary.BigEndian.AppendUint16(append(entry, empty...), uint16(len(name))), name...)
		out = append(append(out, entry...), make([]byte, 8-len(entry)%8)...)
	}
	sum := sha1.Sum(out)
	if err := os.WriteFile(path, append(out, sum[:]...), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A name in the index or in a commit may lead anywhere.
func TestGitDiffCraftedNames(t *testing.T) {
	t.Parallel()
	dir, outside, _, s, git := walledRepository(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "b\n", "empty": "", ".env": "K=hidden\n"})
	secret := filepath.Join(outside, "f")
	up, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	servertest.Put(t, filepath.Join(dir, "a.txt"), "two\n")
	servertest.Put(t, filepath.Join(dir, ".git/x"), "K=hidden\n")
	os.Symlink(secret, filepath.Join(dir, "file"))
	os.Symlink(outside, filepath.Join(dir, "way"))
	index := filepath.Join(dir, ".git/index")
	craftIndex(t, index, secret, up, "sub/../"+up, "./.env", "sub//../.env", ".git/x", ".GIT/x", "sub/../.git/x", "way/f", "file/", "a.txt", "way", "way/.gitattributes")
	got, _ := servertest.Do(t, s, "get_git_diff")
	if strings.Contains(got, "outside secret") || strings.Contains(got, "hidden") || !strings.Contains(got, "+two") {
		t.Errorf("crafted index: %s", got)
	}
	if got, _ = servertest.Do(t, s, "get_git_diff", "path", "way"); strings.Contains(got, "outside secret") {
		t.Errorf("crafted index, one path: %s", got)
	}

	os.Remove(index)
	blob := git("rev-parse", "HEAD:a.txt")
	bad := mustTree(t, dir, "100644 .gitattributes\x00", blob)
	for range strings.Count(up, "../") {
		bad = mustTree(t, dir, "40000 ..\x00", bad)
	}
	commit := git("commit-tree", "-m", "x", bad)
	servertest.Fails(t, s, "leads out", "get_git_diff", "base_rev", commit)
	servertest.Fails(t, s, "leads out", "get_git_diff", "base_rev", "HEAD", "head_rev", commit)
}

// mustTree makes a tree object with one entry, whatever its name.
func mustTree(t *testing.T, dir, entry, id string) string {
	t.Helper()
	raw, err := hex.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(append([]byte(entry), raw...))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// whileSwapping exchanges the files of each pair all the while until the test has
// done its calls.
func whileSwapping(pairs [][2]string, calls func()) {
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !stop.Load() {
			for _, p := range pairs {
				os.Rename(p[0], p[0]+".kept")
				os.Rename(p[1], p[0])
				os.Rename(p[0], p[1])
				os.Rename(p[0]+".kept", p[0])
			}
		}
	}()
	calls()
	stop.Store(true)
	<-ended
}

// Somebody swaps files and directories with links all the while.
func TestGitDiffRace(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a": "inside\n", "c/f": "inside\n"}
	for i := range 50 {
		files[fmt.Sprintf("c/f%d", i)] = "inside\n"
	}
	dir, outside, _, s, git := walledRepository(t, files)
	for i := range 50 {
		servertest.Put(t, filepath.Join(outside, fmt.Sprintf("f%d", i)), "outside secret\n")
	}
	other := git("-C", outside, "rev-parse", "HEAD")
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, link := range [][2]string{
		{outside + "/f", "a2"}, {outside, "c2"}, {outside + "/.git/objects/" + other[:2], ".git/objects2"}, {outside + "/.git/refs/heads", ".git/heads2"},
		{outside + "/.git/index", ".git/index2"}, {outside + "/.git/HEAD", ".git/HEAD2"},
	} {
		if err := os.Symlink(link[0], in(link[1])); err != nil {
			t.Skip(err)
		}
	}
	os.Mkdir(in(".git/objects/"+other[:2]), 0o755)
	os.Remove(in(".git/index"))
	git("read-tree", "HEAD") // no entry is known to be as the file is
	often := 4
	if load.Full(t) {
		often = 40
	}
	calls := func() {
		for i := range often {
			args := []any{}
			if i%4 == 3 {
				args = []any{"base_rev", other}
			}
			// That a link leads out may be seen; what is there may not.
			if got, _ := servertest.Do(t, s, "get_git_diff", args...); strings.Contains(got, "outside secret") {
				t.Errorf("call %d: %s", i, got)
				return
			}
		}
	}
	whileSwapping([][2]string{{in("a"), in("a2")}, {in("c"), in("c2")}}, calls)
	whileSwapping([][2]string{{in(".git/objects/" + other[:2]), in(".git/objects2")}, {in(".git/refs/heads"), in(".git/heads2")},
		{in(".git/index"), in(".git/index2")}, {in(".git/HEAD"), in(".git/HEAD2")}}, calls)
}

// The objects and references of another repository are not this one's.
func TestGitDiffForeignObjects(t *testing.T) {
	t.Parallel()
	dir, outside, id, s, git := walledRepository(t, map[string]string{"a.txt": "one\n"})
	commit, tree := git("-C", outside, "rev-parse", "HEAD"), git("-C", outside, "rev-parse", "HEAD^{tree}")
	loose := func(id string) string { return ".git/objects/" + id[:2] + "/" + id[2:] }
	plant := func(name, target string) {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, id := range []string{commit, tree, id} {
		plant(loose(id), filepath.Join(outside, loose(id)))
	}
	servertest.Fails(t, s, "it is a link", "get_git_diff", "head_rev", commit)
	for _, id := range []string{commit, tree, id} {
		os.RemoveAll(filepath.Dir(filepath.Join(dir, loose(id))))
	}
	for _, link := range [][2]string{{".git/objects/" + commit[:2], outside + "/.git/objects/" + commit[:2]}, {".git/refs/heads/x", outside + "/.git/HEAD"}, {".git/refs/x", outside + "/.git/refs"}} {
		plant(link[0], link[1])
		servertest.Fails(t, s, "it is a link", "get_git_diff")
		os.Remove(filepath.Join(dir, link[0]))
	}
	git("-C", outside, "gc", "-q")
	packs, err := filepath.Glob(filepath.Join(outside, ".git/objects/pack/pack-*"))
	if err != nil || len(packs) == 0 {
		t.Fatal("no packs", err)
	}
	for _, pack := range packs {
		plant(".git/objects/pack/"+filepath.Base(pack), pack)
	}
	servertest.Fails(t, s, "it is a link", "get_git_diff", "head_rev", commit)
}

// Nothing waits for the other end of a FIFO.
func TestGitDiffSpecialFiles(t *testing.T) {
	t.Parallel()
	dir, s, git := newRepository(t, map[string]string{"a.txt": "one\n", "b.txt": "b\n", "d.txt": "gone\n", "sub/c.txt": "c\n"})
	fifo := func(name string) {
		os.Remove(filepath.Join(dir, name))
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Skip(err)
		}
	}
	git("update-index", "--add", "--cacheinfo", "160000,"+git("rev-parse", "HEAD")+",module")
	fifo("a.txt")
	fifo(".gitattributes")
	fifo("sub/.gitattributes")
	servertest.Put(t, filepath.Join(dir, "b.txt"), "changed\n")
	servertest.Put(t, filepath.Join(dir, "sub/c.txt"), "changed\n")
	// git looks into a directory that is a submodule, or that took the place of a file.
	for _, name := range []string{"module", "d.txt"} {
		os.Remove(filepath.Join(dir, name))
		check(t, os.MkdirAll(filepath.Join(dir, name, ".git"), 0o755))
		fifo(name + "/.git/HEAD")
	}
	got := servertest.Works(t, s, "get_git_diff", "base_rev", "HEAD") // to list untracked files, git would wait for d.txt/.git/HEAD
	if strings.Count(got, "+changed") != 2 || !strings.Contains(got, `[toolpipe] "a.txt" is left out: it is a fifo`) || strings.Contains(got, "-one") || !strings.Contains(got, "-gone") {
		t.Errorf("a FIFO in the tree: %s", got)
	}
	for _, name := range []string{".git/refs/heads/main", ".git/packed-refs", ".git/index", ".git/HEAD", ".git/objects/aa/" + strings.Repeat("b", 38), ".git/objects/pack/pack-x.idx", ".git/objects/ff"} {
		old, err := os.ReadFile(filepath.Join(dir, name))
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		fifo(name)
		servertest.Fails(t, s, "is a fifo", "get_git_diff")
		os.Remove(filepath.Join(dir, name))
		if err == nil {
			servertest.Put(t, filepath.Join(dir, name), string(old))
		}
	}
	check(t, os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, ".kept")))
	fifo(".git")
	servertest.Fails(t, s, "not a git repository", "get_git_diff")
	check(t, os.Remove(filepath.Join(dir, ".git")))
	check(t, os.Rename(filepath.Join(dir, ".kept"), filepath.Join(dir, ".git")))
	servertest.Works(t, s, "get_git_diff")
	fifo(".git/commondir")
	servertest.Fails(t, s, "is a fifo", "get_git_diff")
}

// toolpipe's own files are left out under every name they have.
func TestGitDiffOwnFiles(t *testing.T) {
	t.Parallel()
	dir, _, _ := newRepository(t, map[string]string{"a": "one\n", "log": "hidden\n", "alias": "x\n"})
	check(t, os.Remove(filepath.Join(dir, "alias")))
	if err := os.Link(filepath.Join(dir, "log"), filepath.Join(dir, "alias")); err != nil {
		t.Skip(err)
	}
	servertest.Put(t, filepath.Join(dir, "log"), "hidden, too\n")
	servertest.Put(t, filepath.Join(dir, "a"), "two\n")
	if got := servertest.Works(t, diffServer(t, dir, filepath.Join(dir, "log")), "get_git_diff"); strings.Contains(got, "hidden") || strings.Contains(got, "alias") || !strings.Contains(got, "+two") {
		t.Errorf("%s", got)
	}
}

// git's errors quote lines of files it cannot read, and a file of .git may be
// another name of any file.
func TestGitDiffErrorsShowNoContent(t *testing.T) {
	t.Parallel()
	original, _, git := newRepository(t, map[string]string{"a": "one\n"})
	servertest.Put(t, filepath.Join(original, "a"), "two\n")
	for _, name := range []string{"HEAD", "packed-refs", "index", "config", "refs/heads/main", "info/attributes", "reftable", "sharedindex.0", "objects/pack/x.idx", "objects/pack/x.pack"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "f")
			check(t, os.CopyFS(dir, os.DirFS(original)))
			s := diffServer(t, dir)
			if name == "packed-refs" {
				git("-C", dir, "pack-refs", "--all")
			}
			for _, content := range []string{"outside secret\n", "ref: refs/outside/secret\n"} {
				servertest.Put(t, outside, content)
				link := filepath.Join(dir, ".git", name)
				os.RemoveAll(link)
				check(t, os.MkdirAll(filepath.Dir(link), 0o755))
				if err := os.Link(outside, link); err != nil {
					t.Skip(err)
				}
				for _, args := range [][]any{nil, {"base_rev", "other"}, {"base_rev", "HEAD", "head_rev", "main"}} {
					if answer, _ := servertest.Do(t, s, "get_git_diff", args...); strings.Contains(answer, "outside") || strings.Contains(answer, "secret") {
						t.Errorf("%s is %q, %v: %s", name, content, args, answer)
					}
				}
			}
		})
	}
}

// In a directory where everybody may rename, another user could give git a
// repository of theirs, with a configuration that runs programs.
func TestGitDiffTemporaryDirectory(t *testing.T) {
	dir, s, _ := newRepository(t, map[string]string{"a": "one\n"})
	servertest.Put(t, filepath.Join(dir, "a"), "two\n")
	open := t.TempDir()
	check(t, os.Chmod(open, 0o777))
	inner := filepath.Join(open, "inner")
	check(t, os.Mkdir(inner, 0o700))
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(open, link))
	for _, temp := range []string{open, inner, link} {
		t.Setenv("TMPDIR", temp)
		servertest.Fails(t, s, "sticky bit; set TMPDIR", "get_git_diff")
	}
	check(t, os.Chmod(open, 0o777|os.ModeSticky))
	if got := servertest.Works(t, s, "get_git_diff"); !strings.Contains(got, "+two") {
		t.Error(got)
	}
	if left, _ := os.ReadDir(open); len(left) != 1 {
		t.Errorf("left in TMPDIR: %v", left)
	}
	if os.Geteuid() == 0 {
		check(t, os.Chmod(open, 0o755))
		check(t, os.Chown(open, 1234, -1))
		t.Setenv("TMPDIR", open)
		servertest.Fails(t, s, "another user; set TMPDIR", "get_git_diff")
	}
}
