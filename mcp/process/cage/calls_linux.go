//go:build !portable

package cage

// callNumbers are the numbers of the filtered system calls on one architecture.
type callNumbers struct {
	seccomp uint32

	clone, clone3, unshare                                       uint32
	ioUringSetup, ioUringEnter, ioUringRegister, pidfdSendSignal uint32
	openat2                                                      uint32
	kill, tkill, tgkill, rtSigqueueinfo, rtTgsigqueueinfo        uint32
	prlimit64, ioctl                                             uint32

	fcntl     []uint32
	truncate  []uint32
	sockets   []uint32   // calls that make sockets
	modes     []modeCall // calls that set the mode of a file
	creating  []modeCall // calls that may create a file
	forbidden []uint32   // calls that nothing in a cage needs; see the names beside the numbers
}
