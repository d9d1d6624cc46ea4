package confine

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// walked returns the files that a walk from a path shows, and what it says is left out.
func walked(t *testing.T, root, from string, ignored bool) (files []string, leftOut string) {
	t.Helper()
	area, err := Open(Spec{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer area.Root.Close()
	a := area.Access(Bounds{})
	a.Ignored = ignored
	l, err := a.Find(from)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = l.Walk(t.Context(), func(w *Walked) error {
		for _, e := range w.Entries {
			if !e.IsDir() {
				files = append(files, w.Rel(e.Name()))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files, a.LeftOutText()
}

func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	return root
}

// put writes a file below a directory. It does nothing if a directory or file is in the way.
func put(root, path, text string) {
	path = filepath.Join(root, path)
	os.MkdirAll(filepath.Dir(path), 0o755)
	os.WriteFile(path, []byte(text), 0o644)
}

// A walk of a new repository shows the files that git would add.
func TestIgnoredAsInGit(t *testing.T) {
	names := strings.Split("a|b|c.o|d.log|build|src|x y|foo|#h|!n|a b ", "|")
	patterns := strings.Split(`a|b|*.o|*.log|build/|/build|src/*|!src/a|**/foo|foo/**|src/**/b|/a|!b|!*.log|*|!*/|!a|d.*|[ab]|[!a-c]*|x y|x\ y|x y |a b\ |\#h|#h|\!n|!n|?|foo/|**/|/**|a/b|src/foo/|!src/|*/foo|*\|[|a**|src/**|!/src/**/|.|/|**/build/**|!build/a`, "|")
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, seed))
		name := func() string { return names[r.IntN(len(names))] }
		some := func(end string) (text string) {
			for range r.IntN(4) {
				text += patterns[r.IntN(len(patterns))] + end
			}
			return text
		}
		root := repository(t)
		for range 40 {
			dir := strings.Repeat(name()+"/", r.IntN(3))
			put(root, dir+name(), "")
			if r.IntN(4) == 0 {
				put(root, dir+".gitignore", some([]string{"\n", "\r\n"}[r.IntN(2)]))
			}
		}
		put(root, ".git/info/exclude", some("\n"))
		cmd := exec.Command("git", "-c", "core.excludesFile=/dev/null", "ls-files", "-o", "-z", "--exclude-standard")
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		want = slices.DeleteFunc(want, func(name string) bool { return name == "" })
		slices.Sort(want)
		if got, _ := walked(t, root, ".", false); !slices.Equal(got, want) {
			t.Errorf("%s: git shows %q, the walk %q", root, want, got)
		}
	}
}

func TestIgnored(t *testing.T) {
	repo := repository(t)
	put(repo, ".gitignore", "node_modules/\n/pkg/gen*\n*.tmp\n")
	put(repo, ".git/info/exclude", "notes\n*.tmp\n")
	put(repo, "pkg/.ignore", "!notes\ndata/\n")
	for _, path := range []string{"a", "notes", "x.tmp", "pkg/a", "pkg/notes", "pkg/gen.go", "pkg/data/d", "pkg/node_modules/m", "node_modules/n/node_modules/o", "node_modules/n/x.tmp", "other/node_modules/p", "other/x.tmp"} {
		put(repo, path, "")
	}
	if out, err := exec.Command("git", "init", "-q", filepath.Join(repo, "other")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i := range readBatch {
		put(repo, fmt.Sprintf("many/%d.tmp", i), "")
	}
	put(repo, "many/kept", "")
	put(repo, "many/.gitignore", "lost\n")
	put(repo, "many/lost", "")
	put(repo, "many/.gitignore.orig", "kept\n")
	if err := os.Symlink(".gitignore", filepath.Join(repo, "pkg", ".gitignore")); err != nil {
		t.Fatal(err)
	}
	const left = "[toolpipe] %d files and %d directories are left out because .gitignore or .ignore excludes them; \"ignored\": true shows them\n"
	for _, c := range []struct {
		root, from, want string
		files, dirs      int
	}{
		{"", ".", ".gitignore a many/.gitignore many/.gitignore.orig many/kept other/node_modules/p other/x.tmp pkg/.gitignore pkg/.ignore pkg/a pkg/notes", readBatch + 4, 3},
		{"", "pkg", "pkg/.gitignore pkg/.ignore pkg/a pkg/notes", 1, 2},
		{"pkg", ".", ".gitignore .ignore a notes", 1, 2},
		{"", "node_modules", "", 1, 1},
		{"", "node_modules/n", "", 1, 1},
		{"node_modules/n", ".", "", 1, 1},
		{"other", ".", "node_modules/p x.tmp", 0, 0},
	} {
		files, leftOut := walked(t, filepath.Join(repo, c.root), c.from, false)
		want := fmt.Sprintf(left, c.files, c.dirs)
		if c.files+c.dirs == 0 {
			want = ""
		}
		if got := strings.Join(files, " "); got != c.want || leftOut != want {
			t.Errorf("%s, %s: %s\n%swant %s\n%s", c.root, c.from, got, leftOut, c.want, want)
		}
	}
	files, leftOut := walked(t, repo, ".", true)
	if len(files) != readBatch+19 || leftOut != "" {
		t.Errorf("with ignored files: %d files, %s", len(files), leftOut)
	}
}

// What a rule denies is not opened, an ignore file neither.
func TestIgnoreFileDenied(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(root, ".gitignore", "a\n")
	put(root, "a", "")
	area, err := Open(Spec{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer area.Root.Close()
	for denied, want := range map[string]int{"": 1, filepath.Join(root, ".gitignore"): 1} {
		bounds := Bounds{}
		if denied != "" {
			bounds.Denied = []string{denied}
		}
		a := area.Access(bounds)
		var list []fs.DirEntry
		list, _, err = a.Entries(t.Context(), &Walked{Dir: area.Root, At: "."}, 10)
		if err != nil || len(list) != want || (list[0].Name() == "a") != (denied != "") {
			t.Errorf("denied %q: %v (%v)", denied, list, err)
		}
	}
}
