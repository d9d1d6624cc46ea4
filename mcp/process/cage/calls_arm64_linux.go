//go:build arm64 && !portable

package cage

const (
	filterArch   = 0xc00000b7
	otherNumbers = 0
)

var calls = callNumbers{
	seccomp: 277,
	clone:   220, clone3: 435, unshare: 97,
	ioUringSetup: 425, ioUringEnter: 426, ioUringRegister: 427, pidfdSendSignal: 424,
	openat2: 437,
	kill:    129, tkill: 130, tgkill: 131, rtSigqueueinfo: 138, rtTgsigqueueinfo: 240,
	prlimit64: 261, ioctl: 29, socketpair: 199, setpriority: 140, ioprioSet: 30,
	fcntl: []uint32{25}, truncate: []uint32{45}, sockets: []uint32{198},
	modes:      []modeCall{{52, 0, 1}, {53, 0, 2}, {452, 0, 2}},
	nodes:      []modeCall{{33, 0, 2}},
	creating:   []modeCall{{56, 2, 3}},
	scheduling: []uint32{119, 118, 274, 122}, // sched_setscheduler, sched_setparam, sched_setattr, sched_setaffinity
	getIPC:     []uint32{194, 190, 186},      // shmget, semget, msgget
	// shmat, shmctl, semop, semctl, semtimedop, msgsnd, msgrcv, msgctl, mq_open, mq_unlink
	useIPC: []uint32{196, 195, 193, 191, 192, 189, 188, 187, 180, 181},
	forbidden: []uint32{
		117,           // ptrace
		270, 271, 440, // process_vm_readv, process_vm_writev, process_madvise
		272,        // kcmp
		268,        // setns
		40, 39, 41, // mount, umount2, pivot_root
		428, 429, 430, 431, 432, 433, 442, // open_tree to fspick, mount_setattr
		217, 218, 219, // add_key, request_key, keyctl
		280, 241, 282, // bpf, perf_event_open, userfaultfd
		265, 438, // open_by_handle_at, pidfd_getfd
	},
}
