//go:build unix

package confine

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/testdata/servertest"
)

// TestMain makes this test binary one of two writers when its first argument
// names it, so that a writer that is killed is a real process.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "hold-replacement":
		os.Exit(holdReplacement(os.Args[2]))
	case len(os.Args) == 3 && os.Args[1] == "write-for-ever":
		os.Exit(writeForEver(os.Args[2]))
	}
	os.Exit(m.Run())
}

// program is this test binary as one of the writers in TestMain.
func program(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	return exec.Command(self, name, dir)
}

// holdReplacement prepares a replacement of f in a directory, says under which
// name, and waits.
func holdReplacement(path string) int {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return 1
	}
	r := replacement{dir: dir, name: "f", mode: 0o644}
	f, name, err := r.create()
	if err != nil || r.fill(f, []byte("half")) != nil {
		return 1
	}
	fmt.Println(name)
	io.Copy(io.Discard, os.Stdin)
	f.Close()
	return 0
}

// replaceFile is ReplaceFile for whatever has the name now.
func replaceFile(path string, content []byte) error {
	old, _ := os.Lstat(path)
	return ReplaceFile(context.Background(), path, old, content)
}

func writeForEver(dir string) int {
	for {
		if err := replaceFile(filepath.Join(dir, "f"), []byte(strings.Repeat("x", 4<<20))); err != nil {
			fmt.Println(err)
			return 1
		}
	}
}

// held starts holdReplacement and gives the name of the temporary file.
func held(t *testing.T, dir string) (name string, kill func()) {
	t.Helper()
	cmd := program(t, "hold-replacement", dir)
	stdin, err := cmd.StdinPipe()
	check(t, err)
	t.Cleanup(func() { stdin.Close() })
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	kill = func() { cmd.Process.Kill(); cmd.Wait() }
	t.Cleanup(kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	check(t, err)
	return strings.TrimSpace(line), kill
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// What a write has come to is what the directory says, not what the rename says; where the
// directory says nothing, nobody knows.
func TestReplacementIsThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		renames, closes bool
		err             error
		unsure          bool
		want            string
	}{
		{true, false, nil, false, ""},
		{true, false, syscall.EIO, false, ""}, // as NFS does
		{false, false, syscall.EIO, false, "input/output error"},
		{false, false, nil, true, errOvertaken.Error()},
		{true, true, nil, true, "it may have been written: file already closed; read it again"},
		{false, true, syscall.ESTALE, true, "it may have been written: stale "},
	} {
		dir, err := os.OpenRoot(t.TempDir())
		check(t, err)
		d, err := dir.Open(".")
		check(t, err)
		r := replacement{dir: dir, name: "f", mode: 0o644}
		f, name, err := r.create()
		check(t, err)
		if c.renames {
			check(t, dir.Rename(name, "f"))
		}
		if c.closes {
			dir.Close()
		}
		err = r.renamed(f, name, c.err, d)
		if got := fmt.Sprint(err); !strings.HasPrefix(got, cmp.Or(c.want, "<nil>")) || mayBeWritten(err) != c.unsure {
			t.Errorf("%+v: %v", c, err)
		}
		f.Close()
		d.Close()
		dir.Close()
	}
}

// A file that a killed writer left is removed by the next write in that directory, but not
// before the writer is dead.
func TestLeftoverOfDeadWriter(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	servertest.Put(t, filepath.Join(sub, "x"), "")
	name, kill := held(t, sub)
	left := filepath.Join(sub, name)
	check(t, replaceFile(filepath.Join(sub, "new"), []byte("x")))
	check(t, replaceFile(filepath.Join(sub, "new"), []byte("y")))
	if servertest.Get(t, left) != "half" {
		t.Error("the file of a living writer was changed")
	}
	kill()
	check(t, replaceFile(filepath.Join(dir, "other"), []byte("x")))
	if servertest.Get(t, left) != "half" {
		t.Error("a write in another directory removed it")
	}
	check(t, replaceFile(filepath.Join(sub, "new"), []byte("x")))
	if names := namesIn(t, sub); fmt.Sprint(names) != "[new x]" {
		t.Errorf("left: %q", names)
	}
}

func temporaryName() string { return temporaryPrefix + rand.Text() + temporarySuffix }

