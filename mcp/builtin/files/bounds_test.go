package files

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/process"
	"toolpipe/mcp/process/cage"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/servertest"
)

// bound makes a call that keeps to b, and gives its whole answer.
func bound(t *testing.T, s *mcp.Session, b confine.Bounds, tool, args string) (answer string, failed bool) {
	t.Helper()
	r, err := s.Call(confine.WithBounds(t.Context(), b), tool, []byte(args), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range r.Content {
		answer += jsontext.Text(block.Text)
	}
	return answer, r.IsError
}

// noDiff says why get_git_diff cannot be tried here, and nothing where it can.
func noDiff(t *testing.T) error {
	t.Helper()
	c, _, err := cage.New(cage.Spec{Read: []string{}, Execute: []string{}})
	if err != nil {
		t.Log("get_git_diff is not tried:", err)
		return err
	}
	c.Close()
	return nil
}

// What is denied is left out of what the tools find on their way, and the
// answer says so; by its own path it is refused.
func TestDeniedPathsAreLeftOut(t *testing.T) {
	t.Parallel()
	dir, s, git := repository(t, map[string]string{"a": "one\n", "secret/key": "hidden\n", "secret/deep/key": "hidden\n", "secrets": "one\n", "one/file.x": "hidden\n"})
	for name, content := range map[string]string{"a": "two\n", "secret/key": "hidden, too\n", "secrets": "two\n", "one/file.x": "hidden, too\n"} {
		servertest.Put(t, filepath.Join(dir, name), content)
	}
	if err := os.Link(filepath.Join(dir, "one/file.x"), filepath.Join(dir, "hard")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("secret", filepath.Join(dir, "way")); err != nil {
		t.Skip(err)
	}
	git("add", "-N", "hard")
	denied := confine.Bounds{Denied: []string{filepath.Join(dir, "secret"), filepath.Join(dir, "one/file.x"), "/elsewhere"}}
	for _, c := range []struct{ tool, args, shows string }{
		{"grep_files", `{"pattern":"hidden|one|two"}`, "secrets:1:two"},
		{"grep_files", `{"pattern":"hidden|one|two","path":"."}`, "a:1:two"},
		{"get_tree", `{}`, "secrets\n"},
		{"search_files", `{"pattern":"**"}`, "secrets\n"},
		{"list_directory", `{}`, "secrets\n"},
		{"get_file_summary", `{"path":"."}`, "entries: 4, of them 1 directories"},
		{"get_git_diff", `{}`, "+two"},
		{"get_git_diff", `{"path":"."}`, "+++ b/secrets"},
	} {
		if c.tool == "get_git_diff" && noDiff(t) != nil {
			continue
		}
		answer, failed := bound(t, s, denied, c.tool, c.args)
		// list_directory and get_file_summary do not come to the file one level down.
		told := strings.Contains(answer, `"secret" is left out: a rule denies it`) &&
			(strings.Contains(answer, `"one/file.x" is left out`) || c.tool == "list_directory" || c.tool == "get_file_summary")
		if failed || !strings.Contains(answer, c.shows) || !told || strings.Contains(answer, "elsewhere") {
			t.Errorf("%s %s: %s", c.tool, c.args, answer)
		}
		for _, hidden := range []string{"hidden", "secret/", "file.x\n", "hard"} {
			if strings.Contains(answer, hidden) {
				t.Errorf("%s %s shows %q: %s", c.tool, c.args, hidden, answer)
			}
		}
		if answer, _ := bound(t, s, confine.Bounds{}, c.tool, c.args); strings.Contains(answer, "left out") {
			t.Errorf("%s %s leaves something out of itself: %s", c.tool, c.args, answer)
		}
	}
	for _, path := range []string{"secret", "secret/key", "./secret/deep/../key", "way/key", dir + "/secret/key", "one/file.x", "hard", "SECRET/key"} {
		for _, c := range []struct{ tool, more string }{
			{"read_file", ""}, {"get_file_slice", ""}, {"get_file_summary", ""}, {"list_directory", ""}, {"get_tree", ""}, {"search_files", `,"pattern":"*"`}, {"grep_files", `,"pattern":"."`},
			{"write_file", `,"content":"x"`}, {"edit_file", `,"old_string":"h","new_string":"x"`}, {"set_file_slice", `,"start_line":1,"end_line":1,"new_content":"x"`},
		} {
			if answer, failed := bound(t, s, denied, c.tool, `{"path":"`+path+`"`+c.more+`}`); !failed || strings.Contains(answer, "hidden") {
				t.Errorf("%s %s: %s", c.tool, path, answer)
			}
		}
	}
	if answer, failed := bound(t, s, confine.Bounds{Denied: []string{filepath.Join(dir, ".git")}}, "get_git_diff", `{}`); noDiff(t) == nil && (failed || !strings.Contains(answer, "+two")) {
		t.Errorf("with .git denied, which git reads itself: %s", answer)
	}
	if answer, failed := bound(t, s, confine.Bounds{Denied: []string{"/"}}, "get_tree", `{}`); !failed {
		t.Errorf("everything is denied: %s", answer)
	}
	if servertest.Get(t, filepath.Join(dir, "secret/key")) != "hidden, too\n" || servertest.Get(t, filepath.Join(dir, "hard")) != "hidden, too\n" {
		t.Error("a denied file was written")
	}
}

// What was approved is what is opened.
func TestPlaceThatWasApproved(t *testing.T) {
	t.Parallel()
	dir, s, git := repository(t, map[string]string{"docs/f": "docs\n", "other/f": "other\n"})
	servertest.Put(t, filepath.Join(dir, "other/f"), "changed\n")
	if err := os.Symlink("other", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	git("add", "link")
	for _, c := range []struct{ tool, path, more string }{
		{"read_file", "link/f", ""}, {"get_file_slice", "link/f", ""}, {"get_file_summary", "link/f", ""}, {"grep_files", "link/f", `,"pattern":"."`},
		{"list_directory", "link", ""}, {"get_tree", "link", ""}, {"search_files", "link", `,"pattern":"*"`}, {"grep_files", "link", `,"pattern":"."`}, {"get_git_diff", "link/f", ""},
		{"edit_file", "link/f", `,"old_string":"changed","new_string":"x"`}, {"set_file_slice", "link/f", `,"start_line":1,"end_line":1,"new_content":"x"`},
		{"write_file", "link/f", `,"content":"x"`}, {"write_file", "link/new", `,"content":"x"`}, {"write_file", "link/far/new", `,"content":"x"`},
	} {
		args := `{"path":"` + c.path + `"` + c.more + `}`
		rest := strings.TrimPrefix(c.path, "link")
		before := confine.Bounds{Places: map[string]string{c.path: filepath.Join(dir, "docs"+rest)}}
		if answer, failed := bound(t, s, before, c.tool, args); !failed || !strings.Contains(answer, "leads elsewhere") {
			t.Errorf("%s %s: %s", c.tool, c.path, answer)
		}
		if _, err := os.Stat(filepath.Join(dir, "other/far")); err == nil {
			t.Errorf("%s %s made a directory elsewhere", c.tool, c.path)
		}
		now := confine.Bounds{Places: map[string]string{c.path: filepath.Join(dir, "other"+rest), "unknown": ""}}
		if answer, failed := bound(t, s, now, c.tool, args); failed && (c.tool != "get_git_diff" || noDiff(t) == nil) {
			t.Errorf("%s %s: %s", c.tool, c.path, answer)
		}
	}
}

// A command starts in the directory that was approved.
func TestApprovedDirectoryOfCommand(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	check(t, os.MkdirAll(filepath.Join(dir, "docs"), 0o755))
	check(t, os.MkdirAll(filepath.Join(dir, "other"), 0o755))
	if err := os.Symlink("other", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	server, err := shell.New(shell.Spec{Commands: shell.CommandSpec{Dir: dir, Processes: &process.Processes{}}})
	check(t, err)
	s := servertest.Local(t, server)
	const args = `{"argv":["pwd"],"cwd":"link"}`
	if answer, failed := bound(t, s, confine.Bounds{Places: map[string]string{"link": filepath.Join(dir, "docs")}}, "run_command", args); !failed || !strings.Contains(answer, "leads elsewhere") {
		t.Errorf("%s", answer)
	}
	if answer, failed := bound(t, s, confine.Bounds{Places: map[string]string{"link": filepath.Join(dir, "other")}}, "run_command", args); failed || !strings.Contains(answer, "/other\n") {
		t.Errorf("%s", answer)
	}
}

// A command starts in the directory that was looked at, though a link takes
// its place before the command has started.
func TestDirectoryOfCommandRace(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives an open directory a name")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	servertest.Put(t, filepath.Join(dir, "docs/f"), "docs\n")
	servertest.Put(t, filepath.Join(dir, "secret/f"), "secret\n")
	docs, kept, link := filepath.Join(dir, "docs"), filepath.Join(dir, "kept"), filepath.Join(dir, "link")
	check(t, os.Symlink("secret", link))
	server, err := shell.New(shell.Spec{Commands: shell.CommandSpec{Dir: dir, Confined: true, Processes: &process.Processes{}}})
	check(t, err)
	s := servertest.Local(t, server)
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !stop.Load() {
			os.Rename(docs, kept)
			os.Rename(link, docs)
			time.Sleep(500 * time.Microsecond)
			os.Rename(docs, link)
			os.Rename(kept, docs)
			time.Sleep(500 * time.Microsecond)
		}
	}()
	defer func() { stop.Store(true); <-ended }()
	b := confine.Bounds{Places: map[string]string{"docs": docs}}
	ran := 0
	for i := 0; i < 400 || ran < 20 && i < 20_000; i++ {
		answer, failed := bound(t, s, b, "run_command", `{"argv":["cat","f"],"cwd":"docs"}`)
		if strings.Contains(answer, "secret\n") {
			t.Fatalf("the command ran in another directory: %s", answer)
		}
		if !failed {
			ran++
		}
	}
	if ran == 0 {
		t.Error("no command ran: the test shows nothing")
	}
}
