//go:build !portable

package endtoend

// native says that the program is built with its Linux files: it finds processes
// that have left its session, and they die with it.
const native = true
