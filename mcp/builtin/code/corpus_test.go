package code

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/process"
	"toolpipe/testdata/servertest"
)

var update = flag.Bool("update", false, "write what the tools answer to testdata/golden")

// needsCtags59 skips a test of what ctags says of a text, word for word, which other
// versions say differently.
func needsCtags59(t *testing.T) {
	t.Helper()
	_, version, err := Version(t.Context(), Spec{Environ: os.Environ(), Processes: &process.Processes{}})
	if err != nil || !strings.HasPrefix(version, "5.9.") {
		t.Skipf("the expected results are those of universal-ctags 5.9; here is %q (%v)", version, err)
	}
}

// TestCorpus compares the outline and the skeleton of each file with what is
// expected. -update writes it.
func TestCorpus(t *testing.T) {
	t.Parallel()
	_, s, names := corpus(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if !strings.HasSuffix(name, ".go") {
				needsCtags59(t)
			}
			got := servertest.Works(t, s, "outline", "path", name) + "\n" +
				servertest.Works(t, s, "outline", "path", name, "detail", "skeleton")
			golden := filepath.Join("testdata/golden", name+".txt")
			if *update {
				servertest.Put(t, golden, got)
			}
			if want := servertest.Get(t, golden); got != want {
				t.Errorf("%s: the answer is\n%s\nnot\n%s", name, got, want)
			}
		})
	}
}

// corpus is a directory with the files of testdata/corpus, and a session with a
// server over it. A file of Go has another ending there, so that gofmt leaves its
// errors alone.
func corpus(t testing.TB) (dir string, s *mcp.Session, names []string) {
	t.Helper()
	entries, err := os.ReadDir("testdata/corpus")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".txt")
		files[name] = servertest.Get(t, filepath.Join("testdata/corpus", entry.Name()))
		names = append(names, name)
	}
	dir, s = newServer(t, files)
	return dir, s, names
}
