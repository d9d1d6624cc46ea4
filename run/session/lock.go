package session

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// heldError says that another process has locked the file.
type heldError struct {
	pid int // 0: the system does not tell
}

// Error names the process, with its command where the system tells it. The number may
// be that of a process in another container, whose command would be the wrong one here.
func (e *heldError) Error() string {
	if e.pid == 0 {
		return "in use by another run"
	}
	name := "in use by process " + strconv.Itoa(e.pid)
	command, err := os.ReadFile("/proc/" + strconv.Itoa(e.pid) + "/cmdline")
	if err != nil || !bytes.Contains(command, []byte("--session")) {
		return name
	}
	words := strings.ReplaceAll(string(bytes.TrimRight(command, "\x00")), "\x00", " ")
	if len(words) > 200 {
		words = words[:200] + "…"
	}
	return name + " (" + strings.ToValidUTF8(words, "") + ")"
}
