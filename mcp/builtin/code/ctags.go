package code

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/process"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// ErrNoCtags means that PATH has no usable ctags.
var ErrNoCtags = errors.New("ctags is not in PATH, or only below an allowed root")

// errWrongCtags means that a ctags is another program of that name, or is broken.
var errWrongCtags = errors.New("is not Universal Ctags with JSON output: install it with apt install universal-ctags or brew install universal-ctags, and put it first in PATH")

// findCtags looks the program up in PATH. It first tries the names that systems use if
// another ctags is installed too.
func findCtags(spec Spec) (path string, err error) {
	for _, name := range [...]string{"ctags-universal", "uctags", "ctags"} {
		if path, _, err := spec.lookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoCtags
}

// Version returns the path and the version of ctags.
func Version(ctx context.Context, spec Spec) (path, version string, err error) {
	path, err = findCtags(spec)
	if err != nil {
		return "", "", err
	}
	s := &session{ctx: ctx, path: path, processes: spec.Processes}
	defer s.close()
	err = s.start()
	return path, s.version, err
}

const (
	maxTagLine     = 1 << 20          // bytes of the line in which ctags describes a definition
	maxDefinitions = 200_000          // of one file
	ctagsSilence   = 30 * time.Second // the longest wait for its next line
)

// A session gets the definitions of one text after the other. It starts one ctags when the
// first text needs it.
type session struct {
	ctx       context.Context
	path      string // of ctags
	processes *process.Processes
	process   *process.Process // nil while ctags does not run
	in        io.WriteCloser
	output    *os.File
	out       *bufio.Scanner // of output
	errs      *process.Output
	version   string
	silence   *time.Timer // ends ctags; reset by each line
}

// start starts ctags. In its sandbox (seccomp on Linux) it can open no file. Without the
// sandbox it opens none as long as each text is sent with its size.
func (s *session) start() error {
	err := s.startIn("sandbox")
	if errors.Is(err, errWrongCtags) {
		err = s.startIn("default")
	}
	return err
}

func (s *session) startIn(mode string) error {
	s.errs = &process.Output{Tail: 4 << 10}
	cmd := &exec.Cmd{
		Path: s.path, Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Stderr: s.errs,
		Args: []string{"ctags", "--options=NONE", "--quiet", "--_interactive=" + mode, "--fields=-PfT", "--fields=+neSsiltzpr",
			"--kinds-C=+px", "--kinds-C++=+px"},
	}
	output, child, err := os.Pipe() // not cmd.StdoutPipe, which the end of ctags closes before all output is read
	if err == nil {
		cmd.Stdout, s.output = child, output
		if s.in, err = cmd.StdinPipe(); err == nil {
			s.process, err = s.processes.StartGroup(cmd, true)
		}
		child.Close()
	}
	if err != nil {
		output.Close()
		return fmt.Errorf("ctags does not start: %w", err)
	}
	s.out = bufio.NewScanner(output)
	s.out.Buffer(make([]byte, 64<<10), maxTagLine)
	watched, stop := s.watch()
	defer stop()
	line, err := s.line()
	if err != nil || jsontext.Text(jsontext.Member(line, "name")) != "Universal Ctags" {
		said := s.close()
		if watched.Err() != nil {
			return context.Cause(watched)
		}
		if said != "" {
			said = fmt.Sprintf(" (it says: %s)", said)
		}
		return fmt.Errorf("%q %w%s", s.path, errWrongCtags, said)
	}
	s.version = jsontext.Text(jsontext.Member(line, "version"))
	return nil
}

// watch ends ctags when the call ends or ctags is silent for ctagsSilence, until stop is
// called. It also ends the reading, because a process that ctags left running may keep the
// pipe open.
func (s *session) watch() (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(s.ctx)
	running, output := s.process, s.output
	unwatch := goroutine.AfterContext(watched, func() {
		running.Kill()
		output.Close()
	})
	s.silence = goroutine.AfterFunc(ctagsSilence, func() { cancel(fmt.Errorf("ctags was silent for %v", ctagsSilence)) })
	return watched, func() {
		s.silence.Stop()
		unwatch()
		cancel(nil)
	}
}

// close ends ctags if it runs, and returns the last line of its errors.
func (s *session) close() (said string) {
	if s.process == nil {
		return ""
	}
	s.in.Close()
	s.process.Kill()
	s.process.Wait()
	s.process = nil
	s.output.Close()
	return process.LastLines(s.errs.String(), 1)
}

// line reads a line of ctags's output, which is one JSON object. It is valid until the next
// call.
func (s *session) line() ([]byte, error) {
	if !s.out.Scan() {
		return nil, cmp.Or(s.out.Err(), io.ErrUnexpectedEOF)
	}
	s.silence.Reset(ctagsSilence)
	return s.out.Bytes(), jsontext.Check(s.out.Bytes(), jsontext.Options{})
}

// definitions returns the definitions of a text. Ctags gets the language from the name. After
// an error the session must be closed.
func (s *session) definitions(name string, text []byte) (defs []definition, err error) {
	if s.process == nil {
		if err := s.start(); err != nil {
			return nil, err
		}
	}
	watched, stop := s.watch()
	defer stop()
	text = bytes.ToValidUTF8(text, []byte("\uFFFD")) // ctags writes no JSON for a text that is not UTF-8
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(bytes.Clone(text), '\n') // otherwise the last line of some languages is lost
	}
	head := jsontext.AppendQuoted([]byte(`{"command":"generate-tags","filename":`), name)
	head = fmt.Appendf(head, `,"size":%d}`+"\n", len(text))
	_, err = s.in.Write(append(head, text...)) // ctags reads everything before it answers
	for err == nil {
		var line []byte
		if line, err = s.line(); err != nil {
			break
		}
		switch t := tag(line); t.text("_type") {
		case "tag":
			if defs = t.appendTo(defs); len(defs) > maxDefinitions {
				return nil, fmt.Errorf("%q has more than %d definitions", name, maxDefinitions)
			}
		case "completed":
			return defs, nil
		case "error":
			if !jsontext.IsTrue(jsontext.Member(line, "warning")) { // a warning is about one definition, which ctags leaves out
				return nil, fmt.Errorf("%q: ctags says: %s", name, t.text("message"))
			}
		}
	}
	if watched.Err() != nil {
		return nil, context.Cause(watched)
	}
	return nil, fmt.Errorf("%q: ctags ended without an answer: %w", name, err)
}

