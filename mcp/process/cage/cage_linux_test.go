//go:build !portable

package cage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"toolpipe/testdata/processtest"
)

func init() {
	processtest.Programs["attack"] = attack
	processtest.Programs["container"] = container
}

func TestMain(m *testing.M) {
	if err := Enter(os.Args); err != nil {
		panic(err)
	}
	os.Exit(processtest.Main(m, os.Args))
}

// attacks are what a child tries; nil says that it was possible.
var attacks = map[string]func(args []string) error{
	"write":    func(a []string) error { return os.WriteFile(a[0], []byte("x"), 0o600) },
	"append":   func(a []string) error { return appendTo(a[0]) },
	"truncate": func(a []string) error { return os.Truncate(a[0], 0) },
	"read": func(a []string) error {
		_, err := os.ReadFile(a[0])
		return err
	},
	"list": func(a []string) error {
		_, err := os.ReadDir(a[0])
		return err
	},
	"mkdir":   func(a []string) error { return os.Mkdir(a[0], 0o700) },
	"remove":  func(a []string) error { return os.Remove(a[0]) },
	"rename":  func(a []string) error { return os.Rename(a[0], a[1]) },
	"link":    func(a []string) error { return os.Link(a[0], a[1]) },
	"symlink": func(a []string) error { return os.Symlink(a[0], a[1]) },
	"throughlink": func(a []string) error { // made by the child, to what is outside
		if err := os.Symlink(a[0], a[1]); err != nil {
			return nil // the link itself is not what is tried
		}
		return appendTo(a[1])
	},
	"readlink": func(a []string) error {
		os.Symlink(a[0], a[1])
		_, err := os.ReadFile(a[1])
		return err
	},
	"node":    func(a []string) error { return syscall.Mknod(a[0], syscall.S_IFCHR|0o600, 1<<8|3) },
	"fifo":    func(a []string) error { return syscall.Mkfifo(a[0], 0o600) },
	"chmod":   func(a []string) error { return syscall.Chmod(a[0], 0o4755) },
	"setgid":  func(a []string) error { return syscall.Chmod(a[0], 0o2755) },
	"block":   func(a []string) error { return syscall.Mknod(a[0], syscall.S_IFBLK|0o600, 7<<8) },
	"suidnod": func(a []string) error { return syscall.Mknod(a[0], syscall.S_IFREG|0o4700, 0) },
	"newsgid": func(a []string) error { return closed(syscall.Open(a[0], syscall.O_CREAT|syscall.O_WRONLY, 0o2755)) },
	"newsuid": func(a []string) error { return closed(syscall.Open(a[0], syscall.O_CREAT|syscall.O_WRONLY, 0o4755)) },
	"plain":   func(a []string) error { return syscall.Chmod(a[0], 0o755) },
	"tcp": func(a []string) error {
		c, err := net.DialTimeout("tcp", a[0], time.Second)
		if err == nil {
			c.Close()
		}
		return err
	},
	"udp":     func([]string) error { return closed(syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)) },
	"netlink": func([]string) error { return closed(syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW, 0)) },
	"vsock":   func([]string) error { return closed(syscall.Socket(40, syscall.SOCK_STREAM, 0)) },
	"unix": func(a []string) error {
		c, err := net.Dial("unix", a[0])
		if err == nil {
			c.Close()
		}
		return err
	},
	"serve": func(a []string) error { // and connect
		l, err := net.Listen(a[1], a[0])
		if err != nil {
			return err
		}
		defer l.Close()
		c, err := net.DialTimeout(a[1], l.Addr().String(), time.Second)
		if err == nil {
			c.Close()
		}
		return err
	},
	"listen": func([]string) error { // until it is killed
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			c.Close()
		}
	},
	"pair": func([]string) error {
		_, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		return err
	},
	"datagram": func(a []string) error { // to a socket with a path, through a pair
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return syscall.Sendto(pair[0], []byte("x"), 0, &syscall.SockaddrUnix{Name: a[0]})
	},
	"seqpacket": func([]string) error {
		_, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_NONBLOCK, 0)
		return err
	},
	"shmget": func(a []string) error { // the memory of another process, by its key
		return raw(uintptr(calls.getIPC[0]), uintptr(number(a[0])), 0, 0)
	},
	"shmat":    func(a []string) error { return raw(uintptr(calls.useIPC[0]), uintptr(number(a[0])), 0, 0) },
	"private":  func([]string) error { return raw(uintptr(calls.getIPC[0]), 0, 4096, 0o600) },
	"priority": func(a []string) error { return syscall.Setpriority(syscall.PRIO_PROCESS, number(a[0]), 0) },
	"prioall":  func([]string) error { return syscall.Setpriority(syscall.PRIO_USER, 0, 0) },
	"ioprio":   func(a []string) error { return raw(uintptr(calls.ioprioSet), 1, uintptr(number(a[0])), 0) },
	"affinity": func(a []string) error {
		mask := ^uint64(0)
		return raw(uintptr(calls.scheduling[3]), uintptr(number(a[0])), 8, uintptr(unsafe.Pointer(&mask)))
	},
	"open": func(a []string) error { // for writing, without waiting for a reader
		return closed(syscall.Open(a[0], syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0))
	},
	"look": func(a []string) error {
		return closed(syscall.Open(a[0], syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0))
	},
	"uring":  func([]string) error { return raw(uintptr(calls.ioUringSetup), 8, 0, 0) },
	"signal": func(a []string) error { return syscall.Kill(number(a[0]), syscall.SIGCONT) },
	"tkill": func(a []string) error {
		return raw(uintptr(calls.tgkill), uintptr(number(a[0])), uintptr(number(a[1])), uintptr(syscall.SIGCONT))
	},
	"self":    func([]string) error { return syscall.Kill(os.Getpid(), syscall.SIGCONT) },
	"ptrace":  func(a []string) error { return raw(syscall.SYS_PTRACE, 16, uintptr(number(a[0])), 0) },
	"environ": func(a []string) error { return readAny("/proc/" + a[0] + "/environ") },
	"maps":    func(a []string) error { return readAny("/proc/" + a[0] + "/maps") },
	"limit": func(a []string) error {
		var limit [2]uint64
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(number(a[0])), 7, 0, uintptr(unsafe.Pointer(&limit)), 0, 0)
		return result(errno)
	},
	"ownlimit": func([]string) error { var limit syscall.Rlimit; return syscall.Getrlimit(7, &limit) },
	"userns":   func([]string) error { return raw(syscall.SYS_UNSHARE, syscall.CLONE_NEWUSER, 0, 0) },
	"clonens": func([]string) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	},
	"mount":    func(a []string) error { return syscall.Mount("none", a[0], "tmpfs", 0, "") },
	"program":  func(a []string) error { return exec.Command(a[0], a[1:]...).Run() },
	"shm":      func([]string) error { return os.WriteFile("/dev/shm/toolpipe-cage-test", []byte("x"), 0o600) },
	"null":     func([]string) error { return os.WriteFile("/dev/null", []byte("x"), 0o600) },
	"setuid":   func([]string) error { return syscall.Setuid(1) },
	"procroot": func(a []string) error { return appendTo("/proc/self/root" + a[0]) },
	"handed": func([]string) error { // a descriptor that was open before
		_, err := os.NewFile(3, "").Write([]byte("x"))
		return err
	},
}

