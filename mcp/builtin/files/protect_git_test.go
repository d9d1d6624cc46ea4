package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/testdata/servertest"
)

// A git directory is known by what it holds, whatever its name is.
func TestGitDirectories(t *testing.T) {
	dir, s := fileServer(t, map[string]string{
		"repo/HEAD": "ref: refs/heads/main\n", "repo/config": "secret\n", "repo/objects/x": "", "repo/refs/heads/main": "", "repo/hooks/post-checkout": "secret\n",
		"sub/tree/HEAD": "", "sub/tree/commondir": "../../repo\n", "sub/tree/config.worktree": "secret\n",
		"plain/HEAD": "secret\n", "plain/objects/x": "", "other": "",
	})
	if err := os.Symlink("../repo/hooks", filepath.Join(dir, "plain/way")); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{"repo/config", "repo/hooks/post-checkout", "plain/way/post-checkout", "sub/tree/config.worktree", "sub/../repo/config", filepath.Join(dir, "repo/config")} {
		servertest.Fails(t, s, "belongs to git", "read_file", "path", path)
		servertest.Fails(t, s, "belongs to git", "get_file_summary", "path", path)
		servertest.Fails(t, s, "belongs to git", "grep_files", "path", path, "pattern", "secret")
		servertest.Fails(t, s, "belongs to git", "edit_file", "path", path, "old_string", "secret", "new_string", "x")
		servertest.Fails(t, s, "belongs to git", "write_file", "path", path, "content", "x")
		servertest.Fails(t, s, "belongs to git", "write_file", "path", path+".new/deep", "content", "x")
	}
	servertest.Fails(t, s, "belongs to git", "list_directory", "path", "repo")
	if got := servertest.Works(t, s, "grep_files", "pattern", "secret"); strings.Contains(got, "repo") || strings.Contains(got, "tree") || !strings.Contains(got, "plain/HEAD:1:secret\n") {
		t.Errorf("grep: %s", got)
	}
	for _, call := range [][]any{{"get_tree", "max_depth", 9}, {"search_files", "pattern", "**"}} {
		if got := servertest.Works(t, s, call[0].(string), call[1:]...); strings.Contains(got, "hooks") || strings.Contains(got, "worktree") || !strings.Contains(got, "could not be read") {
			t.Errorf("%v: %s", call, got)
		}
	}
	if servertest.Get(t, filepath.Join(dir, "repo/config")) != "secret\n" {
		t.Error("it was written")
	}
}

// Nor is one made, in whatever order its parts are written.
func TestGitDirectoryIsNotMade(t *testing.T) {
	t.Parallel()
	for _, parts := range [][]string{
		{"HEAD", "objects/x", "refs/x"}, {"HEAD", "refs/heads/main", "objects/aa/x"}, {"refs/x", "objects/x", "HEAD"}, {"objects/x", "HEAD", "refs/x"}, {"objects", "refs", "head"},
		{"HEAD", "commondir"}, {"commondir", "HEAD"},
	} {
		for _, at := range []string{"", "sub/", "a/b/"} {
			dir, s := fileServer(t, map[string]string{"sub/x": ""})
			servertest.Works(t, s, "write_file", "path", at+"config", "content", "[core]\n\tfsmonitor = touch evil\n")
			last := len(parts) - 1
			for _, part := range parts[:last] {
				servertest.Works(t, s, "write_file", "path", at+part, "content", "ref: refs/heads/main\n")
			}
			servertest.Fails(t, s, "would be a git directory", "write_file", "path", at+parts[last], "content", "x")
			if _, err := os.Lstat(filepath.Join(dir, at, parts[last])); err == nil {
				t.Errorf("%s%v: %s was made", at, parts, parts[last])
			}
			servertest.Works(t, s, "write_file", "path", at+"ordinary", "content", "x")
		}
	}
}

// A root in a git directory is none. A worktree may be in one: that is how
// some keep them.
func TestGitDirectoryRoots(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"HEAD", "objects/x", "refs/x", "hooks/deep/x", "main/src/x", "main/.git"} {
		servertest.Put(t, filepath.Join(dir, "repo", name), "")
	}
	for root, taken := range map[string]bool{"repo": false, "repo/hooks": false, "repo/hooks/deep": false, "repo/HEAD": false, "repo/main": true, "repo/main/src": true} {
		_, err := serve(confine.Spec{Root: filepath.Join(dir, root)})
		if taken != (err == nil) || !taken && !strings.Contains(err.Error(), "belongs to git") {
			t.Errorf("root %s: %v", root, err)
		}
	}
}
