//go:build !portable

package cage

import (
	"fmt"
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
	and         = 0x54 // BPF_ALU | BPF_AND | BPF_K
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

// A program is a filter that is being written. Each test answers at once, so that no jump
// is long.
type program []instruction

func (p *program) add(i ...instruction) { *p = append(*p, i...) }

// number loads the number of the system call.
func (p *program) number() { p.add(instruction{loadWord, 0, 0, offsetNumber}) }

// always answers a call, whatever its arguments.
func (p *program) always(verdict uint32, calls ...uint32) {
	for _, call := range calls {
		if call != absent {
			p.add(instruction{jumpEqual, 0, 1, call}, instruction{answer, 0, 0, verdict})
		}
	}
}

// where answers a call where its argument, of which the low half counts as the kernel
// takes it, is one of values.
func (p *program) where(verdict uint32, call uint32, argument int, values ...uint32) {
	p.when(call, argument, func() {
		for _, v := range values {
			p.add(instruction{jumpEqual, 0, 1, v}, instruction{answer, 0, 0, verdict})
		}
	})
}

// unless answers a call where its argument is none of values.
func (p *program) unless(verdict uint32, call uint32, argument int, values ...uint32) {
	p.when(call, argument, func() {
		for i, v := range values {
			p.add(instruction{jumpEqual, uint8(len(values) - i), 0, v})
		}
		p.add(instruction{answer, 0, 0, verdict})
	})
}

// withBits answers a call where its argument has one of the bits.
func (p *program) withBits(verdict uint32, call uint32, argument int, bits uint32) {
	p.when(call, argument, func() {
		p.add(instruction{jumpAnyBit, 0, 1, bits}, instruction{answer, 0, 0, verdict})
	})
}

// when adds what then adds for one call, for which the argument is loaded.
func (p *program) when(call uint32, argument int, then func()) {
	if call == absent {
		return
	}
	at := len(*p)
	p.add(instruction{}, instruction{loadWord, 0, 0, offsetArguments + 8*uint32(argument)})
	then()
	(*p)[at] = instruction{jumpEqual, 0, uint8(len(*p) - at), call}
	p.number()
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
// reach the whole program through that thread, which is in the same Landlock domain; 0 where
// it sees neither. truncation is whether files are held against truncate(2). What the
// arguments show in memory cannot be looked at, as another thread may change it meanwhile, so
// such calls are refused whole.
func filter(network Network, truncation bool, thread, process uint32) program {
	var p program
	p.add(instruction{loadWord, 0, 0, offsetArch}, instruction{jumpEqual, 1, 0, filterArch}, instruction{answer, 0, 0, killProcess})
	p.number()
	if otherNumbers != 0 { // the calls of another form of the same architecture
		p.add(instruction{jumpAtLeast, 0, 1, otherNumbers}, instruction{answer, 0, 0, enosys})
	}
	// Programs have a second way where these are not there. clone3 has its flags in memory,
	// io_uring makes sockets without the call for it.
	p.always(enosys, calls.clone3, calls.openat2, calls.ioUringSetup, calls.ioUringEnter, calls.ioUringRegister, calls.pidfdSendSignal)
	p.always(eperm, calls.forbidden[:]...)
	p.withBits(eperm, calls.clone, 0, namespaces)
	p.withBits(eperm, calls.unshare, 0, namespaces)
	// Signals to the thread reach the whole program; limits are not Landlock's.
	if thread != 0 {
		for _, call := range []uint32{calls.kill, calls.tkill, calls.rtSigqueueinfo} {
			p.where(eperm, call, 0, thread, process)
		}
		for _, call := range []uint32{calls.tgkill, calls.rtTgsigqueueinfo} {
			p.where(eperm, call, 0, thread, process)
			p.where(eperm, call, 1, thread)
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
	p.add(instruction{answer, 0, 0, permit})
	return p
}

// creating refuses to make a file that runs as its owner. Without the flag that makes a
// file the mode means nothing, and may hold anything.
func (p *program) creating(c modeCall) {
	if c.call == absent {
		return
	}
	p.when(c.call, c.flags, func() {
		p.add(instruction{jumpAnyBit, 0, 3, newFiles},
			instruction{loadWord, 0, 0, offsetArguments + 8*uint32(c.mode)},
			instruction{jumpAnyBit, 0, 1, setUserID}, instruction{answer, 0, 0, eperm})
	})
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
func install(p program) error {
	prog := struct {
		length uint16
		filter *instruction
	}{uint16(len(p)), &p[0]}
	if _, _, errno := syscall.RawSyscall(uintptr(calls.seccomp), setModeFilter, specAllow, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("the filter of system calls: %w", errno)
	}
	return nil
}
