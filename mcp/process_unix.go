//go:build unix

package mcp

import "syscall"

func terminateGroup(pgid int) { syscall.Kill(-pgid, syscall.SIGTERM) }

func killGroup(pgid int) { syscall.Kill(-pgid, syscall.SIGKILL) }
