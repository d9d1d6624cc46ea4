package processes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/processtest"
	"toolpipe/testdata/servertest"
)

// The tests run in a subreaper, as toolpipe is: it reaps the orphans that it kills,
// for which KillTree would wait where process 1 leaves them as zombies.
func TestMain(m *testing.M) {
	os.Exit(processtest.Main(m, os.Args, process.BecomeSubreaper, processtest.FindPython))
}

func init() {
	// web serves the text of its last argument over HTTP, on a port that the system
	// chooses, and ends in order by SIGTERM as every Go program does.
	processtest.Programs["web"] = func(args []string) int {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		fmt.Printf("\x1b[32mserving on http://%s/\x1b[0m.\n", l.Addr())
		http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, args[0]) }))
		return 0
	}
	processtest.Programs["processes-run"] = processesRun
}

// known reports whether the system tells sockets and gives terminals.
func known(t *testing.T) bool {
	t.Helper()
	f, _, err := openTerminal(size{80, 24})
	if err == nil {
		f.Close()
	}
	return err == nil
}

func processServer(t testing.TB, spec shell.CommandSpec) *mcp.Session {
	t.Helper()
	session, _ := processServerOf(t, spec)
	return session
}

// processServerOf is processServer, and the server itself.
func processServerOf(t testing.TB, spec shell.CommandSpec) (*mcp.Session, *server) {
	t.Helper()
	if spec.Dir == "" {
		spec.Dir = t.TempDir()
	}
	if spec.Environ == nil {
		spec.Environ = os.Environ()
	}
	if spec.Processes == nil {
		spec.Processes = &process.Processes{}
		t.Cleanup(func() { spec.Processes.KillAll() })
	}
	s, err := newServer(Spec{Commands: spec})
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Local(t, s.offer("")), s
}

// pidOf is the pid that list gives for a process that is running.
func pidOf(t testing.TB, s *mcp.Session, id string) int {
	t.Helper()
	list := servertest.Works(t, s, "list")
	found := regexp.MustCompile(`(?m)^` + id + ` is running \(pid (\d+),`).FindStringSubmatch(list)
	if found == nil {
		t.Fatalf("%s is not running: %s", id, list)
	}
	pid, _ := strconv.Atoi(found[1])
	return pid
}

// A server is started, found, used, started again and ended.
func TestServer(t *testing.T) {
	t.Parallel()
	s := processServer(t, shell.CommandSpec{})
	servertest.Works(t, s, "start", "argv", processtest.Argv("web", "hello"), "name", "web")
	fetch := func() string {
		answer := servertest.Works(t, s, "wait", "ids", []string{"web"}, "pattern", `serving on \S+/\.$`, "timeout_s", 60)
		found := regexp.MustCompile(`matched at offset 0: serving on (http://\S+/)\.`).FindStringSubmatch(answer)
		if found == nil {
			t.Fatal(answer)
		}
		r, err := (&http.Client{Timeout: time.Minute}).Get(found[1])
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if body, _ := io.ReadAll(r.Body); string(body) != "hello" {
			t.Errorf("%q", body)
		}
		return found[1]
	}
	url, pid := fetch(), pidOf(t, s, "web")
	ports := servertest.Works(t, s, "ports", "id", "web")
	address := strings.Trim(strings.TrimPrefix(url, "http://"), "/")
	if !strings.HasSuffix(ports, "[toolpipe] URLs in its output\n"+url+"\n") {
		t.Errorf("ports: %s", ports)
	}
	if want := fmt.Sprintf("[toolpipe] it listens on\n%s (pid %d)\n", address, pid); known(t) && !strings.Contains(ports, want) {
		t.Errorf("ports: %s, want %s", ports, want)
	}
	servertest.Works(t, s, "restart", "id", "web")
	processtest.AwaitGone(t, pid)
	fetch()
	again := pidOf(t, s, "web")
	if again == pid {
		t.Errorf("pid %d again", pid)
	}
	if answer := servertest.Works(t, s, "signal", "id", "web"); !strings.Contains(answer, "has ended after ") || !strings.Contains(answer, "exit code 143 (terminated)") {
		t.Errorf("signal: %s", answer)
	}
	processtest.AwaitGone(t, again)
	servertest.Fails(t, s, "has ended", "signal", "id", "web")
	servertest.Fails(t, s, "has ended", "input", "id", "web", "text", "x")
	// A process that has ended can be started again too, and its name is free.
	servertest.Works(t, s, "restart", "id", "web")
	fetch()
	servertest.Fails(t, s, "running already", "start", "script", "true", "name", "web")
	servertest.Works(t, s, "signal", "id", "web", "signal", "sigkill")
	servertest.Works(t, s, "start", "script", "echo other", "name", "web")
	if answer := servertest.Works(t, s, "wait", "ids", []string{"web"}); !strings.Contains(answer, "exit code 0") || !strings.HasSuffix(answer, "\nother\n") {
		t.Errorf("%s", answer)
	}
}

