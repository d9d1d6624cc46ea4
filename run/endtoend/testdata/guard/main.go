//go:build unix

// Command guard runs one command of a script. It is a program of its own, because
// every script starts several, and the test binary takes many times as long to start.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() { os.Exit(guard(os.Args[1:])) }

// guard runs one command like a job-control shell, and reports on descriptor 3
// what happens, one line for each event:
//
//	pid N          the command was started
//	exit N         it ended by itself
//	signal N       it was ended by a signal
//	maxrss KIB     its peak memory
//	survivor ARGS  a process that it left behind
//	error TEXT     it could not be started
//
// The guard is the leader of its own session. With -tty it has that terminal as
// controlling terminal and puts the command into its foreground, or into its
// background with -background. Without -tty, /dev/tty cannot be opened. On Linux
// the guard is a child subreaper: every process that the command leaves behind
// becomes its child, so that the guard sees all of them.
func guard(args []string) int {
	report := os.NewFile(3, "report")
	syscall.CloseOnExec(3)
	becomeSubreaper()
	// Caught, not ignored: an ignored signal would be inherited.
	signal.Notify(make(chan os.Signal, 8), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)

	std := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	var tty *os.File
	attr := &syscall.SysProcAttr{Setpgid: true}
	foreground := true
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "-background":
			foreground = false
		case strings.HasPrefix(args[0], "-tty="):
			var err error
			if tty, err = os.OpenFile(args[0][len("-tty="):], os.O_RDWR, 0); err != nil {
				fmt.Fprintln(report, "error", err)
				return 1
			}
		case strings.HasPrefix(args[0], "-on="): // digits of the standard streams that are the terminal
			for _, digit := range args[0][len("-on="):] {
				std[digit-'0'] = tty
			}
		}
		args = args[1:]
	}
	if tty != nil && foreground {
		attr.Foreground, attr.Ctty = true, int(tty.Fd())
	}
	cmd := &exec.Cmd{Path: args[0], Args: args, Stdin: std[0], Stdout: std[1], Stderr: std[2], SysProcAttr: attr}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(report, "error", err)
		return 1
	}
	// Only the command may have the pipes open, or nobody would see them close.
	os.Stdin.Close()
	os.Stdout.Close()
	os.Stderr.Close()
	fmt.Fprintln(report, "pid", cmd.Process.Pid)

	state, err := cmd.Process.Wait()
	if err != nil {
		fmt.Fprintln(report, "error", err)
		return 1
	}
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		fmt.Fprintln(report, "signal", int(status.Signal()))
	} else {
		fmt.Fprintln(report, "exit", status.ExitStatus())
	}
	fmt.Fprintln(report, "maxrss", state.SysUsage().(*syscall.Rusage).Maxrss)
	reportSurvivors(report)
	return 0
}

// reportSurvivors waits two seconds for the processes that were left behind, then
// reports and kills them.
func reportSurvivors(report io.Writer) {
	deadline := time.Now().Add(2 * time.Second)
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR), pid > 0:
			continue
		case err != nil: // no child is left
			return
		}
		if time.Now().After(deadline) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	for _, pid := range childPIDs() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		fmt.Fprintf(report, "survivor %d %q\n", pid, strings.ReplaceAll(string(line), "\x00", " "))
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		for _, pid := range childPIDs() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if _, err := syscall.Wait4(-1, nil, 0, nil); errors.Is(err, syscall.ECHILD) {
			return
		}
	}
}
