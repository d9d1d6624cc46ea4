// Package cage makes the kernel restrict a child to less than this program may do.
//
// A cage limits what a child may write and read, and whether it may use the network. On Linux
// every child is in a domain of Landlock (Documentation/userspace-api/landlock.rst), for files
// and processes, and has a seccomp filter, for calls that name no file. Both apply to a
// thread, and a child inherits them. So each child is started on a separate thread, and the
// program itself stays unrestricted. Nothing is executed in between.
//
// Where bubblewrap (bwrap(1)) works, it adds new namespaces. They protect and hide paths below
// a writable directory, which Landlock cannot do, and give a child its own /dev, /proc and
// perhaps network. In a domain nothing can be mounted, so bwrap starts this program again, and
// this program enters the domain and the filter and executes the child: see Enter.
//
//	Landlock alone    this program: thread ── enter ── fork ── child
//	with bubblewrap   this program ── bwrap ── this program, Enter: enter ── child
//
// On macOS the cage is a profile of Seatbelt (sandbox-exec(1)). Other systems have no cage;
// there New returns an error.
package cage

import (
	"errors"
	"strings"
)

// A Spec is the list of permissions of a child in the cage.
type Spec struct {
	// Write are directories in which it may write, make, rename and remove files, and devices
	// in addition to the standard ones. They are absolute and exist.
	Write []string
	// Protect are files and directories below Write that it may not change. They are
	// absolute. For a link, the target is protected; the link itself can be replaced.
	// Landlock cannot enforce Protect: see Holder.
	Protect []string
	// Hide are files and directories that it may not read, though it may see their names.
	// They are absolute and need not exist. Landlock cannot hide anything below Write: see
	// Open.
	Hide []string
	// Reach are socket files, and directories that hold some, at which it may use the sockets
	// of other programs, as below Write. Without a network it has no sockets.
	Reach   []string
	Network Network
	Holder  Holder
	// Read, if not nil, are the only files and directories that may be read, in addition to
	// Write and the standard devices. Links are resolved when the cage is made:
	// /proc/self/fd/N means the file that is open then, even if it is renamed later. The
	// metadata of other files and the targets of links stay visible. Only Landlock enforces
	// Read, and nothing below it can be hidden.
	Read []string
	// Execute, if not nil, are the only files that may be executed. It must include the
	// loader of each program. Only Landlock enforces it.
	Execute []string
}

// checkAlone returns an error if Read and Execute cannot be enforced.
func (s *Spec) checkAlone(landlock bool) error {
	switch {
	case s.Read == nil && s.Execute == nil:
		return nil
	case !landlock:
		return errors.New("only Landlock (Linux 5.19) can limit a child process to some files")
	case s.Read != nil && len(s.Hide) > 0:
		return errors.New("nothing can be hidden below the only files that may be read")
	}
	return nil
}

// A Holder enforces a cage. The zero value is always available on the system.
type Holder struct {
	Name    string // for people
	Below   bool   // it can protect and hide paths below a writable directory, as they are when the cage is made
	Without string // why bubblewrap is not used on a system that supports it

	bubblewrap *bubblewrap
}

// A Network is how much of the network a child may use.
type Network int

const (
	NoNetwork    Network = iota // it cannot make sockets
	OwnNetwork                  // a new, empty network, one for all children; only bubblewrap supports it
	WholeNetwork                // the network of this program, but not its sockets with a path: see Reach
)

// Open are the limits that cannot be enforced: paths of Hide below Write, which Landlock
// cannot hide, and what else this system cannot restrict, in words.
type Open struct {
	Paths []string
	Words []string // such as "signals to other processes"
}

// below reports whether path is dir or below it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
