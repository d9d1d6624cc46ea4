package files

import (
	"testing"

	"toolpipe/mcp"
	"toolpipe/testdata/servertest"
)

// repository makes a file server over a git repository with one commit.
func repository(t *testing.T, files map[string]string) (dir string, s *mcp.Session, git func(args ...string) string) {
	t.Helper()
	dir, s = fileServer(t, files)
	return dir, s, servertest.Git(t, dir)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
