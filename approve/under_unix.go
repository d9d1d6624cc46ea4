//go:build unix

package approve

import "syscall"

// errNotDirectory says that a path goes on below something that is a file.
var errNotDirectory error = syscall.ENOTDIR
