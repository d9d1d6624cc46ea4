package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func becomeSubreaper() {
	const prSetChildSubreaper = 36 // prctl(2)
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		panic(errno)
	}
}

// childPIDs are the children of this process, including the orphans that it got.
func childPIDs() (pids []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
