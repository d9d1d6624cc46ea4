//go:build linux && !portable

package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/testdata/processtest"
)

// The programs of a command are this test, with its part in a variable.
const part = "DOOR_TEST"

func TestMain(m *testing.M) {
	if play := parts[os.Getenv(part)]; play != nil {
		play()
		os.Exit(0)
	}
	os.Exit(processtest.Main(m, os.Args))
}

var parts = map[string]func(){
	"client": func() { fmt.Println(talk("hello")) },
	// As subprocess of Python does: the child has no other descriptors.
	"closing": func() {
		syscall.CloseOnExec(descriptor)
		again("client")
	},
	"orphan": func() { // its parent is the run
		cmd := exec.Command("/bin/sh", "-c", "("+os.Args[0]+" >&1 2>&1 &) ; sleep 1")
		cmd.Env = append(os.Environ(), part+"=client")
		cmd.ExtraFiles = append(make([]*os.File, descriptor-3), os.NewFile(descriptor, "door"))
		out, err := cmd.Output()
		fmt.Println(strings.TrimSpace(string(out)), err)
	},
	"many": func() {
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				if got := talk(strconv.Itoa(i)); got != fmt.Sprintf(`{"echo":"%d"}`, i) {
					fmt.Println(i, got)
				}
			})
		}
		all.Wait()
		fmt.Println("all")
	},
	"hostile": hostile,
	"silent":  silent,
	"forever": func() { fmt.Println("up"); time.Sleep(time.Minute) },
	"afterwards": func() {
		time.Sleep(time.Second)
		again("client")
	},
}

func again(what string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), part+"="+what)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Run()
}

func talk(text string) string {
	c, err := DialDoor(os.Getenv(DoorVariable), nil)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	if err := c.Send(context.Background(), []byte(`{"echo":"`+text+`"}`)); err != nil {
		return err.Error()
	}
	msg, err := c.Receive()
	if err != nil {
		return err.Error()
	}
	return string(msg)
}

// hostile writes to the door what no client would. At the end an honest client is served.
func hostile() {
	door := os.NewFile(descriptor, "door")
	say := func(line string) { io.WriteString(door, line) }
	r, w, _ := os.Pipe()
	r2, w2, _ := os.Pipe()
	file, _ := os.Create(os.Getenv("DOOR_FILE"))
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	socket, _ := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	own := os.Getpid()
	for _, pid := range []int{1, os.Getppid(), 0, -1, 1 << 30, own + 100000} {
		say(fmt.Sprintf("%d %d %d\n", pid, r.Fd(), w2.Fd()))
		for fd := range 20 {
			say(fmt.Sprintf("%d %d %d\n", pid, fd, fd+1))
		}
	}
	for _, pair := range [][2]uintptr{
		{r.Fd(), w.Fd()}, {r.Fd(), r.Fd()}, {descriptor, w2.Fd()}, {r.Fd(), descriptor}, {descriptor, descriptor}, {file.Fd(), w2.Fd()}, {r.Fd(), file.Fd()},
		{null.Fd(), w2.Fd()}, {r.Fd(), null.Fd()}, {uintptr(socket[0]), uintptr(socket[1])}, {9999, w2.Fd()}, {r.Fd(), 9999},
	} {
		say(fmt.Sprintf("%d %d %d\n", own, pair[0], pair[1]))
	}
	for _, line := range []string{"\n", "a b c\n", "1\n", "1 2\n", "1 2 3 4\n", "-1 -2 -3\n", "99999999999999999999 1 1\n", "1 99999999999999999999 1\n", "\x00\x00\n", "../.. 1 1\n", "1/../2 1 1\n", strings.Repeat("9", 100000) + "\n", strings.Repeat("x", 100000)} {
		say(line)
	}
	say("\n")
	for range 20000 {
		say("1 2 3\n")
	}
	r2.Close()
	fmt.Println(talk("honest"))
}

// silent announces clients that never send and never read. Then an honest client comes.
func silent() {
	door := os.NewFile(descriptor, "door")
	var keep []*os.File
	for range maxClients {
		r, w, _ := os.Pipe()
		r2, w2, _ := os.Pipe()
		keep = append(keep, r, w, r2, w2)
		fmt.Fprintf(door, "%d %d %d\n", os.Getpid(), r.Fd(), w2.Fd())
	}
	fmt.Println(talk("honest"))
	for _, f := range keep {
		f.Close()
	}
}

// echo serves clients that get back what they send, and counts them.
type echo struct {
	mu      sync.Mutex
	clients int
	closed  int
}

func (e *echo) host() *Door {
	return &Door{
		Open: context.Background,
		Serve: func(_ context.Context, _ int, r io.Reader, w io.Writer) {
			e.mu.Lock()
			e.clients++
			e.mu.Unlock()
			for lines := bufio.NewScanner(r); lines.Scan(); {
				if _, err := w.Write(append(lines.Bytes(), '\n')); err != nil {
					return
				}
			}
		},
		Closed: func() { e.closed++ },
	}
}

