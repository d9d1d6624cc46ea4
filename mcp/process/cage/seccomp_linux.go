//go:build !portable

package cage

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"unsafe"
)

// An instruction of classic BPF (struct sock_filter, include/uapi/linux/filter.h).
type instruction struct {
	code   uint16
	yes    uint8 // how many instructions a jump skips
	no     uint8
	number uint32
}

const (
	loadWord    = 0x20 // BPF_LD | BPF_W | BPF_ABS
	jump        = 0x05 // BPF_JMP | BPF_JA
	jumpEqual   = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	jumpAtLeast = 0x35 // BPF_JMP | BPF_JGE | BPF_K
	jumpAnyBit  = 0x45 // BPF_JMP | BPF_JSET | BPF_K
	answer      = 0x06 // BPF_RET | BPF_K

	killProcess = 0x80000000
	refuse      = 0x00050000 // with the number of an error
	permit      = 0x7fff0000

	eperm  = refuse | uint32(syscall.EPERM)
	enosys = refuse | uint32(syscall.ENOSYS)

	offsetNumber, offsetArch, offsetArguments = 0, 4, 16 // in struct seccomp_data
)

// An answers has, for each call that not all may make, the instructions that answer it: they
// load what they need, and end where it is permitted.
type answers map[uint32][]instruction

func (a answers) add(call uint32, i ...instruction) {
	if call != absent {
		a[call] = append(a[call], i...)
	}
}

// always answers a call, whatever its arguments.
func (a answers) always(verdict uint32, calls ...uint32) {
	for _, call := range calls {
		a.add(call, instruction{answer, 0, 0, verdict})
	}
}

// load loads the low half of an argument, which is what counts as the kernel takes it.
func load(argument int) instruction {
	return instruction{loadWord, 0, 0, offsetArguments + 8*uint32(argument)}
}

// where answers a call where its argument is one of values.
func (a answers) where(verdict uint32, call uint32, argument int, values ...uint32) {
	a.add(call, load(argument))
	for _, v := range values {
		a.add(call, instruction{jumpEqual, 0, 1, v}, instruction{answer, 0, 0, verdict})
	}
}

// unless answers a call where its argument is none of values.
func (a answers) unless(verdict uint32, call uint32, argument int, values ...uint32) {
	a.add(call, load(argument))
	for i, v := range values {
		a.add(call, instruction{jumpEqual, uint8(len(values) - i), 0, v})
	}
	a.add(call, instruction{answer, 0, 0, verdict})
}

// withBits answers a call where its argument has one of the bits.
func (a answers) withBits(verdict uint32, call uint32, argument int, bits uint32) {
	a.add(call, load(argument), instruction{jumpAnyBit, 0, 1, bits}, instruction{answer, 0, 0, verdict})
}

// tree finds the answer for the number of a call by halves: the kernel tries a filter on every
// number when it takes it, which costs more than all else of a cage if it is a list.
func (a answers) tree(calls []uint32) (p []instruction) {
	if len(calls) == 1 {
		p = append(p, instruction{jumpEqual, 1, 0, calls[0]}, instruction{answer, 0, 0, permit})
		p = append(p, a[calls[0]]...)
		return append(p, instruction{answer, 0, 0, permit})
	}
	middle := len(calls) / 2
	low, high := a.tree(calls[:middle]), a.tree(calls[middle:])
	p = append(p, instruction{jumpAtLeast, 0, 1, calls[middle]}, instruction{jump, 0, 0, uint32(len(low))})
	return append(append(p, low...), high...)
}

// anyThread stands in a filter for the number of the thread that will start the child.
const anyThread = 1<<32 - 2

// forThread is a filter with the number of a thread.
func forThread(filter []instruction, thread int) []instruction {
	own := slices.Clone(filter)
	for i := range own {
		if own[i].number == anyThread {
			own[i].number = uint32(thread)
		}
	}
	return own
}

// absent stands for a call that an architecture has not.
const absent = ^uint32(0)

const (
	setUserID  = 0o4000
	newFiles   = syscall.O_CREAT
	namespaces = 0x7e020000 // CLONE_NEW*

	tiocsti, tioclinux, fiosetown, siocspgrp = 0x5412, 0x541c, 0x8901, 0x8902
	fSetOwn, fSetSig, fSetOwnEx              = 8, 10, 15
)

