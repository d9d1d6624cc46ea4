//go:build !portable

package cage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A bubblewrap is the program bwrap, after a trial that it works.
type bubblewrap struct {
	bwrap   string
	nsenter string   // joins a network; "" if it is missing
	trial   string   // a program for a trial
	self    *os.File // this program
}

// maxTrial limits the trial of bwrap.
const maxTrial = 5 * time.Second

// FindHolder finds out what enforces cages here. look returns the path of a program.
func FindHolder(look func(name string) (path string, err error)) Holder {
	b, err := findBubblewrap(look)
	if err != nil {
		return Holder{Name: "Landlock and seccomp", Without: err.Error()}
	}
	return Holder{Name: "bubblewrap, Landlock and seccomp", Below: true, bubblewrap: b}
}

// findBubblewrap finds bwrap and tries it: even an installed bwrap may not work, since the
// system may refuse its calls.
func findBubblewrap(look func(name string) (path string, err error)) (*bubblewrap, error) {
	b := &bubblewrap{}
	var err error
	if b.bwrap, err = find(look, "bwrap"); err != nil {
		return nil, err
	}
	b.nsenter, _ = find(look, "nsenter")
	if b.trial, err = find(look, "true"); err != nil {
		return nil, err
	}
	if b.self, err = os.Open("/proc/self/exe"); err != nil {
		return nil, err
	}
	if err := b.try(nil, basicMounts("--ro-bind")...); err != nil {
		b.self.Close()
		return nil, fmt.Errorf("it does not work here: %w", err)
	}
	return b, nil
}

// find finds a program that only root could have put there.
func find(look func(name string) (path string, err error), name string) (string, error) {
	found, err := look(name)
	if err != nil {
		return "", fmt.Errorf("%s is not on PATH", name)
	}
	if found, err = filepath.EvalSymlinks(found); err != nil {
		return "", err
	}
	return found, rootOwned(found)
}

// try runs bwrap in new namespaces with arguments, and with files as its descriptors from 3 on.
func (b *bubblewrap) try(files []*os.File, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), maxTrial)
	defer cancel()
	trial := exec.CommandContext(ctx, b.bwrap, slices.Concat(namespaces(true, false), args, []string{"--", b.trial})...)
	var said bytes.Buffer
	trial.Env, trial.Stderr, trial.WaitDelay, trial.ExtraFiles = []string{}, &said, time.Second, files
	trial.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := trial.Run()
	if first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n"); err != nil && first != "" {
		return fmt.Errorf("%q", first)
	}
	return err
}

// rootOwned refuses a program that a user other than root could replace.
func rootOwned(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || stat.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("a user other than root can replace %q", at)
		}
		if at == "/" {
			return nil
		}
	}
}

// namespaces are the arguments about everything except files. Root keeps its user namespace
// and the capabilities over files: a container's job works as root in a directory of another
// user, and that user has no number in a new namespace.
func namespaces(network, terminal bool) []string {
	args := []string{"--die-with-parent", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"}
	if os.Getuid() == 0 {
		for _, name := range []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"} {
			args = append(args, "--cap-add", name)
		}
	}
	if network {
		args = append(args, "--unshare-net")
	}
	if !terminal {
		args = append(args, "--new-session")
	}
	return args
}

// basicMounts are the arguments about the root of the file system, mounted with bind.
func basicMounts(bind string) []string {
	return []string{bind, "/", "/", "--dev", "/dev", "--proc", "/proc"}
}

// A mount is how a path appears in the cage.
type mount int

const (
	writable mount = iota + 1
	readOnly
	hiddenFile
	hiddenDirectory
)

// A wrapper starts the children of one cage through bwrap.
type wrapper struct {
	*bubblewrap
	network Network
	root    string // how the root of the file system is mounted
	at      map[string]mount

	joining sync.Mutex
	joined  *network // OwnNetwork, made for the first child
}