// A program of another tool set's language, whose sockets belong to a child.
func TestPythonServer(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil || !known(t) {
		t.Skip("needs python3, and a system that tells sockets")
	}
	s := processServer(t, shell.CommandSpec{})
	servertest.Works(t, s, "start", "script", "python3 -u -m http.server --bind ::1 0 & wait")
	if answer, failed := servertest.Do(t, s, "wait", "ids", []string{"p1"}, "pattern", "Serving HTTP", "timeout_s", 60); failed {
		if strings.Contains(answer, "Cannot assign requested address") || strings.Contains(answer, "not supported") {
			t.Skip("no IPv6")
		}
		t.Fatal(answer)
	}
	if ports := servertest.Works(t, s, "ports", "id", "p1"); !regexp.MustCompile(`(?m)^\[::1\]:\d+ \(pid \d+\)$`).MatchString(ports) {
		t.Error(ports)
	}
	servertest.Works(t, s, "signal", "id", "p1", "signal", "KILL")
	if ports := servertest.Works(t, s, "ports", "id", "p1"); !strings.Contains(ports, "listens on no TCP port") {
		t.Error(ports)
	}
}

// What a program writes is read in parts that fit each other.
func TestOutput(t *testing.T) {
	t.Parallel()
	s := processServer(t, shell.CommandSpec{})
	servertest.Works(t, s, "start", "name", "o", "argv", []string{"printf", `one\n\033[1;31mtwo\033[0m\r\n\033]0;title\007th\303\244ree\b\r10%%\r20%%\n`})
	servertest.Works(t, s, "wait", "ids", []string{"o"}, "timeout_s", 60)
	whole := servertest.Works(t, s, "output", "id", "o")
	_, text, _ := strings.Cut(whole, "\n")
	if text != "one\ntwo\nthäree\n10%\n20%\n" || !strings.Contains(whole, "; bytes 0 to 47 of 47 follow; since=47 goes on from there\n") {
		t.Errorf("%q", whole)
	}
	raw := servertest.Works(t, s, "output", "id", "o", "raw", true, "since", 4)
	if !strings.HasSuffix(raw, "\n\x1b[1;31mtwo\x1b[0m\r\n\x1b]0;title\ath\u00e4ree\b\r10%\r20%\n") {
		t.Errorf("%q", raw)
	}
	for since, word := range map[any]string{48: "since is 48", -1: "since is -1", 1.5: "whole number", "1": "whole number"} {
		servertest.Fails(t, s, word, "output", "id", "o", "since", since)
	}
	// stderr stands in its place.
	servertest.Works(t, s, "start", "name", "e", "script", "echo 1; echo 2 >&2; echo 3")
	servertest.Works(t, s, "wait", "ids", []string{"e"}, "timeout_s", 60)
	if answer := servertest.Works(t, s, "output", "id", "e"); !strings.HasSuffix(answer, "\n1\n2\n3\n") {
		t.Error(answer)
	}
}

// part returns what it is given, whatever the size of the parts.
func TestParts(t *testing.T) {
	text := "plain\n\x1b[31mred\x1b[0m \x1b]8;;http://x/\x1b\\link\x1b]8;;\a\r\nä€🙂\x1b(B\x1b[?25h\x1b=end\r\r\n\x1bM\x7f"
	const want = "plain\nred link\nä€🙂end\n"
	whole, rest := plain([]byte(text))
	if string(whole) != want || rest != 0 {
		t.Fatalf("%q, %d left", whole, rest)
	}
	for cut := range len(text) {
		first, rest := plain([]byte(text[:cut]))
		second, _ := plain([]byte(text[cut-rest:]))
		if string(first)+string(second) != want {
			t.Errorf("cut at %d: %q and %q", cut, first, second)
		}
	}
	for broken, want := range map[string]string{"\x1b[31\nx": "\nx", "\x1b]title\nx": "\nx", "\x1b\x1b[1mx": "x", "\x1b[\x1b[1mx": "x", "\x1b]" + strings.Repeat("t", longestEsc): strings.Repeat("t", longestEsc)} {
		if got, rest := plain([]byte(broken)); string(got) != want || rest != 0 {
			t.Errorf("%q became %.50q, %d left", broken, got, rest)
		}
	}
}