// command is a program that tries an attack with arguments.
func command(attack string) *exec.Cmd {
	return processtest.Command("attack", strings.Fields(attack)...)
}

func closed(fd int, err error) error {
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

func appendTo(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write([]byte("x"))
	return err
}

func readAny(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.Read(make([]byte, 1)); err == io.EOF {
		return nil
	}
	return err
}

func number(s string) int { n, _ := strconv.Atoi(s); return n }

func result(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func raw(call, a, b, c uintptr) error {
	_, _, errno := syscall.RawSyscall(call, a, b, c)
	return result(errno)
}

func attack(args []string) int {
	if err := attacks[args[0]](args[1:]); err != nil {
		fmt.Println("refused:", err)
		return 1
	}
	fmt.Println("possible")
	return 0
}

func newCage(t testing.TB, spec Spec) *Cage {
	t.Helper()
	c, _, err := New(spec)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(c.Close)
	return c
}

// run runs a command in the cage, or without one if that is nil.
func run(t testing.TB, c *Cage, cmd *exec.Cmd) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if c == nil {
		err := cmd.Run()
		return out.String(), err
	}
	release, _, err := c.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	err = cmd.Wait()
	return out.String(), err
}

// scene is a root that may be written, a place outside, and a secret.
type scene struct{ root, outside, secret string }

func newScene(t testing.TB) scene {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := scene{filepath.Join(dir, "root"), filepath.Join(dir, "outside"), filepath.Join(dir, "home/.ssh")}
	for _, d := range []string{s.root, s.outside, s.secret} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "file"), []byte("content\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "home/notes"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// holders are what holds a child, by name; a test of one that is not there is skipped.
var holders = []string{"Landlock", "bubblewrap"}

// heldBy is the specification with what holds it.
func heldBy(t testing.TB, holder string, spec Spec) Spec {
	if holder == "bubblewrap" {
		if spec.Holder = FindHolder(exec.LookPath); !spec.Holder.Below {
			t.Skip(spec.Holder.Without)
		}
	}
	return spec
}

func (s scene) spec() Spec {
	return Spec{Write: []string{s.root}, Hide: []string{s.secret, filepath.Join(s.outside, "none")}}
}

// TestAttacks: what a child must not do is refused in the cage and possible without; what it
// may do is possible.
func TestAttacks(t *testing.T) {
	for _, x := range []struct {
		args string // R is the root, O the place outside, S the secret, P this program
		held bool
	}{
		{"write R/new", false}, {"append R/file", false}, {"truncate R/file", false}, {"mkdir R/dir", false}, {"remove R/file", false},
		{"rename R/file R/other", false}, {"link R/file R/second", false}, {"fifo R/pipe", false}, {"symlink O/file R/link", false},
		{"plain R/file", false}, {"read O/file", false}, {"list O", false}, {"read S/../../home/notes", false}, {"null", false}, {"pair", false},
		{"self", false}, {"ownlimit", false}, {"program /bin/sh -c true", false},
		{"write O/new", true}, {"append O/file", true}, {"truncate O/file", true}, {"mkdir O/dir", true}, {"remove O/file", true},
		{"rename O/file R/other", true}, {"rename R/file O/other", true}, {"link O/file R/second", true}, {"link R/file O/second", true},
		{"throughlink O/file R/link", true}, {"fifo O/pipe", true}, {"procroot O/file", true}, {"node R/null", true},
		{"read S/file", true}, {"readlink S/file R/link", true}, {"read R/../home/.ssh/file", true}, {"link S/file R/second", true}, {"rename S R/ssh", true},
		{"program /bin/cat S/file", true}, {"program /bin/tar cf R/all.tar S/file", true},
		{"chmod R/file", true}, {"setgid R/file", true}, {"newsuid R/suid", true}, {"newsgid R/sgid", true}, {"block R/disk", true}, {"suidnod R/suid", true},
		{"tcp A", true}, {"udp", true}, {"netlink", true}, {"vsock", true}, {"unix U", true}, {"uring", true}, {"datagram D", true}, {"seqpacket", false},
		{"open O/fifo", true}, {"open /proc/sys/kernel/core_pattern", true}, {"open /proc/sysrq-trigger", true}, {"open /sys/kernel/mm/ksm/run", true},
		{"open T", true}, {"look T", true}, {"open /dev/vda", true}, {"look /dev/kmsg", true},
		{"shmget M", true}, {"shmat I", true}, {"private", false}, {"priority P", true}, {"prioall", true}, {"priority 0", false}, {"ioprio P", true}, {"ioprio 0", false},
		{"affinity P", true}, {"affinity 0", false},
		{"signal P", true}, {"signal 1", true}, {"tkill P P", true}, {"ptrace P", true}, {"environ P", true}, {"maps P", true}, {"limit P", true},
		{"userns", true}, {"clonens", true}, {"mount R", true}, {"shm", true}, {"setuid", true},
	} {
		for _, holder := range append([]string{"off"}, holders...) {
			held := x.held && (holder == "Landlock" || !slices.Contains(own, x.args))
			t.Run(holder+"/"+x.args, func(t *testing.T) { tryAttack(t, holder, x.args, held) })
		}
	}
}

// own is what a child may do in namespaces of its own: they have their own shared memory, and
// all processes in them are its own.
var own = []string{"shm", "prioall"}

func tryAttack(t *testing.T, holder, attack string, held bool) {
	s := newScene(t)
	words := s.targets(t)
	var args []string
	for word := range strings.FieldsSeq(attack) {
		first, rest, below := strings.Cut(word, "/")
		if target := words[first]; target != "" && below {
			word = target + "/" + rest
		} else if target != "" {
			word = target
		}
		args = append(args, word)
	}
	if holder == "off" { // what is refused to everybody proves nothing about a cage
		if attack == "mount R" || attack == "ptrace P" || attack == "prioall" {
			t.Skip("it would stay mounted, stop this program, or change all programs of the user")
		}
		out, err := run(t, nil, processtest.Command("attack", args...))
		os.Remove("/dev/shm/toolpipe-cage-test")
		if err != nil {
			t.Skipf("%s", out)
		}
		return
	}
	out, err := run(t, newCage(t, heldBy(t, holder, s.spec())), processtest.Command("attack", args...))
	if (err != nil) != held {
		t.Errorf("in the cage: %s%v", out, err)
	}
	for path, want := range map[string]string{filepath.Join(s.outside, "file"): "content\n", filepath.Join(s.secret, "file"): "content\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", path, got, err)
		}
	}
}

