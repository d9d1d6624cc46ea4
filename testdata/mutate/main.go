// Command mutate finds changes of the program that no test notices. A change is
// that of one condition, statement or result; it survives when no test fails:
//
//	go run ./testdata/mutate [-list] [-v] [-quick] [-steps N] [-results FILE] [GLOB ...]
//
// Run it from the top of the repository. GLOB chooses files of targets.go, which
// lists the tests for each file, and their order. survivors.txt lists the changes that are known
// to survive, with the reason. The status is 1 when another change survived, or
// when a listed one did not. FILE keeps what became of each change: the next run
// with it tries only those that no test noticed, those that it does not name, and
// those in functions that have changed meanwhile.
//
// All changes are built into the program at once, each behind a switch (package
// active), so that only one build is needed. Every test is run once alone without
// a change, which shows the changes that would make a difference in it; a change is
// tried with these tests only. The overlay of the go command gives the changed files
// to the build: the tree is never written to. It runs on Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if filepath.Base(os.Args[0]) == "go" {
		if err := asGo(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(1)
		}
		return
	}
	list := flag.Bool("list", false, "print the changes and try none")
	verbose := flag.Bool("v", false, "print what became of each change on stderr")
	quick := flag.Bool("quick", false, "try each change with some tests only: more changes survive")
	steps := flag.Int("steps", 9, "try each change with so many steps of its tests only")
	kept := flag.String("results", "", "keep what became of each change in this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mutate(ctx, *list, *verbose, *quick, *steps, *kept, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type outcome string

const (
	killed    outcome = "killed"
	slow      outcome = "slow" // a test did not end in its time, so the change was noticed
	survived  outcome = "survived"
	unreached outcome = "unreached" // it survived because it makes no difference in any test
	unbuilt   outcome = "unbuilt"   // it cannot be built in
)

// outcomes is their order in the summary.
var outcomes = []outcome{killed, slow, survived, unreached, unbuilt}

func mutate(ctx context.Context, list, verbose, quick bool, steps int, kept string, globs []string) error {
	known, err := readSurvivors("testdata/mutate/survivors.txt")
	if err != nil {
		return fmt.Errorf("run it from the top of the repository: %w", err)
	}
	chosen, files, err := choose(globs)
	if err != nil {
		return err
	}
	if list {
		for _, c := range chosen {
			for _, m := range files[c.file] {
				fmt.Println(m)
			}
		}
		return nil
	}
	old, err := openResults(kept)
	if err != nil {
		return err
	}
	defer old.close()
	b, err := newBench(ctx, os.Stderr, files)
	if err != nil {
		return err
	}
	defer b.close()
	b.quick = quick
	began, counts, news := time.Now(), map[outcome]int{}, 0
	for _, c := range chosen {
		for _, m := range files[c.file] {
			o, by, done := old.of(m)
			if !done {
				if o, by, err = b.try(m, c.steps[:min(steps, len(c.steps))]); err != nil {
					return err
				}
				old.add(m, o, by)
			}
			counts[o]++
			if verbose {
				fmt.Fprintf(os.Stderr, "%v: %s %s\n", m, o, by)
			}
			lives := o == survived || o == unreached
			if isKnown := known.tried(m, lives); lives && !isKnown {
				news++
				fmt.Println(m, "("+string(o)+")")
			}
		}
		fmt.Fprintf(os.Stderr, "%s: %d changes, %v\n", c.file, len(files[c.file]), time.Since(began).Round(time.Second))
	}
	var summary []string
	for _, o := range outcomes {
		summary = append(summary, fmt.Sprintf("%d %s", counts[o], o))
	}
	fmt.Printf("%s (%d of the survivors not known) in %v\n", strings.Join(summary, ", "), news, time.Since(began).Round(time.Second))
	if counts[unbuilt] > counts[killed] {
		return errors.New("most changes cannot be built in: has the tree changed meanwhile?")
	}
	if stale := known.stale(); len(stale) > 0 {
		return fmt.Errorf("in survivors.txt, but did not survive:\n%s", strings.Join(stale, "\n"))
	}
	if news > 0 {
		return fmt.Errorf("%d changes survived that survivors.txt does not name", news)
	}
	return nil
}

// A choice is a file that is to be changed, and its tests.
type choice struct {
	file  string
	steps []step
	asked int // the first glob that chooses it
}

// choose returns the files that this system builds and globs choose, and the
// changes of each.
func choose(globs []string) (chosen []choice, files map[string][]*mutant, err error) {
	files = map[string][]*mutant{}
	number := 0
	for _, t := range targets {
		found, err := filepath.Glob(t.files)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range found {
			built, err := build.Default.MatchFile(filepath.Split(file))
			if err != nil {
				return nil, nil, err
			}
			asked := slices.IndexFunc(globs, func(g string) bool {
				ok, _ := path.Match(g, file)
				return ok
			})
			if !built || asked < 0 && len(globs) > 0 || strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, nil, err
			}
			zeros, err := zeroConstants(filepath.Dir(file))
			if err != nil {
				return nil, nil, err
			}
			mutants, err := makeMutants(file, source, zeros...)
			if err != nil {
				return nil, nil, err
			}
			for _, m := range mutants {
				number++
				m.number = number
			}
			chosen = append(chosen, choice{file, t.steps, asked})
			files[file] = mutants
		}
	}
	if len(chosen) == 0 {
		return nil, nil, errors.New("no file of targets.go is chosen")
	}
	slices.SortStableFunc(chosen, func(a, b choice) int { return a.asked - b.asked })
	return chosen, files, nil
}
