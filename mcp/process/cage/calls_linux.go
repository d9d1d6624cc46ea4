//go:build !portable

package cage

// callNumbers are the numbers of the system calls that the filter knows, on one
// architecture.
type callNumbers struct {
	seccomp uint32

	clone, clone3, unshare                                       uint32
	ioUringSetup, ioUringEnter, ioUringRegister, pidfdSendSignal uint32
	openat2                                                      uint32
	kill, tkill, tgkill, rtSigqueueinfo, rtTgsigqueueinfo        uint32
	prlimit64, ioctl                                             uint32

	fcntl     []uint32
	truncate  []uint32
	sockets   []uint32   // that make sockets
	modes     []modeCall // that set the mode of a file
	creating  []modeCall // that may make a file
	forbidden []uint32   // that nothing in a cage needs; see names
}
