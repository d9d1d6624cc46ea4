package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"toolpipe/mcp/command"
	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

const (
	maxInput   = 256 << 10       // bytes of a text
	inputLimit = 5 * time.Second // for a program to take it
	tailPause  = 500 * time.Millisecond
	signalWait = time.Second // for a program to end by a signal
)

func (s *server) input(ctx context.Context, args toolserver.Arguments, progress func(wire.Progress)) (*wire.Result, error) {
	p, err := s.find(args.Text("id"))
	if err != nil {
		return nil, err
	}
	tail, err := command.Seconds(args, "tail_s", 0, s.limit)
	if err != nil {
		return nil, err
	}
	text := args.Text("text")
	switch {
	case text == "" && !args.Has("key"):
		return nil, errors.New("give text, or key, or both")
	case len(text) > maxInput:
		return nil, fmt.Errorf("text has %d bytes, at most %d are allowed", len(text), maxInput)
	case p.hasEnded():
		return nil, errors.New(p.describe())
	}
	key, closes := "", false
	if args.Has("key") {
		if key, closes, err = keyed(args.Text("key"), p.pty); err != nil {
			return nil, err
		}
	}
	c := &condition{program: p, idle: tailPause, reacts: true, began: time.Now(), next: p.out.Size()}
	from := c.next
	if err := p.write(ctx, text+key); err != nil {
		return nil, err
	}
	answer := fmt.Sprintf("[toolpipe] %d bytes were sent to %s", len(text)+len(key), p.id)
	if closes {
		p.in.Close()
		answer += ", and its input was closed"
	}
	if tail == 0 {
		return toolserver.TextResult(fmt.Sprintf("%s; since=%d reads the output from here\n", answer, from)), nil
	}
	if _, err := await(ctx, []*condition{c}, 1, tail, progress); err != nil {
		return nil, err
	}
	state := p.describe()
	shown, next := p.part(from, defaultRead, false)
	return toolserver.TextResult(fmt.Appendf(nil, "%s; %s; bytes %d to %d of its output follow\n%s", answer, state, from, next, shown)), nil
}

// keyed is what a key sends. Without a terminal ctrl-d closes the input instead.
func keyed(key string, pty bool) (sends string, closes bool, err error) {
	name := strings.ToLower(key)
	letter, isControl := strings.CutPrefix(name, "ctrl-")
	isControl = isControl && len(letter) == 1 && letter[0] >= 'a' && letter[0] <= 'z'
	if pty {
		if isControl {
			return string(rune(letter[0] - 'a' + 1)), false, nil
		}
		sends = map[string]string{
			"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f", "delete": "\x1b[3~",
			"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
			"home": "\x1b[H", "end": "\x1b[F", "page-up": "\x1b[5~", "page-down": "\x1b[6~",
		}[name]
		if sends == "" {
			return "", false, fmt.Errorf("key %.100q is not known: it is enter, tab, escape, backspace, delete, up, down, left, right, home, end, page-up, page-down, or ctrl-a to ctrl-z", key)
		}
		return sends, false, nil
	}
	switch name {
	case "enter":
		return "\n", false, nil
	case "tab":
		return "\t", false, nil
	case "ctrl-d":
		return "", true, nil
	}
	return "", false, fmt.Errorf("key %.100q: a process without pty has enter, tab and ctrl-d alone; signal INT is its ctrl-c", key)
}

// write gives the program its input. A program that does not read it is not waited
// for.
func (p *program) write(ctx context.Context, text string) error {
	p.in.SetWriteDeadline(time.Now().Add(inputLimit))
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
	default:
		err = confine.Reason(err)
	}
	return fmt.Errorf("%s took %d of %d bytes: %w", p.id, n, len(text), err)
}

// signalNamed is the signal of that name, with or without SIG.
func signalNamed(name string) (syscall.Signal, bool) {
	s, ok := map[string]syscall.Signal{
		"": syscall.SIGTERM, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "ALRM": syscall.SIGALRM, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "TSTP": syscall.SIGTSTP, "WINCH": syscall.SIGWINCH,
	}[strings.TrimPrefix(strings.ToUpper(name), "SIG")]
	return s, ok
}

func (s *server) signal(_ context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	p, err := s.find(args.Text("id"))
	if err != nil {
		return nil, err
	}
	sig, ok := signalNamed(args.Text("signal"))
	if !ok || args.Has("signal") && args.Text("signal") == "" {
		return nil, fmt.Errorf("signal %.100q is not known: it is TERM, INT, HUP, QUIT, KILL, USR1, USR2, ALRM, STOP, CONT, TSTP or WINCH", args.Text("signal"))
	}
	if p.hasEnded() && sig != syscall.SIGKILL && !p.process.Signal(0) {
		return nil, errors.New(p.describe())
	}
	if sig == syscall.SIGKILL {
		p.process.KillTree(endGrace)
	} else {
		p.process.Signal(sig)
	}
	switch sig {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL:
		p.waitFor(signalWait)
	}
	return toolserver.TextResult(fmt.Sprintf("[toolpipe] %s\n", p.describe())), nil
}