// filter is the filter of a child, which is started by a thread of a process: it could
// reach the whole program through that thread, which is in the same Landlock domain. process
// is 0 where it sees neither. truncation is whether files are held against truncate(2). What the
// arguments show in memory cannot be looked at, as another thread may change it meanwhile, so
// such calls are refused whole.
func filter(network Network, truncation bool, process int) []instruction {
	p := answers{}
	// Programs have a second way where these are not there. clone3 has its flags in memory,
	// io_uring makes sockets without the call for it.
	p.always(enosys, calls.clone3, calls.openat2, calls.ioUringSetup, calls.ioUringEnter, calls.ioUringRegister, calls.pidfdSendSignal)
	p.always(eperm, calls.forbidden[:]...)
	p.withBits(eperm, calls.clone, 0, namespaces)
	p.withBits(eperm, calls.unshare, 0, namespaces)
	// Signals to the thread reach the whole program; limits are not Landlock's.
	if process != 0 {
		for _, call := range []uint32{calls.kill, calls.tkill, calls.rtSigqueueinfo} {
			p.where(eperm, call, 0, anyThread, uint32(process))
		}
		for _, call := range []uint32{calls.tgkill, calls.rtTgsigqueueinfo} {
			p.where(eperm, call, 0, anyThread, uint32(process))
			p.where(eperm, call, 1, anyThread)
		}
	}
	p.unless(eperm, calls.prlimit64, 0, 0)
	p.where(eperm, calls.ioctl, 1, tiocsti, tioclinux, fiosetown, siocspgrp)
	for _, call := range calls.fcntl {
		p.where(eperm, call, 1, fSetOwn, fSetSig, fSetOwnEx)
	}
	// A file that runs as its owner is harmless to who cannot get rights, and not to others.
	for _, c := range calls.modes {
		p.withBits(eperm, c.call, c.mode, setUserID)
	}
	for _, c := range calls.creating {
		p.creating(c)
	}
	if !truncation {
		p.always(eperm, calls.truncate...)
	}
	switch network {
	case NoNetwork:
		p.always(eperm, calls.sockets...)
	case OwnNetwork: // others, such as those to what runs this virtual machine, are in no namespace
		for _, call := range calls.sockets {
			p.unless(eperm, call, 0, syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK)
		}
	}
	program := []instruction{{loadWord, 0, 0, offsetArch}, {jumpEqual, 1, 0, filterArch}, {answer, 0, 0, killProcess}, {loadWord, 0, 0, offsetNumber}}
	if otherNumbers != 0 { // the calls of another form of the same architecture
		program = append(program, instruction{jumpAtLeast, 0, 1, otherNumbers}, instruction{answer, 0, 0, enosys})
	}
	return append(program, p.tree(slices.Sorted(maps.Keys(p)))...)
}

// creating refuses to make a file that runs as its owner. Without the flag that makes a
// file the mode means nothing, and may hold anything.
func (a answers) creating(c modeCall) {
	a.add(c.call, load(c.flags), instruction{jumpAnyBit, 0, 3, newFiles},
		load(c.mode), instruction{jumpAnyBit, 0, 1, setUserID}, instruction{answer, 0, 0, eperm})
}

// A modeCall is a call with the mode of a file among its arguments, and perhaps flags.
type modeCall struct {
	call        uint32
	flags, mode int
}

// canFilter says why the kernel takes no filter.
func canFilter() error {
	verdict := uint32(refuse)
	if _, _, errno := syscall.RawSyscall(uintptr(calls.seccomp), actionAvailable, 0, uintptr(unsafe.Pointer(&verdict))); errno != 0 {
		return fmt.Errorf("the kernel takes no filter of system calls (seccomp): %w", errno)
	}
	return nil
}

const (
	setModeFilter   = 1
	actionAvailable = 2
	specAllow       = 4 // before Linux 5.16 a filter made code slower without it
)

// install gives the calling thread the filter.
func install(p []instruction) error {
	prog := struct {
		length uint16
		filter *instruction
	}{uint16(len(p)), &p[0]}
	if _, _, errno := syscall.RawSyscall(uintptr(calls.seccomp), setModeFilter, specAllow, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("the filter of system calls: %w", errno)
	}
	return nil
}
