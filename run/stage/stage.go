// Package stage is the file of --stage and --apply: a plan of calls that are made after a
// review. It is JSON lines, which are only ever added:
//
//	{"stage":1,…}                  the head: what staged the calls (type Head)
//	{"id":"ID","server":{…},…}     a call (type Call), in the order in which calls are made
//	{"sending":"ID"}               --apply is about to make this call
//	{"not_sent":"ID"}              it did not after all
//	{"result":{"call":"ID",…}}     what it came to (type Result)
//
// A call is open if it has no line of its sending, done if it has a result, and unknown
// otherwise: a run was killed while it was under way. The digest of a plan is that of its
// head and its calls, as they stand. A result names the digest of the lines before it, so
// that it counts for no other plan, and for none that was changed after it. A line is on the
// disk before the step that it tells of.
//
// The file is data: nothing in it names what is started or trusted.
package stage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"toolpipe/mcp/filelock"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream/ownership"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// File is an open plan. Its methods may be called concurrently.
type File struct {
	Head  Head
	Calls []*Call
	Digests

	path  string
	flag  string // errors begin with it
	f     *os.File
	begun bool // the file has its head

	mu  sync.Mutex
	ids map[string]bool // of Calls
	err error           // of the first failed write, after which nothing is written
}

// Digests are SHA-256 sums in hex, of the file as it was when it was opened.
type Digests struct {
	Digest string // of the lines of Head and Calls
	Whole  string // of the file
}

// Reviewed is the digest of what a review of the file covers: with what earlier runs have
// made, since that decides which calls are left.
func (s *File) Reviewed() string {
	if n := s.Count(); n.Open < len(s.Calls) {
		return s.Whole
	}
	return s.Digest
}

// A Count is how many calls of a plan have come how far.
type Count struct {
	OK, Failed int    // they have a result
	Unknown    int    // sent, without a result
	Open       int    // not sent
	Last       string // when the last result came; "" for none
}

// Count counts the calls.
func (s *File) Count() (n Count) {
	for _, c := range s.Calls {
		switch r := c.Result; {
		case r == nil && c.Sent:
			n.Unknown++
		case r == nil:
			n.Open++
		case r.Failed():
			n.Failed++
		default:
			n.OK++
		}
		if c.Result != nil {
			n.Last = max(n.Last, c.Result.Time)
		}
	}
	return n
}

// Head says what staged the calls of a plan.
type Head struct {
	Version     string // of toolpipe
	Policies    string // SHA-256 of the policies; "" for none
	Definitions string // SHA-256 of the definitions of all tools
	Dir         string // the working directory
	Time        string // RFC 3339
}

// Call is one call of a plan.
type Call struct {
	ID         string
	Server     Server
	Tool       string // its name at the server
	Name       string // by which the model knows it
	Arguments  []byte // canonical
	Definition string // SHA-256 of the tool's definition
	Text       string // of the model, before the call
	Why
	Edit
	State
}

// Why says what left a call to a review.
type Why struct {
	By, Rule  string // as in an approval
	Reason    string
	Labels    []string // of the conversation
	Private   string   // what brought the label private, for a call that may send it; "" for others
	Untrusted string   // likewise
}

// Edit is the change that a call of a built-in tool makes in a file, and the paths of any call.
type Edit struct {
	File    string            // as PathFrom gives it; "" for other calls
	Against string            // SHA-256 of the content of File that the change was made against; "" for a new file
	Diff    string            // of File
	Places  map[string]string // where paths and the directory of a command led, by their texts, as PlacesFrom gives them
}

