//go:build !portable

package cage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"unsafe"
)

// The system calls of Landlock have the same numbers on all architectures.
const (
	sysCreateRuleset = 444
	sysAddRule       = 445
	sysRestrictSelf  = 446
)

// Rights over files (include/uapi/linux/landlock.h).
const (
	execute = 1 << iota
	writeFile
	readFile
	readDir
	removeDir
	removeFile
	makeChar
	makeDir
	makeReg
	makeSock
	makeFifo
	makeBlock
	makeSym
	refer
	truncate
	ioctlDev
	resolveUnix

	allRights = 1<<17 - 1
	onFiles   = execute | writeFile | readFile | truncate | ioctlDev | resolveUnix // rights that apply to a file
	reading   = execute | readFile | readDir
	device    = readFile | writeFile | truncate | ioctlDev
)

// Further restrictions, from ABI 6 on.
const (
	scopeAbstractSocket = 1 << iota
	scopeSignal
)

const minABI = 2 // Linux 5.19: with earlier ones no file can be renamed into another directory

// abi is the kernel's version of Landlock.
func abi() (int, error) {
	const askVersion = 1
	n, _, errno := syscall.Syscall(sysCreateRuleset, 0, 0, askVersion)
	switch {
	case errno == syscall.ENOSYS || errno == syscall.EPERM: // from an old container's filter
		return 0, errors.New("the kernel has no Landlock (Linux 5.19), or a filter around this program forbids it")
	case errno == syscall.EOPNOTSUPP:
		return 0, errors.New("the kernel has Landlock switched off: the lsm= list of its command line does not name it")
	case errno != 0:
		return 0, fmt.Errorf("asking for Landlock: %w", errno)
	case n < minABI:
		return 0, fmt.Errorf("the kernel's Landlock is version %d, and %d is needed (Linux 5.19)", n, minABI)
	}
	return int(n), nil
}

// A ruleset is an open Landlock ruleset. Any number of threads may enforce it.
type ruleset struct {
	file    *os.File
	rights  uint64 // that it covers
	reading uint64 // the rights for readable files
}

func newRuleset(abi int) (*ruleset, error) {
	rights := uint64(allRights)
	if abi < 9 {
		rights &^= resolveUnix
	}
	if abi < 5 {
		rights &^= ioctlDev
	}
	if abi < 3 {
		rights &^= truncate
	}
	attr := [3]uint64{rights, 0, scopeAbstractSocket | scopeSignal}
	size := unsafe.Sizeof(attr)
	if abi < 6 {
		size = unsafe.Sizeof(rights)
	}
	fd, _, errno := syscall.Syscall(sysCreateRuleset, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, fmt.Errorf("a ruleset of Landlock: %w", errno)
	}
	syscall.CloseOnExec(int(fd))
	return openRuleset(fd, rights), nil
}

func openRuleset(fd uintptr, rights uint64) *ruleset {
	return &ruleset{file: os.NewFile(fd, "ruleset"), rights: rights, reading: reading}
}

const oPath = 0x200000 // O_PATH

// allow gives rights over a file, or over everything below a directory. A path that is
// missing or cannot be opened needs none.
func (r *ruleset) allow(path string, rights uint64) error {
	return r.allowOpened(path, syscall.O_NOFOLLOW, rights)
}

// allowOpened is allow with a flag for opening the path, 0 to follow a link.
func (r *ruleset) allowOpened(path string, flag int, rights uint64) error {
	fd, err := syscall.Open(path, oPath|flag|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return err
	}
	switch stat.Mode & syscall.S_IFMT {
	case syscall.S_IFLNK: // a separate rule covers its target
		return nil
	case syscall.S_IFDIR:
	default:
		rights &= onFiles
	}
	if rights &= r.rights; rights == 0 {
		return nil
	}
	rule := struct {
		rights uint64
		fd     int32
	}{rights, int32(fd)}
	const pathBeneath = 1
	if _, _, errno := syscall.Syscall6(sysAddRule, r.file.Fd(), pathBeneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("a rule of Landlock for %q: %w", path, errno)
	}
	return nil
}

