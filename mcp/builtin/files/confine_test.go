//go:build unix

package files

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/load"
	"toolpipe/testdata/servertest"
)

// walled is a file server beside a secret that no path may reach.
func walled(t testing.TB) (root, outside string, s *mcp.Session) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside, root = filepath.Join(base, "outside"), filepath.Join(base, "root")
	servertest.Put(t, filepath.Join(outside, "secret"), "outside secret\n")
	servertest.Put(t, filepath.Join(root, "a/b"), "inside\n")
	server, err := serve(confine.Spec{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return root, outside, servertest.Local(t, server)
}

// untouched says that the outside is as walled made it.
func untouched(t testing.TB, outside string) {
	t.Helper()
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 || servertest.Get(t, filepath.Join(outside, "secret")) != "outside secret\n" {
		t.Errorf("the outside changed: %v %v", entries, err)
	}
}

// A path that leads out of the root, however it is written, is refused.
func TestTraversal(t *testing.T) {
	root, outside, s := walled(t)
	servertest.Put(t, filepath.Join(root, "-rf"), "dash\n")
	servertest.Put(t, filepath.Join(root, "new\nline"), "line\n")
	servertest.Put(t, filepath.Join(root, "~/x"), "tilde\n")
	servertest.Put(t, filepath.Join(root, "%2e%2e/x"), "percent\n")
	for _, c := range []struct{ path, want string }{
		{"a//b", "inside"}, {"./a/b", "inside"}, {"a/./b", "inside"}, {"a/../a/b", "inside"}, {"-rf", "dash"}, {"new\nline", "line"}, {"~/x", "tilde"}, {"%2e%2e/x", "percent"},
		{root + "/a/b", "inside"}, {root + "//a/b", "inside"},
	} {
		if got, failed := servertest.Do(t, s, "read_file", "path", c.path); failed || got != c.want+"\n" {
			t.Errorf("read_file %q: %s", c.path, got)
		}
	}
	for _, path := range []string{"../outside/secret", "a/../../outside/secret", outside + "/secret", "/etc/passwd", root + "/../outside/secret", root + "x", "..", "../root/a/b", "a/b/../../../outside/secret", "/", "//etc/passwd"} {
		for _, call := range [][]any{
			{"read_file", "path", path}, {"get_file_slice", "path", path}, {"get_file_summary", "path", path}, {"list_directory", "path", path}, {"get_tree", "path", path},
			{"search_files", "pattern", "*", "path", path}, {"grep_files", "pattern", "secret", "path", path}, {"write_file", "path", path, "content", "x"},
			{"edit_file", "path", path, "old_string", "secret", "new_string", "x"}, {"set_file_slice", "path", path, "start_line", 1, "end_line", 1, "new_content", "x"},
		} {
			servertest.Fails(t, s, "", call[0].(string), call[1:]...)
			if answer, _ := servertest.Do(t, s, call[0].(string), call[1:]...); strings.Contains(answer, "outside secret") || !strings.Contains(answer, root) && !strings.Contains(answer, "not a directory") {
				t.Errorf("%v: %s", call, answer)
			}
		}
	}
	for _, path := range []string{"", "a/b/", "a/b/.", "a/b/c", strings.Repeat("x", 5000), strings.Repeat("y", 300), "nul\x00", `..\outside\secret`} {
		servertest.Fails(t, s, "", "read_file", "path", path)
	}
	servertest.Works(t, s, "list_directory", "path", "./")
	servertest.Works(t, s, "list_directory", "path", "a/")
	servertest.Works(t, s, "list_directory", "path", root)
	untouched(t, outside)
}

// A link is followed only as far as it stays inside.
func TestSymlinks(t *testing.T) {
	root, outside, s := walled(t)
	for name, target := range map[string]string{
		"relative": "../outside/secret", "absolute": outside + "/secret", "absolutein": root + "/a/b", "dir": outside, "reldir": "../outside", "up": "..", "upslash": "../",
		"loop": "loop", "loop1": "loop2", "loop2": "loop1", "dangling": "../outside/new", "danglingabs": outside + "/new",
		"ok": "a/b", "okdir": "a", "okdangling": "a/new", "a/back": "../a/b", "chain0": "a/b",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip(err)
		}
	}
	for i := range 9 {
		os.Symlink(fmt.Sprintf("chain%d", i), filepath.Join(root, fmt.Sprintf("chain%d", i+1)))
	}
	for _, path := range []string{"ok", "okdir/b", "a/back", "chain9", "okdir/../a/b"} {
		if got := servertest.Works(t, s, "read_file", "path", path); got != "inside\n" {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, path := range []string{"relative", "absolute", "absolutein", "dir/secret", "reldir/secret", "dir", "dir/", "reldir/", "up", "upslash/outside/secret", "up/outside/secret", "loop", "loop1", "dangling", "danglingabs", "dir/new", "reldir/new"} {
		servertest.Fails(t, s, "", "read_file", "path", path)
		servertest.Fails(t, s, "", "list_directory", "path", path)
		servertest.Fails(t, s, "", "write_file", "path", path, "content", "x")
		servertest.Fails(t, s, "", "grep_files", "path", path, "pattern", "secret")
		servertest.Fails(t, s, "", "get_file_summary", "path", path)
	}
	for _, call := range [][]any{{"grep_files", "pattern", "secret"}, {"search_files", "pattern", "secret"}, {"get_tree", "max_depth", 20}} {
		if answer := servertest.Works(t, s, call[0].(string), call[1:]...); strings.Contains(answer, "outside secret") || strings.Contains(answer, "  secret\n") {
			t.Errorf("%v: %s", call, answer)
		}
	}
	servertest.Works(t, s, "write_file", "path", "okdangling", "content", "made")
	servertest.Works(t, s, "write_file", "path", "ok", "content", "through")
	if servertest.Get(t, filepath.Join(root, "a/new")) != "made" || servertest.Get(t, filepath.Join(root, "a/b")) != "through" {
		t.Error("links inside were not followed")
	}
	if _, err := os.Readlink(filepath.Join(root, "ok")); err != nil {
		t.Error("a link inside was replaced")
	}
	untouched(t, outside)
}

// A hard link to an outside file is replaced, not written through.
func TestHardLinkIsReplaced(t *testing.T) {
	root, outside, s := walled(t)
	for _, tool := range []string{"write_file", "edit_file", "set_file_slice"} {
		if err := os.Link(filepath.Join(outside, "secret"), filepath.Join(root, tool)); err != nil {
			t.Skip(err)
		}
	}
	servertest.Works(t, s, "write_file", "path", "write_file", "content", "new")
	servertest.Works(t, s, "edit_file", "path", "edit_file", "old_string", "secret", "new_string", "new")
	servertest.Works(t, s, "set_file_slice", "path", "set_file_slice", "start_line", 1, "end_line", 1, "new_content", "new")
	untouched(t, outside)
}

// Nothing outside is reached while another process swaps directories and links.
func TestSymlinkRace(t *testing.T) {
	t.Parallel()
	root, outside, s := walled(t)
	if err := os.Symlink("../outside", filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	servertest.Put(t, filepath.Join(root, "d/secret"), "inside\n")
	if err := os.Symlink("../outside/secret", filepath.Join(root, "flink")); err != nil {
		t.Skip(err)
	}
	servertest.Put(t, filepath.Join(root, "f"), "inside\n")
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		at := func(name string) string { return filepath.Join(root, name) }
		for !stop.Load() {
			os.Rename(at("d"), at("d.kept"))
			os.Rename(at("link"), at("d"))
			os.Rename(at("d"), at("link"))
			os.Rename(at("d.kept"), at("d"))
			os.Rename(at("f"), at("f.kept"))
			os.Rename(at("flink"), at("f"))
			os.Rename(at("f"), at("flink"))
			os.Rename(at("f.kept"), at("f"))
		}
	}()
	operations := load.Of(t, 200_000, 10_000)
	calls := []struct{ tool, args string }{
		{"read_file", `{"path":"d/secret"}`}, {"read_file", `{"path":"f"}`}, {"list_directory", `{"path":"d"}`}, {"get_file_slice", `{"path":"d/secret"}`},
		{"read_file", `{"path":"d/../f"}`}, {"get_file_slice", `{"path":"f"}`}, {"read_file", `{"path":"link/secret"}`}, {"read_file", `{"path":"d/./secret"}`},
	}
	ctx := t.Context()
	for i := range operations {
		c := calls[i%len(calls)]
		switch i % 1000 {
		case 499:
			c.tool, c.args = "grep_files", `{"path":"d","pattern":"outside"}`
		case 998:
			c.tool, c.args = "get_file_summary", `{"path":"d/new"}`
		case 999: // seldom: it waits for the disk
			c.tool, c.args = "write_file", `{"path":"d/new","content":"x"}`
		}
		r, err := s.Call(ctx, c.tool, []byte(c.args), nil)
		check(t, err)
		if answer := jsontext.Text(r.Content[0].Text); strings.Contains(answer, "outside secret") {
			t.Fatalf("operation %d, %s %s: %s", i, c.tool, c.args, answer)
		}
	}
	stop.Store(true)
	<-ended
	untouched(t, outside)
}

// A FIFO, a socket and a device are neither opened nor replaced.
func TestSpecialFiles(t *testing.T) {
	root, _, s := walled(t)
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644); err != nil {
		t.Skip(err)
	}
	old, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root) // the path of a socket is short
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Chdir(old)
	names := []string{"fifo", "socket", "a"}
	if syscall.Mknod(filepath.Join(root, "zero"), syscall.S_IFCHR|0o666, 1<<8|5) == nil {
		names = append(names, "zero")
	}
	for _, name := range names {
		for _, call := range [][]any{{"read_file"}, {"get_file_slice"}, {"edit_file", "old_string", "a", "new_string", "b"}, {"write_file", "content", "x"}} {
			servertest.Fails(t, s, name, call[0].(string), append(call[1:], "path", name)...)
		}
	}
	if got := servertest.Works(t, s, "grep_files", "pattern", "inside"); got != "a/b:1:inside\n" {
		t.Errorf("grep: %q", got)
	}
	if got := servertest.Works(t, s, "list_directory"); !strings.Contains(got, "fifo ") || !strings.Contains(got, "socket ") {
		t.Errorf("list: %s", got)
	}
}

