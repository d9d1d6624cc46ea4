// Package cage has the kernel hold a child to less than this program may do.
//
// A cage is what a child may write, what it may not read, and whether it may use the
// network. On Linux, Landlock (Documentation/userspace-api/landlock.rst) holds the files
// and the signals, and a seccomp filter the rest. Both belong to a thread, and a child has
// those of the thread that starts it: so a child is started on a thread of its own, and
// the program itself stays free. Nothing is executed in between.
//
// There is no cage on other systems, and New says so.
package cage

// A Spec says what a child in the cage may do.
type Spec struct {
	// Write are directories below which it may write, make, rename and remove, and devices
	// beside those that every program needs. They are absolute, and exist.
	Write []string
	// Hide are files and directories of which it may read nothing, though it may see their
	// names. They are absolute, and need not exist. What Write names is not hidden: see Open.
	Hide []string
	// Network is whether it may make sockets.
	Network bool
}

// Open are the paths of Hide that are below those of Write, which Landlock cannot hide, and
// those that it lacks on this system, in words.
type Open struct {
	Paths []string
	Words []string // such as "signals to other processes"
}
