package confine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func togetherIn(t *testing.T, bounds Bounds) (dir string, a *Access) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+" old\n"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	area, err := Open(Spec{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { area.Root.Close() })
	return dir, area.Access(bounds)
}

func changesOf(a *Access) (changes []FileChange) {
	for _, name := range []string{"a", "b", "c"} {
		changes = append(changes, FileChange{Access: a, Path: name, Before: []byte(name + " old\n"), After: []byte(name + " new\n")})
	}
	return append(changes, FileChange{Access: a, Path: "sub/d", New: true, After: []byte("d new\n")})
}

func stateOf(t *testing.T, dir string) (state string) {
	t.Helper()
	for _, name := range []string{"a", "b", "c", "sub/d"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, os.ErrNotExist):
			state += "-"
		case string(text) == filepath.Base(name)+" old\n":
			state += "o"
		case string(text) == filepath.Base(name)+" new\n":
			state += "n"
		default:
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if len(e.Name()) > 3 {
			t.Errorf("%s was left", e.Name())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sub")); err == nil && state[3] == '-' {
		t.Error("the directory sub was left")
	}
	return state
}

func TestChangeAll(t *testing.T) {
	dir, a := togetherIn(t, Bounds{})
	if err := ChangeAll(t.Context(), changesOf(a)); err != nil || stateOf(t, dir) != "nnnn" {
		t.Error(err, stateOf(t, dir))
	}
	if info, err := os.Stat(filepath.Join(dir, "a")); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info.Mode(), err)
	}
}

// A change that is not right for one file writes none.
func TestChangeAllRefused(t *testing.T) {
	for what, spoil := range map[string]func(dir string, c []FileChange){
		"meanwhile":  func(dir string, c []FileChange) { c[2].Before = []byte("other\n") },
		"no file":    func(dir string, c []FileChange) { c[2].Path = "e" },
		"call again": func(dir string, c []FileChange) { c[3].Path = "a" },
		"protected":  func(dir string, c []FileChange) { c[3].Path = ".git/config" },
		"outside":    func(dir string, c []FileChange) { c[3].Path = "../d" },
	} {
		dir, a := togetherIn(t, Bounds{})
		changes := changesOf(a)
		spoil(dir, changes)
		if err := ChangeAll(t.Context(), changes); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("%s: %v", what, err)
		}
		if got := stateOf(t, dir); got != "ooo-" {
			t.Errorf("%s: %s", what, got)
		}
	}
	dir, a := togetherIn(t, Bounds{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ChangeAll(ctx, changesOf(a)); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing was written") || stateOf(t, dir) != "ooo-" {
		t.Error(err, stateOf(t, dir))
	}
}

// The last file is written first. A failure says which files have their new content.
func TestChangeAllFails(t *testing.T) {
	var change Change
	dir, a := togetherIn(t, Bounds{Change: &change})
	if err := os.Symlink("a", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	changes := changesOf(a)[:2]
	changes[1] = FileChange{Access: a, Path: "l", Before: []byte("a old\n"), After: []byte("a new\n")} // the same file
	err := ChangeAll(t.Context(), changes)
	if err == nil || err.Error() != `"a" is unchanged: somebody else changed it meanwhile; read it again; "l" was written before, and has its new content` {
		t.Error(err)
	}
	if got := stateOf(t, dir); got != "noo-" || change.Path != filepath.Join(dir, "a") {
		t.Error(got, change)
	}
}

func TestChangeAllShown(t *testing.T) {
	dir, a := togetherIn(t, Bounds{})
	ctx, preview := WithPreview(t.Context())
	if err := ChangeAll(ctx, changesOf(a)[2:]); err != nil || stateOf(t, dir) != "ooo-" {
		t.Error(err, stateOf(t, dir))
	}
	if want := "--- c\n+++ c\n@@ -1 +1 @@\n-c old\n+c new\n--- /dev/null\n+++ sub/d\n@@ -0,0 +1 @@\n+d new\n"; preview.Diff != want {
		t.Errorf("%s", preview.Diff)
	}
}

func TestChangeAllStaged(t *testing.T) {
	var change StagedChange
	bounds := Bounds{Staged: &StagedFiles{}, Stage: &change}
	dir, a := togetherIn(t, bounds)
	if err := ChangeAll(t.Context(), changesOf(a)); err != nil || stateOf(t, dir) != "ooo-" {
		t.Error(err, stateOf(t, dir))
	}
	for _, name := range []string{"a", "sub/d"} {
		if text, ok := bounds.Staged.Content(filepath.Join(dir, name)); !ok || string(text) != filepath.Base(name)+" new\n" {
			t.Errorf("%s: %q", name, text)
		}
	}
	if change.Path != filepath.Join(dir, "a") || len(change.Before) != 64 || strings.Count(change.Diff, "+++ ") != 4 {
		t.Errorf("%+v", change)
	}
	// Against staged contents the same change does not fit any more, and stages nothing.
	if err := ChangeAll(t.Context(), changesOf(a)[:1]); err == nil {
		t.Error("the change was made against another content")
	}
	// What is staged is not written before the review.
	written := a.Area.Access(Bounds{Staged: bounds.Staged})
	if err := ChangeAll(t.Context(), []FileChange{{Access: written, Path: "a", Before: []byte("a new\n"), After: []byte("a newer\n")}}); err == nil || !strings.Contains(err.Error(), "staged change") {
		t.Error(err)
	}
	if got := stateOf(t, dir); got != "ooo-" {
		t.Error(got)
	}
}

// The events of a run have all files in one change.
func TestChangeAllIsToldOf(t *testing.T) {
	var change Change
	dir, a := togetherIn(t, Bounds{Change: &change})
	if err := ChangeAll(t.Context(), changesOf(a)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--- a\n+++ a\n", "-b old\n+b new\n", "--- /dev/null\n+++ sub/d\n"} {
		if change.Path != filepath.Join(dir, "a") || change.New || !strings.Contains(change.Diff, want) {
			t.Errorf("%+v has no %q", change, want)
		}
	}
}
