//go:build !linux || portable

package cage

import (
	"errors"
	"os/exec"
)

// A Cage holds the children that it starts.
type Cage struct{}

// New makes a cage.
func New(Spec) (*Cage, Open, error) {
	return nil, Open{}, errors.New("this system has no Landlock (Linux 5.19)")
}

// Start does what Cage.Start does on Linux.
func (*Cage) Start(*exec.Cmd) (Child, error) { return Child{}, errors.ErrUnsupported }

// Close frees the cage.
func (*Cage) Close() {}

// Bubblewrap is the program bwrap.
type Bubblewrap struct{}

// FindBubblewrap finds it.
func FindBubblewrap(func(name string) (string, error)) (*Bubblewrap, error) {
	return nil, errors.New("bubblewrap is for Linux")
}
