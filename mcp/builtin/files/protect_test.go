package files

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/protected"
	"toolpipe/testdata/servertest"
)

// protectedNames are paths and whether they are read and written.
var protectedNames = []struct {
	path        string
	read, write bool
}{
	{"main.go", true, true},
	{"git/config", true, true},
	{".gitignore", true, true},
	{".github/README.md", true, true},
	{"workflows/x.yml", true, true},
	{"environment.ts", true, true},
	{"keys.go", true, true},
	{"id_rsa.pub", true, true},
	{".git/config", false, false},
	{".git/hooks/pre-commit", false, false},
	{".git", false, false},
	{".GIT/config", false, false},
	{"sub/.git/config", false, false},
	{".g\u0131t/x", true, true}, // a dotless i is another letter
	{".g\u200dit/config", false, false},
	{".gi\u00adt/config", false, false},
	{"\ufeff.git/config", false, false},
	{".git./config", false, false},
	{".git /config", false, false},
	{"GIT~1/config", false, false},
	{".git::$INDEX_ALLOCATION/config", false, false},
	{"host:443.key", false, false}, // no stream, but a name with a colon
	{"host:443.pem:x", false, false},
	{"id_rsa:x:y", false, false},
	{"a:b", true, true},
	{".env", false, false},
	{".ENV.local", false, false},
	{".envrc", false, false},
	{"a/b/.env.production", false, false},
	{"\u212aey/server.\u212aey", false, false}, // Kelvin signs
	{"tls/server.key", false, false},
	{"tls/server.PEM", false, false},
	{".\u017f\u017fh/config", false, false}, // long s
	{".ssh/known_hosts", false, false},
	{"id_ed25519", false, false},
	{".netrc", false, false},
	{".claude/.credentials.json", false, false},
	{".mcp-auth/mcp-remote-0.1.37/x_tokens.json", false, false},
	{".gemini/mcp-oauth-tokens-v2.json", false, false},
	{"credentials.json", false, false},
	{".npmrc", false, false},
	{".docker/config.json", false, false},
	{"config.json", true, true},
	{".config/gh/hosts.yml", false, false},
	{".config/gcloud/credentials.db", false, false},
	{".cargo/credentials.toml", false, false},
	{"prod.env", false, false},
	{".flaskenv", false, false},
	{"terraform.tfstate", false, false},
	{"terraform.tfstate.backup", false, false},
	{"prod.tfvars", false, false},
	{"service-account-ci.json", false, false},
	{".vault-token", false, false},
	{".codex/auth.json", false, false},
	{".codex/config.toml", true, false},
	{".gemini/oauth_creds.json", false, false},
	{".m2/settings.xml", false, false},
	{"settings.xml", true, true},
	{".bash_history", false, false},
	{"kubeconfig", false, false},
	{"id_work.bak", false, false},
	{"id_rsa.bak", false, false},
	{".netrc~", false, false},
	{"id_rsa.pub", true, true},
	{".azure/accessTokens.json", false, false},
	{".amp/settings.json", true, false},
	{".factory/mcp.json", true, false},
	{".pi/settings.json", true, false},
	{".continue/config.yaml", true, false},
	{".windsurf/rules/x.md", true, false},
	{".github/workflows/x.yml", true, false},
	{".GitHub/Workflows/x.yml", true, false},
	{".github/actions/a/action.yml", true, false},
	{".github::$INDEX_ALLOCATION/workflows:x/y.yml", true, false},
	{".gitlab-ci.yml", true, false},
	{"Jenkinsfile", true, false},
	{".mcp.json", true, false},
	{".vscode/settings.json", true, false},
	{"sub/.vscode/tasks.json", true, false},
	{".claude/settings.json", true, false},
	{"AGENTS.md", true, false},
	{".cursor/mcp.json", true, false},
	{".bashrc", true, false},
	{".zshenv", true, false},
	{".gitmodules", true, false},
	{".husky/pre-commit", true, false},
	{".config/fish/config.fish", true, false},
	{".config/nvim/init.lua", true, false},
	{".config/other/x", true, true},
	{"foo.code-workspace", true, false},
	{"foo.Sublime-Project", true, false},
	{".github/dependabot.yaml", true, false},
	{".github/chatmodes/x.chatmode.md", true, false},
	{".drone.yaml", true, false},
	{".zuul.yaml", true, false},
	{".zuul.d/jobs.yaml", true, false},
	{".taskcluster.yml", true, false},
	{"AGENTS.override.md", true, false},
	{"crush.json", true, false},
	{".qwen/settings.json", true, false},
	{".trae/rules/x.md", true, false},
	{".copilot/mcp-config.json", true, false},
	{".helix/config.toml", true, false},
	{".ideavimrc", true, false},
	{".nanorc", true, false},
	{".lvimrc", true, false},
	{".lazy.lua", true, false},
	{".hg/hgrc", true, false},
	{".jj/repo/config.toml", true, false},
	{".sl/config", true, false},
	{"sub/.bundle/config", true, false},
	{".bundle/other", true, true},
	{"lefthook.toml", true, false},
	{"lefthook-local.yml", true, false},
	{"lefthook", true, true},
	{"mise.toml", true, false},
	{"mise.local.toml", true, false},
	{".mise/config.toml", true, false},
	{"mise/config.toml", true, false},
	{"mise/main.go", true, true},
	{".Rprofile", true, false},
	{".pdbrc", true, false},
	{".pryrc", true, false},
	{".irbrc", true, false},
	{".gitpod.yml", true, false},
	{".replit", true, false},
	{"devcontainer.json", true, false},
	{"x/devcontainer.json", true, false},
	{"lib/python3/site-packages/x.pth", true, false},
	{"model.pth", true, true},
}

