package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/load"
	"toolpipe/testdata/servertest"
)

// swapped is a tree in which links to protected things wait for their chance:
// a.link is for a, b.link for b. swap exchanges them, swap again undoes it.
func swapped(t *testing.T) (a *confine.Access, swap func()) {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{"a": "plain\n", "b/f": "plain\n", ".env": "SECRET\n", ".git/x/config": "SECRET\n"} {
		servertest.Put(t, filepath.Join(root, name), content)
	}
	for name, target := range map[string]string{"a.link": ".env", "b.link": ".git/x"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skip(err)
		}
	}
	tree, err := confine.Open(confine.Spec{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Root.Close() })
	return tree.Access(confine.Bounds{}), func() {
		for _, name := range []string{"a", "b"} {
			path := filepath.Join(root, name)
			os.Rename(path, path+".kept")
			os.Rename(path+".link", path)
			os.Rename(path+".kept", path+".link")
		}
	}
}

// What was a directory or file when its name was read, and is a link by the
// time it is opened, is not followed.
func TestWalkMeetsLink(t *testing.T) {
	a, swap := swapped(t)
	m, err := newMatcher("SECRET", false)
	if err != nil {
		t.Fatal(err)
	}
	var visited []string
	l, err := a.Find(".")
	check(t, err)
	defer l.Close()
	g := &grep{Location: l, matcher: m}
	skipped, err := l.Walk(t.Context(), func(w *confine.Walked) error {
		if visited = append(visited, w.At); len(visited) == 1 {
			swap()
			in, err := a.Batch(w)
			check(t, err)
			defer in.Close()
			if found := g.file(t.Context(), newScanner(m, 0), in, "a"); found.matches != 0 || found.unreadable != 1 {
				t.Errorf("grep followed the link: %+v", found)
			}
		}
		return nil
	})
	if err != nil || skipped.Unreadable != 1 || !slices.Equal(visited, []string{"."}) {
		t.Errorf("visited %q, skipped %+v: %v", visited, skipped, err)
	}
	var tree confine.Skipped
	if sub := a.Enter(&confine.Walked{Dir: a.Root, At: "."}, "b", &tree); sub != nil || tree.Unreadable != 1 {
		t.Errorf("the tree followed the link: %+v", sub)
	}
}

func TestWalkRace(t *testing.T) {
	t.Parallel()
	a, swap := swapped(t)
	server, err := serve(confine.Spec{Root: a.Real})
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.Local(t, server)
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !stop.Load() {
			swap()
		}
	}()
	calls := []struct{ tool, args string }{{"grep_files", `{"pattern":"SECRET"}`}, {"get_tree", `{}`}, {"search_files", `{"pattern":"config"}`}}
	for i := range load.Of(t, 6000, 600) {
		c := calls[i%len(calls)]
		r, err := s.Call(t.Context(), c.tool, []byte(c.args), nil)
		check(t, err)
		answer := jsontext.Text(r.Content[0].Text)
		if strings.Contains(answer, ":SECRET") || strings.Contains(answer, "/config") || strings.Contains(answer, "  config") {
			t.Errorf("call %d, %s: %s", i, c.tool, answer)
			break
		}
	}
	stop.Store(true)
	<-ended
}