// The file systems of the kernel are not offered, not even below the root /.
func TestKernelFileSystems(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	server, err := serve(confine.Spec{Root: "/", Anyway: true})
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.Local(t, server)
	for _, path := range []string{"proc/self/environ", "/proc/1/environ", "/proc/self/fd/0", "/sys/kernel/notes", "/dev/zero", "/dev/null", "tmp/../proc/self/environ"} {
		servertest.Fails(t, s, "", "read_file", "path", path)
	}
	servertest.Fails(t, s, `kernel (/proc, /sys, /dev) are not offered; the allowed root is "/"`, "list_directory", "path", "/proc")
	servertest.Fails(t, s, "kernel", "write_file", "path", "/dev/shm/toolpipe-test", "content", "x")
	for _, root := range []string{"/proc", "/proc/self", "/sys/kernel", "/dev"} {
		if _, err := serve(confine.Spec{Root: root, Anyway: true}); err == nil {
			t.Errorf("root %s was taken", root)
		}
	}
}

func TestRoots(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	servertest.Put(t, filepath.Join(dir, "home/me/project/.git/config"), "")
	servertest.Put(t, filepath.Join(dir, "home/me/.env"), "")
	home := filepath.Join(dir, "home/me")
	for _, c := range []struct {
		root   string
		anyway bool
		word   string // of the error; "" for none
	}{
		{home + "/project", false, ""}, {home, false, "; name a directory in it"}, {dir + "/home", false, "; name a directory in it"}, {"/", false, "; name a directory in it"}, {home, true, ""},
		{home + "/none", false, "no such"}, {home + "/project/.git", true, ".git"}, {home + "/.env", true, "protected"},
	} {
		_, err := serve(confine.Spec{Root: c.root, Home: home, Anyway: c.anyway})
		if c.word == "" && err != nil || c.word != "" && (err == nil || !strings.Contains(err.Error(), c.word)) {
			t.Errorf("%s: %v", c.root, err)
		}
	}
}

