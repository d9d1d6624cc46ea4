package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrBroadRoot is wrapped by the error for a root that contains far more than a task needs.
var ErrBroadRoot = errors.New("name a directory in it")

// WritableRoot is a path without symbolic links, below which programs may write. Its error wraps
// ErrBroadRoot for a broad directory, unless anyway is set. home is the user's home directory.
func WritableRoot(path, home string, anyway bool) (real string, err error) {
	if real, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("%q: %w", path, Reason(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("%q: %w", path, Reason(err))
	}
	kernel, parent := inKernelDirectory(real), real
	if !info.IsDir() {
		kernel, parent = kernel && !IsBelow(real, "/dev"), filepath.Dir(real)
	}
	if root, err := os.OpenRoot(parent); err == nil { // programs may write in a directory that cannot be read
		kernel = kernel || isKernelFileSystem(root)
		root.Close()
	}
	if kernel {
		return "", fmt.Errorf("%q: %w", path, errKernelWrite)
	}
	if info.IsDir() && !anyway {
		err = checkBroad(path, real, home)
	}
	return real, err
}

var errKernelWrite = errors.New("the file systems of the kernel (/proc, /sys, /dev) are never writable, except single devices")

// checkBroad returns an error for a broad directory. path is its name for the user.
func checkBroad(path, real, home string) error {
	if what := Broad(real, home); what != "" {
		return fmt.Errorf("%q is %s; %w", path, what, ErrBroadRoot)
	}
	return nil
}

// Broad describes a directory, without symbolic links in its path, that has all files of a user or
// of the machine; "" for any other.
func Broad(dir, home string) string {
	if dir == filepath.Dir(dir) {
		return "the whole file system"
	}
	if home != "" {
		switch relation(dir, home) {
		case same:
			return "your home directory"
		case above:
			return "above your home directory"
		}
	}
	for _, homes := range [...]string{"/home", "/Users"} {
		switch {
		case relation(filepath.Dir(dir), homes) == same:
			return "a home directory"
		case relation(dir, homes) != apart:
			return "above the home directories"
		}
	}
	for _, other := range append(accountHomes(), "/root") {
		switch relation(dir, other) {
		case same:
			return "a home directory"
		case above:
			return "above a home directory"
		}
	}
	return ""
}

// The relations of a directory to another one.
const (
	apart = iota
	same
	above
)

// relation compares a directory without symbolic links with another one, which need not exist. A
// directory that is mounted at two paths, or has several spellings, is the same one.
func relation(dir, other string) int {
	other = filepath.Clean(other)
	if real, err := filepath.EvalSymlinks(other); err == nil {
		other = real
	}
	if dir == other {
		return same
	}
	if IsBelow(other, dir) {
		return above
	}
	a, err := os.Stat(dir)
	if err != nil {
		return apart
	}
	if b, err := os.Stat(other); err == nil && os.SameFile(a, b) {
		return same
	}
	return apart
}

// accountHomes are the home directories in /etc/passwd: for root of every account that can log in,
// for others their own, which HOME may not name.
func accountHomes() (homes []string) {
	const most = 1 << 20
	file, err := os.Open("/etc/passwd")
	if err != nil {
		return nil
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, most))
	uid := os.Getuid()
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 7 || !filepath.IsAbs(fields[5]) || filepath.Clean(fields[5]) == "/" {
			continue
		}
		shell := filepath.Base(fields[6])
		if uid == 0 && shell != "nologin" && shell != "false" && shell != "sync" || fields[2] == strconv.Itoa(uid) {
			homes = append(homes, fields[5])
		}
	}
	return homes
}
