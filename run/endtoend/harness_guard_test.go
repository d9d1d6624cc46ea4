//go:build unix

package endtoend

import (
	"bufio"
	"encoding/gob"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A guardProcess is a guard (testdata/guard) that waits for a command, or runs one.
type guardProcess struct {
	cmd    *exec.Cmd
	socket *net.UnixConn
	report *bufio.Scanner
}

// idleGuards wait for commands.
var idleGuards struct {
	sync.Mutex
	list []*guardProcess
}

// idleGuard returns a guard for one command. A run is short, and to start a guard for
// each would take a quarter of its time.
func idleGuard() (*guardProcess, error) {
	idleGuards.Lock()
	defer idleGuards.Unlock()
	if n := len(idleGuards.list); n > 0 {
		g := idleGuards.list[n-1]
		idleGuards.list = idleGuards.list[:n-1]
		return g, nil
	}
	path, err := guard()
	if err != nil {
		return nil, err
	}
	syscall.ForkLock.RLock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "guard"), os.NewFile(uintptr(pair[1]), "guard")
	defer ours.Close()
	defer theirs.Close()
	socket, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	g := &guardProcess{cmd: exec.Command(path), socket: socket.(*net.UnixConn), report: bufio.NewScanner(socket)}
	g.report.Buffer(nil, 1<<20)
	g.cmd.SysProcAttr, g.cmd.ExtraFiles = &syscall.SysProcAttr{Setsid: true}, []*os.File{theirs}
	return g, g.cmd.Start()
}

// send has the guard run a command with these standard streams.
func (g *guardProcess) send(c command, terminal string, streams []*os.File) error {
	var descriptors []int
	for _, f := range streams {
		descriptors = append(descriptors, int(f.Fd()))
		if err := syscall.SetNonblock(int(f.Fd()), false); err != nil {
			return err
		}
	}
	if _, _, err := g.socket.WriteMsgUnix([]byte{0}, syscall.UnixRights(descriptors...), nil); err != nil {
		return err
	}
	return gob.NewEncoder(g.socket).Encode(struct { // as the guard's job
		TTY, On    string
		Background bool
		Dir        string
		Args, Env  []string
	}{terminal, c.on, c.background, c.dir, c.args, c.env})
}

func (g *guardProcess) end() {
	g.socket.Close()
	g.cmd.Wait()
}

// endGuards is for the end of the tests: the guards' file is removed.
func endGuards() {
	for _, g := range idleGuards.list {
		g.end()
	}
}

// release takes a guard whose command has ended back, or ends it: a guard keeps the
// terminal that it had.
func (g *guardProcess) release(hasTerminal bool) {
	if hasTerminal {
		g.end()
		return
	}
	idleGuards.Lock()
	defer idleGuards.Unlock()
	idleGuards.list = append(idleGuards.list, g)
}
