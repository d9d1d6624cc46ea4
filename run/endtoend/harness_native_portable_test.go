//go:build unix && (!linux || portable)

package endtoend

// native says that the program does what every Unix can do, and no more.
const native = false
