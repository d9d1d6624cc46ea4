//go:build !portable

package endtoend

// native says that the program has its Linux files: what has left its session
// is found, and dies with it.
const native = true
