package processtest

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// FilesInMemory restarts the test binary with TMPDIR on a file system in memory, which only
// the binary and its children see. Tests create and remove tens of thousands of small files;
// on some disks that takes longer than the tests themselves. The file system is mounted over
// an empty system directory, so that nothing is left, even if the binary is killed. The files
// stay on disk if the binary may not mount (Linux lets root do it), and with
// TOOLPIPE_LOAD=all.
func FilesInMemory() {
	const owner = "TOOLPIPE_TEST_MEMORY" // the pid that was started again
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

// emptyDirectory is an empty directory of the system; "" for none.
func emptyDirectory() string {
	for _, dir := range []string{"/mnt", "/media", "/srv"} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
			return dir
		}
	}
	return ""
}
