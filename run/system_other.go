//go:build !unix

package run

import (
	"io"
	"os"
	"syscall"
)

// Children are ended by sessions and process groups, and questions are asked
// on /dev/tty. Without them the promises of this program cannot be kept, so it
// does not build here: under Windows it runs in WSL.
const _ uint = "toolpipe needs process groups and /dev/tty: it builds on Linux, macOS and the BSDs, and runs under Windows in WSL"

const openNonblock = 0

func defaultConfigDir(home string) string { return home }

func otherOwner(os.FileInfo) (uid string, other bool) { return "", false }

func Harden() {}

func Raise(syscall.Signal) {}

func Blocking(f *os.File) io.Writer { return f }

func TerminalWidth(*os.File) int { return 0 }

func InBackground(*os.File) (background, stops bool) { return false, false }
