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
// of small files, and on some disks that takes longer than the tests themselves. The
// files stay on the disk, and the binary goes on, where it may not mount (Linux lets
// root do it), and with TOOLPIPE_LOAD, which .ci/run sets. FilesInMemory returns what
// is to be done after the tests.
func FilesInMemory() (remove func()) {
	const owner = "TOOLPIPE_TEST_MEMORY" // the process that was started again
	dir := os.TempDir()
	if pid := os.Getenv(owner); pid != "" {
		os.Unsetenv(owner)
		if pid == strconv.Itoa(os.Getpid()) {
			return func() {
				syscall.Unmount(dir, 0)
				os.Remove(dir)
			}
		}
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil || runtime.GOOS != "linux" || os.Getuid() != 0 || os.Getenv("TOOLPIPE_LOAD") != "" {
		return func() {}
	}
	if dir, err = os.MkdirTemp(dir, "toolpipe-memory-*"); err == nil {
		err = exec.Command(unshare, "-m", "mount", "-t", "tmpfs", "tmpfs", dir).Run() // only a trial
	}
	if err == nil {
		again := []string{"unshare", "-m", "sh", "-c", `mount -t tmpfs tmpfs "$TMPDIR" && exec "$0" "$@"`}
		self, _ := os.Executable()
		given, isGiven := os.LookupEnv("TMPDIR")
		os.Setenv("TMPDIR", dir)
		os.Setenv(owner, strconv.Itoa(os.Getpid()))
		syscall.Exec(unshare, append(append(again, self), os.Args[1:]...), os.Environ())
		os.Unsetenv(owner)
		if os.Unsetenv("TMPDIR"); isGiven {
			os.Setenv("TMPDIR", given)
		}
	}
	os.Remove(dir)
	return func() {}
}
