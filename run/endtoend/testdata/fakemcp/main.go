//go:build unix

// Command fakemcp is the tool server that scripts start over stdio.
package main

import (
	"os"

	"toolpipe/mcp/testdata/mcpdouble"
)

func main() { os.Exit(mcpdouble.Main(os.Args[1:])) }