func TestProtectedNames(t *testing.T) {
	for _, c := range protectedNames {
		read := protected.Secret("", "/x", c.path) == ""
		if read != c.read {
			t.Errorf("%q is read: %t", c.path, read)
		}
		if write := read && protected.ReadOnly("", c.path) == ""; write != c.write {
			t.Errorf("%q is written: %t", c.path, write)
		}
	}
}

// TestProtectedFiles reads and writes real files with the names of the table.
func TestProtectedFiles(t *testing.T) {
	t.Parallel()
	for _, c := range protectedNames {
		dir, s := fileServer(t, map[string]string{c.path: "old\n", "plain": ""})
		path := c.path
		if _, failed := servertest.Do(t, s, "read_file", "path", path); failed == c.read {
			t.Errorf("read_file %q: failed %t", path, failed)
		}
		for _, call := range [][]any{
			{"write_file", "path", path, "content", "new\n"},
			{"edit_file", "path", "./x/../" + path, "old_string", "o", "new_string", "n"},
			{"set_file_slice", "path", filepath.Join(dir, path), "start_line", 1, "end_line", 1, "new_content", "n"},
		} {
			if call[0] == "edit_file" {
				os.Mkdir(filepath.Join(dir, "x"), 0o755)
				servertest.Put(t, filepath.Join(dir, path), "old\n")
			}
			if answer, failed := servertest.Do(t, s, call[0].(string), call[1:]...); failed == c.write {
				t.Errorf("%v: failed %t: %s", call, failed, answer)
			}
			if !c.write && servertest.Get(t, filepath.Join(dir, path)) != "old\n" {
				t.Errorf("%v changed the file", call)
			}
		}
		if c.read {
			continue
		}
		for _, call := range [][]any{{"search_files", "pattern", "**"}, {"get_tree", "max_depth", 9}, {"grep_files", "pattern", "old"}, {"list_directory", "path", filepath.Dir(path)}} {
			if answer, _ := servertest.Do(t, s, call[0].(string), call[1:]...); strings.Contains(answer, confine.ShownName(filepath.Base(path))+"\n") || strings.Contains(answer, ":old") {
				t.Errorf("%v shows %q: %s", call, path, answer)
			}
		}
	}
}

// TestProtectedNewFiles creates what is not there.
func TestProtectedNewFiles(t *testing.T) {
	t.Parallel()
	dir, s := fileServer(t, nil)
	for _, c := range protectedNames {
		answer, failed := servertest.Do(t, s, "write_file", "path", c.path, "content", "x")
		if failed == c.write {
			t.Errorf("write_file %q: failed %t", c.path, failed)
		}
		if kept := strings.Contains(answer, "neither read nor write"); kept == c.read { // whether or not its directory is there
			t.Errorf("write_file %q: %s", c.path, answer)
		}
		if _, err := os.Lstat(filepath.Join(dir, c.path)); (err == nil) != c.write {
			t.Errorf("%q: %v", c.path, err)
		}
		os.RemoveAll(filepath.Join(dir, strings.Split(c.path, "/")[0]))
	}
}

