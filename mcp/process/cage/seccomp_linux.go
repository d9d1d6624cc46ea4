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
	maskWord    = 0x54 // BPF_ALU | BPF_AND | BPF_K
	answer      = 0x06 // BPF_RET | BPF_K

	killProcess = 0x80000000
	refuse      = 0x00050000 // with an error number
	permit      = 0x7fff0000

	eperm  = refuse | uint32(syscall.EPERM)
	enosys = refuse | uint32(syscall.ENOSYS)

	offsetNumber, offsetArch, offsetArguments = 0, 4, 16 // in struct seccomp_data
)

// An answers maps each restricted call to the instructions that decide about it: they load
// their data, and a call that reaches their end is permitted.
type answers map[uint32][]instruction

func (a answers) add(call uint32, i ...instruction) {
	if call != absent {
		a[call] = append(a[call], i...)
	}
}

// always gives a call the same verdict for all arguments.
func (a answers) always(verdict uint32, calls ...uint32) {
	for _, call := range calls {
		a.add(call, instruction{answer, 0, 0, verdict})
	}
}

// load loads the low half of an argument, the part that the kernel uses.
func load(argument int) instruction {
	return instruction{loadWord, 0, 0, offsetArguments + 8*uint32(argument)}
}

// where gives the verdict if the argument is one of values.
func (a answers) where(verdict uint32, call uint32, argument int, values ...uint32) {
	a.add(call, load(argument))
	for _, v := range values {
		a.add(call, instruction{jumpEqual, 0, 1, v}, instruction{answer, 0, 0, verdict})
	}
}

// unless gives the verdict if the argument is not one of values.
func (a answers) unless(verdict uint32, call uint32, argument int, values ...uint32) {
	a.unlessMasked(verdict, call, argument, ^uint32(0), values...)
}

// unlessMasked is unless for the bits of mask in the argument.
func (a answers) unlessMasked(verdict uint32, call uint32, argument int, mask uint32, values ...uint32) {
	a.add(call, load(argument), instruction{maskWord, 0, 0, mask})
	for i, v := range values {
		a.add(call, instruction{jumpEqual, uint8(len(values) - i), 0, v})
	}
	a.add(call, instruction{answer, 0, 0, verdict})
}

// withBits gives the verdict if the argument has one of the bits.
func (a answers) withBits(verdict uint32, call uint32, argument int, bits uint32) {
	a.add(call, load(argument), instruction{jumpAnyBit, 0, 1, bits}, instruction{answer, 0, 0, verdict})
}

// tree finds the rules for a call's number by binary search. When a filter is installed, the
// kernel tries it on every number; with a list that would cost more than the rest of the
// cage.
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

// anyThread is the placeholder for the id of the thread that will start the child.
const anyThread = 1<<32 - 2

// forThread is a filter with the id of a thread.
func forThread(filter []instruction, thread int) []instruction {
	own := slices.Clone(filter)
	for i := range own {
		if own[i].number == anyThread {
			own[i].number = uint32(thread)
		}
	}
	return own
}

// absent is the number of a call that an architecture does not have.
const absent = ^uint32(0)

const (
	setID         = 0o6000   // set-user-ID and set-group-ID
	deviceFile    = 0o020000 // the bit of S_IFCHR and S_IFBLK that other files do not have
	newFiles      = syscall.O_CREAT
	newNamespaces = 0x7e020000 // CLONE_NEW*
	socketType    = 0xf        // without SOCK_CLOEXEC and SOCK_NONBLOCK

	tiocsti, tioclinux, fiosetown, siocspgrp = 0x5412, 0x541c, 0x8901, 0x8902
	fSetOwn, fSetSig, fSetOwnEx              = 8, 10, 15
)

