//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package run

import "syscall"

const getModes = syscall.TIOCGETA // of a terminal