// PathFrom is how a plan that was made in a directory names the file at an absolute path:
// relative to the directory if it is below that, so that the plan can be applied in another
// checkout.
func PathFrom(dir, path string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || path == "" {
		return path
	}
	if rel, err := filepath.Rel(real, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// PlacesFrom is PathFrom for all places.
func PlacesFrom(dir string, places map[string]string) map[string]string {
	all := make(map[string]string, len(places))
	for path, place := range places {
		all[path] = PathFrom(dir, place)
	}
	return all
}

// State says how far a call is.
type State struct {
	Sent   bool    // a run has begun to send it
	Result *Result // nil: it has none
	Line   int     // in the file, from 1
}

// Server says which server a call is for.
type Server struct {
	Name   string
	Target string // its command line or URL, without secrets; "" for a built-in one
	Dir    string // in which the command starts
}

// Result is what a call came to.
type Result struct {
	Status string // as in a tool_result: ok, error or failed
	Time   string // RFC 3339
	Text   string // at most maxKept bytes of it
}

// Failed reports whether the call did not do what it was to do.
func (r *Result) Failed() bool { return r.Status != "ok" }

// maxKept is how much of the text of a result a plan keeps.
const maxKept = 64 << 10

const (
	version     = "1"
	longestLine = 400 << 20 // bytes: arguments are shorter
)

// Open opens a plan; flag is the flag that names it. make says that the plan may be made, and
// goesOn that calls may be added to one that is there.
func Open(c *config.Config, flag, path string, makes, goesOn bool, warn config.Warner) (*File, error) {
	mode := os.O_RDWR | os.O_APPEND | stdio.OpenNonblock
	if makes {
		mode |= os.O_CREATE
	}
	f, err := ownership.OpenFile(path, mode, 0o600)
	if err != nil {
		return nil, config.OpenError(flag, path, err)
	}
	s := &File{path: path, flag: flag, f: f, ids: map[string]bool{}}
	if err := s.read(c, makes, goesOn, warn); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

func (s *File) read(c *config.Config, makes, goesOn bool, warn config.Warner) error {
	if err := config.RuleFile.Check(c, s.f, s.flag, s.path, warn); err != nil {
		return err
	}
	err := filelock.Wait(context.Background(), s.f, 0)
	if _, failed := errors.AsType[syscall.Errno](err); failed {
		return config.OpenError(s.flag, s.path, err)
	}
	if err != nil {
		return failure.UsageError([]string{"it is free again when that run has ended"}, "%s: %q is in use by another run", s.flag, s.path)
	}
	l := &loader{File: s, calls: map[string]*Call{}, sum: sha256.New()}
	end, err := document.ReadLines(s.path, s.f, longestLine, l.load)
	if err != nil {
		return failure.Within(s.flag, err)
	}
	s.Digest = l.digest()
	cut := len(end.Cut) > 0 || end.Unended
	switch {
	case !s.begun && (cut || !makes):
		return failure.Usage("%s: %q is no plan: it does not begin with the line of --stage", s.flag, s.path)
	case s.begun && makes && !goesOn:
		return failure.UsageError([]string{"toolpipe --apply " + config.ShellQuote(s.path) + " --dry-run shows it", "rm " + config.ShellQuote(s.path) + ", or name another file"},
			"%s: %q is there already, with %d calls of %s", s.flag, s.path, len(s.Calls), s.Head.Time)
	case cut && !isOwn(end.Cut):
		return failure.Usage("%s: %s:%d: the plan is cut off here: its last line is not complete", s.flag, s.path, end.Number)
	case cut && len(end.Cut) > 0: // a line that a killed --apply was writing; what it tells of has not begun
		err = s.f.Truncate(end.At)
	case end.Unended:
		_, err = s.f.Write([]byte{'\n'})
	}
	whole := sha256.New()
	if err == nil {
		_, err = io.Copy(whole, io.NewSectionReader(s.f, 0, math.MaxInt64))
	}
	s.Whole = hex.EncodeToString(whole.Sum(nil))
	return s.failed(err)
}

// isOwn reports whether a line that is not whole was begun by --apply. One of --stage may be
// a call that the model was told is staged.
func isOwn(line []byte) bool {
	return len(line) == 0 || bytes.HasPrefix(line, []byte(`{"sending":`)) || bytes.HasPrefix(line, []byte(`{"not_sent":`)) || bytes.HasPrefix(line, []byte(`{"result":`))
}

// Begin writes the head, unless the plan has one.
func (s *File) Begin(h Head) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return nil
	}
	s.begun, s.Head = true, h
	line := []byte(`{"stage":` + version)
	for _, m := range [][2]string{{"version", h.Version}, {"policies", h.Policies}, {"definitions", h.Definitions}, {"dir", h.Dir}, {"time", h.Time}} {
		line = jsontext.AppendMember(line, m[0], jsontext.Quoted(m[1]))
	}
	return errors.Join(s.write(line, "}\n"), s.failed(filelock.SyncDir(filepath.Dir(s.path))))
}

// Now is the time for a head or a result.
func Now() string { return time.Now().UTC().Format(time.RFC3339) }

// Add adds a call. Its ID is changed where another one has it.
func (s *File) Add(c *Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.ID = s.freeID(c.ID)
	s.ids[c.ID] = true
	s.Calls = append(s.Calls, c)
	return s.write(c.line(), "\n")
}

func (s *File) freeID(id string) string {
	free := id
	for n := 2; s.ids[free]; n++ {
		free = id + "-" + strconv.Itoa(n)
	}
	return free
}

func (c *Call) line() []byte {
	server := jsontext.AppendMember([]byte{'{'}, "name", jsontext.Quoted(c.Server.Name))
	server = appendText(server, "target", c.Server.Target)
	server = appendText(server, "dir", c.Server.Dir)
	line := jsontext.AppendMember([]byte{'{'}, "id", jsontext.Quoted(c.ID))
	line = jsontext.AppendMember(line, "server", append(server, '}'))
	line = jsontext.AppendMember(line, "tool", jsontext.Quoted(c.Tool))
	line = jsontext.AppendMember(line, "name", jsontext.Quoted(c.Name))
	line = jsontext.AppendMember(line, "arguments", c.Arguments)
	line = jsontext.AppendMember(line, "definition", jsontext.Quoted(c.Definition))
	for _, m := range [][2]string{{"by", c.By}, {"rule", c.Rule}, {"reason", c.Reason}, {"private", c.Private}, {"untrusted", c.Untrusted}, {"text", c.Text}} {
		line = appendText(line, m[0], m[1])
	}
	if len(c.Labels) > 0 {
		line = jsontext.AppendMember(line, "labels", []byte(`["`+strings.Join(c.Labels, `","`)+`"]`))
	}
	if c.File != "" {
		line = jsontext.AppendMember(line, "file", jsontext.Quoted(c.File))
		line = jsontext.AppendMember(line, "against", jsontext.Quoted(c.Against))
		line = appendText(line, "diff", c.Diff)
	}
	if len(c.Places) > 0 {
		places := []byte{'{'}
		for _, path := range slices.Sorted(maps.Keys(c.Places)) {
			places = jsontext.AppendMember(places, path, jsontext.Quoted(c.Places[path]))
		}
		line = jsontext.AppendMember(line, "places", append(places, '}'))
	}
	return append(line, '}')
}

func appendText(line []byte, name, text string) []byte {
	if text == "" {
		return line
	}
	return jsontext.AppendMember(line, name, jsontext.Quoted(text))
}

// Sending notes that a call is about to be made.
func (s *File) Sending(c *Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Sent = true
	return s.write(jsontext.AppendQuoted([]byte(`{"sending":`), c.ID), "}\n")
}

// NotSent notes that a call was not made after all, so that a later run may make it.
func (s *File) NotSent(c *Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Sent = false
	return s.write(jsontext.AppendQuoted([]byte(`{"not_sent":`), c.ID), "}\n")
}

// Done notes what a call came to.
func (s *File) Done(c *Call, r Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Text = readable.Cut(r.Text, maxKept, "…")
	c.Result = &r
	line := jsontext.AppendMember([]byte(`{"result":{`), "call", jsontext.Quoted(c.ID))
	for _, m := range [][2]string{{"status", r.Status}, {"digest", s.Digest}, {"time", r.Time}} {
		line = jsontext.AppendMember(line, m[0], jsontext.Quoted(m[1]))
	}
	return s.write(jsontext.AppendMember(line, "text", jsontext.Quoted(r.Text)), "}}\n")
}

// write writes a line and waits until the disk has it.
func (s *File) write(line []byte, end string) error {
	if s.err == nil {
		_, err := s.f.Write(append(line, end...))
		if err == nil {
			err = filelock.Sync(s.f)
		}
		s.err = s.failed(err)
	}
	return s.err
}

func (s *File) failed(err error) error {
	if err == nil {
		return nil
	}
	return failure.Output(s.flag+" "+config.ShellQuote(s.path), err)
}

// Close closes the file. One in which nothing was staged is removed.
func (s *File) Close() {
	if s == nil {
		return
	}
	if info, err := s.f.Stat(); err == nil && info.Size() == 0 {
		if named, err := os.Lstat(s.path); err == nil && os.SameFile(info, named) {
			os.Remove(s.path)
		}
	}
	s.f.Close()
}