// newWrapper resolves the paths of a specification in their present state. Every directory
// from a writable one down to a protected or hidden path is mounted too, because a mount point
// cannot be renamed. Otherwise a child could replace a directory on the way by a link, and the
// mount for the next child would follow it.
func newWrapper(spec *Spec) (*wrapper, error) {
	w := &wrapper{bubblewrap: spec.Holder.bubblewrap, network: spec.Network, root: "--ro-bind", at: map[string]mount{}}
	if w.network == OwnNetwork && w.nsenter == "" {
		return nil, errors.New("a private network needs the program nsenter (util-linux)")
	}
	mayWrite := func(path string) bool {
		return slices.ContainsFunc(spec.Write, func(dir string) bool { return below(path, dir) })
	}
	for _, dir := range spec.Write {
		if dir == "/" {
			w.root = "--bind"
		} else if _, err := os.Lstat(dir); err == nil {
			w.at[dir] = writable
		}
	}
	for _, path := range spec.Protect {
		if real, err := filepath.EvalSymlinks(path); err == nil && w.at[real] == 0 && mayWrite(real) {
			w.at[real] = readOnly
		}
	}
	hide := spec.Hide
	if spec.Network != NoNetwork { // without, no child has a socket
		hide = slices.Concat(hide, slices.DeleteFunc(sockets(spec.Network), func(path string) bool {
			return mayWrite(path) || slices.ContainsFunc(spec.Reach, func(reach string) bool { return below(path, reach) || below(reach, path) })
		}))
	}
	for _, path := range hide {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || w.at[real] == writable {
			continue
		}
		if how, err := kind(real); err == nil {
			w.at[real] = how
		}
	}
	w.leaveOutCovered()
	for path, how := range maps.Clone(w.at) {
		for dir := filepath.Dir(path); how != writable && dir != "/" && mayWrite(dir); dir = filepath.Dir(dir) {
			if w.at[dir] == 0 {
				w.at[dir] = writable
			}
		}
	}
	return w, nil
}

// leaveOutCovered removes what is protected or hidden in a hidden directory: a mount there would
// show it.
func (w *wrapper) leaveOutCovered() {
	maps.DeleteFunc(w.at, func(path string, how mount) bool {
		for dir := filepath.Dir(path); dir != "/" && how != writable; dir = filepath.Dir(dir) {
			switch w.at[dir] {
			case hiddenDirectory:
				return true
			case writable: // named by the user
				return false
			}
		}
		return false
	})
}

// close frees the network. Children in it continue.
func (w *wrapper) close() {
	if w.joined != nil {
		w.joined.close()
	}
}

// kind is how a path without links is hidden.
func kind(path string) (mount, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return 0, err
	case info.Mode().Type() == os.ModeSymlink:
		return 0, fmt.Errorf("%q has become a link since the sandbox was made", path)
	case info.IsDir():
		return hiddenDirectory, nil
	}
	return hiddenFile, nil
}

// mounts are the arguments that mount each path that is still there, parents first. No child
// can have replaced one; another program can. The mount that hides a directory becomes
// read-only when everything in it is mounted.
func (w *wrapper) mounts() (args []string, err error) {
	args = basicMounts(w.root)
	var closed []string
	for _, path := range slices.Sorted(maps.Keys(w.at)) {
		now, err := kind(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch how := w.at[path]; {
		case how == writable:
			args = append(args, "--bind", path, path)
		case how == readOnly:
			args = append(args, "--ro-bind", path, path)
		case now == hiddenFile:
			args = append(args, "--ro-bind", "/dev/null", path)
		default:
			args = append(args, "--tmpfs", path)
			closed = append(closed, "--remount-ro", path)
		}
	}
	return append(args, closed...), nil
}

// sockets are the socket files of the servers that now run on this system (proc_net_unix(5)),
// and the directory for sockets of users or, if the network does not need it for finding names,
// for sockets of all servers.
func sockets(network Network) []string {
	paths := []string{"/run/user"}
	if network == OwnNetwork {
		paths[0] = "/run"
	}
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return paths
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		const columns = 8
		if fields := strings.SplitN(lines.Text(), " ", columns); len(fields) == columns {
			if path := strings.TrimSpace(fields[columns-1]); strings.HasPrefix(path, "/") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
