//go:build unix

package main

import (
	"flag"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"toolpipe/run"
)

// TestMain lets one binary be every program that the whole-program tests
// need. Under the name of one of them (a symbolic link, see newScript) it is
// that program, so children are real processes and nothing has to be built.
// The name, unlike a variable of the environment, reaches a tool server
// through a client that passes no environment on.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "toolpipe":
		main()
		os.Exit(0)
	case "guard":
		syscall.Exit(guard(os.Args[1:])) // not os.Exit: the race detector would wait a second
	case "fakemcp":
		syscall.Exit(fakeMCP(os.Args[1:]))
	case "faultmcp":
		syscall.Exit(faultMCP(os.Args[1:]))
	}
	flag.Parse()
	if !flagGiven("test.parallel") {
		// Scripts mostly wait: for processes, for sockets, for deadlines.
		flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}

func flagGiven(name string) bool {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// TestHelpGroups holds that the full help shows every flag, once: a flag that
// no group names would be missing from it.
func TestHelpGroups(t *testing.T) {
	fs, _ := flags(&run.Config{})
	shown := map[string]int{}
	for _, g := range groups {
		for _, name := range g.names {
			shown[name]++
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if shown[f.Name] != 1 {
			t.Errorf("--%s is in %d groups of the help", f.Name, shown[f.Name])
		}
		delete(shown, f.Name)
	})
	for name := range shown {
		t.Errorf("the help groups --%s, which is no flag", name)
	}
}
