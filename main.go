//go:build unix

// Command toolpipe lets a model and tool servers take turns in a pipeline. It reads
// a prompt or a JSON message array from standard input, asks a model, runs the tools
// that the model calls and that the user approves, and writes the answer as text or
// as NDJSON events to standard output.
//
// This file alone touches the arguments, the environment, the real standard streams,
// signals and the exit status. It builds on Linux, macOS and the BSDs. Elsewhere
// there are no process groups and no /dev/tty, without which the promises of the
// program cannot be kept; under Windows it runs in WSL.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/pflag"

	"toolpipe/mcp/process/cage"
	"toolpipe/run"
	"toolpipe/run/config"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/flags"
	"toolpipe/run/stdio"
	"toolpipe/stream/goroutine"
)

const version = "0.1.0"

func main() {
	if err := cage.Enter(os.Args); err != nil { // a cage started this program to execute another one
		fmt.Fprintf(os.Stderr, "toolpipe: error: %v\n", err)
		os.Exit(126)
	}
	if len(os.Args) == 0 {
		os.Exit(2)
	}
	debug.SetTraceback("crash") // a fatal error of the Go runtime, such as no memory, ends with SIGABRT and not with 2
	goroutine.GrowStack()
	os.Exit(invoke(os.Args[1:]))
}

// invoke does everything between the arguments and the exit status. A run
// that ended by a signal dies by it here, so that the caller's shell sees it.
func invoke(args []string) (status int) {
	streams := stdio.Streams{
		In: os.Stdin, Out: stdio.Blocking(os.Stdout), Err: stdio.Blocking(os.Stderr),
		InTerminal: isTerminal(os.Stdin), OutTerminal: isTerminal(os.Stdout), ErrTerminal: isTerminal(os.Stderr),
		OutFile: isFileOrDevice(os.Stdout), OutWidth: stdio.TerminalWidth(os.Stdout),

		Width:      func() int { return stdio.TerminalWidth(os.Stderr) },
		Background: func() (background, stops bool) { return stdio.InBackground(os.Stderr) },
	}
	if out, err := os.Stdout.Stat(); err == nil && isNull(out) && stdio.IsReadable(os.Stdout) {
		streams.Out = stdio.Closed{}
	}
	if in, err := os.Stdin.Stat(); err == nil {
		streams.InFile, streams.InPipe = in.Mode().IsRegular(), in.Mode()&os.ModeNamedPipe != 0
		streams.InNull = isNull(in)
	}
	environ := os.Environ() // as children get it
	useAllProxy()
	cfg := &config.Config{Version: version, Environ: environ, Processes: new(config.Processes)}
	defer func() {
		if p := recover(); p != nil {
			status = panicked(cfg, streams, goroutine.NewPanic(p))
		}
	}()
	text, err := parse(cfg, args)
	if err == nil && text != nil {
		if _, err = io.WriteString(streams.Out, *text); err == nil {
			return 0
		}
		err = failure.Output("standard output", err)
	}
	if err != nil {
		printError(cfg, streams, err)
		return exitStatus(err)
	}
	harden(cfg)
	ctx, cancel := context.WithCancelCause(context.Background())
	goroutine.OnPanic(func(p *goroutine.Panic) {
		cancel(p)
		goroutine.AfterFunc(graceful, func() { os.Exit(panicked(cfg, streams, p)) }) // the run may wait for the goroutine that is gone
	})
	resumed := make(chan os.Signal, 1)
	cfg.Resumed = resumed
	cfg.Watch = sync.OnceFunc(func() {
		watchSignals(cancel, cfg.Processes)
		goroutine.Start(func() { signal.Notify(resumed, syscall.SIGCONT) }) // a child need not wait for it
	})
	cfg.Processes.Before = cfg.Watch
	// A signal that is not watched does not kill the first process of a container: the
	// Go runtime then exits with 2, which says that the command line is wrong.
	if streams.ErrTerminal || os.Getpid() == 1 {
		cfg.Watch()
	}
	if streams.ErrTerminal {
		streams.Suspend = watchSuspend()
	}
	err = run.Run(ctx, cfg, streams)
	cancel(nil)
	return exitStatus(err)
}

