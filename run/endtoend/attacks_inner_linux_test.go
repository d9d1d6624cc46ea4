//go:build !portable

package endtoend

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// attackerName is the name under which this test is the hostile program of TestInnerAttacks.
const attackerName = "attacker"

// An attacker is a program that uses the door of a command otherwise than toolpipe does. Each attack
// asks for a call with its own name as text, so that the log of the server shows what was served.
type attacker struct {
	root    string // the directory that it may write to
	victim  int    // a program of another command of the run; 0 if it cannot be seen
	door    *os.File
	clients []*askingClient // kept open, since the run may look at a descriptor later
	kept    []*os.File      // as are these
}

// askingClient has a request in its pipe before it is announced.
type askingClient struct{ in, out, requests, answers *os.File }

func ask(text string) *askingClient {
	c := &askingClient{}
	c.in, c.requests, _ = os.Pipe()
	c.answers, c.out, _ = os.Pipe()
	c.requests.WriteString(innerRequest(1, "fs__echo", text))
	return c
}

func innerRequest(id int, tool, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n", id, tool, text)
}

func (a *attacker) announce(pid, in, out any) { fmt.Fprintf(a.door, "%v %v %v\n", pid, in, out) }

// asking makes a client that the attack announces in a wrong way.
func (a *attacker) asking(name string) *askingClient {
	c := ask(name)
	a.clients = append(a.clients, c)
	return c
}

// honest makes a call as a client does, and reports whether it was answered.
func (a *attacker) honest(text string) bool {
	c := a.asking(text)
	a.announce(os.Getpid(), c.in.Fd(), c.out.Fd())
	answer := make([]byte, 4096)
	c.answers.SetReadDeadline(time.Now().Add(hangGuard / 4))
	n, _ := c.answers.Read(answer)
	return bytes.Contains(answer[:n], []byte(text))
}

// possible records that something succeeded that should not.
func (a *attacker) possible(what string) { a.note("results", what) }