// A flood neither stops the program nor grows here, and both its ends are kept.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := processServer(t, shell.CommandSpec{})
	servertest.Works(t, s, "start", "name", "f", "script", "echo first; head -c 30000000 /dev/zero | tr '\\0' y; echo; echo last")
	// The pattern is at the very end of what came faster than it can be searched.
	if answer := servertest.Works(t, s, "wait", "ids", []string{"f"}, "pattern", "^last", "timeout_s", 100); !strings.Contains(answer, "matched at offset 30000007: last") {
		t.Errorf("%.300s", answer)
	}
	servertest.Works(t, s, "wait", "ids", []string{"f"}, "exit", true, "timeout_s", 100)
	omitted := 30_000_012 - keptHead - keptTail
	if answer := servertest.Works(t, s, "output", "id", "f", "since", keptHead-100); !strings.Contains(answer, fmt.Sprintf("y\n[toolpipe] %d bytes are left out here\ny", omitted)) {
		t.Errorf("%.300s", answer)
	}
	if answer := servertest.Works(t, s, "search", "pattern", "first|last"); !strings.Contains(answer, "\nf 0: first\n") || !strings.Contains(answer, "\nf 30000007: last\n") || !strings.Contains(answer, "are no longer there") {
		t.Errorf("%.300s", answer)
	}
	// It goes on while the run ends, and while it is searched.
	servertest.Works(t, s, "start", "name", "endless", "argv", []string{"yes"})
	servertest.Works(t, s, "search", "pattern", "no", "id", "endless")
	servertest.Fails(t, s, "timed out after 100ms", "wait", "ids", []string{"endless"}, "pattern", "no", "timeout_s", 0.1)
	servertest.Fails(t, s, "timed out", "wait", "ids", []string{"endless"}, "idle_s", 5, "timeout_s", 0.1)
	servertest.Works(t, s, "output", "id", "endless", "max_bytes", 240<<10)
}

// search finds lines of all outputs, at the offsets that output reads from.
func TestSearch(t *testing.T) {
	t.Parallel()
	s := processServer(t, shell.CommandSpec{})
	servertest.Works(t, s, "start", "name", "a", "script", "echo no; printf 'an \\033[31merror\\033[0m\\nwarning'")
	servertest.Works(t, s, "start", "name", "b", "script", "seq 1000")
	servertest.Works(t, s, "wait", "ids", []string{"a", "b"}, "all", true, "timeout_s", 60)
	if answer := servertest.Works(t, s, "search", "pattern", "an error$|warn"); answer != "[toolpipe] id and offset of each line that matches:\na 3: an error\na 21: warning\n" {
		t.Errorf("%q", answer)
	}
	if answer := servertest.Works(t, s, "output", "id", "a", "since", 21); !strings.HasSuffix(answer, "\nwarning") {
		t.Errorf("%q", answer)
	}
	if answer := servertest.Works(t, s, "search", "pattern", "error", "id", "b"); !strings.HasSuffix(answer, "[toolpipe] no line matches\n") {
		t.Errorf("%q", answer)
	}
	if answer := servertest.Works(t, s, "search", "pattern", "^[0-9]+$"); !strings.HasSuffix(answer, "b 688: 200\n[toolpipe] 800 more lines match\n") {
		t.Errorf("%q", answer[len(answer)-100:])
	}
}

// wait returns when what it waits for has come, in whatever pieces.
func TestWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := processServer(t, shell.CommandSpec{Dir: dir})
	// A step is made when its file is there.
	const steps = `step() { while ! test -e $1; do sleep 0.02; done; }; `
	step := func(name string) { servertest.Put(t, filepath.Join(dir, name), "") }
	servertest.Works(t, s, "start", "name", "a", "script", steps+`printf 'list\033[1'; step 1; printf 'mening on 80\nprompt> '; step 2; echo; step 3; exit 3`)
	servertest.Works(t, s, "start", "name", "b", "script", steps+`step 4; echo done`)
	servertest.Works(t, s, "wait", "ids", []string{"a"}, "pattern", "list", "timeout_s", 60)
	servertest.Fails(t, s, "timed out after 50ms", "wait", "ids", []string{"a"}, "pattern", "listening", "timeout_s", 0.05)
	answered := make(chan string)
	go func() {
		answer, _ := servertest.Do(t, s, "wait", "ids", []string{"b", "a"}, "pattern", "listening on [0-9]+", "timeout_s", 100)
		answered <- answer
	}()
	step("1")
	if answer := <-answered; !strings.Contains(answer, "matched at offset 0: listening on 80") || !strings.Contains(answer, "[toolpipe] b is running") {
		t.Errorf("any: %s", answer)
	}
	servertest.Works(t, s, "wait", "ids", []string{"a"}, "pattern", "> $", "timeout_s", 60)
	servertest.Works(t, s, "wait", "ids", []string{"a"}, "idle_s", 0.1, "timeout_s", 60)
	servertest.Fails(t, s, "timed out", "wait", "ids", []string{"a"}, "pattern", "listening", "since", 20, "timeout_s", 0.05)
	go func() {
		answer, _ := servertest.Do(t, s, "wait", "ids", []string{"b", "a"}, "all", true, "timeout_s", 100)
		answered <- answer
	}()
	step("2")
	step("3")
	if answer := servertest.Works(t, s, "wait", "ids", []string{"a"}, "pattern", "never", "timeout_s", 60); !strings.Contains(answer, "exit code 3") {
		t.Errorf("an end ends a wait: %s", answer)
	}
	select {
	case answer := <-answered:
		t.Errorf("all: %s", answer)
	default:
	}
	step("4")
	if answer := <-answered; !strings.Contains(answer, "a has ended") || !strings.Contains(answer, "b has ended") || !strings.Contains(answer, ":\ndone\n") {
		t.Errorf("all: %s", answer)
	}
	if answer := servertest.Works(t, s, "wait", "timeout_s", 0.01); answer != "[toolpipe] 10ms have passed\n" {
		t.Error(answer)
	}
}