// harden prepares this process for a run. A process that uses the tools of another run starts
// nothing, and that run must be able to open its pipes.
func harden(cfg *config.Config) {
	if cfg.Door() == "" {
		stdio.Harden()
	}
}

// exitStatus is the exit status of err. It does not return if err has a signal: the process dies by it.
func exitStatus(err error) int {
	if e, ok := errors.AsType[*failure.Error](err); ok && e.Signal != 0 {
		dieBy(e.Signal)
	}
	return failure.ExitStatus(err)
}

// panicked ends every process of a run that did not end in order because of a panic, reports
// the panic, and returns the exit status.
func panicked(cfg *config.Config, s stdio.Streams, p *goroutine.Panic) int {
	cfg.Processes.Sweep(sudden)
	printError(cfg, s, p)
	return failure.ExitStatus(p)
}

// printError prints an error outside a run. It waits only a moment for a reader of stderr that
// does not read.
func printError(cfg *config.Config, s stdio.Streams, err error) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	face.PrintError(ended, s.Err, face.Colored(cfg.Color, s.ErrTerminal, cfg.Getenv), err)
}

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

func isRegular(info os.FileInfo, err error) bool { return err == nil && info.Mode().IsRegular() }

func isNull(info os.FileInfo) bool {
	if info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

// isFileOrDevice reports whether f is a file or a device that is no terminal. Output to it
// appears on no screen; the reader of a pipe might show it.
func isFileOrDevice(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 && !isTerminal(f)
}

// watchSuspend sends a function that stops the process at each ^Z. The run calls it after it
// has removed its live line from the screen; a run that does not take it in time is stopped all
// the same.
func watchSuspend() <-chan func() {
	if stdio.Stop == nil || signal.Ignored(syscall.SIGTSTP) {
		return nil
	}
	asked, stops := make(chan os.Signal, 1), make(chan func())
	signal.Notify(asked, syscall.SIGTSTP)
	goroutine.Start(func() {
		for range asked {
			select {
			case stops <- stdio.Stop:
			case <-time.After(100 * time.Millisecond):
				stdio.Stop()
			}
		}
	})
	return stops
}

// After a signal a run has the time graceful to end in order; then its processes are killed
// within the time sudden. Together that is less than 5 s, half of the time that "docker stop"
// waits before it kills.
const (
	graceful = 4300 * time.Millisecond
	sudden   = 500 * time.Millisecond
)

// watchSignals cancels the run at the first signal. At the second, or if the run does not end
// in time, everything is killed at once. A signal that was ignored at start stays ignored.
// SIGPIPE needs no watching: stdio.Blocking does not write with the method of os.File that dies
// by it.
func watchSignals(cancel context.CancelCauseFunc, procs *config.Processes) {
	signals := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	goroutine.Start(func() {
		first := (<-signals).(syscall.Signal)
		cancel(&failure.Interrupted{Signal: first})
		select {
		case <-signals:
		case <-time.After(graceful):
		}
		procs.Sweep(sudden)
		dieBy(first)
	})
}

// dieBy ends this process by s, so that a shell sees the signal and not only a number. It exits
// with a number if s is blocked or ignored; for SIGQUIT, because the Go runtime would print its
// stacks into a CI log; and for the first process of a container, because its signals do not
// end it and the Go runtime would exit with status 2.
func dieBy(s syscall.Signal) {
	if os.Getpid() != 1 && s != syscall.SIGQUIT {
		signal.Reset(s)
		stdio.Raise(s)
	}
	os.Exit(128 + int(s))
}

// parse fills cfg from the arguments. text is the output of --help and similar flags, nil for a
// run.
func parse(cfg *config.Config, args []string) (text *string, err error) {
	table := flags.New(cfg)
	given, others, err := readFlags(table, args)
	if taken := table.Take(given, readFlags); err == nil {
		err = taken
	}
	if err != nil {
		return nil, err
	}
	cfg.Args = others
	text = new(string)
	switch {
	case table.Completion != "": // the text after it is still being typed
		*text, err = table.CompletionText()
	case table.Version:
		*text = "toolpipe " + version + "\n"
	case table.Help != nil:
		*text, err = table.HelpText(version, cfg.Args)
	default:
		return nil, cfg.Preset.Hint(table.Check())
	}
	return text, err
}

// readFlags finds the flags among words, and sets none. It is a flags.Reader.
func readFlags(table *flags.Table, words []string) (given []flags.Given, others []string, err error) {
	fs := pflag.NewFlagSet("toolpipe", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	for f := range table.All() {
		if mayGive(words, f) { // pflag takes longer for all flags than the run for its configuration
			fs.VarPF(f, f.Name, f.Short, "").NoOptDefVal = f.Bare()
		}
	}
	unparsed := fs.ParseAll(words, func(f *pflag.Flag, value string) error {
		given = append(given, flags.Given{Flag: f.Value.(*flags.Flag), Value: value})
		return nil
	})
	beforeDash := words
	if n := fs.ArgsLenAtDash(); n >= 0 { // not the first "--" of words: that may be a flag's value
		beforeDash = words[:len(words)-(fs.NArg()-n)-1]
	}
	if err := table.CheckArguments(beforeDash, func(path string) bool { return isRegular(os.Stat(path)) }); err != nil {
		return given, nil, err
	}
	if unparsed != nil {
		return given, nil, flagError(unparsed, table, words)
	}
	return given, fs.Args(), nil
}

// mayGive reports whether one of the arguments may give the flag. An argument may also be a
// value.
func mayGive(args []string, f *flags.Flag) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, long := strings.CutPrefix(arg, "--")
		if !long {
			return f.Short != "" && strings.HasPrefix(arg, "-") && strings.Contains(arg, f.Short)
		}
		rest, same := strings.CutPrefix(name, f.Name)
		return same && (rest == "" || rest[0] == '=')
	})
}

