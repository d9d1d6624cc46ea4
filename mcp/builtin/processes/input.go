package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

const (
	maxInput  = 256 << 10              // bytes of a text
	tailPause = 500 * time.Millisecond // of the output; it ends the tail of an input

	terminalKeys = "enter, tab, shift-tab, escape, backspace, insert, delete, up, down, left, right, home, end, page-up, page-down, f1 to f12, or ctrl-a to ctrl-z"
	otherSignals = "INT, HUP, QUIT, KILL, USR1, USR2, ALRM, STOP, CONT, TSTP or WINCH"
)

func (s *server) input(ctx context.Context, p *program, args toolserver.Arguments, progress func(wire.Progress)) (*wire.Result, error) {
	tail, err := shell.Seconds(args, "tail_s", 0, s.limit)
	if err != nil {
		return nil, err
	}
	text, key := args.Text("text"), ""
	switch {
	case text == "" && !args.Has("key"):
		return nil, errors.New("give text, or key, or both")
	case len(text) > maxInput:
		return nil, fmt.Errorf("text has %d bytes, at most %d are allowed", len(text), maxInput)
	case p.hasEnded():
		return nil, errors.New(p.describe())
	}
	if args.Has("key") {
		if key, err = p.keyBytes(args.Text("key")); err != nil {
			return nil, err
		}
	}
	reaction := &condition{program: p, lineSearch: lineSearch{next: p.out.Size()}, idle: tailPause, reacts: true, began: time.Now()}
	from := reaction.next
	if err := p.write(ctx, text+key); err != nil {
		return nil, err
	}
	answer := fmt.Sprintf("[toolpipe] %d bytes were sent to %s", len(text)+len(key), p.id)
	if args.Has("key") && key == "" {
		p.in.Close()
		answer += ", and its input was closed"
	}
	if tail == 0 {
		return toolserver.TextResult(fmt.Sprintf("%s; since=%d reads the output from here\n", answer, from)), nil
	}
	if _, err := await(ctx, []*condition{reaction}, 1, tail, progress); err != nil {
		return nil, err
	}
	state := p.describe()
	shown, next := p.part(from, defaultRead, false)
	return toolserver.TextResult(fmt.Appendf(nil, "%s; %s; bytes %d to %d of its output follow\n%s", answer, state, from, next, shown)), nil
}

// keyBytes are the bytes that a key sends. Without a terminal ctrl-d sends nothing: it closes
// the input.
func (p *program) keyBytes(key string) (string, error) {
	sends := map[string]string{"enter": "\n", "tab": "\t", "ctrl-d": ""}
	v, noScreen := p.view()
	if noScreen == nil {
		sends = terminalKeyBytes(v.CursorKeysApp)
	}
	text, known := sends[strings.ToLower(key)]
	switch {
	case known:
		return text, nil
	case noScreen == nil:
		return "", fmt.Errorf("key %.100q is not known; the keys are %s", key, terminalKeys)
	}
	return "", fmt.Errorf("key %.100q: a process without pty has only enter, tab and ctrl-d; signal INT is its ctrl-c", key)
}

// terminalKeyBytes are the bytes of a terminal's keys, from the terminfo of xterm-256color.
// application is the mode of the cursor keys that the program chose (DECCKM).
func terminalKeyBytes(application bool) map[string]string {
	sends := map[string]string{
		"enter": "\r", "tab": "\t", "shift-tab": "\x1b[Z", "escape": "\x1b", "backspace": "\x7f", "insert": "\x1b[2~", "delete": "\x1b[3~",
		"page-up": "\x1b[5~", "page-down": "\x1b[6~",
	}
	cursor := "\x1b["
	if application {
		cursor = "\x1bO"
	}
	for i, key := range []string{"up", "down", "right", "left", "", "end", "", "home"} {
		sends[key] = cursor + string(rune('A'+i))
	}
	delete(sends, "")
	for i, number := range []int{0, 0, 0, 0, 15, 17, 18, 19, 20, 21, 23, 24} {
		if sends[fmt.Sprintf("f%d", i+1)] = fmt.Sprintf("\x1b[%d~", number); number == 0 {
			sends[fmt.Sprintf("f%d", i+1)] = "\x1bO" + string(rune('P'+i))
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		sends["ctrl-"+string(c)] = string(c - 'a' + 1)
	}
	return sends
}

// write gives the program its input. It does not wait for a program that does not read.
func (p *program) write(ctx context.Context, text string) error {
	p.in.SetWriteDeadline(time.Now().Add(inputTime))
	stop := goroutine.AfterContext(ctx, func() { p.in.SetWriteDeadline(time.Now()) })
	defer stop()
	n, err := p.in.WriteString(text)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errors.New("it does not read its input")
	case errors.Is(err, os.ErrClosed), errors.Is(err, syscall.EPIPE):
		err = errors.New("its input is closed")
	}
	return fmt.Errorf("%s took %d of %d bytes: %w", p.id, n, len(text), confine.Reason(err))
}

func sendSignal(_ context.Context, p *program, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	name := args.TextOr("signal", "TERM")
	sig, known := map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "ALRM": syscall.SIGALRM,
		"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "TSTP": syscall.SIGTSTP, "WINCH": syscall.SIGWINCH,
	}[strings.TrimPrefix(strings.ToUpper(name), "SIG")]
	switch {
	case !known:
		return nil, fmt.Errorf("signal %.100q is not known; the signals are TERM, %s", name, otherSignals)
	case sig == syscall.SIGKILL:
		p.process.KillTree(killLimit)
	case !p.process.Signal(sig) && p.hasEnded():
		return nil, errors.New(p.describe())
	}
	switch sig {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL:
		goroutine.Await(p.ended, signalTime)
	}
	return toolserver.TextResult(fmt.Sprintf("[toolpipe] %s\n", p.describe())), nil
}
