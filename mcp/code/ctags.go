package code

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"toolpipe/mcp/code/lexis"
	"toolpipe/mcp/process"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/jsontext"
)

// ErrNoCtags says that there is no ctags in PATH that can be used.
var ErrNoCtags = errors.New("ctags is not in PATH, or only below a directory that is offered")

// WrongCtagsError says that a ctags is not Universal Ctags with JSON, or is broken.
type WrongCtagsError struct{ Path, Said string }

func (e *WrongCtagsError) Error() string {
	text := fmt.Sprintf("%q is not Universal Ctags with JSON output: install it with apt install universal-ctags or brew install universal-ctags, and have it first in PATH", e.Path)
	if e.Said != "" {
		text += fmt.Sprintf(" (it says: %s)", e.Said)
	}
	return text
}

// ctags is the program. It answers definitions of texts that it is given on its
// standard input.
type ctags struct {
	path      string
	processes *process.Processes
	noSandbox atomic.Bool // the program cannot lock itself in
}

// findCtags looks the program up in PATH, by the names that systems give it beside
// another ctags first. One below a root is not used: a call that writes could have
// made it.
func findCtags(spec Spec) (*ctags, error) {
	for _, name := range [...]string{"ctags-universal", "uctags", "ctags"} {
		path, err := process.LookPath(name, spec.Environ)
		if err == nil && spec.inRoots(path) {
			path, err = process.LookPath(name, spec.parserEnv())
		}
		if err == nil && !spec.inRoots(path) {
			return &ctags{path: path, processes: spec.Processes}, nil
		}
	}
	return nil, ErrNoCtags
}

// Version says where ctags is, and which.
func Version(ctx context.Context, spec Spec) (path, version string, err error) {
	program, err := findCtags(spec)
	if err != nil {
		return "", "", err
	}
	s, err := program.start(ctx)
	if err != nil {
		return program.path, "", err
	}
	defer s.close()
	return program.path, s.version, nil
}

const (
	maxTagLine     = 1 << 20          // bytes of what ctags says of one definition
	maxDefinitions = 200_000          // of one file
	ctagsLimit     = 30 * time.Second // for one file
)

// A session is a running ctags.
type session struct {
	ctx     context.Context
	process *process.Process
	in      io.WriteCloser
	output  *os.File
	out     *bufio.Reader // of output
	errs    *process.Output
	version string
}

// start starts ctags. In its sandbox (seccomp on Linux) it can open no file. Without
// it, it opens none as long as each text is given with its size.
func (c *ctags) start(ctx context.Context) (*session, error) {
	if !c.noSandbox.Load() {
		s, err := c.startIn(ctx, "sandbox")
		if _, wrong := errors.AsType[*WrongCtagsError](err); !wrong {
			return s, err
		}
	}
	s, err := c.startIn(ctx, "default")
	if err == nil {
		c.noSandbox.Store(true)
	}
	return s, err
}

func (c *ctags) startIn(ctx context.Context, mode string) (*session, error) {
	s := &session{ctx: ctx, errs: &process.Output{Tail: 4 << 10}}
	cmd := &exec.Cmd{
		Path: c.path, Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Stderr: s.errs,
		Args: []string{"ctags", "--options=NONE", "--quiet", "--_interactive=" + mode, "--fields=-PfT", "--fields=+neSsiltzpr",
			"--kinds-C=+px", "--kinds-C++=+px"},
	}
	output, child, err := os.Pipe() // not cmd.StdoutPipe, which the end of ctags closes before all is read
	if err == nil {
		cmd.Stdout, s.output = child, output
		if s.in, err = cmd.StdinPipe(); err == nil {
			s.process, err = c.processes.StartGroup(cmd, true)
		}
		child.Close()
	}
	if err != nil {
		output.Close()
		return nil, fmt.Errorf("ctags does not start: %w", err)
	}
	s.out = bufio.NewReaderSize(output, 64<<10)
	watched, stop := s.watch()
	defer stop()
	line, err := s.line()
	if err != nil || jsontext.Text(jsontext.Member(line, "name")) != "Universal Ctags" {
		said := s.close()
		if watched.Err() != nil {
			return nil, context.Cause(watched)
		}
		return nil, &WrongCtagsError{c.path, said}
	}
	s.version = jsontext.Text(jsontext.Member(line, "version"))
	return s, nil
}

// watch ends ctags when the call ends or ctagsLimit has passed, until stop is called.
// The reading ends too: a process that ctags left behind may hold the pipe open.
func (s *session) watch() (watched context.Context, stop func()) {
	watched, cancel := context.WithTimeoutCause(s.ctx, ctagsLimit, fmt.Errorf("ctags took more than %v", ctagsLimit))
	unwatch := goroutine.AfterContext(watched, func() {
		s.process.Kill()
		s.output.Close()
	})
	return watched, func() {
		unwatch()
		cancel()
	}
}

// close ends ctags, and gives the last line of its errors.
func (s *session) close() (said string) {
	s.in.Close()
	s.process.Kill()
	s.process.Wait()
	s.output.Close()
	return process.LastLines(s.errs.String(), 1)
}

