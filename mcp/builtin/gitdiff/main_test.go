//go:build unix

package gitdiff

import (
	"os"
	"testing"

	"toolpipe/mcp/process/processtest"
)

func TestMain(m *testing.M) { os.Exit(processtest.Main(m, os.Args)) }
