//go:build !unix

package approve

import "io/fs"

// errNotDirectory says that a path goes on below something that is a file.
var errNotDirectory = fs.ErrNotExist
