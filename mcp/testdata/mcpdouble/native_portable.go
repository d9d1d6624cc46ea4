//go:build unix && (!linux || portable)

package mcpdouble

// Native says that the program is built without its Linux files.
const Native = false
