//go:build unix && (!linux || portable)

package confine

import "os"

const largeFile = 0 // all files are large

// isKernelFileSystem answers no: on this system only inKernelDirectory tells.
func isKernelFileSystem(*os.Root) bool { return false }
