//go:build unix

package endtoend

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"toolpipe/testdata/load"
)

// sweepModel asks for a call, a command and a file.
const sweepModel = `-- m --
reply
again
call fs__echo {"text":"x"}
call shell__run_command {"argv":["true"]}
call files__read_file {"path":"notes"}
-- config --
{"max_rounds":1}
-- policy --
{"version":1,"rules":[{"decision":"allow","server":"fs","tool":"echo"}]}
-- notes --
some notes
`

const sweepRun = `toolpipe -o ndjson -y --config config --policy policy -f notes --max-rounds 1 --files . --shell --timeout 20 --log log --session session --record record --notes a-notes -t fs="$MCP -tools echo -grandchild" hi`

// sweepHolds checks a run under a shell or strace, whose output is in the files
// out and err, for what checkRun checks in other runs.
func (s *script) sweepHolds(what string) {
	s.t.Helper()
	status := s.status
	out, _ := s.read("out")
	diagnostics, _ := s.read("err")
	switch {
	case bytes.Contains(diagnostics, []byte("goroutine ")) || bytes.Contains(diagnostics, []byte("panic")):
		s.t.Errorf("%s: a defect shows: %s", what, clip(diagnostics))
	case rawControl(diagnostics) >= 0 || bytes.Count(diagnostics, []byte("\n")) > 100:
		s.t.Errorf("%s: stderr: %q", what, clip(diagnostics))
	case status == 8 || status == 141: // the output failed
	case status == 127: // the loader could not read the libraries: the program did not start
	case status > 128 || len(bytes.TrimSpace(out)) == 0:
		s.t.Errorf("%s: status %d without an end: %s", what, status, clip(diagnostics))
	default:
		if err := checkEvents(out, &process{status: status}); err != nil {
			s.t.Errorf("%s: %v\n%s\n%s", what, err, clip(out), clip(diagnostics))
		}
	}
}

// TestFaultDescriptors checks that a run with too few file descriptors ends in an
// orderly way, wherever they run out.
func TestFaultDescriptors(t *testing.T) {
	t.Parallel()
	s := newFault(t, sweepModel)
	ended := map[int]int{}
	for n := 8; n <= 34; n += load.Of(t, 1, 3) { // with fewer the Go runtime itself cannot start
		s.begin("model m\nsh 'exec > out 2> err; ulimit -n " + fmt.Sprint(n) + `; exec ` + sweepRun + `'` + " => 0 1 2 3 4 5 6 7 8 129 130 143 141")
		s.verified = true
		s.sweepHolds(fmt.Sprintf("%d descriptors", n))
		ended[s.status]++
	}
	if len(ended) < 2 {
		t.Errorf("all runs ended alike: %v", ended)
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
}

// TestFaultSweep uses strace to let the n-th system call of each kind fail, for
// each n that a run reaches. strace counts the calls of each thread separately,
// which is enough to reach every place.
func TestFaultSweep(t *testing.T) {
	t.Parallel()
	if load.RaceDetector() {
		t.Skip("too slow with the race detector")
	}
	for _, fault := range []struct {
		calls, with string
		count       int
	}{
		{"openat", "error=EMFILE", 14},
		{"openat", "error=EACCES", 14},
		{"read -P $WORK/config -P $WORK/policy -P $WORK/notes", "error=EIO", 5}, // not of pipes: Go would wait for the child without end
		{"write -P $WORK/out -P $WORK/log", "error=ENOSPC", 10},
		{"write -P $WORK/out -P $WORK/err", "error=EINTR", 6},
		{"pipe2", "error=EMFILE", 6},
		{"socket", "error=EMFILE", 3},
		{"connect", "error=ECONNREFUSED", 3},
		{"setsockopt,getsockname,getsockopt", "error=EINVAL", 4},
		{"fstat,newfstatat", "error=EIO", 12},
		{"close_range", "error=EPERM", 1}, // prctl is left out: without it, a daemon of a server may survive
		{"wait4,waitid", "error=EINTR", 3},
	} {
		t.Run(fault.calls+" "+fault.with, func(t *testing.T) {
			t.Parallel()
			s := newFault(t, sweepModel)
			s.begin("[!program:strace] skip needs strace\n[!linux] skip needs Linux\nsh 'strace -f --seccomp-bpf -qq -o /dev/null true'\nmodel m")
			s.verified = true
			calls, only, _ := strings.Cut(fault.calls, " ")
			for n := 1; n <= fault.count; n += load.Of(t, 1, 5) {
				s.begin(fmt.Sprintf(`sh 'exec strace -f --seccomp-bpf -qq -o /dev/null %s -e trace=%s -e inject=%s:%s:when=%d `, only, calls, calls, fault.with, n) +
					"toolpipe " + strings.TrimPrefix(sweepRun, "toolpipe ") + ` > out 2> err'` + " => 0 1 2 3 4 5 6 7 8 127 129 130 143 141")
				s.sweepHolds(fmt.Sprintf("%s number %d: %s", fault.calls, n, fault.with))
			}
			if err := s.finish(); err != nil {
				t.Error(err)
			}
		})
	}
}
