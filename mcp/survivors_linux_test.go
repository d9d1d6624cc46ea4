//go:build !portable

package mcp

import (
	"bufio"
	"os"

	"toolpipe/mcp/process/processtest"
)

// Only on Linux a process is found that has left its session.
func init() {
	// It leaves its session and its parent, as daemons do.
	survivors["daemon"] = func(file string) {
		processtest.Note(file)
		processtest.LeaveSleeper(file, os.Stdout, true)
		(&double{in: bufio.NewReader(os.Stdin), out: os.Stdout}).serve()
	}
}