// filter is the filter of a child. process is the pid of the process that starts it: the
// child could reach the whole program through the starting thread, which is in the same
// Landlock domain. process is 0 if the child has namespaces of its own for processes and for
// IPC. truncation means that truncate(2) is restricted elsewhere. The filter cannot check
// arguments in memory, because another thread may change them meanwhile; it refuses such
// calls completely.
func filter(network Network, truncation bool, process int) []instruction {
	p := answers{}
	// Programs use other calls if these are missing. clone3 has its flags in memory, and
	// io_uring makes sockets without the call for it.
	p.always(enosys, calls.clone3, calls.openat2, calls.ioUringSetup, calls.ioUringEnter, calls.ioUringRegister, calls.pidfdSendSignal)
	p.always(eperm, calls.forbidden[:]...)
	p.withBits(eperm, calls.clone, 0, newNamespaces)
	p.withBits(eperm, calls.unshare, 0, newNamespaces)
	if process != 0 {
		p.keepOff(uint32(process))
	}
	p.unless(eperm, calls.prlimit64, 0, 0)
	p.where(eperm, calls.ioctl, 1, tiocsti, tioclinux, fiosetown, siocspgrp)
	for _, call := range calls.fcntl {
		p.where(eperm, call, 1, fSetOwn, fSetSig, fSetOwnEx)
	}
	// A set-user-ID file and a device are harmless in a cage, where nobody can gain rights,
	// but not outside.
	for _, c := range calls.modes {
		p.withBits(eperm, c.call, c.mode, setID)
	}
	for _, c := range calls.nodes {
		p.withBits(eperm, c.call, c.mode, setID|deviceFile)
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
		// A pair of sockets for datagrams can send to any socket with a path.
		p.unlessMasked(eperm, calls.socketpair, 1, socketType, syscall.SOCK_STREAM, syscall.SOCK_SEQPACKET)
	case OwnNetwork: // other families, such as sockets to this virtual machine's host, are in no namespace
		for _, call := range calls.sockets {
			p.unless(eperm, call, 0, syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6, syscall.AF_NETLINK)
		}
	}
	program := []instruction{{loadWord, 0, 0, offsetArch}, {jumpEqual, 1, 0, filterArch}, {answer, 0, 0, killProcess}, {loadWord, 0, 0, offsetNumber}}
	if otherNumbers != 0 { // calls of another ABI of the same architecture
		program = append(program, instruction{jumpAtLeast, 0, 1, otherNumbers}, instruction{answer, 0, 0, enosys})
	}
	return append(program, p.tree(slices.Sorted(maps.Keys(p)))...)
}

// keepOff refuses what reaches processes outside, and the program process, without a path.
func (a answers) keepOff(process uint32) {
	// Signals to the starting thread reach the whole program.
	for _, call := range []uint32{calls.kill, calls.tkill, calls.rtSigqueueinfo} {
		a.where(eperm, call, 0, anyThread, process)
	}
	for _, call := range []uint32{calls.tgkill, calls.rtTgsigqueueinfo} {
		a.where(eperm, call, 0, anyThread, process)
		a.where(eperm, call, 1, anyThread)
	}
	for _, call := range calls.scheduling {
		a.unless(eperm, call, 0, 0)
	}
	for _, c := range []struct{ call, process, group uint32 }{{calls.setpriority, 0, 1}, {calls.ioprioSet, 1, 2}} {
		a.unless(eperm, c.call, 0, c.process, c.group)
		a.unless(eperm, c.call, 1, 0)
	}
	const private = 0 // IPC_PRIVATE
	for _, call := range calls.getIPC {
		a.unless(eperm, call, 0, private)
	}
	a.always(eperm, calls.useIPC...)
}

// creating refuses to create a set-user-ID file. Without the flag that creates a file, the
// mode is ignored and may have any value.
func (a answers) creating(c modeCall) {
	a.add(c.call, load(c.flags), instruction{jumpAnyBit, 0, 3, newFiles},
		load(c.mode), instruction{jumpAnyBit, 0, 1, setID}, instruction{answer, 0, 0, eperm})
}

// A modeCall is a call with a file mode, and perhaps flags, as arguments.
type modeCall struct {
	call        uint32
	flags, mode int
}

// canFilter returns an error if the kernel takes no filter.
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
	specAllow       = 4 // before Linux 5.16 a filter without it made code slower
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
