//go:build !linux || portable

package cage

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// seatbelt is the program that starts another one in a sandbox of macOS. It has an absolute
// path, so that no other program of that name is used.
const seatbelt = "/usr/bin/sandbox-exec"

// A Cage restricts the children that it starts.
type Cage struct{ spec Spec }

// A bubblewrap exists only on Linux.
type bubblewrap struct{}

// FindHolder finds out what enforces cages here.
func FindHolder(func(name string) (path string, err error)) Holder {
	return Holder{Name: "Seatbelt", Below: true}
}

// Available returns the reason why there can be no cage here.
func Available() error {
	if runtime.GOOS != "darwin" {
		return errors.New("this system has no Landlock (Linux 5.19)")
	}
	_, err := os.Stat(seatbelt)
	return err
}

// New makes a cage.
func New(spec Spec) (*Cage, Open, error) {
	if err := Available(); err != nil {
		return nil, Open{}, err
	}
	if err := spec.checkAlone(false); err != nil {
		return nil, Open{}, err
	}
	if spec.Network == OwnNetwork {
		return nil, Open{}, errors.New("this system cannot give a process a separate network")
	}
	for _, paths := range []*[]string{&spec.Write, &spec.Protect, &spec.Hide} { // rules need paths without links
		*paths = slices.Clone(*paths)
		for i, path := range *paths {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				(*paths)[i] = real
			}
		}
	}
	return &Cage{spec}, Open{}, nil
}

// Start starts cmd in the cage, and changes it. It is a process.StartFunc.
func (c *Cage) Start(cmd *exec.Cmd) (release func(), wrapped bool, err error) {
	if _, err := exec.LookPath(cmd.Path); err != nil {
		return nil, false, err
	}
	cmd.Args = slices.Concat([]string{seatbelt}, seatbeltArguments(&c.spec), []string{cmd.Path}, cmd.Args[1:])
	cmd.Path = seatbelt
	return func() {}, false, cmd.Start()
}

// Close frees the cage.
func (*Cage) Close() {}

// Enter does nothing: here no program is started inside another one.
func Enter([]string) error { return nil }
