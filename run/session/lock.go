package session

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// heldError says that another process has locked the file.
type heldError struct {
	pid   int       // 0: the system does not tell
	wrote time.Time // when it last wrote to the file, if the system does not tell pid
}

func (e *heldError) Error() string { return "in use by " + e.by() }

// by names the process, with its command where the system tells it. The number may be
// that of a process in another container, whose command would be the wrong one here.
func (e *heldError) by() string {
	if e.pid == 0 && e.wrote.IsZero() {
		return "another run"
	}
	if e.pid == 0 {
		return "another run, which last wrote to it at " + e.wrote.Format(time.DateTime)
	}
	name := "process " + strconv.Itoa(e.pid)
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
