//go:build !portable

package cage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"unsafe"

	"toolpipe/stream/goroutine"
)

// A Cage restricts the children that it starts. It may start any number of them, from any
// goroutine.
type Cage struct {
	rules   *ruleset
	filter  []instruction // unused with bubblewrap
	wrapper *wrapper      // nil without bubblewrap
}

// New makes a cage. The second result lists the limits that it cannot enforce. The error is
// the reason why there can be no cage. Paths are resolved now: a child that is started later
// meets the same files, whatever earlier ones have renamed.
func New(spec Spec) (*Cage, Open, error) {
	var open Open
	if err := Available(); err != nil {
		return nil, open, err
	}
	alone := spec.Holder.bubblewrap == nil
	if err := spec.checkAlone(alone); err != nil {
		return nil, open, err
	}
	version, err := abi()
	if err != nil {
		return nil, open, err
	}
	c := &Cage{}
	if !alone {
		if c.wrapper, err = newWrapper(&spec); err != nil {
			return nil, open, err
		}
	} else if spec.Network == OwnNetwork {
		return nil, open, errors.New("no separate network is possible with Landlock")
	}
	if c.rules, err = newRuleset(version); err != nil {
		return nil, open, err
	}
	if err := c.rules.fill(&spec); err != nil {
		c.Close()
		return nil, open, err
	}
	if alone {
		_, open.Paths = hidden(&spec)
		open.Words = c.rules.open(&spec, version)
		c.filter = filter(spec.Network, c.rules.rights&truncate != 0, os.Getpid())
	}
	return c, open, nil
}

// Available returns the reason why there can be no cage here.
func Available() error {
	if filterArch == 0 {
		return fmt.Errorf("there is no filter of system calls for %s", runtime.GOARCH)
	}
	if err := canFilter(); err != nil {
		return err
	}
	_, err := abi()
	return err
}

// hidden returns the paths of Hide without links, and separately those that cannot be hidden
// because they are below a writable directory.
func hidden(spec *Spec) (hide, open []string) {
	for _, path := range spec.Hide {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if slices.ContainsFunc(spec.Write, func(dir string) bool { return below(path, dir) }) {
			open = append(open, path)
		} else {
			hide = append(hide, path)
		}
	}
	return hide, open
}

// Close frees the cage. Children in it continue.
func (c *Cage) Close() {
	c.rules.file.Close()
	if c.wrapper != nil {
		c.wrapper.close()
	}
}

// handles makes package os check, on a thread without a filter, whether it can use
// descriptors of processes. Package os checks once and remembers the answer.
var handles sync.Once

// Start starts cmd in the cage, and may change it. It is a process.StartFunc. Under Landlock the
// starting thread lives until release is called: a child that dies with its parent
// (PR_SET_PDEATHSIG, prctl(2)) dies with the thread that started it.
func (c *Cage) Start(cmd *exec.Cmd) (release func(), wrapped bool, err error) {
	if err := c.rules.allowTerminal(cmd); err != nil {
		return nil, false, err
	}
	if c.wrapper != nil {
		return func() {}, true, c.wrapper.start(cmd, c.rules)
	}
	handles.Do(func() { _, _ = os.FindProcess(os.Getpid()) })
	started, over := make(chan error), make(chan struct{})
	goroutine.Start(func() { c.onThread(cmd, started, over) })
	if err := <-started; err != nil {
		return nil, false, err
	}
	return sync.OnceFunc(func() { close(over) }), false, nil
}

// onThread starts cmd on the thread of the calling goroutine; the thread ends with the
// goroutine.
func (c *Cage) onThread(cmd *exec.Cmd, started chan<- error, over <-chan struct{}) {
	runtime.LockOSThread()
	if syscall.Gettid() == syscall.Getpid() {
		// The first thread represents the program and never ends. Start another thread while
		// this goroutine occupies the first one.
		taken := make(chan struct{})
		goroutine.Start(func() {
			runtime.LockOSThread()
			close(taken)
			c.onThread(cmd, started, over)
		})
		<-taken
		runtime.UnlockOSThread()
		return
	}
	err := enter(c.rules, forThread(c.filter, syscall.Gettid()))
	if err == nil {
		err = cmd.Start()
	}
	started <- err
	if err == nil {
		<-over
	}
}

// enter puts the calling thread into a domain and a filter. The order matters: later steps
// forbid the earlier ones.
func enter(rules *ruleset, filter []instruction) error {
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := rules.enforce(); err != nil {
		return err
	}
	return install(filter)
}

const (
	prSetNoNewPrivs = 38
	prCapAmbient    = 47
	ambientClear    = 4

	// keptCapabilities are CHOWN, DAC_OVERRIDE, FOWNER and FSETID, which are over files: a
	// container's job works as root in a directory of another user.
	keptCapabilities  = 1<<0 | 1<<1 | 1<<3 | 1<<4
	capabilityVersion = 0x20080522
)

func prctl(option, argument uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, argument, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("prctl %d: %w", option, errno)
	}
	return nil
}

// dropCapabilities removes all capabilities except those over files from the calling thread
// and its children. With no_new_privs no program that it executes gets others
// (capabilities(7)), whatever its bounding set is.
func dropCapabilities() error {
	_ = prctl(prCapAmbient, ambientClear)
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVersion}
	var sets [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0); errno != 0 {
		return fmt.Errorf("capget: %w", errno)
	}
	sets[0].effective &= keptCapabilities
	sets[0].permitted &= keptCapabilities
	sets[0].inheritable = 0
	sets[1].effective, sets[1].permitted, sets[1].inheritable = 0, 0, 0
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0); errno != 0 {
		return fmt.Errorf("capset: %w", errno)
	}
	return nil
}