func flagError(err error, table *flags.Table, args []string) error {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		err = missing.GetFlag().Value.(*flags.Flag).NeedsValue()
	}
	e := failure.UsageError([]string{"toolpipe --help=all shows every flag"}, "%v", err)
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return e
	}
	name := unknown.GetSpecifiedName()
	if moved := flags.Moved(name); moved != nil {
		return moved
	}
	e.Message = fmt.Sprintf("unknown flag: %q", strings.Repeat("-", min(len(name), 2))+name)
	for _, a := range args {
		if len(name) == 1 && a != "-"+name && flags.IsCluster(a) && strings.HasSuffix(a, unknown.GetSpecifiedShortnames()) {
			e.Message = fmt.Sprintf("unknown flag: %q in %q", "-"+name, a)
			break
		}
	}
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && strings.ContainsAny(a, " \t\n") }) {
		e.Hints = append(e.Hints, "a prompt that begins with - goes after --: toolpipe -- '- one'")
	}
	var names []string
	for f := range table.All() {
		names = append(names, f.Name)
	}
	if hint := flags.OfOthers(name); hint != "" {
		e.Hints = append([]string{hint}, e.Hints...)
	} else if near := nearestFlag(name, names); near != "" {
		e.Hints = append([]string{"did you mean --" + near + "?"}, e.Hints...)
	}
	return e
}

// nearestFlag guesses which flag was meant by an unknown name: the one that begins with
// it, or the one spelled most like it. "" is no guess.
func nearestFlag(name string, known []string) string {
	if i := slices.IndexFunc(known, func(f string) bool { return len(name) > 2 && strings.HasPrefix(f, name) }); i >= 0 {
		return known[i]
	}
	return config.Nearest(name, known)
}

// useAllProxy sets the proxies that are not named to ALL_PROXY, as curl does: package net/http
// knows only those for http and https.
func useAllProxy() {
	all := cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	for _, name := range [...]string{"HTTP_PROXY", "HTTPS_PROXY"} {
		if all != "" && os.Getenv(name) == "" && os.Getenv(strings.ToLower(name)) == "" {
			os.Setenv(name, all)
		}
	}
}
