package session

import "strconv"

// heldError says that another process has locked the file. It may be one of another
// container, so that nothing but its number is told.
type heldError struct {
	pid int // 0: the system does not tell
}

func (e *heldError) Error() string {
	if e.pid == 0 {
		return "in use by another run"
	}
	return "in use by process " + strconv.Itoa(e.pid)
}
