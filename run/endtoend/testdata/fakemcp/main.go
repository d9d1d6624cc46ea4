//go:build unix

// Command fakemcp is the tool server that scripts start over stdio.
package main

import (
	"os"

	"toolpipe/run/endtoend/testdata/mcpdouble"
)

func main() { os.Exit(mcpdouble.Main(os.Args[1:])) }