// targets are what attacks name by a letter.
func (s scene) targets(t *testing.T) map[string]string {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close() })
	unix, err := net.Listen("unix", filepath.Join(s.root, "u"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close() })
	datagrams, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(s.outside, "d")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { datagrams.Close() })
	if err := syscall.Mkfifo(filepath.Join(s.outside, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := syscall.Open(filepath.Join(s.outside, "fifo"), syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(reader) })
	words := map[string]string{
		"R": s.root, "O": s.outside, "S": s.secret, "P": strconv.Itoa(os.Getpid()), "A": tcp.Addr().String(),
		"U": filepath.Join(s.root, "u"), "D": filepath.Join(s.outside, "d"), "T": terminal(t), "M": strconv.Itoa(os.Getpid()),
	}
	const create, remove = 0o1000, 0 // IPC_CREAT, IPC_RMID
	id, _, errno := syscall.Syscall(uintptr(calls.getIPC[0]), uintptr(os.Getpid()), 4096, create|0o600)
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() { syscall.Syscall(uintptr(calls.useIPC[1]), id, remove, 0) })
	words["I"] = strconv.Itoa(int(id))
	return words
}

// terminal is the path of a terminal of another program.
func terminal(t *testing.T) string {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var unlock, number int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	return "/dev/pts/" + strconv.Itoa(int(number))
}