// command starts this test in a part, as a command with a door.
func command(t *testing.T, e *echo, what string, out io.Writer, env ...string) (p *process.Process, close func()) {
	t.Helper()
	procs := new(process.Processes)
	t.Cleanup(func() { procs.Sweep(5 * time.Second) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: self, Args: []string{self}, Env: append(append(os.Environ(), part+"="+what), env...), Stdout: out, Stderr: os.Stderr}
	p, close, err = e.host().Start(cmd, procs.Start)
	if err != nil {
		t.Fatal(err)
	}
	return p, close
}

func TestClients(t *testing.T) {
	process.BecomeSubreaper()
	for _, x := range []struct {
		part, want string
		clients    int
	}{
		{"client", `{"echo":"hello"}`, 1},
		{"closing", `{"echo":"hello"}`, 1},
		{"orphan", `{"echo":"hello"} <nil>`, 1},
		{"many", "all", 1000},
		{"silent", `{"echo":"honest"}`, maxClients + 1},
	} {
		t.Run(x.part, func(t *testing.T) {
			var out strings.Builder
			e := &echo{}
			p, close := command(t, e, x.part, &out)
			p.Wait()
			close()
			if got := strings.TrimSpace(out.String()); got != x.want || e.clients != x.clients || e.closed != 1 {
				t.Errorf("%q, %d clients, closed %d times", got, e.clients, e.closed)
			}
		})
	}
}

// TestHostile: of all that a program writes, only the announcement of two pipes of its own makes
// a client; no file of another kind is opened, and no pipe of a process outside.
func TestHostile(t *testing.T) {
	var out strings.Builder
	e := &echo{}
	file := t.TempDir() + "/file"
	p, close := command(t, e, "hostile", &out, "DOOR_FILE="+file)
	p.Wait()
	close()
	if got := strings.TrimSpace(out.String()); got != `{"echo":"honest"}` || e.clients != 1 {
		t.Errorf("%q, %d clients", got, e.clients)
	}
	if text, err := os.ReadFile(file); err != nil || len(text) > 0 {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// TestStrangers: a process that is not of the command is not served, with a copy of the variable
// or through the door of the command under /proc.
func TestStrangers(t *testing.T) {
	ready := make(chan string, 1)
	e := &echo{}
	p, close := command(t, e, "forever", writer(func(text string) { ready <- text }))
	defer close()
	defer p.Kill()
	<-ready
	path := fmt.Sprintf("/proc/%d/fd/%d", p.Pid(), descriptor)
	target, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	value := strconv.Itoa(descriptor) + ":" + strings.Trim(target, "pie:[]")
	if _, err := DialDoor(value, nil); err != errDoorClosed {
		t.Errorf("with a copy of the variable: %v", err)
	}
	door, err := openDoor(path)
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	r, _, _ := os.Pipe()
	_, w, _ := os.Pipe()
	fmt.Fprintf(door, "%d %d %d\n", os.Getpid(), r.Fd(), w.Fd())
	p.Kill()
	p.Wait()
	close()
	if e.clients != 0 {
		t.Errorf("%d clients", e.clients)
	}
}

// TestKilledRun: a client that was not served gives up when the run is gone.
func TestKilledRun(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c, err := DialDoor(fmt.Sprintf("%d:%d", out.Fd(), inode(in)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	door, _ := in.SyscallConn()
	door.Read(func(fd uintptr) bool { // the run must not wait for a client that has sent nothing
		if _, err := syscall.Read(int(fd), make([]byte, maxLine)); err != syscall.EAGAIN {
			t.Errorf("announced before the first request: %v", err)
		}
		return true
	})
	in.Close() // as when the run is killed
	if msg, err := c.Receive(); err != io.EOF {
		t.Errorf("%q, %v", msg, err)
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

// TestClosed: after the end of the command nobody is served, also not a daemon that it left.
func TestClosed(t *testing.T) {
	e := &echo{}
	var out strings.Builder
	p, close := command(t, e, "client", &out)
	p.Wait()
	close()
	if _, err := DialDoor(strconv.Itoa(descriptor)+":1", nil); err != errDoorClosed {
		t.Error(err)
	}
	var mu sync.Mutex
	var late string
	p, close = command(t, e, "afterwards", writer(func(text string) { mu.Lock(); late += text; mu.Unlock() }))
	close() // as at the end of the run
	p.Wait()
	mu.Lock()
	defer mu.Unlock()
	if e.clients != 1 || !strings.Contains(late, "the run does not serve this command") {
		t.Errorf("%d clients, %q", e.clients, late)
	}
}