// A tag is a line of ctags's JSON output.
type tag []byte

func (t tag) text(name string) string { return jsontext.Text(jsontext.Member(t, name)) }

// number is 0 for a value that is not a number, or too large.
func (t tag) number(name string) int {
	n, _ := jsontext.Integer(jsontext.Member(t, name))
	return int(n)
}

// appendTo appends the definition in a tag, and nothing for a reference.
func (t tag) appendTo(defs []definition) []definition {
	name, kind, roles, line := t.text("name"), t.text("kind"), t.text("roles"), t.number("line")
	isPython := t.text("language") == "Python"
	if kind == "heredoc" || strings.HasPrefix(name, "<") || kind == "function" && strings.HasPrefix(name, anonymous) ||
		isPython && (kind == "namespace" || kind == "unknown" || kind == "module") {
		return defs // a here-document, a function without a name, an import
	}
	if line < 1 || name == "" || name[0] >= '0' && name[0] <= '9' || roles != "" && roles != "def" {
		return defs
	}
	if operatorSymbol(name) != "" {
		name = normalName(name)
	}
	d := definition{Name: name, Kind: kind, Scope: normalName(t.text("scope")), Line: line, Start: line, End: t.number("end"), Signature: asLine(t.text("signature"))}
	if typeKind, result, found := strings.Cut(t.text("typeref"), ":"); found && typeKind == "typename" {
		separator := ": "
		if d.Signature != "" {
			separator = " -> "
		}
		d.Signature += separator + result
	} else if found {
		d.structure = normalName(result)
	}
	if d.Kind == "member" && isPython {
		d.Kind = "method"
	}
	for parent := range strings.SplitSeq(t.text("inherits"), ",") {
		if parent = strings.TrimSpace(parent); parent != "" && !strings.Contains(parent, "=") {
			d.Parents = append(d.Parents, parent)
		}
	}
	return append(defs, d)
}

// ctagsName is the file name that is sent to ctags, which derives the language from it. It is
// the file's own name, plus a known extension if ctags would not recognise the language.
func ctagsName(name string, language *lexis.Language) string {
	name = path.Base(name)
	if language == nil {
		return name
	}
	switch path.Ext(strings.TrimPrefix(name, ".")) {
	case "", ".cjs", ".mts", ".cts", ".tsx", ".pyi", ".pyw", ".dash", ".rake", ".gemspec", ".ru":
		name += map[string]string{"Shell": ".sh", "Python": ".py", "Ruby": ".rb", "JavaScript": ".js", "TypeScript": ".ts", "PHP": ".php", "Lua": ".lua"}[language.Name]
	}
	return name
}
