//go:build !portable

package cage

// callNumbers are the numbers of the filtered system calls on one architecture.
type callNumbers struct {
	seccomp uint32

	clone, clone3, unshare                                       uint32
	ioUringSetup, ioUringEnter, ioUringRegister, pidfdSendSignal uint32
	openat2                                                      uint32
	kill, tkill, tgkill, rtSigqueueinfo, rtTgsigqueueinfo        uint32
	prlimit64, ioctl, socketpair, setpriority, ioprioSet         uint32

	fcntl    []uint32
	truncate []uint32
	sockets  []uint32   // calls that make sockets
	modes    []modeCall // calls that set the mode of a file
	nodes    []modeCall // calls that make a file of any kind
	creating []modeCall // calls that may create a file
	// Calls about the scheduling of a process, its first argument.
	scheduling []uint32
	// Calls that open what System V IPC has for a key, their first argument, and that use it or
	// a POSIX message queue.
	getIPC, useIPC []uint32
	forbidden      []uint32 // calls that nothing in a cage needs; see the names beside the numbers
}
