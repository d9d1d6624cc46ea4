package files

import (
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/testdata/servertest"
)

// What is too deep for a walk is said to be skipped out: silence would mean that
// nothing is there.
func TestWalkDepth(t *testing.T) {
	t.Parallel()
	_, s := fileServer(t, map[string]string{filepath.Join(strings.Repeat("d/", confine.MaxDepth+20), "bottom"): "needle\n"})
	const skipped = "[toolpipe] 1 directories were not read because they are 256 levels down"
	for _, call := range [][]any{{"search_files", "pattern", "bottom"}, {"grep_files", "pattern", "needle"}, {"get_tree", "max_depth", 999}} {
		if got := servertest.Works(t, s, call[0].(string), call[1:]...); !strings.Contains(got, skipped) {
			t.Errorf("%v: …%s", call, got[max(0, len(got)-200):])
		}
	}
	half := filepath.Clean(strings.Repeat("d/", 100))
	if got := servertest.Works(t, s, "search_files", "pattern", "bottom", "path", half); !strings.HasSuffix(got, "/bottom\n") {
		t.Errorf("from half way: %s", got)
	}
	if got := servertest.Works(t, s, "get_tree", "max_depth", 9); strings.Contains(got, "[toolpipe]") {
		t.Errorf("a tree of the depth that was asked for: %s", got)
	}
}

func TestLeftOut(t *testing.T) {
	l := confine.Skipped{Unreadable: 2, Beyond: 30_000}
	const want = "[toolpipe] 2 directories or files could not be read\n[toolpipe] 30000 entries were not read: only the first 200000 of a directory are\n"
	if got := string(l.AppendTo(nil)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
