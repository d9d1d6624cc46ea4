package parsers

import (
	"os"
	"testing"

	"toolpipe/testdata/processtest"
)

func TestMain(m *testing.M) { os.Exit(processtest.Main(m, os.Args, processtest.FindPython)) }
