//go:build unix

package main

import (
	"flag"
	"os"
	"path/filepath"
	"syscall"
	"testing"
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