func TestSingleFile(t *testing.T) {
	root, _, _ := walled(t)
	servertest.Put(t, filepath.Join(root, "a/c"), "other\n")
	server, err := serve(confine.Spec{Root: filepath.Join(root, "a/b")})
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.Local(t, server)
	for _, path := range []string{"b", "./b", filepath.Join(root, "a/b")} {
		if got := servertest.Works(t, s, "read_file", "path", path); got != "inside\n" {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, path := range []string{"c", "../a/b", filepath.Join(root, "a/c"), "new", "x/new"} {
		servertest.Fails(t, s, `"b"`, "write_file", "path", path, "content", "x")
		servertest.Fails(t, s, "", "read_file", "path", path)
	}
	for _, path := range []string{"c/x", "nodir/x", "x/../c", "nodir/../../outside"} { // the answer does not tell what is there
		servertest.Fails(t, s, `is not offered; the only file is "b" in "`+filepath.Join(root, "a"), "read_file", "path", path)
	}
	servertest.Works(t, s, "read_file", "path", "nodir/../b")
	servertest.Fails(t, s, "not a directory", "read_file", "path", "b/")
	if got := servertest.Works(t, s, "list_directory"); strings.Contains(got, " c\n") || !strings.Contains(got, " b\n") {
		t.Errorf("list: %s", got)
	}
	if got := servertest.Works(t, s, "grep_files", "pattern", "."); got != "b:1:inside\n" {
		t.Errorf("grep: %s", got)
	}
	servertest.Works(t, s, "edit_file", "path", "b", "old_string", "inside", "new_string", "edited")
	if entries, _ := os.ReadDir(filepath.Join(root, "a")); len(entries) != 2 || servertest.Get(t, filepath.Join(root, "a/b")) != "edited\n" {
		t.Errorf("%v", entries)
	}
}

// The root stays the directory that was opened, when its path leads elsewhere.
func TestRootReplaced(t *testing.T) {
	root, outside, s := walled(t)
	if err := os.Rename(root, root+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, root); err != nil {
		t.Skip(err)
	}
	if got := servertest.Works(t, s, "read_file", "path", "a/b"); got != "inside\n" {
		t.Errorf("%q", got)
	}
	servertest.Fails(t, s, "", "read_file", "path", "secret")
	servertest.Works(t, s, "write_file", "path", "new", "content", "x")
	if servertest.Get(t, root+".moved/new") != "x" {
		t.Error("the write went elsewhere")
	}
	servertest.Fails(t, s, "moved", "get_git_diff")
	untouched(t, outside)
}

// A reader sees the old or the new content while a file is replaced.
func TestAtomicWrite(t *testing.T) {
	root, _, s := walled(t)
	path := filepath.Join(root, "script")
	contents := [2]string{strings.Repeat("a", 100_000), strings.Repeat("b", 150_000)}
	servertest.Put(t, path, contents[0])
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	torn := make(chan error, 1)
	go func() {
		var bad error
		for !stop.Load() && bad == nil {
			b, err := os.ReadFile(path)
			if err != nil || string(b) != contents[0] && string(b) != contents[1] {
				bad = fmt.Errorf("read %d bytes: %v", len(b), err)
			}
		}
		torn <- bad
	}()
	for i := range 40 {
		servertest.Works(t, s, "write_file", "path", "script", "content", contents[(i+1)%2])
	}
	stop.Store(true)
	if err := <-torn; err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	mask := syscall.Umask(0o027)
	servertest.Works(t, s, "write_file", "path", "fresh", "content", "x")
	syscall.Umask(mask)
	if info, err := os.Stat(filepath.Join(root, "fresh")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("new file: mode %v %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".toolpipe-*")); left != nil {
		t.Errorf("left over: %v", left)
	}
}

// A write that fails leaves the old file and nothing else.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := mountSmall(dir); err != nil {
		t.Skip("no small file system: ", err)
	}
	t.Cleanup(func() { unmount(dir) })
	servertest.Put(t, filepath.Join(dir, "f"), "old\n")
	server, err := serve(confine.Spec{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.Local(t, server)
	servertest.Fails(t, s, "no space", "write_file", "path", "f", "content", strings.Repeat("x", 4<<20))
	servertest.Fails(t, s, "no space", "write_file", "path", "g", "content", strings.Repeat("x", 4<<20))
	servertest.Fails(t, s, "no space", "write_file", "path", "new/g", "content", strings.Repeat("x", 4<<20))
	if entries, _ := os.ReadDir(dir); len(entries) != 1 || servertest.Get(t, filepath.Join(dir, "f")) != "old\n" {
		t.Errorf("%v", entries)
	}
}
