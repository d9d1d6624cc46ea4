//go:build unix

package endtoend

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"toolpipe/mcp/process/cage"
	"toolpipe/testdata/load"
)

// launch runs a program, in the background when the last word is &.
func (s *script) launch(name string, args []string, c command) error {
	background := len(args) > 0 && args[len(args)-1] == "&"
	if background {
		args = args[:len(args)-1]
	}
	if s.running != nil {
		return errors.New("a command is still running")
	}
	path := filepath.Join(s.root, "bin", name)
	if name == "sh" {
		path = "/bin/sh"
	}
	c.args = append([]string{path}, args...)
	c.env, c.dir = s.environ(), s.work
	c.stdin, c.stdinOpen = s.stdin, s.stdinOpen
	s.stdin, s.stdinOpen = nil, false
	p, err := c.start()
	if err != nil {
		return err
	}
	s.running = p
	if background {
		return nil
	}
	return s.wait(nil)
}

// wait waits for the end of the running command, and checks what must hold in every run.
func (s *script) wait([]string) error {
	p := s.running
	if p == nil {
		return errors.New("no command is running")
	}
	err := p.wait(max(hangGuard, s.patience))
	s.running, s.ended = nil, true
	s.stdout, s.stderr, s.status = p.stdout.bytes(), p.stderr.bytes(), p.status
	s.screen = nil
	if p.screen != nil {
		s.screen = p.screen.bytes()
	}
	if err == nil {
		err = s.checkRun(p)
	}
	if err == nil && !s.expected() {
		err = fmt.Errorf("status %d", s.status)
	}
	if err != nil {
		return fmt.Errorf("%w\nstdout:\n%s\nstderr:\n%s\nscreen:\n%q", err, clip(s.stdout), clip(s.stderr), clip(s.screen))
	}
	return nil
}

func clip(text []byte) []byte {
	if len(text) > 6000 {
		return fmt.Appendf(nil, "%s\n[… %d bytes …]\n%s", text[:4000], len(text)-6000, text[len(text)-2000:])
	}
	return text
}

// expected reports whether the command's line names the status.
func (s *script) expected() bool {
	if len(s.statuses) == 0 {
		return s.status == 0
	}
	return slices.Contains(s.statuses, strconv.Itoa(s.status)) || slices.Contains(s.statuses, "any")
}

func (s *script) shell(args []string) error {
	return s.launch("sh", append([]string{"-c"}, args...), command{})
}

// tty [-on=DIGITS] [-background] COMMAND … runs it on a terminal of its own.
func (s *script) tty(args []string) error {
	if runtime.GOOS != "linux" {
		s.t.Skip("terminal scripts run on Linux only")
	}
	c := command{terminal: true}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if digits, ok := strings.CutPrefix(args[0], "-on="); ok {
			c.on = digits
		} else if args[0] == "-background" {
			c.background = true
		}
		args = args[1:]
	}
	if args[0] == "sh" {
		return s.launch("sh", append([]string{"-c"}, args[1:]...), c)
	}
	return s.launch(args[0], args[1:], c)
}

// stdin FILE, stdin -text STRING: the input of the next command; -open before
// either keeps it open until the command eof.
func (s *script) setStdin(args []string) error {
	if args[0] == "-open" {
		s.stdinOpen, args = true, args[1:]
	}
	if len(args) == 0 {
		return nil
	}
	if args[0] == "-text" {
		text, err := unquote(args[1])
		s.stdin = []byte(text)
		return err
	}
	text, err := s.read(args[0])
	s.stdin = append([]byte{}, text...) // not nil, which is /dev/null
	return err
}

// unquote resolves Go's escapes; quotes need no escape.
func unquote(text string) (string, error) {
	var quoted strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			quoted.WriteByte(text[i])
			i++
		} else if text[i] == '"' {
			quoted.WriteByte('\\')
		}
		quoted.WriteByte(text[i])
	}
	return strconv.Unquote(`"` + quoted.String() + `"`)
}

func (s *script) endStdin([]string) error { return s.running.stdinPipe.Close() }

// send STRING types at the terminal, or with -stdin writes to standard input.
func (s *script) send(args []string) error {
	if s.running == nil {
		return errors.New("no command is running")
	}
	f := s.running.master
	if args[0] == "-stdin" {
		f, args = s.running.stdinPipe, args[1:]
		<-s.running.written
	}
	text, err := unquote(args[0])
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return err
}

// await stdout|stderr|screen PATTERN, await requests N, await stopped,
// await file NAME PATTERN: waits until this has happened.
func (s *script) await(args []string) error {
	if args[0] == "requests" {
		n, _ := strconv.Atoi(args[1])
		return s.model.awaitRequests(n)
	}
	if args[0] == "stopped" {
		return eventually(func() error {
			if s.running.stopped() {
				return nil
			}
			return errors.New("it was not stopped")
		})
	}
	pattern, err := regexp.Compile("(?m)" + args[len(args)-1])
	if err != nil {
		return err
	}
	if args[0] == "file" {
		return eventually(func() error {
			text, err := s.read(args[1])
			if err == nil && !pattern.Match(text) {
				err = fmt.Errorf("no match for %q in:\n%s", pattern, text)
			}
			return err
		})
	}
	if s.running == nil {
		return errors.New("no command is running")
	}
	stream := map[string]*capture{"stdout": s.running.stdout, "stderr": s.running.stderr, "screen": s.running.screen}[args[0]]
	if stream == nil {
		return fmt.Errorf("await what? %q", args[0])
	}
	return stream.await(pattern)
}

// pause DURATION gives a fault time to appear; a test must not depend on it otherwise.
func (s *script) pause(args []string) error {
	d, err := time.ParseDuration(args[0])
	time.Sleep(d)
	return err
}

