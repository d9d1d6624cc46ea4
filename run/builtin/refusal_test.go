package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/process/cage"
)

// refusing is a sandbox with a root R, a home directory H and other directories, and the function that
// puts their paths into a text.
func refusing(t *testing.T) (*Sandbox, func(string) string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, root := filepath.Join(dir, "home"), filepath.Join(dir, "root")
	for _, d := range []string{home + "/.ssh", home + "/.npm", home + "/out", home + "/holds/keys", home + "/tools/bin", home + "/mods/node_modules", home + "/.config/fish", root + "/.git/hooks", dir + "/up"} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"program": 0o755, ".bashrc": 0o644, "out/file": 0o644, "out/script": 0o755, "notes": 0o644, "out/id_rsa": 0o600} {
		if err := os.WriteFile(filepath.Join(home, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"out/etc": "/etc", "out/nowhere": "/etc/nowhere", "out/me": home, "out/root": root} {
		if err := os.Symlink(target, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := &Sandbox{wording: wording{flag: "--sandbox ", home: home, dir: root, path: []string{home + "/tools/bin"}}, roots: []string{root}}
	s.spec = cage.Spec{Write: []string{root}, Hide: []string{home + "/.ssh", home + "/holds/keys"}, Protect: []string{root + "/.git/hooks"}}
	return s, strings.NewReplacer("D/", dir+"/", "H/", home+"/", "R/", root+"/", "H!", home, "R!", root, "D!", dir).Replace
}

// TestRefusal: the message is about a path that was refused, and advises only what a user would allow.
func TestRefusal(t *testing.T) {
	s, real := refusing(t)
	const out, file = "the sandbox refuses that; --sandbox 'write=~/out' would allow it", "the sandbox refuses that; --sandbox 'write=~/out/file' would allow it"
	for line, want := range map[string]string{
		"mkdir: cannot create directory ‘H/out/a’: Permission denied":               out,
		"Error: EACCES: permission denied, mkdir 'H/out/_cacache/tmp'":              out,
		"PermissionError: [Errno 13] Permission denied: 'H/out/x'":                  out,
		"open H/out/file: permission denied":                                        file,
		"/bin/sh: 1: cannot create H/out/file: Permission denied":                   file,
		"/bin/sh: 1: cannot create H/out/.x/y: Read-only file system":               out,
		"touch: H/notes: Permission denied":                                         "the sandbox refuses that; --sandbox 'write=~/notes' would allow it",
		"touch: D/up/x: Permission denied":                                          "the sandbox refuses that; --sandbox write=D/up would allow it",
		"/bin/sh: 1: cannot create .git/hooks/post-checkout: Read-only file system": "the sandbox does not let programs write R/.git/hooks/post-checkout, because other programs run or obey it",
		"/bin/sh: 1: cannot create ../outside: Permission denied":                   "",
		"/usr/bin/cp: cannot create regular file 'x': Permission denied":            "",
		"bash: H/program: Permission denied":                                        "",
		"bash: H/out/script: Permission denied":                                     "",
		"cat: H/.ssh/id: Permission denied":                                         "the sandbox hides '~/.ssh/id'",
		"touch: R/x: Permission denied":                                             "",
		"/bin/sh: Permission denied":                                                "",
		"nothing":                                                                   "",
		"İ /x Permission denied":                                                    "",
	} {
		want := real(want)
		for _, output := range []string{"STDOUT:\nx\nSTDERR:\n" + line + "\nEXIT CODE: 1\n", "STDOUT:\n" + line + "\n", line} {
			if got := s.Refusal(real(output)); got != want {
				t.Errorf("%q: %q, want %q", output, got, want)
			}
		}
	}
}

// TestNoAdvice: a program cannot make anybody open the places that other programs start or obey, or
// that have secrets, by naming them.
func TestNoAdvice(t *testing.T) {
	s, real := refusing(t)
	for _, path := range []string{
		"/etc/cron.d/x", "/etc", "/etc/passwd", "/usr/local/bin/x", "/usr", "/var", "/var/spool/cron/x", "/", "/tmp", "/opt/x", "/root/x", "/root", "/home/x/y", "/run/x", "/proc/sys/kernel/core_pattern",
		"/dev/sda", "/dev/shm/x", "/nonexistent/x", "H!", "D!", "D/none/x", "H/none/x", "H/.none/x", "H/.npm/x", "H/.bashrc", "H/.config/fish/x", "H/.config", "H/holds/x", "H/tools/x", "H/tools/bin/x",
		"H/mods/node_modules/y", "H/out/etc/cron.d/x", "H/out/nowhere", "H/out/nowhere/x", "H/out/me/x", "H/out/../x", "H/out/root/x", "H/out/id_rsa", "R/../x",
	} {
		for _, line := range []string{"mkdir: P: Permission denied", "permission denied, mkdir 'P'", "P: Read-only file system"} {
			if got := s.Refusal(real(strings.ReplaceAll(line, "P", path))); strings.Contains(got, "write=") {
				t.Errorf("%s: %s", path, got)
			}
		}
	}
}

// TestNetworkRefusal: an error of a host that was not found is the sandbox's, unless it has the network.
func TestNetworkRefusal(t *testing.T) {
	s, _ := refusing(t)
	const none = "the sandbox has no network; --sandbox net=loopback (with bubblewrap) gives a private network, net=all the complete one"
	const own = "the sandbox has only a private network; --sandbox net=all gives the complete one"
	for line, loopback := range map[string]string{
		"PermissionError: [Errno 1] Operation not permitted (in socket.socket)":            "",
		"  File \"socket.py\", line 1\nPermissionError: [Errno 1] Operation not permitted": "",
		"dial tcp: lookup x: socket: operation not permitted":                              "",
		"Error: listen EPERM: operation not permitted 0.0.0.0:3000":                        "",
		"curl: (6) Could not resolve host: example.com":                                    own,
		"ssh: Could not resolve hostname github.com: Name or service not known":            own,
		"socket.gaierror: [Errno -3] Temporary failure in name resolution":                 own,
		"W: Temporary failure resolving 'deb.debian.org'":                                  own,
		"npm error request failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org":       own,
		"connect: Network is unreachable":                                                  own,
		"chown: changing ownership of 'x': Operation not permitted":                        "-",
		"dns.c:1: getaddrinfo(host, 0, 0, &all);":                                          "-",
	} {
		want := map[cage.Network]string{cage.NoNetwork: none, cage.OwnNetwork: loopback, cage.WholeNetwork: ""}
		if loopback == "-" {
			want = nil
		}
		for _, network := range []cage.Network{cage.NoNetwork, cage.OwnNetwork, cage.WholeNetwork} {
			s.spec.Network = network
			for _, output := range []string{"STDOUT:\nx\nSTDERR:\n" + line + "\nEXIT CODE: 1\n", "STDOUT:\n" + line + "\n"} {
				if got := s.Refusal(output); got != want[network] {
					t.Errorf("network %v: %q: %q", network, output, got)
				}
			}
		}
	}
}
