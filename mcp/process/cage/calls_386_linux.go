//go:build 386 && !portable

package cage

const (
	filterArch   = 0x40000003
	otherNumbers = 0
)

var calls = callNumbers{
	seccomp: 354,
	clone:   120, clone3: 435, unshare: 310,
	ioUringSetup: 425, ioUringEnter: 426, ioUringRegister: 427, pidfdSendSignal: 424,
	openat2: 437,
	kill:    37, tkill: 238, tgkill: 270, rtSigqueueinfo: 178, rtTgsigqueueinfo: 335,
	prlimit64: 340, ioctl: 54,
	fcntl: []uint32{55, 221}, truncate: []uint32{92, 193},
	sockets:  []uint32{359, 102}, // socketcall has its arguments in memory
	modes:    []modeCall{{8, 0, 1}, {15, 0, 1}, {94, 0, 1}, {306, 0, 2}, {452, 0, 2}, {14, 0, 1}, {297, 0, 2}},
	creating: []modeCall{{5, 1, 2}, {295, 2, 3}},
	forbidden: []uint32{
		26,            // ptrace
		347, 348, 440, // process_vm_readv, process_vm_writev, process_madvise
		349,             // kcmp
		346,             // setns
		21, 22, 52, 217, // mount, umount, umount2, pivot_root
		428, 429, 430, 431, 432, 433, 442, // open_tree to fspick, mount_setattr
		286, 287, 288, // add_key, request_key, keyctl
		357, 336, 374, // bpf, perf_event_open, userfaultfd
		342, 438, // open_by_handle_at, pidfd_getfd
	},
}
