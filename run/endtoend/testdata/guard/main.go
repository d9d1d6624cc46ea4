//go:build unix

// Command guard runs the commands of scripts, one after the other. It is a program of
// its own, because it is started many times faster than the test binary.
package main

import (
	"encoding/gob"
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

// A job is a command for the guard. It comes as a gob, behind a byte with descriptors
// for the standard streams.
type job struct {
	TTY        string // its terminal, which the guard keeps
	On         string // digits of the standard streams that are the terminal
	Background bool   // the terminal's foreground is the guard
	Dir        string // working directory
	Args, Env  []string
	std        []*os.File
}

// main gets jobs on the socket that is descriptor 3 and reports there what happens,
// one line for each event:
//
//	pid N          the command was started
//	exit N         it ended by itself
//	signal N       it was ended by a signal
//	maxrss KIB     its peak memory
//	survivor ARGS  a process that it left behind
//	error TEXT     it could not be started
//	done           the guard takes another job
//
// The guard is the leader of its own session, and runs a job like a job-control shell.
// A terminal becomes its controlling terminal, and the command is put into its
// foreground or background. Without one, /dev/tty cannot be opened. On Linux the guard
// is a child subreaper: every process that the command leaves behind becomes its child,
// so that the guard sees all of them.
func main() {
	socket := os.NewFile(3, "socket")
	syscall.CloseOnExec(3)
	becomeSubreaper()
	// Caught, not ignored: an ignored signal would be inherited.
	signal.Notify(make(chan os.Signal, 8), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	for {
		j, err := receive(socket)
		if err != nil {
			return // the tests have ended
		}
		if err := j.run(socket); err != nil {
			fmt.Fprintln(socket, "error", err)
		}
		fmt.Fprintln(socket, "done")
	}
}

func receive(socket *os.File) (j job, err error) {
	rights := make([]byte, syscall.CmsgSpace(3*4))
	_, count, _, _, err := syscall.Recvmsg(3, make([]byte, 1), rights, 0)
	if err != nil {
		return j, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:count])
	if err != nil || len(messages) != 1 {
		return j, errors.Join(err, io.ErrUnexpectedEOF)
	}
	descriptors, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return j, err
	}
	for _, fd := range descriptors {
		syscall.CloseOnExec(fd)
		j.std = append(j.std, os.NewFile(uintptr(fd), "stream"))
	}
	err = gob.NewDecoder(socket).Decode(&j)
	return j, err
}

func (j *job) run(report io.Writer) error {
	attr := &syscall.SysProcAttr{Setpgid: true}
	std := [3]*os.File(j.std)
	if j.TTY != "" {
		tty, err := os.OpenFile(j.TTY, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		for _, digit := range j.On {
			std[digit-'0'] = tty
		}
		if !j.Background {
			attr.Foreground, attr.Ctty = true, int(tty.Fd())
		}
	}
	cmd := &exec.Cmd{Path: j.Args[0], Args: j.Args, Env: j.Env, Dir: j.Dir, Stdin: std[0], Stdout: std[1], Stderr: std[2], SysProcAttr: attr}
	err := cmd.Start()
	// Only the command may have the pipes open, or nobody would see them close.
	for _, f := range j.std {
		f.Close()
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(report, "pid", cmd.Process.Pid)

	state, err := cmd.Process.Wait()
	if err != nil {
		return err
	}
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		fmt.Fprintln(report, "signal", int(status.Signal()))
	} else {
		fmt.Fprintln(report, "exit", status.ExitStatus())
	}
	fmt.Fprintln(report, "maxrss", state.SysUsage().(*syscall.Rusage).Maxrss)
	reportSurvivors(report)
	return nil
}

// reportSurvivors waits two seconds for the processes that were left behind, then
// reports and kills them.
func reportSurvivors(report io.Writer) {
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		switch pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
		case errors.Is(err, syscall.EINTR), pid > 0:
			continue
		case err != nil: // no child is left
			return
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
