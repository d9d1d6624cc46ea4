//go:build !portable

package cage

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"toolpipe/stream/goroutine"
)

// entering is the argument of this program when bwrap starts it.
const entering = "toolpipe-in-bubblewrap"

// selfPath is the path of this program then.
const selfPath = "/proc/self/fd/4"

// The descriptors of bwrap and of the program that it starts.
const (
	argumentsFD = iota + 3 // of bwrap
	selfFD                 // this program: see selfPath
	rulesetFD
	orderFD   // an order
	networkFD // if a network is joined
	userFD    // the user namespace of that network
)

// An order says what the program in bubblewrap executes. It contains no NUL.
type order struct {
	network  Network
	rights   uint64 // of the ruleset
	terminal bool   // its stdin becomes its controlling terminal
	dir      string
	path     string
	args     []string
	env      []string
}

func (o *order) encode() []byte {
	words := slices.Concat([]string{strconv.Itoa(int(o.network)), strconv.FormatUint(o.rights, 10), strconv.FormatBool(o.terminal), o.dir, o.path, strconv.Itoa(len(o.args))}, o.args, o.env)
	return []byte(strings.Join(words, "\x00"))
}

func decodeOrder(b []byte) (*order, error) {
	words := strings.Split(string(b), "\x00")
	const fixed = 6
	if len(words) < fixed {
		return nil, fmt.Errorf("an order of %d words", len(words))
	}
	network, _ := strconv.Atoi(words[0])
	rights, _ := strconv.ParseUint(words[1], 10, 64)
	count, _ := strconv.Atoi(words[5])
	if count < 1 || count > len(words)-fixed {
		return nil, fmt.Errorf("an order for %q arguments", words[5])
	}
	return &order{Network(network), rights, words[2] == "true", words[3], words[4], words[fixed:][:count], words[fixed+count:]}, nil
}

// start starts cmd through bwrap. What bwrap and this program in it need goes through
// descriptors. They are not in the cage yet, so they get no variables: some make a program run
// other code.
func (w *wrapper) start(cmd *exec.Cmd, rules *ruleset) error {
	if _, err := exec.LookPath(cmd.Path); err != nil { // otherwise the child would report it on the stderr of cmd
		return err
	}
	attr := cmd.SysProcAttr
	o := order{network: w.network, rights: rules.rights, terminal: attr != nil && attr.Setctty, dir: cmd.Dir, path: cmd.Path, args: cmd.Args, env: cmd.Environ()}
	var err error
	if o.dir == "" {
		if o.dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	mounts, err := w.mounts()
	if err != nil {
		return err
	}
	args := append(namespaces(w.network == NoNetwork, o.terminal), mounts...)
	var pipes []*os.File
	for _, content := range [][]byte{[]byte(strings.Join(args, "\x00") + "\x00"), o.encode()} {
		r, out, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close() // ends the write if nothing reads
		goroutine.Start(func() {
			defer out.Close()
			_, _ = out.Write(content)
		})
		pipes = append(pipes, r)
	}
	given := cmd.ExtraFiles
	cmd.ExtraFiles = []*os.File{pipes[0], w.self, rules.file, pipes[1]}
	argv := []string{w.bwrap, "--args", strconv.Itoa(argumentsFD), "--", selfPath, entering}
	if w.network == OwnNetwork {
		n, err := w.ownNetwork()
		if err != nil {
			return err
		}
		argv = append(n.join(w.nsenter), argv...)
		cmd.ExtraFiles = append(cmd.ExtraFiles, n.files...)
	}
	if n := len(cmd.ExtraFiles); n < len(given) { // bwrap passes them on; the child's begin after ours
		cmd.ExtraFiles = append(cmd.ExtraFiles, given[n:]...)
	}
	if o.terminal { // only for the child: keys typed there must not become signals for bwrap
		attr.Setctty = false
	}
	cmd.Path, cmd.Args, cmd.Env = argv[0], argv, []string{}
	return cmd.Start()
}

// Enter puts this program into the cage and executes the child, if args are the arguments with
// which a cage started this program for that; then it returns only an error. It must be the
// first call of main: until then nothing is read but what start hands over.
func Enter(args []string) error {
	if len(args) != 2 || args[0] != selfPath || args[1] != entering {
		return nil
	}
	return fmt.Errorf("the sandbox: %w", enterAndExecute())
}

func enterAndExecute() error {
	runtime.LockOSThread()
	b, err := io.ReadAll(os.NewFile(orderFD, "order"))
	if err != nil {
		return err
	}
	o, err := decodeOrder(b)
	if err != nil {
		return err
	}
	for fd := argumentsFD; fd <= userFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	if o.terminal {
		if err := takeTerminal(); err != nil {
			return err
		}
	}
	if err := os.Chdir(o.dir); err != nil {
		return err
	}
	rules := openRuleset(rulesetFD, o.rights)
	if err := rules.allowOwn(); err != nil {
		return err
	}
	if err := enter(rules, filter(o.network, true, 0)); err != nil {
		return err
	}
	return fmt.Errorf("%q: %w", o.path, syscall.Exec(o.path, o.args, o.env))
}

// takeTerminal makes stdin the controlling terminal of a new session.
func takeTerminal() error {
	if _, err := syscall.Setsid(); err != nil {
		return fmt.Errorf("setsid: %w", err)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, 0, syscall.TIOCSCTTY, 0); errno != 0 {
		return fmt.Errorf("the terminal: %w", errno)
	}
	return nil
}
