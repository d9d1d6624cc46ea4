package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/process/cage"
)

// TestRefusal: the word is of the path that was refused, and of none else.
func TestRefusal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, root := filepath.Join(dir, "home"), filepath.Join(dir, "root")
	for _, d := range []string{home + "/.ssh", home + "/out", root + "/.git/hooks"} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "program"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Sandbox{wording: wording{flag: "--sandbox ", home: home, dir: root}, roots: []string{root}}
	s.spec = cage.Spec{Write: []string{root}, Hide: []string{home + "/.ssh"}, Protect: []string{root + "/.git/hooks"}}
	const write = "the sandbox refuses that; --sandbox "
	for line, want := range map[string]string{
		"mkdir: cannot create directory ‘H/.npm’: Permission denied":                write + "'write=~/.npm' would allow it",
		"Error: EACCES: permission denied, mkdir 'H/.npm/_cacache/tmp'":             write + "'write=~/.npm' would allow it",
		"PermissionError: [Errno 13] Permission denied: 'H/out/x'":                  write + "'write=~/out' would allow it",
		"open H/out/x: permission denied":                                           write + "'write=~/out' would allow it",
		"/bin/sh: 1: cannot create H/out/x: Permission denied":                      write + "'write=~/out' would allow it",
		"/bin/sh: 1: cannot create .git/hooks/post-checkout: Read-only file system": write + "write=R/.git/hooks would allow it",
		"/bin/sh: 1: cannot create ../outside: Permission denied":                   "",
		"/usr/bin/cp: cannot create regular file 'x': Permission denied":            "",
		"bash: H/program: Permission denied":                                        "",
		"cat: H/.ssh/id: Permission denied":                                         "the sandbox hides '~/.ssh/id'",
		"touch: R/x: Permission denied":                                             "",
		"/bin/sh: Permission denied":                                                "",
		"nothing":                                                                   "",
		"İ /x Permission denied":                                                    "",
		"PermissionError: [Errno 1] Operation not permitted (in socket.socket)":     "the sandbox has no network; --sandbox net=loopback (with bubblewrap) gives a private network, net=all the complete one",
	} {
		real := strings.NewReplacer("H/", home+"/", "R/", root+"/")
		if got, want := s.Refusal("STDOUT:\nx\nSTDERR:\n"+real.Replace(line)+"\nEXIT CODE: 1\n"), strings.NewReplacer("R/", root+"/").Replace(want); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
		if got := s.Refusal("STDOUT:\n" + real.Replace(line) + "\n"); got != "" {
			t.Errorf("%s on stdout: %q", line, got)
		}
	}
}
