package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/confine"
)

// A preview is the diff of what the call then does, and changes nothing.
func TestPreview(t *testing.T) {
	root := t.TempDir()
	check(t, os.WriteFile(filepath.Join(root, "a.txt"), []byte("one\ntwo\nthree\n"), 0o600))
	check(t, os.WriteFile(filepath.Join(root, "bytes"), []byte("\xff\n"), 0o600))
	check(t, os.WriteFile(filepath.Join(root, "large"), []byte(strings.Repeat("x\n", confine.MaxPreview/2+1)), 0o600))
	server, err := serve(confine.Spec{Root: root, Protected: []string{filepath.Join(root, "own")}})
	check(t, err)
	for _, c := range [][3]string{
		{"write_file", `{"path":"a.txt","content":"one\n2\nthree\n"}`, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"},
		{"edit_file", `{"path":"a.txt","old_string":"t","new_string":"T","replace_all":true}`, "@@ -1,3 +1,3 @@\n one\n-two\n-three\n+Two\n+Three\n"},
		{"set_file_slice", `{"path":"a.txt","start_line":4,"end_line":3,"new_content":"four"}`, "@@ -1,3 +1,4 @@\n one\n two\n three\n+four\n"},
		{"write_file", `{"path":"a.txt","content":"one\ntwo\nthree\n"}`, ""}, // it is so already
		{"write_file", `{"path":"new/dir/file","content":"x"}`, ""},
		{"write_file", `{"path":"own","content":"x"}`, ""},
		{"write_file", `{"path":"../outside","content":"x"}`, ""},
		{"write_file", `{"path":"bytes","content":"x"}`, ""},
		{"write_file", `{"path":"large","content":"x"}`, ""},
		{"edit_file", `{"path":"a.txt","old_string":"absent","new_string":"T"}`, ""},
		{"edit_file", `[]`, ""},
		{"read_file", `{"path":"a.txt"}`, ""},
	} {
		before := snapshot(t, root)
		ctx, preview := confine.WithPreview(t.Context())
		_, _ = server.Call(ctx, c[0], json.RawMessage(c[1]), nil)
		if preview.Diff != c[2] {
			t.Errorf("%s %s: %q", c[0], c[1], preview.Diff)
		}
		if snapshot(t, root) != before {
			t.Errorf("%s %s changed something", c[0], c[1])
		}
	}
}

// snapshot lists all files with their sizes and times.
func snapshot(t *testing.T, root string) string {
	var b strings.Builder
	check(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		check(t, err)
		info, err := d.Info()
		check(t, err)
		b.WriteString(path + " " + info.ModTime().String() + info.Mode().String() + "\n")
		return nil
	}))
	return b.String()
}
