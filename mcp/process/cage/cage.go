// Package cage has the kernel hold a child to less than this program may do.
//
// A cage is what a child may write, what it may not read, and whether it may use the
// network. On Linux one of two holds the files and the processes, and a seccomp filter the
// rest. Landlock (Documentation/userspace-api/landlock.rst) belongs to a thread, and a
// child has that of the thread that starts it: so a child is started on a thread of its
// own, and the program itself stays free. Nothing is executed in between. Bubblewrap
// (bwrap(1)) is a program that starts the child in namespaces of its own: it is slower,
// and holds what is below a directory that may be written, too.
//
// On macOS a profile of Seatbelt (sandbox-exec(1)) holds it. There is no cage on other
// systems, and New says so.
package cage

import (
	"errors"
	"strings"
)

// A Spec says what a child in the cage may do.
type Spec struct {
	// Write are directories below which it may write, make, rename and remove, and devices
	// beside those that every program needs. They are absolute, and exist.
	Write []string
	// Protect are files and directories below those of Write that it may not change. They are
	// absolute. Of a link, what it leads to is held, and the link may be replaced. Landlock does
	// not hold them: see Holder.
	Protect []string
	// Hide are files and directories of which it may read nothing, though it may see their
	// names. They are absolute, and need not exist. Landlock hides nothing that is below
	// Write: see Open.
	Hide    []string
	Network Network
	Holder  Holder
	// Read are, if it is not nil, the files and directories that alone may be read, beside
	// Write and the devices that every program needs. Links are followed when the cage is
	// made: /proc/self/fd/N is the very file that is open then, wherever its name is later.
	// The state of other files is seen all the same, and so is where links lead. Only
	// Landlock holds it, and nothing can be hidden below it.
	Read []string
	// Execute are, if it is not nil, the files that alone may be executed. A program needs
	// its loader among them. Only Landlock holds it.
	Execute []string
}

// checkAlone says why Read and Execute cannot be held.
func (s *Spec) checkAlone(landlock bool) error {
	switch {
	case s.Read == nil && s.Execute == nil:
		return nil
	case !landlock:
		return errors.New("only Landlock (Linux 5.19) can limit a child process to some files")
	case s.Read != nil && len(s.Hide) > 0:
		return errors.New("nothing can be hidden below the files that alone may be read")
	}
	return nil
}

// A Holder is what holds a cage. The zero value is what the system always has.
type Holder struct {
	Name    string // in words
	Below   bool   // it holds what is below a directory that may be written
	Without string // why bubblewrap is not used on a system for which there is one

	bubblewrap *bubblewrap
}

// A Network is what of it a child may use.
type Network int

const (
	NoNetwork    Network = iota // it makes no sockets
	OwnNetwork                  // its own, in which there is nothing else; only bubblewrap gives it
	WholeNetwork                // that of this program
)

// Open are the paths of Hide that are below those of Write, which Landlock cannot hide, and
// what this system does not hold, in words.
type Open struct {
	Paths []string
	Words []string // such as "signals to other processes"
}

// A Child is how a child was started.
type Child struct {
	Release func() // to be called when it was reaped
	// Wrapped says that another program started it, which has its pid, and has to be spared
	// by all signals but SIGKILL: that ends both.
	Wrapped bool
}

// below reports whether a path is a directory, or below it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