// A line that comes in pieces is looked at as a whole, and the end of one that is too
// long for that all the same.
func TestWaitForLongLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ pattern, fill, want string }{
		"long":            {"^begin x+ end$", strings.Repeat("x", 60<<10), "matched at offset 4: begin xxx"},
		"too long":        {"x end$", strings.Repeat("x", 300<<10), "matched at offset "},
		"longer than one": {"x end$", strings.Repeat("x", 60<<10) + "\n" + strings.Repeat("x", 60<<10), "matched at offset "},
		"begun once":      {"^x| end$", strings.Repeat("x", 300<<10), "matched at offset "},
		"of lines":        {"^ready> $", strings.Repeat("50%\r", 30<<10) + "ready>", "matched at offset "},
	} {
		p := &program{out: process.Output{Head: keptHead, Tail: keptTail}}
		re, tree, err := toolserver.CompilePattern(test.pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		c := &condition{program: p, lineSearch: lineSearch{pattern: re}}
		if c.inside, err = toolserver.InsideLine(tree); err != nil {
			t.Fatal(err)
		}
		text := "one\nbegin " + test.fill + " end"
		if name == "of lines" {
			text = strings.TrimSuffix(text, "end")
		}
		for len(text) > 0 {
			if c.match() {
				t.Errorf("%s: too early: %s", name, c.outcome)
			}
			n := min(len(text), 7<<10)
			p.out.Write([]byte(text[:n]))
			text = text[n:]
		}
		if !c.match() || !strings.HasPrefix(c.outcome, test.want) || c.unseen > 0 {
			t.Errorf("%s: %s, %d bytes unseen", name, c.outcome, c.unseen)
		}
	}
}

// A wait that nobody waits for ends.
func TestWaitCancel(t *testing.T) {
	t.Parallel()
	s, server := processServerOf(t, shell.CommandSpec{})
	servertest.Works(t, s, "start", "name", "a", "script", "echo x; sleep 300")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := server.wait(ctx, toolserver.Arguments{"ids": []byte(`["a"]`), "timeout_s": []byte("100")}, nil)
		ended <- err
	}()
	time.Sleep(2 * lookEvery)
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
}

// A wait that lasts shows its progress, and ends with the reason of its context.
func TestWaitProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{id: "a", out: process.Output{Head: 10}, ended: make(chan struct{})}
		p.out.Write([]byte("x\n"))
		ctx, cancel := context.WithCancelCause(t.Context())
		var all []string
		progress := func(p wire.Progress) {
			all = append(all, fmt.Sprintf("%s of %s: %s", p.Progress, p.Total, p.Message))
			if len(all) == 3 {
				cancel(io.ErrClosedPipe)
			}
		}
		met, err := await(ctx, []*condition{{program: p}}, 1, 100*time.Second, progress)
		const message = " of 100: waiting, a: 2 bytes of output"
		if want := []string{"5" + message, "10" + message, "15" + message}; met || err != io.ErrClosedPipe || !slices.Equal(all, want) {
			t.Errorf("%t, %v, %q", met, err, all)
		}
	})
}