func eventually(check func() error) error {
	deadline := time.Now().Add(hangGuard)
	for {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

var signalNames = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP,
	"KILL": syscall.SIGKILL, "TSTP": syscall.SIGTSTP, "CONT": syscall.SIGCONT, "QUIT": syscall.SIGQUIT, "WINCH": syscall.SIGWINCH, "PIPE": syscall.SIGPIPE}

// signal [-group] NAME
func (s *script) signal(args []string) error {
	if s.running == nil {
		return errors.New("no command is running")
	}
	pid := s.running.pid
	if args[0] == "-group" {
		pid, args = -pid, args[1:]
	}
	return syscall.Kill(pid, signalNames[args[0]])
}

// resize COLUMNS ROWS
func (s *script) resize(args []string) error {
	columns, _ := strconv.Atoi(args[0])
	rows, _ := strconv.Atoi(args[1])
	return resizeTerminal(s.running.master, columns, rows)
}

// hangup closes the terminal.
func (s *script) hangup([]string) error { return s.running.master.Close() }

// env NAME=VALUE … sets, env -NAME … removes; NAME=canary:… makes a new secret.
func (s *script) setEnv(args []string) error {
	for _, arg := range args {
		if name, ok := strings.CutPrefix(arg, "-"); ok {
			delete(s.env, name)
			continue
		}
		name, value, _ := strings.Cut(arg, "=")
		if value == "canary" {
			secret := make([]byte, 12)
			rand.Read(secret)
			value = "canary-" + hex.EncodeToString(secret)
			s.canaries[name] = value
		}
		s.env[name] = value
	}
	return nil
}

// secret FILE … names files that may hold a secret.
func (s *script) secret(args []string) error {
	for _, arg := range args {
		s.exempt[arg] = true
	}
	return nil
}

// hasLandlock reports whether commands can have a sandbox here.
func hasLandlock() bool {
	c, _, err := cage.New(cage.Spec{})
	if err == nil {
		c.Close()
	}
	return err == nil
}

// holds reports whether a condition is true here. README.md of the scripts has the list.
func (s *script) holds(condition string) (bool, error) {
	name, negated := strings.CutPrefix(condition, "!")
	kind, value, _ := strings.Cut(os.Expand(name, s.lookup), ":")
	var is bool
	switch kind {
	case "linux":
		is = runtime.GOOS == "linux"
	case "native":
		is = native
	case "landlock":
		is = hasLandlock()
	case "bubblewrap":
		is = cage.FindHolder(exec.LookPath).Below && hasLandlock()
	case "root":
		is = os.Getuid() == 0
	case "race":
		is = load.RaceDetector()
	case "load":
		is = load.Full(s.t)
	case "program":
		_, err := exec.LookPath(value)
		is = err == nil
	case "file":
		_, err := os.Stat(value)
		is = err == nil
	default:
		return false, fmt.Errorf("unknown condition %q", condition)
	}
	return is != negated, nil
}

// skip REASON ends the case here.
func (s *script) skip(args []string) error {
	s.t.Skip(strings.Join(args, " "))
	return nil
}

// memory MIB lets the runs that follow use more memory: other programs that they start
// count too.
func (s *script) allowMemory(args []string) error {
	mib, err := strconv.Atoi(args[0])
	s.memory = int64(mib) << 20
	return err
}

// model FILE starts a fake model with that script and makes it the default
// endpoint; its URL is in $MODEL_URL, its captures in $REQUESTS. The script of
// the model before must have been used up. model -as NAME FILE starts
// another HTTP server of that kind beside it, $NAME_URL.
func (s *script) startModel(args []string) error {
	if args[0] == "-as" {
		return s.startOther(args[1], args[2])
	}
	if err := s.checkModel(); err != nil {
		return err
	}
	if s.model != nil {
		s.model.close()
	}
	text, err := s.read(args[0])
	if err != nil {
		return err
	}
	s.models++
	s.verified = false
	s.env["REQUESTS"] = filepath.Join(s.root, "requests", strconv.Itoa(s.models))
	if s.model, err = newFakeModel(string(text), s.env["REQUESTS"]); err != nil {
		return err
	}
	s.env["MODEL_URL"], s.env["TOOLPIPE_BASE_URL"] = s.model.url(), s.model.url()
	return nil
}

func (s *script) startOther(name, file string) error {
	text, err := s.read(file)
	if err != nil {
		return err
	}
	other, err := newFakeModel(string(text), filepath.Join(s.root, "requests", name))
	if err != nil {
		return err
	}
	s.servers = append(s.servers, other.close)
	s.env[strings.ToUpper(name)+"_URL"] = strings.TrimSuffix(other.url(), "/v1")
	s.env[strings.ToUpper(name)+"_REQUESTS"] = other.capture
	return nil
}

// release lets the next hold of the model go on.
func (s *script) release([]string) error {
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	s.model.released++
	s.model.release.Broadcast()
	return nil
}

// mcp NAME [OPTION …] starts a fake tool server over HTTP; its URL is in
// $NAME_URL, upper-case.
func (s *script) startMCP(args []string) error {
	server, err := newFakeServer(args[1:])
	if err != nil {
		return err
	}
	if server.issuer != nil {
		secret := make([]byte, 12)
		rand.Read(secret)
		server.issuer.secret = "canary-" + hex.EncodeToString(secret)
		s.canaries[args[0]+"'s tokens"] = server.issuer.secret
	}
	url, stop, err := server.serveHTTP()
	if err != nil {
		return err
	}
	s.servers = append(s.servers, stop)
	s.env[strings.ToUpper(args[0])+"_URL"] = url
	return nil
}
