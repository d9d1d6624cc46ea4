//go:build unix

package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"toolpipe/mcp/toolserver"
	"toolpipe/testdata/servertest"
)

// Answers about very large files are cut and say so, and no call takes long.
func TestHugeFiles(t *testing.T) {
	t.Parallel()
	root, _, s := walled(t)
	sparse := filepath.Join(root, "sparse")
	servertest.Put(t, sparse, "first\nsecond\n")
	if err := os.Truncate(sparse, 10<<30); err != nil {
		t.Skip(err)
	}
	servertest.Put(t, filepath.Join(root, "line"), strings.Repeat("x", 3<<20)+"needle"+strings.Repeat("y", 1<<20)+"\nneedle\n")
	servertest.Fails(t, s, "binary file of 10737418240 bytes", "read_file", "path", "sparse")
	if got := servertest.Works(t, s, "read_file", "path", "sparse", "offset", 0); len(got) > toolserver.MaxText+200 || !strings.HasPrefix(got, "first\n") || !strings.Contains(got, "[toolpipe] bytes 0 to 245760 of 10737418240") {
		t.Errorf("range: %d bytes, %.100q", len(got), got)
	}
	servertest.Fails(t, s, "binary file of 10737418240 bytes", "get_file_slice", "path", "sparse", "start_line", 2, "end_line", 2)
	late := filepath.Join(root, "late") // nothing at its beginning says that it is binary
	servertest.Put(t, late, strings.Repeat("some text\n", toolserver.ReadChunk/10+1))
	if err := os.Truncate(late, 100<<30); err != nil {
		t.Skip(err)
	}
	servertest.Fails(t, s, "the first 268435456", "get_file_slice", "path", "late", "start_line", 10_000, "end_line", 10_001)
	if got := servertest.Works(t, s, "get_file_slice", "path", "late", "start_line", 3); len(got) > toolserver.MaxText+200 || !strings.Contains(got, "[toolpipe] the slice is cut") {
		t.Errorf("slice: %d bytes", len(got))
	}
	os.Remove(late) // grep would search it to its end
	if got := servertest.Works(t, s, "get_file_summary", "path", "sparse"); !strings.Contains(got, "10737418240 bytes\nkind: binary") {
		t.Errorf("summary: %s", got)
	}
	servertest.Fails(t, s, "not edited", "edit_file", "path", "sparse", "old_string", "first", "new_string", "x")
	servertest.Fails(t, s, "not edited", "set_file_slice", "path", "sparse", "start_line", 1, "end_line", 1, "new_content", "x")
	if got := servertest.Works(t, s, "read_file", "path", "line"); len(got) > toolserver.MaxText+200 || !strings.Contains(got, "[toolpipe] bytes 0 to") {
		t.Errorf("line: %d bytes", len(got))
	}
	if got := servertest.Works(t, s, "get_file_slice", "path", "line", "start_line", 2); got != "needle\n" {
		t.Errorf("after the line: %q", got)
	}
	if got := servertest.Works(t, s, "grep_files", "pattern", "needle"); len(got) > 4*maxShownLine || !strings.Contains(got, "line:2:needle\n") || !strings.Contains(got, "[toolpipe: ") {
		t.Errorf("grep: %d bytes: %.300q", len(got), got)
	}
}

func TestHugeDirectory(t *testing.T) {
	t.Parallel()
	root, _, s := walled(t)
	many := filepath.Join(root, "many")
	os.Mkdir(many, 0o755)
	const count = 12_000 // more than Entries holds at once
	for i := range count {
		if err := os.Link(filepath.Join(root, "a/b"), fmt.Sprintf("%s/%06d", many, i)); errors.Is(err, syscall.EMLINK) {
			servertest.Put(t, fmt.Sprintf("%s/%06d", many, i), "inside\n")
		} else if err != nil {
			t.Skip(err)
		}
	}
	got := servertest.Works(t, s, "list_directory", "path", "many")
	if !strings.Contains(got, "  000000\n") || !strings.Contains(got, fmt.Sprintf(" of %d entries are shown; go on with from \"", count)) || len(got) > toolserver.MaxText+300 {
		t.Errorf("list: %d bytes: …%.200q", len(got), got[len(got)-200:])
	}
	shown := 0
	for next := "0"; next != ""; {
		part := servertest.Works(t, s, "list_directory", "path", "many", "from", next)
		shown += strings.Count(part, " -> ") + strings.Count(part, "file  ")
		_, next, _ = strings.Cut(part, "go on with from \"")
		next, _, _ = strings.Cut(next, "\"")
	}
	if shown != count {
		t.Errorf("%d of %d entries were listed", shown, count)
	}
	if got := servertest.Works(t, s, "list_directory", "path", "many", "from", "x"); got != "(no entries from \"x\" on)\n" {
		t.Error(got)
	}
	for _, call := range [][]any{{"get_tree"}, {"search_files", "pattern", "*"}, {"grep_files", "pattern", "in.*e"}} {
		if got := servertest.Works(t, s, call[0].(string), call[1:]...); !strings.Contains(got, "[toolpipe] the ") || len(got) > toolserver.MaxText+1000 {
			t.Errorf("%v: %d bytes", call, len(got))
		}
	}
	if got := servertest.Works(t, s, "search_files", "pattern", "011999"); got != "many/011999\n" {
		t.Errorf("search: %q", got)
	}
}
