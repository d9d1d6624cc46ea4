//go:build !portable

package mcp

import (
	"os"

	"toolpipe/mcp/testdata/mcpdouble"
	"toolpipe/testdata/processtest"
)

// Only on Linux a process is found that has left its session.
func init() {
	// It leaves its session and its parent, as daemons do.
	survivors["daemon"] = func(file string) {
		processtest.Note(file)
		processtest.LeaveSleeper(file, os.Stdout, true)
		mcpdouble.Main([]string{"-tools", "t"})
	}
}
