//go:build unix

package endtoend

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A script is one running script, with the processes and servers that it has started.
type script struct {
	t        *testing.T
	root     string // contains all its files, and is removed at the end
	work     string // the working directory of every command
	env      map[string]string
	archive  *archive // its files
	statuses []string // with which the current command may end; empty means 0
	ended    bool     // the status of the current command was checked

	stdin     []byte
	stdinOpen bool
	running   *process // started with & or tty, not yet waited for

	stdout, stderr, screen []byte // of the last command that ended
	status                 int

	model    *fakeModel
	verified bool // the script counted the requests itself
	models   int
	servers  []func()
	canaries map[string]string            // name in the environment to secret
	encoded  map[string]map[string][]byte // secret to its encodings
	exempt   map[string]bool              // files that may hold a secret
	defect   bool                         // status 70 is expected
	patience time.Duration                // how long a command may take; 0: hangGuard
	memory   int64                        // the peak memory that a run may have, in bytes; 0: maxMemory
}

// newScript lays out a home, a working directory with the archive's files,
// and a folder of links to toolpipe and to the doubles; the browser is this test binary.
func newScript(t *testing.T, files *archive) *script {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, root: root, work: filepath.Join(root, "work"), archive: files,
		env:      map[string]string{},
		canaries: map[string]string{}, encoded: map[string]map[string][]byte{}, exempt: map[string]bool{}}
	for _, dir := range []string{"bin", "home/.config", "tmp", "requests", "work"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, program := range map[string]func() (string, error){"toolpipe": toolpipe, "fakemcp": fakeMCP, "fakebrowser": os.Executable} {
		path, err := program()
		if err == nil {
			err = os.Symlink(path, filepath.Join(root, "bin", name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.writeFiles(files); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"TOOLPIPE_API_KEY", "OTHER_SECRET"} {
		secret := make([]byte, 12)
		rand.Read(secret)
		s.canaries[name] = "canary-" + hex.EncodeToString(secret)
		s.env[name] = s.canaries[name]
	}
	s.env["PATH"] = filepath.Join(root, "bin") + ":" + os.Getenv("PATH")
	s.env["HOME"] = filepath.Join(root, "home")
	s.env["XDG_CONFIG_HOME"] = filepath.Join(root, "home", ".config")
	s.env["TMPDIR"] = filepath.Join(root, "tmp")
	s.env["LANG"] = "C.UTF-8"
	s.env["TZ"] = "UTC"
	s.env["GORACE"] = "atexit_sleep_ms=0" // the race detector would wait for goroutines at every exit
	s.env["WORK"] = s.work
	s.env["MCP"] = filepath.Join(root, "bin", "fakemcp")
	s.env["SRC"], _ = filepath.Abs(top)
	s.env["TOOLPIPE_MODEL"] = "fake"
	// No program listens at this address: without a model in the script every request fails.
	s.env["TOOLPIPE_BASE_URL"] = "http://127.0.0.1:9/v1"
	return s
}

// writeFiles puts the files of an archive into the working directory.
func (s *script) writeFiles(a *archive) error {
	for _, section := range a.files() {
		path := filepath.Join(s.work, section.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(section.text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// close ends the processes and servers of the script.
func (s *script) close() {
	if s.running != nil {
		syscall.Kill(s.running.pid, syscall.SIGKILL)
		<-s.running.done
	}
	if s.model != nil {
		s.model.close()
	}
	for _, stop := range s.servers {
		stop()
	}
}

// finish checks what must hold at the end of a script.
func (s *script) finish() error {
	if s.t.Failed() || s.t.Skipped() {
		return nil
	}
	if s.running != nil {
		return errors.New("a command was started in the background and not waited for")
	}
	return errors.Join(s.checkModel(), s.checkFiles())
}

// checkModel checks that all replies of the model's script were used.
func (s *script) checkModel() error {
	if s.model == nil || s.verified {
		return nil
	}
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	replies, again := len(s.model.replies), false
	if replies > 0 {
		again = s.model.replies[replies-1].again
	}
	if s.model.extra > 0 || len(s.model.requests) < replies && !again {
		return fmt.Errorf("the model got %d requests, its script has %d replies", len(s.model.requests), replies)
	}
	return nil
}

// checkFiles looks for secrets in all files that were written, and for temporary
// files that were left.
func (s *script) checkFiles() error {
	left, _ := os.ReadDir(filepath.Join(s.root, "tmp"))
	for _, entry := range left {
		return fmt.Errorf("temporary file left behind: %s", entry.Name())
	}
	return filepath.WalkDir(s.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == "requests" {
			return filepath.SkipDir
		}
		name, _ := filepath.Rel(s.work, path)
		if !entry.Type().IsRegular() || s.exempt[name] || filepath.Base(filepath.Dir(path)) == "logins" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		return s.findSecret(name, text)
	})
}

func (s *script) lookup(name string) string { return s.env[name] }

func (s *script) environ() (list []string) {
	for name, value := range s.env {
		list = append(list, name+"="+value)
	}
	return list
}

// run runs one command, if its conditions hold.
func (s *script) run(line scriptLine) error {
	for _, condition := range line.conditions {
		if is, err := s.holds(condition); err != nil || !is {
			return err
		}
	}
	s.statuses, s.ended = line.statuses, false
	var words []string
	for _, word := range line.words {
		words = append(words, word.expand(s.lookup))
	}
	command, ok := scriptCommands[words[0]]
	if !ok {
		return fmt.Errorf("unknown command %q", words[0])
	}
	err := command(s, words[1:])
	if err == nil && len(line.statuses) > 0 && !s.ended {
		err = errors.New("nothing ended here that could have a status")
	}
	if !line.negate {
		return err
	}
	if _, isMismatch := errors.AsType[mismatch](err); isMismatch {
		return nil
	}
	if err == nil {
		return errors.New("that should not hold")
	}
	return err
}

// A mismatch is a failed comparison, which `!` turns into success.
type mismatch struct{ text string }

func (m mismatch) Error() string { return m.text }

func mismatchf(format string, values ...any) error { return mismatch{fmt.Sprintf(format, values...)} }

var scriptCommands map[string]func(s *script, args []string) error

func init() {
	scriptCommands = map[string]func(*script, []string) error{
		"toolpipe": func(s *script, args []string) error { return s.launch("toolpipe", args, command{}) },
		"sh":       (*script).shell,
		"tty":      (*script).tty,
		"stdin":    (*script).setStdin,
		"stdout":   func(s *script, args []string) error { return matchText("stdout", s.stdout, args) },
		"stderr":   func(s *script, args []string) error { return matchText("stderr", s.stderr, args) },
		"screen":   func(s *script, args []string) error { return matchText("screen", s.screen, args) },
		"grep":     (*script).grep,
		"cmp":      (*script).compare,
		"json":     (*script).json,
		"event":    (*script).event,
		"events":   (*script).events,
		"env":      (*script).setEnv,
		"model":    (*script).startModel,
		"release":  (*script).release,
		"requests": (*script).countRequests,
		"request":  (*script).request,
		"header":   (*script).header,
		"mcp":      (*script).startMCP,
		"await":    (*script).await,
		"send":     (*script).send,
		"signal":   (*script).signal,
		"resize":   (*script).resize,
		"hangup":   (*script).hangup,
		"eof":      (*script).endStdin,
		"wait":     (*script).wait,
		"pause":    (*script).pause,
		"mode":     (*script).mode,
		"skip":     (*script).skip,
		"memory":   (*script).allowMemory,
		"patience": (*script).allowTime,
		"secret":   (*script).secret,
	}
}
