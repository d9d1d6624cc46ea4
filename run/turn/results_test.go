package turn

import (
	"os"
	"path/filepath"
	"testing"

	"toolpipe/stream/text/jsontext"
)

// TestResultFiles holds that a file is written once, that no program can write to it, that the oldest
// files make room, and that nothing is left at the end.
func TestResultFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := &Plan{}
	f := &p.files
	dir, err := f.directory()
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, add := range [][2]string{{"r1", "one"}, {"r2", "two"}, {"r1", "other"}, {"r3", "three"}} {
		if err := f.add(path(add[0]), []byte(add[1])); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(path("r1")); string(text) != "one" {
		t.Errorf("r1 is %q", text)
	}
	if info, err := os.Stat(path("r1")); err != nil || info.Mode().Perm() != 0o400 {
		t.Error(info, err)
	}
	f.makeRoom(8)
	if _, err := os.Stat(path("r1")); !os.IsNotExist(err) || f.bytes != 8 {
		t.Errorf("r1: %v; %d bytes are kept", err, f.bytes)
	}
	if _, err := os.Stat(path("r2")); err != nil {
		t.Error(err)
	}
	other, err := f.directory()
	if err != nil || other == dir {
		t.Error("two conversations have the directory", dir, err)
	}
	p.CloseResults()
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestIndented holds that only structured content is indented: the last line, if it is most of the
// text.
func TestIndented(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"a\nb":                 "a\nb",
		`{"a":[1,2]}`:          "{\n  \"a\": [\n    1,\n    2\n  ]\n}",
		"so\n{\"a\":1}":        "so\n{\n  \"a\": 1\n}",
		"{\"a\":1}\n{\"a\":1}": "{\"a\":1}\n{\"a\":1}",
		`{"a":1} more`:         `{"a":1} more`,
		`\n{"a":1}`:            `\n{"a":1}`,
		`[1.50,1e400]`:         "[\n  1.50,\n  1e400\n]",
	} {
		literal := jsontext.Quoted(text)
		rest, structured := structuredIn(literal[1 : len(literal)-1])
		if got := string(jsontext.Unescape(rest)) + string(structured); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