// A protected directory or file is refused as a root too: no flag and no
// approval gives access to it.
func TestProtectedRoots(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root, file string // file "": the root is one
		taken      bool
	}{
		{"r/.ssh", "authorized_keys", false}, {"r/.aws", "credentials", false}, {"r/.env.d", "local", false}, {"r/.git/hooks", "pre-commit", false}, {"r/.ssh/keys.d", "x", false},
		{"r/.ssh/config", "", false}, {"r/.env", "", false}, {"r/.GnuPG/x", "", false},
		{"r/.github/workflows", "x.yml", true}, {"r/.vscode", "tasks.json", true}, {"r/.claude/commands/deep", "x.md", true}, {"r/.config/fish", "config.fish", true},
		{"r/.github", "workflows/x.yml", true}, {"r/.github/workflows/y.yml", "", true}, {"r/.vscode/tasks2.json", "", true}, {"r/AGENTS.md", "", true},
	} {
		s, path := servedRoot(t, dir, c.root, c.file, c.taken)
		if s == nil {
			continue
		}
		servertest.Works(t, s, "read_file", "path", path)
		servertest.Fails(t, s, "protected", "write_file", "path", path, "content", "new\n")
		servertest.Fails(t, s, "protected", "edit_file", "path", path, "old_string", "old", "new_string", "new")
		if c.file != "" && !strings.Contains(c.file, "/") {
			servertest.Fails(t, s, "protected", "write_file", "path", "made/here", "content", "new\n")
		}
		if got := servertest.Get(t, filepath.Join(dir, c.root, c.file)); got != "old\n" {
			t.Errorf("root %s: %s was changed", c.root, path)
		}
	}
	for name, target := range map[string]string{".aws": "r", ".env": "r/AGENTS.md", "server.key": "r/AGENTS.md"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
		if _, err := serve(confine.Spec{Root: filepath.Join(dir, name)}); err == nil {
			t.Errorf("the link %s was taken as the root", name)
		}
	}
}

// servedRoot makes a file below a root, or a root that is one, and serves the root. It
// returns the file's path there, and nil for a root that is refused as it should be.
func servedRoot(t *testing.T, dir, root, file string, taken bool) (s *mcp.Session, path string) {
	t.Helper()
	servertest.Put(t, filepath.Join(dir, root, file), "old\n")
	server, err := serve(confine.Spec{Root: filepath.Join(dir, root)})
	if !taken {
		if err == nil || !strings.Contains(err.Error(), "neither read nor write") {
			t.Errorf("root %s: %v", root, err)
		}
		return nil, ""
	}
	if err != nil {
		t.Errorf("root %s: %v", root, err)
		return nil, ""
	}
	return servertest.Local(t, server), cmp.Or(file, filepath.Base(root))
}

// A directory on the way to the root is judged by names that say so of a
// directory: .envs and proj.key hold anything. Below the root every name counts.
func TestRootBelowOrdinaryNames(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root, file string // file "": the root is one
		taken      bool
	}{
		{".envs/p", "a", true}, {".environments/p", "a", true}, {".envoy", "a", true}, {"proj.key/src", "a", true}, {"proj.PEM", "a", true}, {".envs/one", "", true},
		{".env/p", "a", false}, {".ENV/p", "a", false}, {".env.local/p", "a", false}, {".envrc/p", "a", false}, {".env.d", "a", false},
		{"x/.envoy", "", false}, {"x/proj.key", "", false}, {"proj.key/src.key", "", false},
	} {
		s, path := servedRoot(t, dir, c.root, c.file, c.taken)
		if s == nil {
			continue
		}
		servertest.Works(t, s, "write_file", "path", path, "content", "new\n")
		if got := servertest.Works(t, s, "read_file", "path", path); got != "new\n" {
			t.Errorf("root %s: %q", c.root, got)
		}
		if c.file != "" {
			for _, below := range []string{".envs/x", ".envoy", "sub.key/x", "server.key"} {
				servertest.Fails(t, s, "protected", "write_file", "path", below, "content", "x")
			}
		}
	}
}

