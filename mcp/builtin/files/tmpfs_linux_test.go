package files

import (
	"syscall"
)

// mountSmall puts a file system of a megabyte on a directory, if we may.
func mountSmall(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m") }

func unmount(dir string) { syscall.Unmount(dir, syscall.MNT_DETACH) }
