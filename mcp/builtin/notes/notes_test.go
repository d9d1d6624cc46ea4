//go:build unix

package notes

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp"
	"toolpipe/stream/goroutine"
	"toolpipe/testdata/load"
	"toolpipe/testdata/processtest"
	"toolpipe/testdata/servertest"
)

func TestMain(m *testing.M) { os.Exit(processtest.Main(m, os.Args)) }

func serve(t *testing.T, path string) *mcp.Session {
	t.Helper()
	s, err := New(Spec{Path: path, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Local(t, s)
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.json")
	s := serve(t, path)
	equal(t, servertest.Works(t, s, "list"), "[toolpipe] there are no notes yet\n")
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was made before there was a note")
	}
	equal(t, servertest.Works(t, s, "write", "name", "the plan", "content", "eins\nzwei <&>\n"), "created the plan: revision 1, 14 bytes\n")
	equal(t, servertest.Works(t, s, "append", "name", "log/α", "content", "ä\n"), "added to log/α: revision 2, 3 bytes\n")
	equal(t, servertest.Works(t, s, "append", "name", "log/α", "content", "ö\u001b"), "added to log/α: revision 3, 6 bytes\n")
	equal(t, servertest.Works(t, s, "write", "name", "the plan", "content", "", "expected_revision", 1), "replaced the plan: revision 4, 0 bytes\n")
	equal(t, servertest.Get(t, path), "{\n\"version\": 1,\n\"revision\": 4,\n\"notes\": {\n"+
		`"log/α": {"revision": 3, "content": "ä\nö\u001b"},`+"\n"+`"the plan": {"revision": 4, "content": ""}`+"\n}\n}\n")
	equal(t, servertest.Works(t, s, "list"), "log/α: revision 3, 6 bytes\nthe plan: revision 4, 0 bytes\n")
	equal(t, servertest.Works(t, s, "read", "name", "log/α"), "[toolpipe] revision 3, 6 bytes\nä\nö\x1b")
	equal(t, servertest.Works(t, s, "delete", "name", "the plan", "expected_revision", 4), "deleted the plan\n")
	// A note that is made again has a revision that it has never had.
	equal(t, servertest.Works(t, s, "write", "name", "the plan", "content", "x"), "created the plan: revision 6, 1 byte\n")
	other := serve(t, path)
	equal(t, servertest.Works(t, other, "read", "name", "the plan"), "[toolpipe] revision 6, 1 byte\nx")
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A note is read in pieces of whole characters, each of which says how to go on.
func TestPieces(t *testing.T) {
	t.Parallel()
	s := serve(t, filepath.Join(t.TempDir(), "notes"))
	servertest.Works(t, s, "write", "name", "n", "content", "aäöüß€𝄞z")
	for _, c := range []struct {
		offset, most int
		want         string
	}{
		{0, 5, "aäö\n[toolpipe] bytes 0 to 5 are shown; go on with offset 5\n"},
		{0, 6, "aäö\n[toolpipe] bytes 0 to 5 are shown; go on with offset 5\n"},
		{2, 4, "öü\n[toolpipe] bytes 3 to 7 are shown; go on with offset 7\n"},
		{12, 1, "𝄞\n[toolpipe] bytes 12 to 16 are shown; go on with offset 16\n"},
		{16, 1 << 30, "z"},
		{17, 1, ""},
	} {
		equal(t, servertest.Works(t, s, "read", "name", "n", "offset", c.offset, "max_bytes", c.most), "[toolpipe] revision 1, 17 bytes\n"+c.want)
	}
	servertest.Works(t, s, "write", "name", "long", "content", strings.Repeat("x", maxNote))
	if got := servertest.Works(t, s, "read", "name", "long"); !strings.HasSuffix(got, "go on with offset 245760\n") || len(got) > 250_000 {
		t.Errorf("%d bytes of a long note, which end with %q", len(got), got[len(got)-80:])
	}
}

// Whoever did not see the last change of a note does not replace or delete it. Bad
// arguments are refused too, and the file stays the same file.
func TestRefusals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	s := serve(t, path)
	long := strings.Repeat("n", 10_000)
	servertest.Works(t, s, "write", "name", "plan", "content", "1")
	servertest.Works(t, s, "append", "name", "plan", "content", "2")
	servertest.Works(t, s, "write", "name", "full", "content", strings.Repeat("x", maxNote))
	text := servertest.Get(t, path)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		word, tool string
		args       []any
	}{
		{"exists, with revision 2, and was not changed", "write", []any{"name", "plan", "content", "x"}},
		{"has revision 2 now, not 1", "write", []any{"name", "plan", "content", "x", "expected_revision", 1}},
		{"has revision 2 now, not 3", "write", []any{"name", "plan", "content", "x", "expected_revision", 3}},
		{"has revision 2 now, not -1", "write", []any{"name", "plan", "content", "x", "expected_revision", -1}},
		{`no note "plam"; did you mean "plan"?; without`, "write", []any{"name", "plam", "content", "x", "expected_revision", 2}},
		{"has revision 2 now, not 1", "delete", []any{"name", "plan", "expected_revision", 1}},
		{`no note "other"; list shows all`, "delete", []any{"name", "other", "expected_revision", 1}},
		{"needs the argument", "delete", []any{"name", "plan"}},
		{`no note "Plam"; did you mean "plan"?`, "read", []any{"name", "Plam"}},
		{"offset 3 is after the end", "read", []any{"name", "plan", "offset", 3}},
		{"offset 2147483647 is after", "read", []any{"name", "plan", "offset", 1<<31 - 1}},
		{"at least 0", "read", []any{"name", "plan", "offset", -1}},
		{"at least 1", "read", []any{"name", "plan", "max_bytes", 0}},
		{"whole number", "read", []any{"name", "plan", "max_bytes", 1.5}},
		{"whole number", "read", []any{"name", "plan", "offset", "1"}},
		{"whole number", "write", []any{"name", "plan", "content", "x", "expected_revision", "2"}},
		{"whole number", "delete", []any{"name", "plan", "expected_revision", true}},
		{"a string", "write", []any{"name", "x", "content", 1}},
		{"a string", "append", []any{"name", "x", "content", nil}},
		{"needs the argument", "append", []any{"name", "x"}},
		{"is empty", "append", []any{"name", "x", "content", ""}},
		{"would have 1048577 bytes", "append", []any{"name", "full", "content", "x"}},
		{"would have 1048577 bytes", "write", []any{"name", "y", "content", strings.Repeat("x", maxNote+1)}},
		{"no argument", "list", []any{"name", "plan"}},
		{"is empty", "notify", []any{"reason", " \n"}},
		{"has 1001 bytes", "notify", []any{"reason", strings.Repeat("x", 1001)}},
		{"a string", "notify", []any{"reason", []string{"x"}}},
		{"needs the argument", "notify", nil},
	} {
		servertest.Fails(t, s, c.word, c.tool, c.args...)
	}
	for name, word := range map[string]string{
		"": "is empty", long: "has 10000 bytes", "a\nb": `"a\nb"`, "\x00": `"\x00"`, "\x1b[2J": `"\x1b[2J"`, " a": "blank", "a ": "blank", `"a": `: "quotation mark",
		"a\u202eb": `"a\u202eb"`, "a\u200bb": `"a\u200bb"`, "\u009b": `"\u009b"`, "\ufeff": `"\ufeff"`,
	} {
		servertest.Fails(t, s, word, "read", "name", name)
		servertest.Fails(t, s, word, "write", "name", name, "content", "x")
		servertest.Fails(t, s, word, "append", "name", name, "content", "x")
		servertest.Fails(t, s, word, "delete", "name", name, "expected_revision", 1)
	}
	for _, tool := range []string{"read", "write", "append", "delete"} {
		servertest.Fails(t, s, "a string", tool, "name", 1)
		servertest.Fails(t, s, "needs the argument", tool)
	}
	equal(t, servertest.Get(t, path), text)
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	servertest.Fails(t, serve(t, fresh), "there is no note", "write", "name", "n", "content", "x", "expected_revision", 1)
	if _, err := os.Lstat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Error("a refused write has made a file")
	}
}

