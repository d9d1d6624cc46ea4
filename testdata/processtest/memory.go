package processtest

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// FilesInMemory starts the test binary again with TMPDIR on a file system in memory,
// which only the binary and its children see. Tests make and remove tens of thousands
// of small files, and on some disks that takes longer than the tests themselves. It is
// mounted over an empty directory that every system has, so that nothing is left, even
// by a binary that was killed. The files stay on the disk, and the binary goes on,
// where it may not mount (Linux lets root do it), and with TOOLPIPE_LOAD=all.
func FilesInMemory() {
	const owner = "TOOLPIPE_TEST_MEMORY" // the process that was started again
	again := os.Getenv(owner)
	os.Unsetenv(owner)
	unshare, err := exec.LookPath("unshare")
	dir := emptyDirectory()
	if again == strconv.Itoa(os.Getpid()) || err != nil || dir == "" || runtime.GOOS != "linux" || os.Getuid() != 0 || os.Getenv("TOOLPIPE_LOAD") == "all" {
		return
	}
	if exec.Command(unshare, "-m", "mount", "-t", "tmpfs", "tmpfs", dir).Run() != nil { // only a trial
		return
	}
	self, _ := os.Executable()
	environ := append(os.Environ(), "TMPDIR="+dir, owner+"="+strconv.Itoa(os.Getpid()))
	syscall.Exec(unshare, append([]string{"unshare", "-m", "sh", "-c", `mount -t tmpfs tmpfs "$TMPDIR" && exec "$0" "$@"`, self}, os.Args[1:]...), environ)
}

// emptyDirectory is a directory of the system with nothing in it; "" for none.
func emptyDirectory() string {
	for _, dir := range []string{"/mnt", "/media", "/srv"} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
			return dir
		}
	}
	return ""
}
