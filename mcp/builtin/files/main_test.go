//go:build unix

package files

import (
	"os"
	"testing"

	"toolpipe/testdata/processtest"
)

func TestMain(m *testing.M) { os.Exit(processtest.Main(m, os.Args)) }