func TestCaps(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	s := serve(t, path)
	d, _ := parse(nil)
	for i := range maxNotes {
		if err := d.put(fmt.Sprint("note ", i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	servertest.Put(t, path, string(d.appendText(nil)))
	servertest.Fails(t, s, "delete some first", "append", "name", "one more", "content", "x")
	servertest.Works(t, s, "append", "name", "note 7", "content", "x")
	d, _ = parse(nil)
	for i := range 4 { // a byte of these takes two in the file
		if err := d.put(fmt.Sprint("note ", i), strings.Repeat("\n", maxNote-100)); err != nil {
			t.Fatal(err)
		}
	}
	servertest.Put(t, path, string(d.appendText(nil)))
	servertest.Fails(t, s, "at most 8388608 are allowed", "append", "name", "one more", "content", strings.Repeat("x", 1000))
	equal(t, servertest.Get(t, path), string(d.appendText(nil)))
}

// What is no notes file is refused at the start and by each call, and stays as it is.
func TestDamaged(t *testing.T) {
	t.Parallel()
	whole := `{"version":1,"revision":2,"notes":{"n":{"revision":2,"content":"x"}}}`
	for text, word := range map[string]string{
		whole: "", "": "", " {\t\"notes\": {}, \"revision\": 0,\n\"version\": 1}": "",
		"notes":         "not a notes file",
		"\n":            "",
		"[]":            "not a notes file",
		"{}":            "not a notes file",
		whole[:20]:      "not a notes file",
		whole + whole:   "not a notes file",
		whole + "\x00":  "not a notes file",
		"\xff" + whole:  "not a notes file",
		`{"version":1}`: "not a notes file",
		strings.Replace(whole, `"version":1`, `"version":2`, 1):                                  "a newer toolpipe",
		strings.Replace(whole, `"version":1`, `"version":"1"`, 1):                                "not a notes file",
		strings.Replace(whole, `"version":1`, `"version":1,"Version":1`, 1):                      "not a notes file",
		strings.Replace(whole, `"version":1`, `"version":1,"version":1`, 1):                      "duplicate key",
		strings.Replace(whole, `"revision":2,"notes"`, `"revision":-1,"notes"`, 1):               "not a notes file",
		strings.Replace(whole, `"revision":2,"notes"`, `"revision":1,"notes"`, 1):                "damaged",
		strings.Replace(whole, `"revision":2,"notes"`, `"revision":9007199254740993,"notes"`, 1): "not a notes file",
		strings.Replace(whole, `{"revision":2,`, `{"revision":0,`, 1):                            "damaged",
		strings.Replace(whole, `{"revision":2,`, `{"revision":1.5,`, 1):                          "damaged",
		strings.Replace(whole, `{"revision":2,`, `{`, 1):                                         "damaged",
		strings.Replace(whole, `{"revision":2,`, `{"revision":2,"by":"me",`, 1):                  "damaged",
		strings.Replace(whole, `,"content":"x"`, ``, 1):                                          "damaged",
		strings.Replace(whole, `"content":"x"`, `"content":null`, 1):                             "damaged",
		strings.Replace(whole, `"content":"x"`, `"content":"\ud800"`, 1):                         "not a notes file",
		strings.Replace(whole, `"content":"x"`, "\"content\":\"\xff\"", 1):                       "not a notes file",
		strings.Replace(whole, `{"n"`, `{"a\nb"`, 1):                                             "damaged",
		strings.Replace(whole, `{"n":{`, `{"n":[],"m":{`, 1):                                     "damaged",
		strings.Replace(whole, `{"n":{"revision":2,"content":"x"}}`, `[]`, 1):                    "not a notes file",
		strings.Repeat(" ", maxFile+1):                                                           "larger than 8 MiB",
	} {
		path := filepath.Join(t.TempDir(), "notes")
		servertest.Put(t, path, text)
		_, err := New(Spec{Path: path})
		if word == "" && err != nil || word != "" && (err == nil || !strings.Contains(err.Error(), word)) {
			t.Errorf("%.200s: %v, want %q", text, err, word)
		}
		if word == "" {
			continue
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		s := serve(t, path)
		servertest.Put(t, path, text)
		for _, call := range [][]any{{"list"}, {"read", "name", "n"}, {"append", "name", "n", "content", "y"}, {"write", "name", "m", "content", "y"}, {"delete", "name", "n", "expected_revision", 2}} {
			servertest.Fails(t, s, word, call[0].(string), call[1:]...)
		}
		if servertest.Get(t, path) != text {
			t.Errorf("%.200s was changed", text)
		}
	}
}

// A change never writes a revision that cannot be read again.
func TestLastRevision(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	text := `{"version":1,"revision":9007199254740992,"notes":{}}`
	servertest.Put(t, path, text)
	servertest.Fails(t, serve(t, path), "no revisions left", "append", "name", "n", "content", "y")
	if servertest.Get(t, path) != text {
		t.Error("the file was changed")
	}
}

// Another run may make the file just as this one looks for it.
func TestMadeMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	done := goroutine.Done(func() {
		for range 20_000 {
			if f, err := os.OpenFile(path, os.O_CREATE, 0o600); err == nil {
				f.Close()
			}
			os.Remove(path)
		}
	})
	for opened := 0; !goroutine.Await(done, 0); opened++ {
		if _, err := openStore(path, lockTime); err != nil {
			t.Fatalf("after %d times: %v", opened, err)
		}
	}
}

// The file that the user named must be one, or there must be room for it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(syscall.Mkfifo(at("fifo"), 0o600))
	check(os.Symlink("nowhere", at("dangling")))
	check(os.Symlink("real/notes", at("link")))
	check(os.Mkdir(at("real"), 0o700))
	check(os.Mkdir(at("open"), 0o700))
	check(os.Chmod(at("open"), 0o777))
	check(os.Mkdir(at("closed"), 0o500))
	check(os.WriteFile(at("writable"), nil, 0o600))
	check(os.Chmod(at("writable"), 0o602))
	for path, word := range map[string]string{
		at("fifo"): "fifo", at("dangling"): "leads nowhere", at("real"): "directory", "/dev/null": "", at("missing/notes"): "no such file", at("writable"): ErrWritable.Error(),
		at("writable/notes"): "not a directory", at("open/notes"): "everybody can replace files", at(strings.Repeat("n", 300)): "name too long", at("closed/notes"): "permission denied",
	} {
		if os.Geteuid() == 0 && strings.Contains(path, "closed") {
			continue
		}
		if _, err := New(Spec{Path: path}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want %q", path, err, word)
		}
	}
	// A link stays one, and so do the mode and what the link leads to.
	check(os.WriteFile(at("real/notes"), nil, 0o600))
	check(os.Chmod(at("real/notes"), 0o640))
	s := serve(t, at("link"))
	servertest.Works(t, s, "write", "name", "n", "content", "x")
	if target, err := os.Readlink(at("link")); err != nil || target != "real/notes" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if info, err := os.Stat(at("real/notes")); err != nil || info.Mode() != 0o640 || info.Size() == 0 {
		t.Errorf("the file: %v, %v", info, err)
	}
	// A link in its place is not followed by a call.
	check(os.Rename(at("real/notes"), at("moved")))
	check(os.Symlink(at("moved"), at("real/notes")))
	servertest.Fails(t, s, "the notes file", "read", "name", "n")
	servertest.Fails(t, s, "the notes file", "append", "name", "n", "content", "y")
	// A file that goes away is made anew.
	check(os.Remove(at("real/notes")))
	equal(t, servertest.Works(t, s, "append", "name", "n", "content", "y"), "added to n: revision 1, 1 byte\n")
}

// Another program holds the lock: a change waits, not for ever, and obeys its cancel.
// Reading needs no lock.
func TestHeld(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	servertest.Works(t, serve(t, path), "write", "name", "n", "content", "x")
	holder, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := syscall.Flock(int(holder.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	short, err := New(Spec{Path: path, Limit: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.Local(t, short)
	servertest.Fails(t, s, "another process has held the lock", "append", "name", "n", "content", "y")
	equal(t, servertest.Works(t, s, "read", "name", "n"), "[toolpipe] revision 1, 1 byte\nx")

	store, err := openStore(path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended, stop := make(chan error), errors.New("stop")
	go func() { ended <- store.change(ctx, func(*document) error { return errors.New("it was locked") }) }()
	cancel(stop)
	if err := <-ended; !errors.Is(err, stop) {
		t.Errorf("a cancel: %v", err)
	}
	waiting := make(chan error)
	go func() { waiting <- store.change(t.Context(), func(d *document) error { return d.put("n", "z") }) }()
	holder.Close()
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	// A cancel that comes when the change is made changes nothing, and an editor that
	// knows no locks loses nothing.
	text := servertest.Get(t, path)
	ctx, cancel = context.WithCancelCause(t.Context())
	if err := store.change(ctx, func(d *document) error { cancel(stop); return d.put("n", "lost") }); !errors.Is(err, stop) {
		t.Errorf("a late cancel: %v", err)
	}
	equal(t, servertest.Get(t, path), text)
	text = strings.Replace(text, "z", "by hand", 1)
	if err := store.change(t.Context(), func(d *document) error { servertest.Put(t, path, text); return d.put("n", "lost") }); err == nil || !strings.Contains(err.Error(), "somebody else changed it meanwhile; read it again") {
		t.Errorf("a change without the lock: %v", err)
	}
	equal(t, servertest.Get(t, path), text)
}

func init() {
	// appender FILE WHO COUNT appends so many lines, and says each on standard output
	// once it is kept.
	processtest.Programs["appender"] = func(args []string) int {
		s, err := openStore(args[0], lockTime)
		count := 0
		fmt.Sscan(args[2], &count)
		for i := 0; i < count && err == nil; i++ {
			line := fmt.Sprintf("%s %d\n", args[1], i)
			err = s.change(context.Background(), func(d *document) error { return d.put("log", d.notes["log"].content+line) })
			if err == nil {
				fmt.Print(line)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
}

// Nothing is lost when several processes append to one note of a file that is not
// there yet: ten processes a thousand times each with TOOLPIPE_LOAD.
func TestProcesses(t *testing.T) {
	t.Parallel()
	processes, count := 4, 20
	if load.Full(t) {
		processes, count = 10, 1000
	}
	path := filepath.Join(t.TempDir(), "notes")
	ended := make(chan error)
	for i := range processes {
		go func() {
			out, err := processtest.Command("appender", path, fmt.Sprint(i), fmt.Sprint(count)).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			ended <- err
		}()
	}
	for range processes {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	next := make([]int, processes)
	s, err := openStore(path, lockTime)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(d.notes["log"].content) {
		var who, i int
		if _, err := fmt.Sscanf(line, "%d %d\n", &who, &i); err != nil || next[who] != i {
			t.Fatalf("%q comes when process %d is at %d: %v", line, who, next[who], err)
		}
		next[who]++
	}
	for who, n := range next {
		if n != count {
			t.Errorf("of process %d there are %d lines", who, n)
		}
	}
	if d.revision != int64(processes*count) {
		t.Errorf("revision %d", d.revision)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

// A process that is killed in the middle leaves a whole file with all that it said to
// have written, and no lock.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	said := ""
	for i := range 5 {
		cmd := processtest.Command("appender", path, fmt.Sprint("process ", i), "1000000")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for n := 0; ; n++ {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			said += line
			if n == i*3 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		s, err := openStore(path, lockTime)
		if err != nil {
			t.Fatal(err)
		}
		err = s.change(t.Context(), func(d *document) error {
			content := d.notes["log"].content
			if rest, ok := strings.CutPrefix(content, said); !ok || strings.Count(rest, "\n") > 1 {
				t.Errorf("it said\n%s\nand wrote\n%s", said, content)
			}
			said = content + "between\n"
			return d.put("log", said)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	tools := serve(t, filepath.Join(t.TempDir(), "notes")).Tools()
	want := map[string][2]bool{"list": {true, false}, "read": {true, false}, "write": {false, true}, "append": {false, false}, "delete": {false, true}, "notify": {false, false}}
	for _, tool := range tools {
		var a struct{ ReadOnlyHint, DestructiveHint, OpenWorldHint bool }
		if err := json.Unmarshal(tool.Annotations, &a); err != nil || a.ReadOnlyHint != want[tool.Name][0] || a.DestructiveHint != want[tool.Name][1] || a.OpenWorldHint {
			t.Errorf("%s has %s, %v", tool.Name, tool.Annotations, err)
		}
		delete(want, tool.Name)
	}
	if len(want) > 0 {
		t.Errorf("there is no %v", want)
	}
}

// A call sees what others changed since the last one. A change that fails changes nothing.
func TestOtherChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.json")
	open := func() *store {
		s, err := openStore(path, lockTime)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	read := func(s *store) *document {
		d, err := s.read()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	put := func(s *store, content string) {
		if err := s.change(t.Context(), func(d *document) error { return d.put("n", content) }); err != nil {
			t.Fatal(err)
		}
	}
	one, two := open(), open()
	put(one, "a")
	put(two, "b")
	if got := read(one).notes["n"].content; got != "b" {
		t.Errorf("after a change of another process: %q", got)
	}
	failed := errors.New("no")
	if err := one.change(t.Context(), func(d *document) error { return cmp.Or(d.put("n", "c"), failed) }); err != failed || read(one).notes["n"].content != "b" {
		t.Errorf("after an error: %v, %v", err, read(one))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	servertest.Put(t, path, strings.Replace(string(text), `"b"`, `"xy"`, 1))
	if got := read(one).notes["n"].content; got != "xy" {
		t.Errorf("after a change by hand: %q", got)
	}
}
