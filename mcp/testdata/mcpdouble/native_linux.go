//go:build !portable

package mcpdouble

// Native says that the program is built with its Linux files: it finds processes
// that have left its session, and they die with it.
const Native = true
