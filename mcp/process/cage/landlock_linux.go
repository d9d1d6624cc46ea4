//go:build !portable

package cage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

	allRights = 1<<16 - 1
	onFiles   = execute | writeFile | readFile | truncate | ioctlDev // rights that apply to a file
	reading   = execute | readFile | readDir
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
	fd     int
	rights uint64 // that it covers
	hidden []string

	reading uint64 // the rights for readable files
}

func newRuleset(abi int) (*ruleset, error) {
	rights := uint64(allRights)
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
	return &ruleset{fd: int(fd), rights: rights, reading: reading}, nil
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
	if _, _, errno := syscall.Syscall6(sysAddRule, uintptr(r.fd), pathBeneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("a rule of Landlock for %q: %w", path, errno)
	}
	return nil
}

// allowReading makes everything below a directory readable except hidden paths. A rule
// applies to everything below a directory. So a directory with a hidden path gets one rule
// for each other entry, and entries that are added later cannot be read.
func (r *ruleset) allowReading(dir string) error {
	below := strings.TrimSuffix(dir, "/") + "/"
	if !slices.ContainsFunc(r.hidden, func(h string) bool { return strings.HasPrefix(h, below) }) {
		return r.allow(dir, r.reading)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a child cannot read it either
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case slices.Contains(r.hidden, path):
			continue
		case entry.IsDir():
			err = r.allowReading(path)
		default:
			err = r.allow(path, r.reading)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// devices are the devices that any program may need to write to.
var devices = [...]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// fill adds the rights of the specification.
func (r *ruleset) fill(spec *Spec) error {
	if spec.Execute != nil {
		r.reading &^= execute
	}
	if spec.Read == nil {
		if err := errors.Join(r.allow("/", readDir), r.allowReading("/")); err != nil {
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
	for _, device := range devices {
		if err := r.allow(device, readFile|writeFile|truncate|ioctlDev); err != nil {
			return err
		}
	}
	for _, dir := range spec.Write {
		if err := r.allow(dir, allRights&^(makeChar|makeBlock|ioctlDev|reading)|r.reading); err != nil {
			return err
		}
	}
	return nil
}

// enforce puts the calling thread into the domain of the ruleset.
func (r *ruleset) enforce() error {
	if _, _, errno := syscall.RawSyscall(sysRestrictSelf, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("entering a domain of Landlock: %w", errno)
	}
	return nil
}