// A program without a terminal reads what it is sent, and its end.
func TestInput(t *testing.T) {
	t.Parallel()
	s := processServer(t, shell.CommandSpec{})
	servertest.Works(t, s, "start", "name", "c", "script", "read a; echo got $a; cat; echo end")
	began := time.Now()
	if answer := servertest.Works(t, s, "input", "id", "c", "text", "one", "key", "enter", "tail_s", 300); !strings.HasSuffix(answer, "follow\ngot one\n") || time.Since(began) > 2*time.Minute {
		t.Errorf("after %v: %s", time.Since(began), answer)
	}
	servertest.Fails(t, s, "only enter, tab and ctrl-d; signal INT", "input", "id", "c", "key", "ctrl-c")
	servertest.Works(t, s, "input", "id", "c", "text", "two\n", "key", "ctrl-d")
	servertest.Works(t, s, "wait", "ids", []string{"c"}, "timeout_s", 60)
	if answer := servertest.Works(t, s, "output", "id", "c"); !strings.HasSuffix(answer, "\ngot one\ntwo\nend\n") {
		t.Error(answer)
	}
	// A closed input, and one that nobody reads.
	servertest.Works(t, s, "start", "name", "d", "script", "exec <&-; echo closed; sleep 300")
	servertest.Works(t, s, "wait", "ids", []string{"d"}, "pattern", "closed", "timeout_s", 60)
	for range 100 { // a program that is being started beside this has the other end of the pipe too, until it is executed
		if _, failed := servertest.Do(t, s, "input", "id", "d", "text", "x"); failed {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	servertest.Fails(t, s, "d took 0 of 1 bytes: its input is closed", "input", "id", "d", "text", "x")
	servertest.Works(t, s, "start", "name", "e", "script", "sleep 300")
	servertest.Fails(t, s, "of 200000 bytes: it does not read its input", "input", "id", "e", "text", strings.Repeat("x", 200_000))
}

// A shell on a terminal of its own: a prompt, an interrupt, the terminal's size, the
// end.
func TestTerminal(t *testing.T) {
	t.Parallel()
	s := processServer(t, shell.CommandSpec{})
	if !known(t) {
		servertest.Fails(t, s, "no pseudo-terminal on this system", "start", "script", "true", "pty", true)
		return
	}
	servertest.Works(t, s, "start", "name", "sh", "argv", []string{"sh", "-i"}, "env", map[string]string{"PS1": "ready> ", "ENV": ""}, "pty", true)
	servertest.Works(t, s, "wait", "ids", []string{"sh"}, "pattern", "ready> $", "timeout_s", 60)
	// The text is typed whether the prompt is there or not: an answer may stand behind it.
	ask := func(text, key, pattern string) {
		t.Helper()
		args := []any{"id", "sh", "key", key}
		if text != "" {
			args = append(args, "text", text)
		}
		sent := servertest.Works(t, s, "input", args...)
		since, _ := strconv.Atoi(regexp.MustCompile(`since=(\d+)`).FindStringSubmatch(sent)[1])
		servertest.Works(t, s, "wait", "ids", []string{"sh"}, "pattern", pattern, "since", since, "timeout_s", 60)
	}
	ask("stty size; echo $TERM $(tty)", "enter", "24 80$")
	ask("echo on; tty", "enter", "/dev/pts/[0-9]+$")
	ask("test -t 0 -a -t 1 -a -t 2 && : < /dev/tty && echo i''s", "enter", "is$")
	ask("(trap 'echo inter''rupted; exit' INT; echo g''o; while :; do :; done)", "enter", "go$")
	ask("", "ctrl-c", "interrupted")
	ask("echo on", "backspace", "echo o")
	ask("K; echo d''one", "enter", "done$")
	servertest.Works(t, s, "wait", "ids", []string{"sh"}, "pattern", "oK$", "timeout_s", 60)
	servertest.Works(t, s, "input", "id", "sh", "key", "ctrl-d")
	if answer := servertest.Works(t, s, "wait", "ids", []string{"sh"}, "timeout_s", 60); !strings.Contains(answer, "sh has ended") {
		t.Error(answer)
	}
	// A program that closes its terminal and opens it again goes on.
	servertest.Works(t, s, "start", "name", "again", "script", "exec <&- >&- 2>&-; sleep 0.3; exec >/dev/tty; echo back; sleep 300", "pty", true)
	if answer := servertest.Works(t, s, "wait", "ids", []string{"again"}, "pattern", "back", "timeout_s", 60); !strings.Contains(answer, "matched") {
		t.Error(answer)
	}
}

// A program that takes no notice of TERM is ended by KILL and by restart, with what
// it started, wherever that is.
func TestStubborn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := processServer(t, shell.CommandSpec{Dir: dir})
	script := "trap '' TERM HUP INT; (sleep 300; :) & echo begun; while :; do sleep 0.1; done"
	if runtime.GOOS == "linux" && known(t) {
		script = "setsid " + strings.Join(processtest.Argv("sleeper", filepath.Join(dir, "pid")), " ") + " & " + script
	}
	servertest.Works(t, s, "start", "name", "x", "script", script)
	for range 2 {
		servertest.Works(t, s, "wait", "ids", []string{"x"}, "pattern", "begun", "timeout_s", 60)
		for known(t) && len(processtest.Pids(filepath.Join(dir, "pid"))) == 0 {
			time.Sleep(time.Millisecond)
		}
		pid := pidOf(t, s, "x")
		if answer := servertest.Works(t, s, "signal", "id", "x", "signal", "TERM"); !strings.Contains(answer, "x is running") {
			t.Error(answer)
		}
		pids := append(processtest.Pids(filepath.Join(dir, "pid")), pid)
		os.Remove(filepath.Join(dir, "pid"))
		servertest.Works(t, s, "restart", "id", "x")
		for _, pid := range pids {
			processtest.AwaitGone(t, pid)
		}
	}
	pid := pidOf(t, s, "x")
	servertest.Works(t, s, "signal", "id", "x", "signal", "STOP")
	servertest.Works(t, s, "signal", "id", "x", "signal", "KILL")
	processtest.AwaitGone(t, pid)
}

// Signals arrive under their names.
func TestSignals(t *testing.T) {
	t.Parallel()
	s := processServer(t, shell.CommandSpec{})
	script := "echo begun; while :; do sleep 0.05; done"
	for _, name := range []string{"INT", "HUP", "USR1", "USR2", "ALRM", "WINCH", "TSTP", "QUIT"} {
		script = fmt.Sprintf("trap 'echo got %s' %s; ", name, name) + script
	}
	servertest.Works(t, s, "start", "name", "x", "script", script)
	servertest.Works(t, s, "wait", "ids", []string{"x"}, "pattern", "begun", "timeout_s", 60)
	for given, name := range map[string]string{"INT": "INT", "SIGHUP": "HUP", "usr1": "USR1", "SigUsr2": "USR2", "ALRM": "ALRM", "WINCH": "WINCH", "TSTP": "TSTP", "QUIT": "QUIT"} {
		if answer, failed := servertest.Do(t, s, "signal", "id", "x", "signal", given); failed {
			t.Error(answer)
		}
		if name == "HUP" && signal.Ignored(syscall.SIGHUP) { // under nohup, which holds for the program too
			continue
		}
		servertest.Works(t, s, "wait", "ids", []string{"x"}, "pattern", "got "+name+"$", "timeout_s", 60)
	}
	// A stopped program takes a signal when it goes on.
	servertest.Works(t, s, "signal", "id", "x", "signal", "STOP")
	answer := servertest.Works(t, s, "signal", "id", "x", "signal", "USR1")
	size := regexp.MustCompile(`(\d+) bytes of output`).FindStringSubmatch(servertest.Works(t, s, "list"))[1]
	since, _ := strconv.Atoi(size)
	if !strings.Contains(answer, "x is running") {
		t.Error(answer)
	}
	servertest.Works(t, s, "signal", "id", "x", "signal", "CONT")
	servertest.Works(t, s, "wait", "ids", []string{"x"}, "pattern", "got USR1$", "since", since, "timeout_s", 60)
	for _, bad := range []string{"", "9", "SIGSEGV", "TERM ", "\x00", "SIGSIGTERM"} {
		servertest.Fails(t, s, "is not known", "signal", "id", "x", "signal", bad)
	}
}

// There is room for so many processes, and those that have ended make room.
func TestRoom(t *testing.T) {
	t.Parallel()
	s := processServer(t, shell.CommandSpec{})
	servertest.Works(t, s, "start", "script", "true")
	servertest.Works(t, s, "wait", "ids", []string{"p1"}, "timeout_s", 60)
	for range maxPrograms {
		servertest.Works(t, s, "start", "argv", []string{"sleep", "300"})
	}
	servertest.Fails(t, s, "no process has the id", "output", "id", "p1")
	servertest.Fails(t, s, "32 processes are running, more are not allowed: end one by signal", "start", "argv", []string{"sleep", "300"})
	servertest.Works(t, s, "signal", "id", "p7", "signal", "KILL")
	servertest.Works(t, s, "start", "argv", []string{"sleep", "300"}, "name", "p99")
}

// A program that cannot be started takes the place of no other.
func TestStartFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servertest.Put(t, filepath.Join(dir, "broken"), "\x7fELF")
	os.Chmod(filepath.Join(dir, "broken"), 0o755)
	s := processServer(t, shell.CommandSpec{Dir: dir})
	servertest.Works(t, s, "start", "script", "echo the result", "name", "build")
	servertest.Works(t, s, "wait", "ids", []string{"build"}, "timeout_s", 60)
	servertest.Fails(t, s, "did not start", "start", "argv", []string{"./broken"}, "name", "build")
	if answer := servertest.Works(t, s, "output", "id", "build"); !strings.HasSuffix(answer, "\nthe result\n") {
		t.Error(answer)
	}
}

