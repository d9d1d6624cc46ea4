//go:build unix && (!linux || portable)

package endtoend

// native says that the program is built without its Linux files.
const native = false
