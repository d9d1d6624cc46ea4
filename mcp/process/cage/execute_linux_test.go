//go:build !portable

package cage

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"toolpipe/testdata/processtest"
)

// ownProgram are the files that the program of the tests needs to be executed, and those
// that it reads then.
func ownProgram(t *testing.T) (execute, read []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	execute = []string{self}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, _ := io.ReadAll(p.Open())
			execute = append(execute, strings.TrimRight(string(name), "\x00"))
		}
	}
	return execute, []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"}
}

// TestAlone: a child reads what alone may be read, and executes what alone may be executed.
func TestAlone(t *testing.T) {
	execute, libraries := ownProgram(t)
	s := newScene(t)
	tool := filepath.Join(s.root, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(s.outside, "file"), filepath.Join(s.root, "out")); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(s.outside, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	all := append([]string{s.root}, libraries...)
	for _, x := range []struct {
		args          string
		read, execute bool // it is tried with these fields of the specification
		held          bool
	}{
		{"read R/file", true, true, false}, {"list R", true, true, false}, {"null", true, true, false}, {"self", true, true, false},
		{"read O/file", true, true, true}, {"list O", true, true, true}, {"list /", true, true, true}, {"read R/out", true, true, true}, {"read R/../outside/file", true, true, true},
		{"read O/pipe", true, true, true}, {"read /etc/passwd", true, true, true}, {"read /proc/self/environ", true, true, true},
		{"append R/file", true, true, true}, {"write R/new", true, true, true}, {"append O/file", true, true, true},
		{"program R/tool", true, true, true}, {"program /bin/true", true, true, true}, {"program /bin/sh -c true", true, true, true},
		{"read O/file", false, true, false}, {"list O", false, true, false}, {"program /bin/true", false, true, true}, {"program R/tool", false, true, true},
		{"read O/file", true, false, true}, {"read R/file", true, false, false},
	} {
		spec := Spec{}
		if x.read {
			spec.Read = append(all, execute...)
		}
		if x.execute {
			spec.Execute = execute
		}
		args := strings.Fields(strings.NewReplacer("R/", s.root+"/", "O/", s.outside+"/", "list R", "list "+s.root, "list O", "list "+s.outside).Replace(x.args))
		out, err := run(t, newCage(t, spec), processtest.Command("attack", args...))
		if (err != nil) != x.held {
			t.Errorf("%q with Read %t, Execute %t: %s%v", x.args, x.read, x.execute, out, err)
		}
	}
	if _, _, err := newCage(t, Spec{Execute: []string{}}).Start(exec.Command("/bin/true")); err == nil {
		t.Error("a program was executed where none may be")
	}
}

// TestAloneWrite: what may be written may be read, and is executed no more than other files.
func TestAloneWrite(t *testing.T) {
	execute, libraries := ownProgram(t)
	s := newScene(t)
	if err := os.WriteFile(filepath.Join(s.root, "tool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := newCage(t, Spec{Write: []string{s.root}, Read: append(libraries, execute...), Execute: execute})
	for args, held := range map[string]bool{"append R/file": false, "read R/file": false, "program R/tool": true, "read O/file": true} {
		args := strings.Fields(strings.NewReplacer("R/", s.root+"/", "O/", s.outside+"/").Replace(args))
		if out, err := run(t, c, processtest.Command("attack", args...)); (err != nil) != held {
			t.Errorf("%q: %s%v", args, out, err)
		}
	}
}

// TestAloneOpened: an open file is the one that may be read, whatever has its name later.
func TestAloneOpened(t *testing.T) {
	execute, libraries := ownProgram(t)
	s := newScene(t)
	name := filepath.Join(s.root, "file")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(name, name+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(s.outside, "file"), name); err != nil {
		t.Fatal(err)
	}
	c := newCage(t, Spec{Read: append(append(libraries, execute...), fmt.Sprint("/proc/self/fd/", f.Fd())), Execute: execute})
	for path, held := range map[string]bool{name: true, name + ".moved": false} {
		if out, err := run(t, c, processtest.Command("attack", "read", path)); (err != nil) != held {
			t.Errorf("%s: %s%v", path, out, err)
		}
	}
}

// TestAloneNotHeld: who cannot hold a child to some files alone makes no cage.
func TestAloneNotHeld(t *testing.T) {
	newCage(t, Spec{})
	for _, spec := range []Spec{{Read: []string{"/"}, Hide: []string{"/etc"}}, {Read: []string{}, Holder: Holder{bubblewrap: &bubblewrap{}}}, {Execute: []string{}, Holder: Holder{bubblewrap: &bubblewrap{}}}} {
		if _, _, err := New(spec); err == nil {
			t.Errorf("%+v: there is a cage", spec)
		}
	}
}