// TestNetwork: with it a child may make sockets.
func TestNetwork(t *testing.T) {
	s := newScene(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	spec := s.spec()
	spec.Network = WholeNetwork
	for _, holder := range holders {
		t.Run(holder, func(t *testing.T) {
			if out, err := run(t, newCage(t, heldBy(t, holder, spec)), processtest.Command("attack", "tcp", l.Addr().String())); err != nil {
				t.Errorf("%s%v", out, err)
			}
		})
	}
}

// TestOpen: what is below a place that may be written cannot be hidden, and is named.
func TestOpen(t *testing.T) {
	s := newScene(t)
	spec := s.spec()
	below := filepath.Join(s.root, "file")
	spec.Hide = append(spec.Hide, below, filepath.Join(s.root, "none"))
	c, open, err := New(spec)
	if err != nil {
		t.Skip(err)
	}
	defer c.Close()
	if !slices.Equal(open.Paths, []string{below, filepath.Join(s.root, "none")}) {
		t.Errorf("%q", open.Paths)
	}
}

// TestFree: this program can do everything after many starts, beside which threads come and
// go, and no other child is in a cage.
func TestFree(t *testing.T) {
	s := newScene(t)
	c := newCage(t, s.spec())
	starts := 300
	if testing.Short() {
		starts = 60
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				time.Sleep(time.Millisecond)
				done := make(chan struct{})
				go func() {
					runtime.LockOSThread() // the thread ends with the goroutine
					close(done)
				}()
				<-done
			}
		})
	}
	for i := range starts {
		cmd := exec.Command("/bin/true")
		release, _, err := c.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		release()
		if i%50 == 0 {
			runtime.GC()
		}
	}
	close(stop)
	others.Wait()
	for range 100 { // the last threads end
		if free(t) == "" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if what := free(t); what != "" {
		t.Error(what)
	}
	if err := os.WriteFile(filepath.Join(s.outside, "free"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.ReadFile(filepath.Join(s.secret, "file")); err != nil {
		t.Error(err)
	}
	if out, err := run(t, nil, processtest.Command("attack", "write", filepath.Join(s.outside, "other"))); err != nil {
		t.Errorf("another child: %s%v", out, err)
	}
	p, err := os.FindProcess(os.Getpid())
	if err != nil || p.WithHandle(func(uintptr) {}) != nil {
		t.Error("descriptors of processes cannot be used any more")
	}
}

// free says which thread of this program is in a cage.
func free(t *testing.T) string {
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, _ := os.ReadFile(task)
		if strings.Contains(string(b), "NoNewPrivs:\t1") || strings.Contains(string(b), "Seccomp:\t2") {
			return task
		}
	}
	return ""
}

// TestThread: a child does not reach this program through the thread that started it, which
// is in its domain.
func TestThread(t *testing.T) {
	s := newScene(t)
	c := newCage(t, s.spec())
	cmd := exec.Command("/bin/sleep", "60")
	release, _, err := c.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait(); release() }()
	var thread string
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		b, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if strings.Contains(string(b), "NoNewPrivs:\t1") {
			thread = task.Name()
		}
	}
	if thread == "" {
		t.Fatal("no thread is in the cage while the child lives")
	}
	syscall.RawSyscall(syscall.SYS_PRCTL, 4, 0, 0) // PR_SET_DUMPABLE, as the program does at its start
	defer syscall.RawSyscall(syscall.SYS_PRCTL, 4, 1, 0)
	pid := strconv.Itoa(os.Getpid())
	for _, args := range [][]string{{"signal", thread}, {"tkill", pid, thread}, {"environ", thread}, {"maps", thread}, {"limit", thread}} {
		if out, err := run(t, c, processtest.Command("attack", args...)); err == nil {
			t.Errorf("%q: %s", args, out)
		}
	}
}

