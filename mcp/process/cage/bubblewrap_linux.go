//go:build !portable

package cage

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"toolpipe/stream/goroutine"
)

// A bubblewrap is the program bwrap, after a trial that it works.
type bubblewrap struct {
	bwrap, setsid string
}

// maxTrial limits the trial of bwrap.
const maxTrial = 5 * time.Second

// FindHolder finds out what enforces cages here. look returns the path of a program.
func FindHolder(look func(name string) (path string, err error)) Holder {
	b, err := findBubblewrap(look)
	if err != nil {
		return Holder{Name: "Landlock and seccomp", Without: err.Error()}
	}
	return Holder{Name: "bubblewrap and seccomp", Below: true, bubblewrap: b}
}

// findBubblewrap finds the programs that are needed and tries them: even an installed bwrap
// may not work, since the system may refuse its calls.
func findBubblewrap(look func(name string) (path string, err error)) (*bubblewrap, error) {
	var paths [2]string
	for i, name := range []string{"bwrap", "setsid"} {
		found, err := look(name)
		if err != nil {
			return nil, fmt.Errorf("%s is not on PATH", name)
		}
		if paths[i], err = filepath.EvalSymlinks(found); err != nil {
			return nil, err
		}
	}
	b := &bubblewrap{bwrap: paths[0], setsid: paths[1]}
	if err := rootOwned(b.bwrap); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxTrial)
	defer cancel()
	trial := exec.CommandContext(ctx, b.bwrap, slices.Concat(b.namespaces(OwnNetwork, false), basicMounts("--ro-bind"), []string{"--", b.bwrap, "--version"})...)
	var said bytes.Buffer
	trial.Env, trial.Stderr, trial.WaitDelay = []string{}, &said, time.Second
	trial.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := trial.Run(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		if first == "" {
			first = err.Error()
		}
		return nil, fmt.Errorf("it does not work here: %q", first)
	}
	return b, nil
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
func (b *bubblewrap) namespaces(network Network, terminal bool) []string {
	args := []string{"--die-with-parent", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"}
	if os.Getuid() == 0 {
		for _, name := range []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"} {
			args = append(args, "--cap-add", name)
		}
	}
	if network != WholeNetwork {
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

// mounts are the arguments about the files of a specification in their present state: bwrap
// fails at a missing path, and nothing is mounted on a link. Each directory between a
// writable directory and a protected path in it is a separate mount. Otherwise it could be
// renamed and replaced.
func mounts(spec *Spec) []string {
	at, root := map[string]mount{}, "--ro-bind"
	mayWrite := func(path string) bool {
		return slices.ContainsFunc(spec.Write, func(dir string) bool { return below(path, dir) })
	}
	for _, dir := range spec.Write {
		if dir == "/" {
			root = "--bind"
		} else if _, err := os.Lstat(dir); err == nil {
			at[dir] = writable
		}
	}
	for _, path := range spec.Protect {
		if real, err := filepath.EvalSymlinks(path); err == nil && at[real] == 0 && mayWrite(real) {
			at[real] = readOnly
		}
	}
	hide := spec.Hide
	if spec.Network == OwnNetwork {
		hide = slices.Concat(hide, []string{"/run"}, sockets())
	}
	for _, path := range hide {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || at[real] == writable {
			continue
		}
		if info, err := os.Lstat(real); err == nil && info.IsDir() {
			at[real] = hiddenDirectory
		} else if err == nil {
			at[real] = hiddenFile
		}
	}
	for path, how := range maps.Clone(at) {
		for dir := filepath.Dir(path); how != writable && dir != "/" && mayWrite(dir); dir = filepath.Dir(dir) {
			if at[dir] == 0 {
				at[dir] = writable
			}
		}
	}
	return append(basicMounts(root), mountArguments(at)...)
}

// mountArguments mount each path, parents first. The mount that hides a directory becomes
// read-only when everything in it is mounted.
func mountArguments(at map[string]mount) (args []string) {
	var closed []string
	for _, path := range slices.Sorted(maps.Keys(at)) {
		switch at[path] {
		case writable:
			args = append(args, "--bind", path, path)
		case readOnly:
			args = append(args, "--ro-bind", path, path)
		case hiddenFile:
			args = append(args, "--ro-bind", "/dev/null", path)
		case hiddenDirectory:
			args = append(args, "--tmpfs", path)
			closed = append(closed, "--remount-ro", path)
		}
	}
	return append(args, closed...)
}

// sockets are the socket files of the servers that now run on this system (proc_net_unix(5)).
func sockets() (paths []string) {
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		const columns = 8
		if fields := strings.SplitN(lines.Text(), " ", columns); len(fields) == columns {
			if path := strings.TrimSpace(fields[columns-1]); strings.HasPrefix(path, "/") && !below(path, "/run") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// start starts cmd through bwrap. The arguments and the variables go through descriptors.
// bwrap itself is not in a cage yet, so it gets no variables: some make a program run other
// code.
func (b *bubblewrap) start(spec *Spec, cmd *exec.Cmd) error {
	if _, err := exec.LookPath(cmd.Path); err != nil { // otherwise bwrap would report it on the stderr of cmd
		return err
	}
	attr := cmd.SysProcAttr
	terminal := attr != nil && attr.Setctty
	args := slices.Concat(b.namespaces(spec.Network, terminal), mounts(spec), []string{"--clearenv"})
	for _, variable := range cmd.Environ() {
		if name, value, found := strings.Cut(variable, "="); found && name != "" {
			args = append(args, "--setenv", name, value)
		}
	}
	rules := filter(spec.Network, true, 0)
	program := unsafe.Slice((*byte)(unsafe.Pointer(&rules[0])), len(rules)*int(unsafe.Sizeof(rules[0])))
	const first = 3 // the first descriptor that a child inherits after its standard streams
	args = append(args, "--seccomp", strconv.Itoa(first+1))
	for _, content := range [][]byte{[]byte(strings.Join(args, "\x00") + "\x00"), program} {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close() // ends the write if nothing reads
		goroutine.Start(func() {
			defer w.Close()
			_, _ = w.Write(content)
		})
		cmd.ExtraFiles = append(cmd.ExtraFiles, r)
	}
	argv := []string{"bwrap", "--args", strconv.Itoa(first), "--"}
	if terminal { // only for the child: keys typed there must not become signals for bwrap
		attr.Setctty = false
		argv = append(argv, b.setsid, "-c")
	}
	cmd.Args = slices.Concat(argv, []string{cmd.Path}, cmd.Args[1:])
	cmd.Path, cmd.Env = b.bwrap, []string{}
	return cmd.Start()
}