// The environment and the directories are those of commands.
func TestCommand(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	servertest.Put(t, filepath.Join(dir, "sub/f"), "")
	os.Symlink("/", filepath.Join(dir, "out"))
	s := processServer(t, shell.CommandSpec{Dir: dir, Confined: true, Environ: []string{"PATH=/usr/bin:.:/bin", "TERM=xterm", "OPENAI_API_KEY=k", "LD_PRELOAD=k"}, Env: map[string]string{"A": "config", "B": "config"}, PathPrepend: []string{"/opt/first"}})
	servertest.Works(t, s, "start", "name", "env", "argv", []string{"env"}, "cwd", "sub", "env", map[string]string{"A": "call", "C": ""})
	servertest.Works(t, s, "start", "name", "pwd", "argv", []string{"pwd"}, "cwd", "sub")
	servertest.Works(t, s, "wait", "ids", []string{"env", "pwd"}, "all", true, "timeout_s", 60)
	if answer := servertest.Works(t, s, "output", "id", "env"); !strings.HasSuffix(answer, "\nPATH=/opt/first:/usr/bin:/bin\nA=call\nB=config\nC=\nTERM=dumb\n") {
		t.Error(answer)
	}
	if answer := servertest.Works(t, s, "output", "id", "pwd"); !strings.HasSuffix(answer, "\n"+dir+"/sub\n") {
		t.Error(answer)
	}
	for _, cwd := range []string{"/", "..", "out", "out/tmp", "sub/../..", "/no/such", "sub\x00", strings.Repeat("a/", 5000)} {
		if answer, failed := servertest.Do(t, s, "start", "argv", []string{"pwd"}, "cwd", cwd); !failed {
			t.Errorf("%.100q: %s", cwd, answer)
		}
	}
	// restart stays in the directory that was looked at, or fails.
	os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "kept"))
	os.Symlink("kept", filepath.Join(dir, "sub"))
	if answer, failed := servertest.Do(t, s, "restart", "id", "pwd"); known(t) && (!failed || !strings.Contains(answer, "was moved")) {
		t.Errorf("restart elsewhere: %s", answer)
	}
	if list := servertest.Works(t, s, "list"); !strings.Contains(list, "pwd has ended") {
		t.Error(list)
	}
}