// TestDeathSignal: a child that is to die with its parent lives as long as the program, not
// as long as the goroutine that started it.
func TestDeathSignal(t *testing.T) {
	c := newCage(t, newScene(t).spec())
	cmd := exec.Command("/bin/sleep", "0.2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	release, _, err := c.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	release()
	release() // twice is no harm
	if _, _, err := c.Start(exec.Command("/nonexistent/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// container is a program that executes another one under a filter like that of Docker: it
// refuses namespaces and mounts, and clone3 is not there.
func container(args []string) int {
	runtime.LockOSThread()
	a := answers{}
	a.always(enosys, calls.clone3)
	a.withBits(eperm, calls.clone, 0, newNamespaces)
	a.always(eperm, calls.unshare, syscall.SYS_MOUNT, syscall.SYS_UMOUNT2, syscall.SYS_PIVOT_ROOT)
	program := append([]instruction{{loadWord, 0, 0, offsetNumber}}, a.tree(slices.Sorted(maps.Keys(a)))...)
	if err := errors.Join(prctl(prSetNoNewPrivs, 1), install(program)); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(syscall.Exec(args[0], args, os.Environ()))
	return 1
}

// TestInContainer: where namespaces are refused, bubblewrap is not used, and Landlock holds
// what it holds elsewhere.
func TestInContainer(t *testing.T) {
	newCage(t, Spec{}) // or the test is skipped
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := processtest.Command("container", self, "-test.run=^Test(Attacks|Network|Thread|DeathSignal|Protect)$", "-test.short", "-test.v").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "it does not work here") && !strings.Contains(string(out), "not on PATH") || !strings.Contains(string(out), "--- PASS: TestAttacks/Landlock/read_S/file") {
		t.Errorf("%s%v", out, err)
	}
}

// TestAsNobody runs the other tests as a user without rights.
func TestAsNobody(t *testing.T) {
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("it needs root to become somebody else, and plays the other tests again")
	}
	dir, err := os.MkdirTemp("", "cage")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "cage.test")
	if err := errors.Join(os.WriteFile(program, self, 0o755), os.Chmod(dir, 0o755), os.Mkdir(dir+"/tmp", 0o700), os.Chown(dir+"/tmp", 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^Test(Attacks|Network|Free|Thread|DeathSignal|Protect|OddPaths|OwnNetwork|ResolvedOnce|SharedNetwork|Variables)$", "-test.short")
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir + "/tmp", "HOME=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s%v", out, err)
	}
}