// line reads a line of ctags's output, which is one JSON object. It is valid until
// the next.
func (s *session) line() ([]byte, error) {
	line, err := s.out.ReadSlice('\n')
	for err == bufio.ErrBufferFull && len(line) <= maxTagLine {
		long := slices.Clone(line)
		line, err = s.out.ReadSlice('\n')
		line = append(long, line...)
	}
	if err == bufio.ErrBufferFull {
		return nil, errors.New("a line of its output is too long")
	}
	if err != nil {
		return nil, err
	}
	if err := jsontext.Check(line, jsontext.Options{}); err != nil {
		return nil, err
	}
	return line, nil
}

// definitions gives the definitions of a text. The name tells its language. After
// an error the session is of no more use.
func (s *session) definitions(name string, text []byte) (defs []Definition, err error) {
	watched, stop := s.watch()
	defer stop()
	text = bytes.ToValidUTF8(text, []byte("\uFFFD")) // of others no JSON is made
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(bytes.Clone(text), '\n') // or the last line of some languages is lost
	}
	head := jsontext.AppendQuoted([]byte(`{"command":"generate-tags","filename":`), name)
	head = fmt.Appendf(head, `,"size":%d}`+"\n", len(text))
	if _, err = s.in.Write(head); err == nil {
		_, err = s.in.Write(text) // which it reads whole before it answers
	}
	for err == nil {
		var line []byte
		if line, err = s.line(); err != nil {
			break
		}
		switch t := readTag(line); t.Type {
		case "tag":
			if defs = t.appendTo(defs); len(defs) > maxDefinitions {
				return nil, fmt.Errorf("%q has more than %d definitions", name, maxDefinitions)
			}
		case "completed":
			return defs, nil
		case "error":
			if !t.Warning { // as of a definition that it leaves out
				return nil, fmt.Errorf("%q: ctags says: %s", name, t.Message)
			}
		}
	}
	if watched.Err() != nil {
		return nil, context.Cause(watched)
	}
	return nil, fmt.Errorf("%q: ctags ended without an answer: %w", name, err)
}

// A tag is a line of ctags's JSON output.
type tag struct {
	Type, Message                                                    string
	Name, Kind, Scope, Signature, Typeref, Inherits, Roles, Language string
	Line, End                                                        int
	Warning                                                          bool
}

func readTag(line []byte) (t tag) {
	for name, value := range jsontext.Members(line) {
		switch string(name) {
		case `"_type"`:
			t.Type = jsontext.Text(value)
		case `"warning"`:
			t.Warning = jsontext.IsTrue(value)
		case `"message"`:
			t.Message = jsontext.Text(value)
		case `"name"`:
			t.Name = jsontext.Text(value)
		case `"kind"`:
			t.Kind = jsontext.Text(value)
		case `"scope"`:
			t.Scope = jsontext.Text(value)
		case `"signature"`:
			t.Signature = jsontext.Text(value)
		case `"typeref"`:
			t.Typeref = jsontext.Text(value)
		case `"inherits"`:
			t.Inherits = jsontext.Text(value)
		case `"language"`:
			t.Language = jsontext.Text(value)
		case `"roles"`:
			t.Roles = jsontext.Text(value)
		case `"line"`:
			n, _ := jsontext.Integer(value)
			t.Line = int(n)
		case `"end"`:
			n, _ := jsontext.Integer(value)
			t.End = int(n)
		}
	}
	return t
}

// appendTo appends the definition that a tag is, and nothing for a reference.
func (t *tag) appendTo(defs []Definition) []Definition {
	if t.Kind == "heredoc" || strings.HasPrefix(t.Name, "<") || t.Kind == "function" && strings.HasPrefix(t.Name, anonymous) ||
		t.Language == "Python" && (t.Kind == "namespace" || t.Kind == "unknown" || t.Kind == "module") {
		return defs // text, functions without a name, imports
	}
	if t.Line < 1 || t.Name == "" || t.Name[0] >= '0' && t.Name[0] <= '9' || t.Roles != "" && t.Roles != "def" {
		return defs
	}
	d := Definition{Name: t.Name, Kind: t.Kind, Scope: normalName(t.Scope), Line: t.Line, Start: t.Line, End: t.End, Signature: asLine(t.Signature)}
	if kind, result, found := strings.Cut(t.Typeref, ":"); found && kind == "typename" {
		separator := ": "
		if d.Signature != "" {
			separator = " -> "
		}
		d.Signature += separator + result
	} else if found {
		d.structure = normalName(result)
	}
	if d.Kind == "member" && t.Language == "Python" {
		d.Kind = "method"
	}
	for parent := range strings.SplitSeq(t.Inherits, ",") {
		if parent = strings.TrimSpace(parent); parent != "" && !strings.Contains(parent, "=") {
			d.Parents = append(d.Parents, parent)
		}
	}
	return append(defs, d)
}

// ctagsName is the name of a file by which ctags tells its language: its own, with
// the ending that ctags knows where it knows another or the first line tells.
func ctagsName(name string, language *lexis.Language) string {
	name = path.Base(filepath.ToSlash(name))
	if language == nil {
		return name
	}
	ending := ""
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		ending = name[i:]
	}
	switch ending {
	case "", ".cjs", ".mts", ".cts", ".tsx", ".pyi", ".pyw", ".dash", ".rake", ".gemspec", ".ru":
		name += map[string]string{"Shell": ".sh", "Python": ".py", "Ruby": ".rb", "JavaScript": ".js", "TypeScript": ".ts", "PHP": ".php", "Lua": ".lua"}[language.Name]
	}
	return name
}
