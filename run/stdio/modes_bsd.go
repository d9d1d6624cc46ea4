//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package stdio

import "syscall"

const getModes = syscall.TIOCGETA // of a terminal
