//go:build unix

// Package endtoend tests toolpipe as its users have it: it builds the program
// once and starts it as a process of its own, with pipes, terminals and signals,
// against a model and tool servers that are doubles.
//
// testdata/script holds the scenarios, and its README.md says how one is written.
// Tests in Go do what a script cannot express: servers that misbehave below HTTP,
// certificates, load, panics. testdata/faults.md lists what can go wrong outside
// toolpipe, with the tests for each case.
package endtoend

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"toolpipe/testdata/load"
	"toolpipe/testdata/processtest"
)

// top is the module's directory as seen from this package.
const top = "../.."

// programs is the directory of the programs that are built for this run of the tests.
var programs string

// parts are the programs that the test binary is when it is started under their names.
var parts = map[string]func(args []string) int{"fakebrowser": fakeBrowser}

// TestMain makes the test binary serve as one of its parts (a symbolic link, see newScript).
func TestMain(m *testing.M) {
	if play := parts[filepath.Base(os.Args[0])]; play != nil {
		syscall.Exit(play(os.Args[1:])) // not os.Exit: the race detector would wait a second
	}
	flag.Parse()
	if !flagGiven("test.parallel") {
		// Scripts spend some of their time waiting for processes, sockets and deadlines. With many more
		// of them at once, those that count on the processor wait beyond their deadlines.
		flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	}
	processtest.FilesInMemory()
	processtest.FindPython()
	var err error
	if programs, err = os.MkdirTemp("", "toolpipe-endtoend-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	endGuards()
	os.RemoveAll(programs)
	os.Exit(status)
}

func flagGiven(name string) bool {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// toolpipe builds the program once and returns its path.
var toolpipe = sync.OnceValues(func() (string, error) { return build("toolpipe", ".") })

// guard builds the guard and fakeMCP the tool server over stdio, see there, and returns
// its path. Scripts start them more often than any other program. They need no race
// detector, with which they would start more slowly.
var (
	guard   = sync.OnceValues(func() (string, error) { return buildDouble("guard") })
	fakeMCP = sync.OnceValues(func() (string, error) { return buildDouble("fakemcp") })
)

func buildDouble(name string) (path string, err error) {
	return build(name, "./run/endtoend/testdata/"+name, "-race=false")
}

// build builds a program of this module as the README does, but with the race detector
// and build tags of this test, and with more flags of go build. GOFLAGS is obeyed.
// Without symbols it is linked in half the time.
func build(name, pack string, more ...string) (path string, err error) {
	path = filepath.Join(programs, name)
	args := []string{"build", "-buildvcs=false", "-ldflags=-s", "-o", path}
	if load.RaceDetector() {
		args = append(args, "-race")
	}
	if tags := load.Setting("-tags"); tags != "" {
		args = append(args, "-tags="+tags)
	}
	cmd := exec.Command("go", append(append(args, more...), pack)...)
	cmd.Dir = top
	if !load.RaceDetector() { // which needs C
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return path, readSources(filepath.Join(top, pack))
}

// readSources reads the directories of a program's sources. The go command takes
// a test's result from its cache unless a file or directory changed that the test
// itself has opened, and it does not see the files that go build reads.
func readSources(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		name := entry.Name()
		if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		return nil
	})
}
