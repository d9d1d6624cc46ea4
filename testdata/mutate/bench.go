package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"toolpipe/testdata/mutate/active"
)

// A bench runs tests of the program that has all changes built in.
type bench struct {
	ctx     context.Context
	log     io.Writer // what it does, for people
	dir     string
	top     string
	page    []byte // see package active
	overlay string
	binding map[string]string // the test programs, by package
	tests   map[string][]*test
	quick   bool // try only some tests
}

// A test is a test function, or one of the scripts of the end-to-end tests.
type test struct {
	pack, name string
	took, cpu  time.Duration
	noticed    int    // how many changes
	marks      []byte // of the changes that make a difference in it; nil: it fails without a change
}

// newBench builds the changes in and maps the file of package active.
func newBench(ctx context.Context, log io.Writer, files map[string][]*mutant) (*bench, error) {
	b := &bench{ctx: ctx, log: log, binding: map[string]string{}, tests: map[string][]*test{}}
	var err error
	if b.top, err = os.Getwd(); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "mutate"); err != nil {
		return nil, err
	}
	os.Chmod(b.dir, 0o755) // some tests start the program as another user
	if err := b.prepare(files); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() { os.RemoveAll(b.dir) }

func (b *bench) prepare(files map[string][]*mutant) error {
	// The processes that a killed test leaves behind become ours, see reap.
	const prSetChildSubreaper = 36
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	// A change may make a test allocate or write without end.
	syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 8 << 30, Max: 8 << 30})
	syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2 << 30, Max: 2 << 30})
	if err := b.mapPage(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(b.dir, "bin"), 0o755), os.Symlink(self, filepath.Join(b.dir, "bin", "go"))); err != nil {
		return err
	}
	return b.buildIn(files)
}

