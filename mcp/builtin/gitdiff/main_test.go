//go:build unix

package gitdiff

import (
	"fmt"
	"os"
	"testing"
	"time"

	"toolpipe/testdata/processtest"
)

func TestMain(m *testing.M) {
	if os.Args[0] == "git" { // of TestGitEndsWhenFull
		fmt.Print("12345")
		time.Sleep(20 * time.Second)
		return
	}
	os.Exit(processtest.Main(m, os.Args))
}
