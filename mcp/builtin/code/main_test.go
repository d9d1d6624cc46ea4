package code

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"toolpipe/testdata/processtest"
)

func TestMain(m *testing.M) { os.Exit(processtest.Main(m, os.Args, findPython)) }

// findPython has python3 be the interpreter itself: a script that starts one, as pyenv
// has it, takes longer than all that the tests do with it.
func findPython() {
	path, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err == nil {
		os.Setenv("PATH", filepath.Dir(string(path))+":"+os.Getenv("PATH"))
	}
}