// Bad values of every argument are errors that say so, and start or end nothing.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	s := processServer(t, shell.CommandSpec{})
	servertest.Fails(t, s, "no process was started yet", "ports", "id", "x")
	servertest.Works(t, s, "start", "name", "x", "argv", []string{"sleep", "300"}, "pty", known(t))
	before := servertest.Works(t, s, "list")
	usual := map[string]any{"id": "x", "pattern": "p", "text": "t"}
	wrong := map[string][]any{
		"string": {1, true, []string{"a"}, map[string]any{}}, "strings": {"a", 1, []any{1}, []any{"a", nil}, map[string]any{}},
		"integer": {"1", 1.5, true, []int{1}}, "number": {"1", true, []int{1}}, "boolean": {"true", 1, []bool{true}}, "object": {"{}", []any{}, 1},
	}
	tools := new(server).tools()
	call := func(tool tool, param string, value any) (string, bool) {
		args := []any{param, value}
		for _, p := range tool.Params {
			if p.Required && p.Name != param {
				args = append(args, p.Name, usual[p.Name])
			}
		}
		return servertest.Do(t, s, tool.Name, args...)
	}
	for i := range tools {
		for _, p := range tools[i].Params {
			for _, value := range wrong[p.Kind] {
				if answer, failed := call(tools[i], p.Name, value); !failed || !strings.Contains(answer, fmt.Sprintf("argument %q must be", p.Name)) {
					t.Errorf("%s %s=%v: %s", tools[i].Name, p.Name, value, answer)
				}
			}
			if p.Name == "id" {
				for _, value := range []string{"", "y", "X", "x ", "../x", "x\x00", "\x1b[31m", strings.Repeat("x", 1<<20)} {
					if answer, failed := call(tools[i], "id", value); !failed || !strings.Contains(answer, "; known ids: x") || len(answer) > 1000 {
						t.Errorf("%s id=%.50q: %.1000s", tools[i].Name, value, answer)
					}
				}
			}
			if p.Required {
				servertest.Fails(t, s, fmt.Sprintf("needs the argument %q", p.Name), tools[i].Name)
			}
		}
		servertest.Fails(t, s, "has no argument", tools[i].Name, "nonsense", 1)
	}
	for _, c := range []struct {
		word string
		args []any
	}{
		{"give either argv or script", []any{"start"}},
		{"give either argv or script", []any{"start", "argv", []string{"true"}, "script", "true"}},
		{"argv is empty", []any{"start", "argv", []string{}}},
		{"no-such-program", []any{"start", "argv", []string{"no-such-program"}}},
		{"no program given", []any{"start", "argv", []string{""}}},
		{"NUL", []any{"start", "script", "true\x00"}},
		{"did not start", []any{"start", "argv", []string{"true", strings.Repeat("x", 3<<20)}}},
		{"is running already", []any{"start", "script", "true", "name", "x"}},
		{"a name is letters", []any{"start", "script", "true", "name", ""}},
		{"a name is letters", []any{"start", "script", "true", "name", "../x"}},
		{"a name is letters", []any{"start", "script", "true", "name", "x\ny"}},
		{"a name is letters", []any{"start", "script", "true", "name", "na\x00me"}},
		{"a name is letters", []any{"start", "script", "true", "name", "\u00e4"}},
		{"a name is letters", []any{"start", "script", "true", "name", strings.Repeat("x", 33)}},
		{`env "A" must be a string`, []any{"start", "script", "true", "env", map[string]any{"A": 1}}},
		{"not the name of a variable", []any{"start", "script", "true", "env", map[string]any{"": "x"}}},
		{"not the name of a variable", []any{"start", "script", "true", "env", map[string]any{"A=B": "x"}}},
		{"not the name of a variable", []any{"start", "script", "true", "env", map[string]any{"A\x00": "x"}}},
		{"NUL", []any{"start", "script", "true", "env", map[string]any{"A": "x\x00"}}},
		{"did not start", []any{"start", "script", "true", "env", map[string]any{"A": strings.Repeat("x", 3<<20)}}},
		{"max_bytes is 0", []any{"output", "id", "x", "max_bytes", 0}},
		{"max_bytes is 99;", []any{"output", "id", "x", "max_bytes", 99}},
		{"max_bytes is 1000000000", []any{"output", "id", "x", "max_bytes", 1_000_000_000}},
		{"since is 1000", []any{"output", "id", "x", "since", 1000}},
		{"since is -1", []any{"wait", "ids", []string{"x"}, "since", -1}},
		{"the pattern is empty", []any{"search", "pattern", ""}},
		{"the pattern is empty", []any{"wait", "ids", []string{"x"}, "pattern", ""}},
		{"not an RE2 regular expression", []any{"search", "pattern", "("}},
		{"not an RE2 regular expression", []any{"wait", "ids", []string{"x"}, "pattern", "(?=x)"}},
		{"is too large", []any{"search", "pattern", "[ab]{999}[bc]{999}[cd]{999}"}},
		{"at most 4096", []any{"search", "pattern", strings.Repeat("x", 1<<20)}},
		{"no process has the id", []any{"wait", "ids", []string{"x", "y"}}},
		{"at most 32 are allowed", []any{"wait", "ids", strings.Split(strings.Repeat("x ", 33), " ")}},
		{"only one together with since", []any{"wait", "ids", []string{"x", "x"}, "since", 0}},
		{"give ids", []any{"wait"}},
		{"give ids", []any{"wait", "ids", []string{}}},
		{"ids is missing", []any{"wait", "pattern", "x"}},
		{"ids is missing", []any{"wait", "idle_s", 1, "timeout_s", 1}},
		{"idle_s is 0", []any{"wait", "ids", []string{"x"}, "idle_s", 0}},
		{"idle_s is -1", []any{"wait", "ids", []string{"x"}, "idle_s", -1}},
		{"timeout_s is 0", []any{"wait", "timeout_s", 0}},
		{"timeout_s is 1e+06", []any{"wait", "timeout_s", 1e6}},
		{"give text, or key, or both", []any{"input", "id", "x"}},
		{"give text, or key, or both", []any{"input", "id", "x", "text", ""}},
		{"at most 262144", []any{"input", "id", "x", "text", strings.Repeat("x", 1<<20)}},
		{"key", []any{"input", "id", "x", "key", ""}},
		{"key", []any{"input", "id", "x", "key", "ctrl-"}},
		{"key", []any{"input", "id", "x", "key", "ctrl-["}},
		{"key", []any{"input", "id", "x", "key", "f\x00"}},
		{"key", []any{"input", "id", "x", "text", "x", "key", strings.Repeat("x", 1<<20)}},
		{"tail_s is 0", []any{"input", "id", "x", "text", "x", "tail_s", 0}},
	} {
		servertest.Fails(t, s, c.word, c.args[0].(string), c.args[1:]...)
	}
	times := regexp.MustCompile(`for [0-9.]+m?s`)
	if after := servertest.Works(t, s, "list"); times.ReplaceAllString(after, "") != times.ReplaceAllString(before, "") {
		t.Errorf("before\n%safter\n%s", before, after)
	}
}