func (b *bench) mapPage() error {
	path := filepath.Join(b.dir, "active")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := errors.Join(f.Chmod(0o666), f.Truncate(active.Size)); err != nil {
		return err
	}
	b.page, err = syscall.Mmap(int(f.Fd()), 0, active.Size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	return err
}

// buildIn writes the files with all changes that compile, and the overlay.
func (b *bench) buildIn(files map[string][]*mutant) error {
	replace, sources, packages := map[string]string{}, map[string][]byte{}, []string{}
	put := func(file string, text []byte) error {
		changed := filepath.Join(b.dir, "source", file)
		replace[filepath.Join(b.top, file)] = changed
		return errors.Join(os.MkdirAll(filepath.Dir(changed), 0o755), os.WriteFile(changed, text, 0o644))
	}
	if err := put("testdata/mutate/active/path.go", []byte("package active\n\nconst path = "+strconv.Quote(filepath.Join(b.dir, "active"))+"\n")); err != nil {
		return err
	}
	for file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		sources[file] = source
		packages = append(packages, "./"+filepath.Dir(file))
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	for {
		for file, mutants := range files {
			if err := put(file, instrument(sources[file], mutants)); err != nil {
				return err
			}
		}
		overlay, err := json.Marshal(map[string]any{"Replace": replace})
		if err != nil {
			return err
		}
		b.overlay = filepath.Join(b.dir, "overlay.json")
		if err := os.WriteFile(b.overlay, overlay, 0o644); err != nil {
			return err
		}
		cmd := exec.CommandContext(b.ctx, "go", append([]string{"build", "-gcflags=-e", "-overlay=" + b.overlay}, packages...)...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		if takeOut(bytes.ReplaceAll(out, []byte(filepath.Join(b.dir, "source")+"/"), nil), files, sources) == 0 {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
}

// program returns the test program of a package. The end-to-end tests are built
// without changes: they have them in the program that they build and start.
func (b *bench) program(pack string) (string, error) {
	if path := b.binding[pack]; path != "" {
		return path, nil
	}
	path := filepath.Join(b.dir, strings.ReplaceAll(pack, "/", "-")+".test")
	args := []string{"test", "-c", "-vet=off", "-o", path}
	if pack != endToEnd {
		args = append(args, "-overlay="+b.overlay)
	}
	if out, err := exec.CommandContext(b.ctx, "go", append(args, pack)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	b.binding[pack] = path
	return path, nil
}

// testsOf returns the tests of a step, each of which was run once.
func (b *bench) testsOf(s step) ([]*test, error) {
	key := s.pack + " " + s.functions + " " + s.scripts
	if tests, ok := b.tests[key]; ok {
		return tests, nil
	}
	names, err := b.names(s)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	tests := []*test{}
	for _, name := range names {
		t, err := b.alone(s.pack, name)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	fmt.Fprintf(b.log, "%s: %d tests run alone in %v\n", s.pack, len(tests), time.Since(began).Round(time.Second))
	b.tests[key] = tests
	return tests, nil
}

// names returns the names of a step's tests. A script is TestScripts/NAME.
func (b *bench) names(s step) (names []string, err error) {
	program, err := b.program(s.pack)
	if err != nil {
		return nil, err
	}
	if s.functions != "" {
		cmd := exec.CommandContext(b.ctx, program, "-test.list", s.functions)
		cmd.Dir = filepath.Join(b.top, s.pack)
		out, err := cmd.Output()
		if err != nil {
			return nil, err
		}
		for name := range strings.FieldsSeq(string(out)) {
			if !strings.HasPrefix(name, "Benchmark") && name != "TestScripts" {
				names = append(names, name)
			}
		}
	}
	if s.scripts != "" {
		wanted, err := regexp.Compile(s.scripts)
		if err != nil {
			return nil, err
		}
		files, err := filepath.Glob(filepath.Join(s.pack, "testdata/script/*.txt"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if script := strings.TrimSuffix(filepath.Base(file), ".txt"); wanted.MatchString(script) {
				names = append(names, "TestScripts/"+script)
			}
		}
	}
	return names, nil
}

// alone runs a test without a change.
func (b *bench) alone(pack, name string) (*test, error) {
	for key, tests := range b.tests { // of another step
		if strings.HasPrefix(key, pack+" ") {
			if i := slices.IndexFunc(tests, func(t *test) bool { return t.name == name }); i >= 0 {
				return tests[i], nil
			}
		}
	}
	t := &test{pack: pack, name: name}
	var out []byte
	for range 2 { // the machine may have been busy
		clear(b.page)
		began := time.Now()
		passed, text, state, err := b.run([]*test{t}, 5*time.Minute, 5*time.Minute)
		if err != nil {
			return nil, err
		}
		t.took, t.cpu = time.Since(began), state.UserTime()+state.SystemTime()
		if passed {
			t.marks = bytes.Clone(b.page)
			return t, nil
		}
		out = text
	}
	fmt.Fprintf(b.log, "%s %s fails without a change, and is left out:\n%s\n", pack, name, out)
	return t, nil
}

// maxCost is how much the tests of one step may cost that try one change.
const maxCost = 40 * time.Second

// cost is what it costs to run a test: on a busy machine, mostly the time for which
// it computes.
func (t *test) cost() time.Duration { return 5*time.Millisecond + t.cpu + t.took/20 }

// try runs the tests in which a change makes a difference, until one fails. by
// names the tests of which one failed.
func (b *bench) try(m *mutant, steps []step) (o outcome, by string, err error) {
	if m.edit.before == "" {
		return unbuilt, "", nil
	}
	o = unreached
	for _, s := range steps {
		tests, err := b.testsOf(s)
		if err != nil {
			return o, "", err
		}
		for _, group := range b.groups(tests, m.number) {
			o = survived
			clear(b.page)
			b.page[0], b.page[1], b.page[2] = byte(m.number), byte(m.number>>8), byte(m.number>>16)
			var took, cpu time.Duration
			var names []string
			for _, t := range group {
				took += t.took
				cpu += t.cpu
				names = append(names, t.name)
			}
			passed, out, _, err := b.run(group, 30*time.Second+8*took, 5*time.Second+4*cpu)
			switch {
			case errors.Is(err, context.DeadlineExceeded), bytes.Contains(out, []byte("SIGXCPU")):
				return slow, strings.Join(names, ","), nil
			case err != nil:
				return o, "", err
			case !passed:
				return killed, failed(group, out), nil
			}
		}
	}
	return o, "", nil
}

// failed names the tests that failed by their output; all, if it does not say.
func failed(group []*test, out []byte) string {
	var all, names []string
	for _, t := range group {
		all = append(all, t.name)
		if regexp.MustCompile(`(?m)^ *--- FAIL: ` + regexp.QuoteMeta(t.name) + `\b`).Match(out) {
			t.noticed++
			names = append(names, t.name)
		}
	}
	if names == nil {
		names = all
	}
	return strings.Join(names, ",")
}

// groups returns the tests that try a change, in groups that are run together:
// a few fast tests, and tests that noticed many, notice most changes.
func (b *bench) groups(tests []*test, number int) (groups [][]*test) {
	tests = slices.Clone(tests)
	slices.SortStableFunc(tests, func(x, y *test) int {
		return cmp.Compare(x.cost()/time.Duration(1+x.noticed), y.cost()/time.Duration(1+y.noticed))
	})
	var total, inGroup time.Duration
	var group []*test
	script := func(t *test) bool { return strings.Contains(t.name, "/") }
	most := maxCost
	if b.quick {
		most /= 8
	}
	for _, t := range tests {
		if t.marks == nil || t.marks[active.Marks+number] == 0 || total+t.cost() > most && total > 0 {
			continue
		}
		limit := time.Second / 2 << (2 * len(groups)) // each group may cost four times as much as the one before
		if len(group) > 0 && (inGroup+t.cost() > limit || script(group[0]) != script(t)) {
			groups, group, inGroup = append(groups, group), nil, 0
		}
		group = append(group, t)
		inGroup += t.cost()
		total += t.cost()
	}
	if group != nil {
		groups = append(groups, group)
	}
	return groups
}

// run runs tests of a package together, in a process group of their own, with
// their own directory for temporary files. The error is DeadlineExceeded if they
// take longer than limit; they get SIGXCPU if they compute for longer than cpu.
func (b *bench) run(tests []*test, limit, cpu time.Duration) (passed bool, out []byte, state *os.ProcessState, err error) {
	program, err := b.program(tests[0].pack)
	if err != nil {
		return false, nil, nil, err
	}
	scratch := filepath.Join(b.dir, "tmp")
	os.RemoveAll(scratch)
	os.Mkdir(scratch, 0o755)
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -t "$0" && exec "$@"`, strconv.Itoa(int(cpu.Seconds())), program, "-test.failfast", "-test.run", pattern(tests))
	cmd.Dir = filepath.Join(b.top, tests[0].pack)
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return false, nil, nil, err
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+scratch, "PATH="+filepath.Join(b.dir, "bin")+":"+os.Getenv("PATH"),
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+b.overlay, goVariable+"="+goCommand, builtVariable+"="+filepath.Join(b.dir, "bin"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err = cmd.CombinedOutput()
	reap()
	switch {
	case b.ctx.Err() != nil:
		return false, out, cmd.ProcessState, errors.New("interrupted")
	case ctx.Err() != nil:
		return false, out, cmd.ProcessState, ctx.Err()
	}
	return err == nil, out, cmd.ProcessState, nil
}

// pattern selects tests, which are all scripts or all functions.
func pattern(tests []*test) string {
	var names []string
	head := ""
	for _, t := range tests {
		name := t.name
		if before, script, ok := strings.Cut(name, "/"); ok {
			head, name = "^"+before+"$/", script
		}
		names = append(names, name)
	}
	return head + "^(" + strings.Join(names, "|") + ")$"
}

// reap kills the processes that a test left behind.
func reap() {
	for {
		children, _ := filepath.Glob("/proc/self/task/*/children")
		for _, list := range children {
			text, _ := os.ReadFile(list)
			for word := range strings.FieldsSeq(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
		if _, err := syscall.Wait4(-1, nil, 0, nil); err == syscall.ECHILD {
			return
		}
	}
}

// The variables with the path of the real go command and with the directory of
// what it has built.
const goVariable, builtVariable = "MUTATE_GO", "MUTATE_BUILT"

// asGo is the go command that the tests find. It is the real one, but gives what
// "go build" with the same arguments has built before in this run.
func asGo(args []string) error {
	command := os.Getenv(goVariable)
	at := slices.Index(args, "-o")
	if len(args) == 0 || args[0] != "build" || at < 0 || at+1 == len(args) {
		return syscall.Exec(command, append([]string{"go"}, args...), os.Environ())
	}
	output := args[at+1]
	key := sha256.Sum256([]byte(strings.Join(slices.Concat(args[:at], args[at+2:]), "\x00")))
	built := filepath.Join(os.Getenv(builtVariable), fmt.Sprintf("%x", key))
	if _, err := os.Stat(built); err != nil {
		args = slices.Clone(args)
		args[at+1] = built
		cmd := exec.Command(command, args...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	program, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	return os.WriteFile(output, program, 0o755)
}