// allowBelow gives rights over everything below a directory except some paths. A rule applies
// to everything below a directory. So a directory with an exception gets one rule for each
// other entry, and entries that are added later get no rights.
func (r *ruleset) allowBelow(dir string, rights uint64, except []string) error {
	if slices.Contains(except, dir) {
		return nil
	}
	if !slices.ContainsFunc(except, func(path string) bool { return below(path, dir) }) {
		return r.allow(dir, rights)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a child cannot read it either
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case slices.Contains(except, path):
			continue
		case entry.IsDir():
			err = r.allowBelow(path, rights, except)
		default:
			err = r.allow(path, rights)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// devices are the devices that any program may need to write to.
var devices = [...]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}

// kernels are the places with settings and devices of the whole system. Nothing below them
// may be written, not even if a directory above is in Write.
var kernels = []string{"/proc", "/sys", "/dev"}

// writing are the rights over a writable directory.
func (r *ruleset) writing() uint64 {
	return allRights&^(makeChar|makeBlock|ioctlDev|reading) | r.reading
}

// allowOwn adds rights over the /dev that bubblewrap has mounted for one child. It has only
// harmless devices, and the terminals and the shared memory that are made there. The mount
// ends with the child, and so do the rights.
func (r *ruleset) allowOwn() error { return r.allow("/dev", r.writing()|ioctlDev) }

// fill adds the rights of the specification.
func (r *ruleset) fill(spec *Spec) error {
	if spec.Execute != nil {
		r.reading &^= execute
	}
	if spec.Holder.bubblewrap != nil { // it hides by mounts, and has its own /dev and /proc
		if err := r.allow("/", r.reading); err != nil {
			return err
		}
	} else if spec.Read == nil {
		hide, _ := hidden(spec)
		if err := errors.Join(r.allow("/", readDir), r.allowBelow("/", r.reading, append(hide, "/dev"))); err != nil {
			return err
		}
	}
	for _, path := range spec.Read {
		if err := r.allowOpened(path, 0, r.reading); err != nil {
			return err
		}
	}
	for _, path := range spec.Execute {
		if err := r.allowOpened(path, 0, execute|readFile); err != nil {
			return err
		}
	}
	for _, path := range devices {
		if err := r.allow(path, device); err != nil {
			return err
		}
	}
	for _, dir := range spec.Write {
		if below(dir, "/proc") || below(dir, "/sys") {
			continue
		}
		if err := r.allowBelow(dir, r.writing(), kernels); err != nil {
			return err
		}
	}
	for _, path := range spec.Reach {
		if err := r.allowOpened(path, 0, resolveUnix); err != nil {
			return err
		}
	}
	return nil
}

// allowTerminal gives a child rights over its own terminal by name, if it has one. The
// children in the cage after it have them too.
func (r *ruleset) allowTerminal(cmd *exec.Cmd) error {
	in, is := cmd.Stdin.(*os.File)
	if cmd.SysProcAttr == nil || !cmd.SysProcAttr.Setctty || !is {
		return nil
	}
	return r.allowOpened("/proc/self/fd/"+strconv.Itoa(int(in.Fd())), 0, device)
}

// open says in words what Landlock of this version does not restrict without bubblewrap.
func (r *ruleset) open(spec *Spec, version int) (words []string) {
	if version < 6 {
		words = append(words, "signals to other processes of the user")
	}
	if spec.Network == WholeNetwork && r.rights&resolveUnix == 0 {
		words = append(words, "the sockets of other programs, such as D-Bus, Docker and agents for keys, can be used")
	}
	return words
}

// enforce puts the calling thread into the domain of the ruleset.
func (r *ruleset) enforce() error {
	if _, _, errno := syscall.RawSyscall(sysRestrictSelf, r.file.Fd(), 0, 0); errno != 0 {
		return fmt.Errorf("entering a domain of Landlock: %w", errno)
	}
	return nil
}
