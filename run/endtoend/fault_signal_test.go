//go:build unix

package endtoend

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/testdata/load"
)

// phases are the things that a run can wait for when a signal comes, with the
// commands that bring a run there. The harness checks that no process is left.
var phases = map[string]string{
	"reading input": `stdin -open -text 'x'
toolpipe -o ndjson -t fs="$MCP -log $WORK/log" &
await file log tools/list`,
	"a server starts": `toolpipe -o ndjson -t fs="$MCP -silent -stubborn -log $WORK/log" -t two="$MCP -grandchild -log $WORK/two" hi &
await file log ''
await file two tools/list`,
	"the model is silent": `model silent
toolpipe -o ndjson -t fs="$MCP" hi &
await requests 1`,
	"text comes": `model stream
toolpipe -o ndjson hi &
await stdout Hel`,
	"a retry is due": `model busy
toolpipe -o ndjson hi &
await stdout '"type":"retry"'`,
	"calls run": `model calls
toolpipe -o ndjson -y --trust fs -t fs="$MCP -tools slow,hang -grandchild -log $WORK/log" hi &
await file log 'tools/call slow'`,
	"a command runs": `model shell
toolpipe -o ndjson -y --shell hi &
await file began x`,
	"an approver thinks": `sh 'chmod +x approver'
model calls
toolpipe -o ndjson --approver $WORK/approver -t fs="$MCP -tools slow,hang" hi &
await file began x`,
	"one call is made": `toolpipe --call fs__hang -o ndjson -y -t fs="$MCP -tools hang -log $WORK/log" '{}' &
await file log 'tools/call hang'`,
	"tools are listed": `toolpipe --list-tools -o ndjson -t fs="$MCP -silent -log $WORK/log" &
await file log ''`,
	"a person is asked": `model calls
tty toolpipe -o ndjson -t fs="$MCP -tools slow,hang" hi &
await screen '\[y/N/a/t/q/v/\?\]'`,
}

const phaseFiles = `-- silent --
reply
hang
-- stream --
reply
text "Hel"
hang
-- busy --
reply 503
header Retry-After: 50
body {"error":{"message":"overloaded"}}
-- calls --
reply
call fs__slow {"ms":100000}
call fs__slow {"ms":100000}
call fs__hang {}
-- shell --
reply
call shell__run_command {"script":"sleep 300 | cat & (trap '' TERM INT HUP; echo x > $WORK_DIR/began; sleep 300)"}
-- approver --
#!/bin/sh
trap '' TERM
echo x > "${0%/*}/began"
sleep 300
`

// TestFaultSignals sends each signal in every phase: the run ends in an orderly
// way, reports it, and dies by the signal.
func TestFaultSignals(t *testing.T) {
	t.Parallel()
	for phase, commands := range phases {
		for signal, status := range map[string]int{"INT": 130, "TERM": 143, "HUP": 129} {
			t.Run(phase+"/"+signal, func(t *testing.T) {
				t.Parallel()
				if signal == "HUP" {
					load.Variant(t)
				}
				s := newFault(t, "")
				s.plant(strings.ReplaceAll(phaseFiles, "$WORK_DIR", s.work))
				s.begin(commands)
				s.do(fmt.Sprintf(`signal %s
wait => %d
event end.status interrupted
event end.exit %d
! grep '"type":"tool_result".*"status":"ok"' stdout`, signal, status, status))
			})
		}
	}
}

// plant writes the files of an archive into the working directory.
func (s *script) plant(archive string) {
	s.t.Helper()
	files, err := splitArchive(archive)
	if err == nil {
		err = s.writeFiles(files)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestFaultSignalTwice sends two signals to a run whose server does not react:
// the second one ends it at once, and no process is left.
func TestFaultSignalTwice(t *testing.T) {
	t.Parallel()
	s := newFault(t, phaseFiles)
	s.do(`model calls
toolpipe -y --trust fs -t fs="$MCP -tools slow,hang -stubborn -grandchild -log $WORK/log" -t two="$MCP -silent -stubborn -version 1" hi &
await file log 'tools/list'
signal INT
signal TERM
wait => 130 143
requests 0`)
}

// TestFaultSignalStuckOutput checks that a signal ends a run whose reader of
// stdout does not read.
func TestFaultSignalStuckOutput(t *testing.T) {
	t.Parallel()
	s := newFault(t, "-- m --\nreply\nmany 100000 text \"0123456789012345678901234567890123456789\"\n")
	s.begin("model m")
	if err := s.launch("toolpipe", []string{"hi", "&"}, command{pace: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	s.do("await stdout 0\nsignal TERM\nwait => 143\nrequests 1")
}

// TestFaultStuckStderr checks that an error from before a run ends the process
// though nobody reads stderr, a pipe that is full.
func TestFaultStuckStderr(t *testing.T) {
	t.Parallel()
	program, err := toolpipe()
	if err != nil {
		t.Fatal(err)
	}
	for argument, want := range map[string]int{"--no-such-flag": 2, "--help": 8} {
		t.Run(argument, func(t *testing.T) {
			t.Parallel()
			stdout, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			defer stdout.Close()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			fd := int(w.Fd())
			syscall.SetNonblock(fd, true)
			for err == nil {
				_, err = syscall.Write(fd, []byte("x"))
			}
			syscall.SetNonblock(fd, false)
			ctx, cancel := context.WithTimeout(t.Context(), hangGuard)
			defer cancel()
			cmd := exec.CommandContext(ctx, program, argument)
			cmd.Stdout, cmd.Stderr = stdout, w
			if err := cmd.Run(); ctx.Err() != nil || cmd.ProcessState.ExitCode() != want {
				t.Errorf("%v, want status %d", err, want)
			}
		})
	}
}

// TestFaultTraceback checks that SIGQUIT makes toolpipe print no secret and no
// stack trace.
func TestFaultTraceback(t *testing.T) {
	t.Parallel()
	s := newFault(t, phaseFiles)
	s.do(`model stream
toolpipe -t fs="$MCP -grandchild -stubborn" --stream hi &
await stdout Hel
signal QUIT
wait => 131
! stderr 'goroutine|canary|0x'`)
}

// TestFaultStopped stops and continues a run in the middle of a stream, and in
// the middle of a question, which is then drawn again and answered.
func TestFaultStopped(t *testing.T) {
	t.Parallel()
	s := newFault(t, "-- m --\nreply\ncall fs__echo {\"text\":\"x\"}\nreply\ntext \"Done.\"\n")
	s.do(`[!linux] skip needs Linux
model m
tty toolpipe -o ndjson -t fs="$MCP" hi &
await screen '\[y/N/a/t/q/v/\?\]'
signal TSTP
await stopped
signal CONT
await screen '\[y/N/a/t/q/v/\?\]'
send 'y\n'
wait
event approval.by terminal
event tool_result.status ok
event end.status ok
model m
tty sh 'stty -a < /dev/tty > before; toolpipe -t fs="$MCP" hi; stty -a < /dev/tty > after; cmp before after' &
await screen '\[y/N/a/t/q/v/\?\]'
send 'y\n'
wait
stdout Done`)
}