// Nothing is removed that only looks like a leftover.
func TestLeftoverLookalikes(t *testing.T) {
	dir := t.TempDir()
	name := temporaryName()
	for _, other := range []string{"x" + name, name + "x", ".toolpipe-.tmp", ".toolpipe-x.tmp", strings.ToLower(name), ".toolpipe-" + name} {
		servertest.Put(t, filepath.Join(dir, other), "")
	}
	servertest.Put(t, filepath.Join(dir, temporaryName(), "x"), "")
	check(t, os.Symlink("x"+name, filepath.Join(dir, temporaryName())))
	before := namesIn(t, dir)
	check(t, replaceFile(filepath.Join(dir, "a"), []byte("x")))
	check(t, replaceFile(filepath.Join(dir, "a"), []byte("y")))
	if after := namesIn(t, dir); len(after) != len(before)+1 {
		t.Errorf("%q became %q", before, after)
	}
	servertest.Put(t, filepath.Join(dir, name), "")
	check(t, replaceFile(filepath.Join(dir, "a"), []byte("z")))
	if after := namesIn(t, dir); len(after) != len(before)+1 {
		t.Errorf("a leftover stays: %q", after)
	}
}

// A writer is killed at any moment.
func TestKilledWriter(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	whole := strings.Repeat("x", 4<<20)
	for i := range 10 {
		cmd := program(t, "write-for-ever", dir)
		check(t, cmd.Start())
		for limit := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
				break
			}
			if time.Now().After(limit) {
				t.Fatal("nothing was written")
			}
		}
		time.Sleep(time.Duration(i) * 3 * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		if servertest.Get(t, filepath.Join(dir, "f")) != whole {
			t.Error("the file is not whole")
		}
	}
	check(t, replaceFile(filepath.Join(dir, "f"), nil))
	if names := namesIn(t, dir); fmt.Sprint(names) != "[f]" {
		t.Errorf("left: %q", names)
	}
}

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	check(t, replaceFile(path, []byte("one")))
	check(t, os.Chmod(path, 0o640))
	check(t, os.Link(path, filepath.Join(dir, "second")))
	check(t, replaceFile(path, []byte("two")))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 || servertest.Get(t, path) != "two" || servertest.Get(t, filepath.Join(dir, "second")) != "one" {
		t.Errorf("%v %v", info.Mode(), err)
	}
	for _, old := range []os.FileInfo{nil, info} {
		check(t, os.WriteFile(path, []byte("other"), 0o640))
		if err := ReplaceFile(t.Context(), path, old, []byte("three")); err == nil || servertest.Get(t, path) != "other" {
			t.Errorf("in the place of a file that was changed: %v", err)
		}
	}
	check(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	check(t, os.Symlink("f", filepath.Join(dir, "link")))
	for _, name := range []string{"d", "d/", "link"} {
		if err := replaceFile(dir+"/"+name, nil); err == nil || err.Error() != "it is not a regular file" {
			t.Errorf("in the place of %s: %v", name, err)
		}
	}
	check(t, os.WriteFile(path, []byte("two"), 0o640))
	check(t, os.Chmod(dir, 0o777))
	if err := replaceFile(path, []byte("three")); err == nil || servertest.Get(t, path) != "two" {
		t.Errorf("in a directory of everybody: %v", err)
	}
}

// A file that is edited is read into room for all of it, and one that is too large is
// not read.
func TestReadWholeTakesNoMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	servertest.Put(t, path, "")
	for _, size := range []int64{1 << 20, MaxEdited + 1} {
		check(t, os.Truncate(path, size))
		f, err := os.Open(path)
		check(t, err)
		defer f.Close()
		var read int
		// The count is of the whole process, so one call alone would count what other
		// goroutines allocate. Without room made at once, a call takes more than ten.
		allocated := testing.AllocsPerRun(20, func() {
			f.Seek(0, io.SeekStart)
			content, _ := readWhole(f, size)
			read = len(content)
		})
		end, _ := f.Seek(0, io.SeekCurrent)
		if size <= MaxEdited && (read != int(size) || allocated > 6) || size > MaxEdited && end > 0 {
			t.Errorf("%d bytes: %d read up to %d, %v allocations", size, read, end, allocated)
		}
	}
}
