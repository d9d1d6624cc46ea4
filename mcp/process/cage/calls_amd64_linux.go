//go:build amd64 && !portable

package cage

const (
	filterArch   = 0xc000003e
	otherNumbers = 0x40000000 // x32
)

var calls = callNumbers{
	seccomp: 317,
	clone:   56, clone3: 435, unshare: 272,
	ioUringSetup: 425, ioUringEnter: 426, ioUringRegister: 427, pidfdSendSignal: 424,
	openat2: 437,
	kill:    62, tkill: 200, tgkill: 234, rtSigqueueinfo: 129, rtTgsigqueueinfo: 297,
	prlimit64: 302, ioctl: 16, socketpair: 53, setpriority: 141, ioprioSet: 251,
	fcntl: []uint32{72}, truncate: []uint32{76}, sockets: []uint32{41},
	modes:      []modeCall{{85, 0, 1}, {90, 0, 1}, {91, 0, 1}, {268, 0, 2}, {452, 0, 2}},
	nodes:      []modeCall{{133, 0, 1}, {259, 0, 2}},
	creating:   []modeCall{{2, 1, 2}, {257, 2, 3}},
	scheduling: []uint32{144, 142, 314, 203}, // sched_setscheduler, sched_setparam, sched_setattr, sched_setaffinity
	getIPC:     []uint32{29, 64, 68},         // shmget, semget, msgget
	// shmat, shmctl, semop, semctl, semtimedop, msgsnd, msgrcv, msgctl, mq_open, mq_unlink
	useIPC: []uint32{30, 31, 65, 66, 220, 69, 70, 71, 240, 241},
	forbidden: []uint32{
		101,           // ptrace
		310, 311, 440, // process_vm_readv, process_vm_writev, process_madvise
		312,           // kcmp
		308,           // setns
		165, 166, 155, // mount, umount2, pivot_root
		428, 429, 430, 431, 432, 433, 442, // open_tree to fspick, mount_setattr
		248, 249, 250, // add_key, request_key, keyctl
		321, 298, 323, // bpf, perf_event_open, userfaultfd
		304, 438, // open_by_handle_at, pidfd_getfd
	},
}