// processesRun is a run with programs of all kinds in the background. It prints
// their pids, and ends as toolpipe does, or waits to be killed.
func processesRun(args []string) int {
	process.BecomeSubreaper()
	var procs process.Processes
	s, err := newServer(Spec{Commands: shell.CommandSpec{Dir: "/", Environ: os.Environ(), Processes: &procs}})
	if err != nil {
		panic(err)
	}
	scripts := []string{"exec yes", "trap '' TERM HUP INT; while :; do sleep 0.1; done", "exec cat", "exec sleep 300"}
	for i, script := range scripts {
		call := toolserver.Arguments{"script": jsontext.Quoted(script)}
		if f, _, err := openTerminal(size{80, 24}); err == nil && i%2 == 0 {
			f.Close()
			call["pty"] = []byte("true")
		}
		if _, err := s.start(context.Background(), call, nil); err != nil {
			panic(err)
		}
	}
	for _, p := range s.all() {
		fmt.Println(p.process.Pid())
	}
	switch args[0] {
	case "end":
		return procs.Sweep(time.Minute)
	case "panic":
		procs.KillAll()
		panic("a defect")
	}
	fmt.Println("begun")
	time.Sleep(time.Hour)
	return 0
}

// No program outlives the run, however that ends.
func TestRunEnds(t *testing.T) {
	for _, how := range []string{"end", "panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if how == "kill" && (runtime.GOOS != "linux" || !known(t)) {
				t.Skip("only Linux kills children with their parent")
			}
			cmd := processtest.Command("processes-run", how)
			out, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			cmd.Stdout = w
			// Started in another way, it could inherit the mark of a program of another test.
			run, err := new(process.Processes).Start(cmd)
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			var pids []int
			for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "begun"; {
				pid, _ := strconv.Atoi(lines.Text())
				pids = append(pids, pid)
			}
			if how == "kill" {
				run.Kill()
			}
			if err := run.Wait(); (err == nil) != (how == "end") || len(pids) != 4 {
				t.Errorf("%v, %v", pids, err)
			}
			for _, pid := range pids {
				processtest.AwaitGone(t, pid)
			}
		})
	}
}
