//go:build !portable

package cage

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wrapped is a cage that bubblewrap holds.
func wrapped(t testing.TB, spec Spec) *Cage { return newCage(t, heldBy(t, "bubblewrap", spec)) }

// TestProtect: what is protected below a directory that may be written stays as it is, also
// where what it is in is renamed; what is hidden there is not read.
func TestProtect(t *testing.T) {
	s := newScene(t)
	in := func(name string) string { return filepath.Join(s.root, name) }
	for name, text := range map[string]string{"a/.git/hooks/pre-commit": "old", "a/.git/config": "old", "a/.git/index": "old", "keys/.env": "secret", "keys/other": "plain", "private/AGENTS.md": "secret"} {
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	spec := s.spec()
	spec.Protect = []string{in("a/.git/hooks"), in("a/.git/config"), in("private/AGENTS.md")}
	spec.Hide = append(spec.Hide, in("keys/.env"), in("private"))
	c := wrapped(t, spec)
	for _, x := range []struct {
		script string
		held   bool
	}{
		{"echo new >a/.git/hooks/pre-commit", true}, {"echo new >a/.git/hooks/post-commit", true}, {"rm a/.git/hooks/pre-commit", true}, {"echo new >a/.git/config", true},
		{"mv a/.git b", true}, {"mv a b", true}, {"mv a/.git/hooks b", true}, {"mv a/.git/config b", true}, {"rm -r a/.git/hooks", true}, {"rm a/.git/config", true},
		{"echo >c && mv c a/.git/config", true}, {"ln a/.git/hooks/pre-commit x && echo new >x", true}, {"mv . ../b", true},
		{"grep secret keys/.env", true}, {"grep secret private/AGENTS.md", true}, {"mv keys/.env x && grep secret x", true}, {"rm keys/.env && false", true}, {"grep plain keys/other", false},
		{"echo new >a/.git/index", false}, {"mkdir a/.git/objects", false}, {"echo >a/file", false}, {"umount a/.git/hooks", true}, {"mount -o remount,rw a/.git/hooks", true},
	} {
		cmd := exec.Command("/bin/sh", "-c", x.script)
		cmd.Dir = s.root
		if out, err := run(t, c, cmd); (err != nil) != x.held {
			t.Errorf("%s: %s%v", x.script, out, err)
		}
	}
	for _, name := range []string{"a/.git/hooks/pre-commit", "a/.git/config"} {
		if b, err := os.ReadFile(in(name)); err != nil || string(b) != "old" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if entries, err := os.ReadDir(in("a/.git/hooks")); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestOddPaths: what is protected or hidden may be a link, also one that leads nowhere or out of
// what may be written, and may be gone by now.
func TestOddPaths(t *testing.T) {
	s := newScene(t)
	in := func(name string) string { return filepath.Join(s.root, name) }
	for link, target := range map[string]string{"nowhere": "/nonexistent/x", "out": s.outside + "/file", "away": s.outside, "inside": "file"} {
		if err := os.Symlink(target, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	spec := s.spec()
	spec.Write = append(spec.Write, in("gone"))
	spec.Protect = []string{in("nowhere"), in("out"), in("away"), in("inside"), in("vanished"), in("vanished/too")}
	spec.Hide = append(spec.Hide, in("nowhere"), in("gone/secret"))
	c := wrapped(t, spec)
	for script, held := range map[string]bool{"true": false, "echo x >new": false, "echo x >>file": true, "echo x >>inside": true, "echo x >>out": true, "echo x >away/new": true} {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Dir = s.root
		if out, err := run(t, c, cmd); (err != nil) != held || strings.Contains(out, "bwrap:") {
			t.Errorf("%s: %s%v", script, out, err)
		}
	}
}

// TestResolvedOnce: a child that replaces a link, or a directory on the way to a protected
// file, does not change what is mounted for the next child.
func TestResolvedOnce(t *testing.T) {
	s := newScene(t)
	in := func(name string) string { return filepath.Join(s.root, name) }
	if err := os.MkdirAll(in("docs/deep"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("docs/deep/notes"), []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("docs/deep/notes", in("AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	spec := s.spec()
	spec.Protect = []string{in("AGENTS.md")}
	c := wrapped(t, spec)
	for _, x := range []struct {
		script string
		held   bool
	}{
		{"ln -sfn ../outside/file AGENTS.md", false}, // the link may be replaced
		{"echo new >AGENTS.md", true}, {"echo new >../outside/file", true}, {"echo new >docs/deep/notes", true},
		{"mkdir x && ln -s ../outside x/deep && mv docs y", true}, {"mv docs/deep docs/other", true}, {"rm docs/deep/notes", true},
		{"ln -sfn docs AGENTS.md && echo new >docs/deep/notes", true}, {"echo >docs/deep/more", false},
	} {
		cmd := exec.Command("/bin/sh", "-c", x.script)
		cmd.Dir = s.root
		if out, err := run(t, c, cmd); (err != nil) != x.held {
			t.Errorf("%s: %s%v", x.script, out, err)
		}
	}
	for path, want := range map[string]string{in("docs/deep/notes"): "old", s.outside + "/file": "content\n"} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	// Another program is not held. What it replaces by a link is not followed.
	if err := errors.Join(os.Rename(in("docs/deep"), in("docs/other")), os.Symlink(s.outside, in("docs/deep"))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Start(exec.Command("/bin/true")); err == nil || !strings.Contains(err.Error(), "has become a link") {
		t.Errorf("%v", err)
	}
}

// TestSharedNetwork: the children of a cage share a network of their own.
func TestSharedNetwork(t *testing.T) {
	s := newScene(t)
	spec := s.spec()
	spec.Network = OwnNetwork
	c := wrapped(t, spec)
	cmd := command("listen")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	release, _, err := c.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait(); release() }()
	address := make([]byte, 64)
	n, err := out.Read(address)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, c, command("tcp "+strings.TrimSpace(string(address[:n])))); err != nil {
		t.Errorf("%s%v", out, err)
	}
	if out, err := run(t, wrapped(t, spec), command("tcp "+strings.TrimSpace(string(address[:n])))); err == nil {
		t.Errorf("another cage: %s", out)
	}
}

// TestOwnNetwork: in a network of its own a child can serve and connect, but not reach this
// program, or a server that is reached by a file.
func TestOwnNetwork(t *testing.T) {
	s := newScene(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	socket := filepath.Join(s.outside, "socket")
	unix, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	abstract, err := net.Listen("unix", "@toolpipe-cage-test")
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	spec := s.spec()
	if _, _, err := New(spec); err == nil {
		spec.Network = OwnNetwork
		if _, _, err := New(spec); err == nil {
			t.Error("Landlock has such a network")
		}
	}
	spec.Network = OwnNetwork
	c := wrapped(t, spec)
	for _, x := range []struct {
		program string
		held    bool
	}{
		{"serve 127.0.0.1:0 tcp", false}, {"serve " + s.root + "/own unix", false}, {"tcp " + tcp.Addr().String(), true}, {"tcp 192.0.2.1:80", true},
		{"unix " + socket, true}, {"unix @toolpipe-cage-test", true}, {"vsock", true}, {"uring", true},
	} {
		if out, err := run(t, c, command(x.program)); (err != nil) != x.held {
			t.Errorf("%s: %s%v", x.program, out, err)
		}
	}
}

// TestVariables: what a call sets as a variable is for its program alone. A program that
// reads LD_PRELOAD before it is in a cage would run code outside.
func TestVariables(t *testing.T) {
	s := newScene(t)
	cmd := exec.Command("/bin/sh", "-c", `echo "$A,$B"; env | grep -c .; echo "$0 $1"`, "zero", "one two")
	cmd.Env = []string{"A=x=y z", "B=\n", "PATH=/usr/bin:/bin", "LD_PRELOAD=" + s.root + "/none.so", "LD_DEBUG=files", "LD_DEBUG_OUTPUT=" + s.outside + "/debug"}
	out, err := run(t, wrapped(t, s.spec()), cmd)
	if err != nil || !strings.Contains(out, "x=y z,\n") || !strings.Contains(out, "zero one two") {
		t.Errorf("%s%v", out, err)
	}
	if found, _ := filepath.Glob(s.outside + "/debug*"); found != nil {
		t.Errorf("bwrap itself read the variables: %q", found)
	}
}

// TestNotUsed: a bwrap that others could have put there, or that does not work, is not used.
func TestNotUsed(t *testing.T) {
	at := func(path string) func(string) (string, error) {
		return func(name string) (string, error) {
			return path, nil
		}
	}
	own := filepath.Join(t.TempDir(), "bwrap")
	if err := os.WriteFile(own, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{own, "/bin/false", "/nonexistent"} {
		if FindHolder(at(path)).Below {
			t.Errorf("%s is used", path)
		}
	}
	if h := FindHolder(func(string) (string, error) { return "", os.ErrNotExist }); h.Below || !strings.Contains(h.Without, "not on PATH") {
		t.Errorf("%+v", h)
	}
}