// TestSealedRoots names roots in directories that programs obey: they are read,
// and it is said at once that they are not written, and because of which name.
// A worktree that an agent keeps in its directory is written.
func TestSealedRoots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ root, because string }{
		{".claude/worktrees/p", ""}, {".claude/worktrees/p/deep", ""}, {".codex/worktrees/1/p", ""}, {".cursor/worktrees/p/q", ""}, {"a/.claude/worktrees", ""},
		{".codex/w/p", ".codex"}, {".vim/plugged/x", ".vim"}, {".emacs.d/lisp", ".emacs.d"}, {".vim/worktrees/p", ".vim"}, {".github/workflows/x", "workflows"},
		{".claude", ".claude"}, {".claude/x/worktrees/p", ".claude"}, {".claude/Worktrees2/p", ".claude"},
		{".claude/worktrees/p/.claude/commands", ".claude"}, {".claude/worktrees/p/.vscode", ".vscode"}, {".claude/.codex/worktrees/p", ".claude"}, {".github/instructions/worktrees/p", "instructions"},
	} {
		root := filepath.Join(t.TempDir(), c.root)
		servertest.Put(t, filepath.Join(root, "x"), "old\n")
		var warnings []string
		area, err := confine.Open(confine.Spec{Root: root})
		if err != nil {
			t.Errorf("root %s: %v", c.root, err)
			continue
		}
		server := New(area, Spec{Warn: func(_, message string) { warnings = append(warnings, message) }})
		s := servertest.Local(t, server)
		servertest.Works(t, s, "read_file", "path", "x")
		if c.because == "" {
			servertest.Works(t, s, "edit_file", "path", "x", "old_string", "old", "new_string", "new")
			servertest.Works(t, s, "write_file", "path", "made/here", "content", "new\n")
			servertest.Fails(t, s, "protected", "write_file", "path", ".claude/settings.json", "content", "{}")
			servertest.Fails(t, s, "protected", "write_file", "path", ".claude/worktrees/q/x", "content", "")
			if len(warnings) > 0 {
				t.Errorf("root %s: %q", c.root, warnings)
			}
			continue
		}
		because := fmt.Sprintf("because of %q in ", c.because)
		servertest.Fails(t, s, because+"the root's path", "edit_file", "path", "x", "old_string", "old", "new_string", "new")
		servertest.Fails(t, s, because+"the root's path", "write_file", "path", "made/here", "content", "new\n")
		if len(warnings) != 1 || !strings.Contains(warnings[0], because) {
			t.Errorf("root %s: %q", c.root, warnings)
		}
	}
}

// TestOwnFiles reaches toolpipe's own files by all their names.
func TestOwnFiles(t *testing.T) {
	var policy, log string
	dir, s := fileServer(t, map[string]string{"conf/policy.json": "secret policy\n", "conf/other": ""}, func(spec *confine.Spec) {
		policy, log = filepath.Join(spec.Root, "conf/policy.json"), filepath.Join(spec.Root, "run.log")
		spec.Protected = []string{policy, log}
	})
	servertest.Put(t, log, "secret log\n") // after the start
	for _, link := range []func() error{
		func() error { return os.Link(policy, filepath.Join(dir, "hard")) },
		func() error { return os.Symlink("conf/policy.json", filepath.Join(dir, "soft")) },
		func() error { return os.Symlink("conf", filepath.Join(dir, "way")) },
		func() error { return os.Link(log, filepath.Join(dir, "hardlog")) },
	} {
		if err := link(); err != nil {
			t.Skip(err)
		}
	}
	for _, path := range []string{"conf/policy.json", "./conf/../conf/policy.json", policy, "hard", "soft", "way/policy.json", "run.log", "hardlog"} {
		servertest.Fails(t, s, "protected", "read_file", "path", path)
		servertest.Fails(t, s, "protected", "get_file_slice", "path", path)
		servertest.Fails(t, s, "protected", "get_file_summary", "path", path)
		servertest.Fails(t, s, "protected", "write_file", "path", path, "content", "x")
		servertest.Fails(t, s, "protected", "edit_file", "path", path, "old_string", "s", "new_string", "x")
		servertest.Fails(t, s, "protected", "grep_files", "path", path, "pattern", "secret")
	}
	for _, call := range [][]any{{"search_files", "pattern", "**"}, {"get_tree"}, {"grep_files", "pattern", "secret"}, {"list_directory"}} {
		answer := servertest.Works(t, s, call[0].(string), call[1:]...)
		for _, name := range []string{"policy.json\n", "hard", "run.log", ":secret"} {
			if strings.Contains(answer, name) && !strings.Contains(answer, "-> conf/policy.json\n") {
				t.Errorf("%v shows %s: %s", call, name, answer)
			}
		}
	}
	if servertest.Get(t, policy) != "secret policy\n" || servertest.Get(t, log) != "secret log\n" {
		t.Error("an own file was changed")
	}
}
