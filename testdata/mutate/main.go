// Command mutate finds changes of the program that no test notices. It changes
// one condition, statement or result at a time, runs the tests of the changed
// file, and prints each change that survives, because no test fails:
//
//	go run ./testdata/mutate [-list] [-v] [GLOB ...]
//
// Run it from the top of the repository. GLOB chooses files of targets.go, which
// lists the tests for each file. survivors.txt lists the changes that are known
// to survive, with the reason. The status is 1 when another change survived, or
// when a listed one did not. mutate never writes to the tree: GOFLAGS=-overlay
// gives the changed file to every build, also to that of the program which the
// tests start. Nobody else may write to the tree either. A whole run takes hours,
// so use a separate clone.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	list := flag.Bool("list", false, "print the changes and try none")
	verbose := flag.Bool("v", false, "print what became of each change on stderr")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mutate(ctx, *list, *verbose, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// A bench tries mutants and counts what becomes of them.
type bench struct {
	ctx     context.Context
	dir     string // holds the changed file, the overlay and a build cache
	top     string
	known   survivors
	verbose bool
	kept    map[string]bool // files of the build cache that belong to the unchanged program

	counts [4]int // by outcome
	news   int
}

type outcome int

func (o outcome) String() string {
	return [...]string{"killed", "survived", "not built", "too slow"}[o]
}

const (
	killed outcome = iota
	survived
	unbuilt // the change does not compile
	slow    // a test did not end in its time, so the change was noticed
)

func mutate(ctx context.Context, list, verbose bool, globs []string) error {
	top, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return fmt.Errorf("run it from the top of the repository: %w", err)
	}
	known, err := readSurvivors("testdata/mutate/survivors.txt")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// A change may make a test allocate or write without end.
	syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 8 << 30, Max: 8 << 30})
	syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2 << 30, Max: 2 << 30})
	b := &bench{ctx: ctx, dir: dir, top: top, known: known, verbose: verbose}
	began := time.Now()
	for _, t := range targets {
		files, err := t.chosen(globs)
		if err != nil {
			return err
		}
		if len(files) > 0 && !list {
			if err := b.unchanged(t); err != nil {
				return err
			}
		}
		for _, file := range files {
			if err := b.file(file, t.steps, list); err != nil {
				return err
			}
		}
	}
	if list {
		return nil
	}
	fmt.Printf("%d killed, %d too slow, %d not built, %d survived (%d not known) in %v\n",
		b.counts[killed], b.counts[slow], b.counts[unbuilt], b.counts[survived], b.news, time.Since(began).Round(time.Second))
	if b.counts[unbuilt] > b.counts[killed] {
		return errors.New("most changes do not compile: has the tree changed meanwhile?")
	}
	if stale := b.known.stale(); len(stale) > 0 {
		return fmt.Errorf("in survivors.txt, but did not survive:\n%s", strings.Join(stale, "\n"))
	}
	if b.news > 0 {
		return fmt.Errorf("%d changes survived that survivors.txt does not name", b.news)
	}
	return nil
}

// chosen returns the target's files that this system builds and globs choose.
func (t *target) chosen(globs []string) (files []string, err error) {
	found, err := filepath.Glob(t.files)
	if err != nil {
		return nil, err
	}
	for _, file := range found {
		built, err := build.Default.MatchFile(filepath.Split(file))
		if err != nil {
			return nil, err
		}
		asked := len(globs) == 0 || slices.ContainsFunc(globs, func(g string) bool {
			ok, _ := path.Match(g, filepath.ToSlash(file))
			return ok
		})
		if built && asked && !strings.HasSuffix(file, "_test.go") {
			files = append(files, file)
		}
	}
	return files, nil
}

// unchanged runs the tests without a change: if they fail, no change can be
// tried. It also fills the build cache.
func (b *bench) unchanged(t target) error {
	for _, s := range t.steps {
		s.limit += 20 * time.Minute // the first of them builds everything
		if o, out := b.run(s, ""); o != survived {
			return fmt.Errorf("the tests of %s fail without a change: %s %s\n%s", t.files, s.pack, s.run, out)
		}
	}
	b.kept = map[string]bool{}
	return b.cached(func(file string) { b.kept[file] = true })
}

// cached visits the files of the build cache.
func (b *bench) cached(visit func(file string)) error {
	files, err := filepath.Glob(filepath.Join(b.dir, "cache", "??", "*"))
	for _, file := range files {
		visit(file)
	}
	return err
}

// file tries every change of a file.
func (b *bench) file(file string, steps []step, list bool) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mutants, err := makeMutants(filepath.ToSlash(file), source)
	if err != nil {
		return err
	}
	changed, overlay := filepath.Join(b.dir, "changed.go"), filepath.Join(b.dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(b.top, file): changed}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return err
	}
	for i := range mutants {
		m := &mutants[i]
		if list {
			fmt.Println(m)
			continue
		}
		if err := os.WriteFile(changed, m.apply(source), 0o600); err != nil {
			return err
		}
		began := time.Now()
		o := b.try(steps, overlay)
		if b.ctx.Err() != nil {
			return errors.New("interrupted")
		}
		b.counts[o]++
		if b.verbose {
			fmt.Fprintf(os.Stderr, "%v %s after %.1fs\n", m, o, time.Since(began).Seconds())
		}
		isKnown := b.known.tried(m, o == survived)
		if o == survived && !isKnown {
			b.news++
			fmt.Println(m)
		}
	}
	if !list {
		fmt.Fprintf(os.Stderr, "%s: %d changes\n", file, len(mutants))
	}
	return nil
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.function, m.what)
}

// try runs the steps until the tests of one notice the change.
func (b *bench) try(steps []step, overlay string) (o outcome) {
	defer b.cached(func(file string) {
		if !b.kept[file] {
			os.Remove(file)
		}
	})
	for _, s := range steps {
		if o, _ = b.run(s, overlay); o != survived {
			return o
		}
	}
	return survived
}

// run runs the tests of a step in a process group of their own, with their
// own directory for temporary files.
func (b *bench) run(s step, overlay string) (outcome, []byte) {
	scratch := filepath.Join(b.dir, "tmp")
	os.RemoveAll(scratch)
	os.Mkdir(scratch, 0o700)
	ctx, cancel := context.WithTimeout(b.ctx, s.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-failfast", "-run", s.run, s.pack)
	flags := os.Getenv("GOFLAGS")
	if overlay != "" {
		flags += " -overlay=" + overlay
	}
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags, "GOCACHE="+filepath.Join(b.dir, "cache"), "TMPDIR="+scratch)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return survived, out
	case ctx.Err() != nil:
		return slow, out
	case bytes.Contains(out, []byte("[build failed]")):
		return unbuilt, out
	}
	return killed, out
}