func (a *attacker) note(file, text string) {
	f, err := os.OpenFile(filepath.Join(a.root, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		fmt.Fprintln(f, text)
		f.Close()
	}
}

func (a *attacker) await(file string) {
	for _, err := os.Stat(filepath.Join(a.root, file)); err != nil; _, err = os.Stat(filepath.Join(a.root, file)) {
		time.Sleep(5 * time.Millisecond)
	}
}

// self starts this program in a part.
func self(part string, files ...*os.File) *exec.Cmd {
	cmd := exec.Command(os.Args[0], part)
	cmd.ExtraFiles = append(make([]*os.File, doorDescriptor-3), files...)
	return cmd
}

const doorDescriptor = 97

func init() { parts[attackerName] = attackerMain }

func attackerMain(args []string) int {
	time.AfterFunc(2*hangGuard, func() { syscall.Exit(1) }) // the run was killed by a test that failed
	a := &attacker{root: os.Getenv("ATTACKED"), door: os.NewFile(doorDescriptor, "door"), victim: seenVictim()}
	switch args[0] {
	case "victim":
		c := a.asking("victim")
		a.announce(os.Getpid(), c.in.Fd(), c.out.Fd())
		c.answers.Read(make([]byte, 4096))
		a.note("victim", strconv.Itoa(int(c.requests.Fd())))
		a.await("over")
		a.honest("victim at the end")
		a.note("served", "")
	case "command":
		a.await("strangers")
		for name, attack := range innerAttacks {
			attack(a, name)
			if !a.honest("after " + name) {
				a.possible("nothing is served after: " + name)
			}
		}
		for range 20 {
			a.honest("again")
		}
		a.note("over", "")
	case "flood":
		a.flood()
	case "stranger":
		a.reach(args[1], func(string) {})
	case "late":
		for syscall.Kill(atoi(args[1]), 0) == nil {
			time.Sleep(time.Millisecond)
		}
		c := a.asking("after the end of the command")
		a.announce(os.Getpid(), c.in.Fd(), c.out.Fd())
		a.note("late", "")
	case "stopped":
		fmt.Fprintf(a.door, "%d 3", os.Getpid())
		c := a.asking("stopped")
		c.requests.WriteString(innerRequest(2, "fs__echo", "stopped")[:30])
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
	return 0
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// seenVictim finds the victim of this attacker.
func seenVictim() int {
	own, _ := filepath.Abs(os.Args[0])
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if line, _ := os.ReadFile(path); string(line) == own+"\x00victim\x00" {
			return atoi(filepath.Base(filepath.Dir(path)))
		}
	}
	return 0
}

// innerAttacks are played one after the other by a program of a command. None may get a call.
var innerAttacks = map[string]func(a *attacker, name string){
	"pids of other processes": func(a *attacker, name string) {
		c := a.asking(name)
		dead := exec.Command("/bin/true")
		dead.Run()
		for _, pid := range []any{0, -1, 1, os.Getppid(), a.victim, dead.Process.Pid, 1 << 22, math.MaxInt32, int64(1 << 62), "self", "thread-self", "self/task", "../self", "0x1"} {
			a.announce(pid, c.in.Fd(), c.out.Fd())
		}
	},
	"descriptors of other kinds": func(a *attacker, name string) {
		path := filepath.Join(a.root, "file")
		os.WriteFile(path, []byte(innerRequest(1, "fs__echo", name)), 0o600)
		file, _ := os.OpenFile(path, os.O_RDWR, 0)
		directory, _ := os.Open(a.root)
		null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		sockets, _ := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		syscall.Write(sockets[0], []byte(innerRequest(1, "fs__echo", name)))
		c := a.asking(name)
		for _, in := range []any{file.Fd(), directory.Fd(), null.Fd(), sockets[1], doorDescriptor, 9999, -1, int64(1 << 40)} {
			a.announce(os.Getpid(), in, c.out.Fd())
		}
		for _, out := range []any{file.Fd(), directory.Fd(), null.Fd(), sockets[1], doorDescriptor, c.in.Fd(), c.requests.Fd(), 9999, -1, int64(1 << 40)} {
			a.announce(os.Getpid(), c.in.Fd(), out)
		}
		a.kept = append(a.kept, file, directory, null)
	},
	"one request for two clients": func(a *attacker, name string) {
		c := a.asking("at most once")
		for range 10 {
			a.announce(os.Getpid(), c.in.Fd(), c.out.Fd())
		}
	},
	"lines that are no announcements": func(a *attacker, name string) {
		own := os.Getpid()
		for _, line := range []string{"\n\n\n", "\x00\x00\x00\n", fmt.Sprintf("%d\n", own), strings.Repeat("9", 1<<20) + "\n", strings.Repeat("\x00", 1<<20), "\xff\xfe\n", "1 2 3 4\n", "1\r\n2 3\n"} {
			a.door.WriteString(line)
		}
		a.door.WriteString("\n")
	},
	"requests that are no calls of tools": func(a *attacker, name string) {
		for _, request := range []string{
			innerRequest(1, "shell__run_command", name), innerRequest(1, "processes__start", name), innerRequest(1, "no__tool", name),
			strings.Replace(innerRequest(1, "fs__echo", name), `"arguments":{`, `"arguments":[{`, 1),
			strings.Replace(innerRequest(1, "fs__echo", name), `"2026-07-28"`, `"2027-01-01"`, 1),
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs__echo","arguments":` + strings.Repeat("[", 1<<20) + "\n",
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}` + "\n",
			`{"jsonrpc":"2.0","id":77,"result":{"action":"accept","content":{}}}` + "\n" + `{"jsonrpc":"2.0","id":77,"result":{}}` + "\n",
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n",
			"\x00\n", "\xff\n", "[]\n", "[[[]]]\n", "null\n", strings.Repeat("x", 1<<20) + "\n", `{"jsonrpc"`,
		} {
			c := a.asking("allowed")
			c.in, c.requests, _ = os.Pipe()
			a.announce(os.Getpid(), c.in.Fd(), c.out.Fd())
			go c.requests.WriteString(request)
		}
	},
	"clients that neither send nor read": func(a *attacker, name string) {
		for range 8 {
			c := a.asking("allowed")
			c.in, _, _ = os.Pipe()
			a.announce(os.Getpid(), c.in.Fd(), c.out.Fd())
			big := a.asking("allowed")
			a.announce(os.Getpid(), big.in.Fd(), big.out.Fd())
			go big.requests.WriteString(strings.Repeat(innerRequest(2, "fs__echo", "allowed "+strings.Repeat("x", 30000)), 8))
		}
	},
	"a client that is stopped": func(a *attacker, name string) {
		cmd := self("stopped", a.door)
		cmd.Start()
		var status syscall.WaitStatus
		syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		a.door.WriteString("\n") // ends its half line
	},
	"a number of another namespace": func(a *attacker, name string) {
		cmd := self("stopped", a.door)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		if cmd.Start() == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	},
	"the other command": func(a *attacker, name string) {
		_, caged := os.LookupEnv("CAGED")
		a.reach(name, func(what string) {
			if caged {
				a.possible(name + ": " + what)
			}
		})
	},
	"the directory with toolpipe": func(a *attacker, name string) {
		if path, err := exec.LookPath("toolpipe"); err == nil && os.Getenv("CAGED") != "" {
			for what, err := range map[string]error{"write": os.WriteFile(filepath.Dir(path)+"/ls", nil, 0o755), "remove": os.Remove(path)} {
				if err == nil {
					a.possible(name + ": " + what)
				}
			}
		}
	},
}

// reach tries to use the door and the pipes of the victim. reached is called for what the system
// allows; without a sandbox that is no fault, since the page says so.
func (a *attacker) reach(name string, reached func(what string)) {
	if a.victim == 0 {
		return
	}
	at := "/proc/" + strconv.Itoa(a.victim)
	if variables, err := os.ReadFile(at + "/environ"); err == nil {
		reached("environ")
		for variable := range strings.SplitSeq(string(variables), "\x00") {
			if strings.HasPrefix(variable, "TOOLPIPE_COMMAND=") {
				copied := exec.Command("toolpipe", "--no-config", "--call", "fs__echo", "text="+name)
				copied.Env = append(os.Environ(), variable)
				if copied.Run() == nil {
					a.possible(name + ": a copy of its environment")
				}
			}
		}
	}
	if door, err := os.OpenFile(at+"/fd/"+strconv.Itoa(doorDescriptor), os.O_WRONLY, 0); err == nil {
		reached("door")
		c := a.asking(name)
		fmt.Fprintf(door, "%d %d %d\n", os.Getpid(), c.in.Fd(), c.out.Fd())
		fmt.Fprintf(door, "%d %d %d\n", a.victim, c.in.Fd(), c.out.Fd())
		door.Close()
	}
	number, _ := os.ReadFile(filepath.Join(a.root, "victim"))
	if pipe, err := os.OpenFile(at+"/fd/"+strings.TrimSpace(string(number)), os.O_WRONLY, 0); err == nil {
		reached("pipe")
		pipe.Close()
	}
	if fd, _, errno := syscall.Syscall(434 /* pidfd_open */, uintptr(a.victim), 0, 0); errno == 0 {
		if _, _, errno := syscall.Syscall(438 /* pidfd_getfd */, fd, doorDescriptor, 0); errno == 0 {
			reached("pidfd_getfd")
		}
	}
	runtime.LockOSThread()
	if syscall.PtraceAttach(a.victim) == nil {
		syscall.Wait4(a.victim, nil, 0, nil) // until it is stopped
		syscall.PtraceDetach(a.victim)
		reached("ptrace")
	}
}

// flood asks for more calls than one command may make, in one piece and through many clients, and
// reads no answer. It leaves a program that asks after the end.
func (a *attacker) flood() {
	a.await("served")
	late := self("late", a.door)
	late.Args = append(late.Args, strconv.Itoa(os.Getpid()))
	late.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	late.Start()
	for n := range 40 {
		c := a.asking("flood")
		a.announce(os.Getpid(), c.in.Fd(), c.out.Fd())
		for id := range 20 {
			c.requests.WriteString(innerRequest(id+2, "fs__echo", fmt.Sprint("flood ", n)))
		}
	}
	for a.honest("flood") {
	}
}

// TestInnerAttacks plays the attacks as programs of commands, next to the victim, which is another
// command, and as processes of no command; with and without a sandbox; as root and as another user.
func TestInnerAttacks(t *testing.T) {
	t.Parallel()
	holders := []string{""}
	if hasLandlock() {
		holders = append(holders, "Landlock", "bubblewrap")
	}
	for _, user := range testUsers() {
		for _, holder := range holders {
			t.Run(fmt.Sprintf("%d/%s", user, holder), func(t *testing.T) {
				if user == 0 && holder != "" {
					load.Variant(t)
				}
				attackCommands(t, user, holder)
			})
		}
	}
}

const attackedLimit = 300 // calls of one command

func attackCommands(t *testing.T, user int, holder string) {
	dir, err := os.MkdirTemp("", "toolpipe-attacks-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := func(name string) string { return filepath.Join(dir, name) }
	program, err := os.Executable()
	if err = errors.Join(err, os.Mkdir(at("root"), 0o755), os.Mkdir(at("home"), 0o755), exec.Command("cp", program, at(attackerName)).Run()); err != nil {
		t.Fatal(err)
	}
	as := ownedBy(t, dir, user)
	os.Chmod(dir, 0o755)
	start, caged := "ATTACKED="+at("root")+" ", []string{}
	if holder != "" {
		start, caged = start+"CAGED=1 ", []string{"--sandbox", "on"}
	}
	stdin := fmt.Sprintf(`{"name":"processes__start","arguments":{"script":"%[1]s victim"}}
{"name":"shell__run_command","arguments":{"script":"%[1]s command; true"}}
{"name":"shell__run_command","arguments":{"script":"%[1]s flood; true"}}
`, start+at(attackerName))
	if holder != "bubblewrap" { // which ends all programs of a command
		stdin += `{"name":"shell__run_command","arguments":{"script":"until test -e late; do sleep 0.02; done"}}` + "\n"
	}
	cmd := sandboxed(t, dir, holder, append([]string{stdin, "--files", "$ROOT", "--shell", "--shell-background", "--shell-tools", "also", "--max-inner-calls", strconv.Itoa(attackedLimit),
		"-t", "fs=$FAKEMCP -tools echo -log " + at("sent"), "--calls"}, caged...))
	cmd.Env = append([]string{"HOME=" + at("home"), "PATH=" + os.Getenv("PATH")}, cmd.Env...)
	cmd.Dir, cmd.SysProcAttr, cmd.WaitDelay = at("root"), as, 10*time.Second
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(hangGuard, func() { cmd.Process.Kill() }).Stop()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if eventually(func() error { _, err := os.Stat(at("root/victim")); return err }) == nil {
		for _, other := range testUsers() {
			stranger := exec.Command(at(attackerName), "stranger", fmt.Sprint("a stranger ", other))
			stranger.Env = []string{"ATTACKED=" + at("root"), "PATH=" + dir}
			if other != os.Getuid() {
				stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(other), Gid: uint32(other)}}
			}
			if out, err := stranger.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
	os.WriteFile(at("root/strangers"), nil, 0o644)
	err = <-ended
	sent, _ := os.ReadFile(at("sent"))
	if results, _ := os.ReadFile(at("root/results")); err != nil || len(results) > 0 {
		t.Errorf("%v, possible: %s\n%s\n%.1000s", err, results, out, sent)
	}
	checkServed(t, string(sent))
}

// checkServed checks which calls the server got.
func checkServed(t *testing.T, sent string) {
	served := map[string]int{}
	for line := range strings.Lines(sent) {
		if arguments, ok := strings.CutPrefix(line, "tools/call echo "); ok {
			served[gjson.Get(arguments, "text").String()]++
		}
	}
	wanted := map[string]bool{"victim": true, "victim at the end": true}
	for name := range innerAttacks {
		wanted["after "+name] = true
	}
	floods := 0
	for text, n := range served {
		switch {
		case wanted[text] && n == 1, text == "again", strings.HasPrefix(text, "allowed"), text == "at most once" && n == 1:
		case strings.HasPrefix(text, "flood"):
			floods += n
		default:
			t.Errorf("%d calls were made by: %s", n, text)
		}
		delete(wanted, text)
	}
	if len(wanted) > 0 || floods == 0 || floods > attackedLimit {
		t.Errorf("%d calls in a flood, none by: %v", floods, wanted)
	}
}
