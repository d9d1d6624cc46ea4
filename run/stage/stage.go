// Package stage reads and writes the file of --stage and --apply: a plan of calls that are
// made after a review. The file consists of JSON lines, which are only appended:
//
//	{"stage":1,…}                  the head: the run that staged the calls (type Head)
//	{"id":"ID","server":{…},…}     a call (type Call); calls are made in this order
//	{"sending":"ID"}               --apply is about to make this call
//	{"not_sent":"ID"}              --apply did not make it
//	{"result":{"call":"ID",…}}     the result of the call (type Result)
//
// A call is open if no line says that it is sent, done if it has a result, and otherwise
// unknown: a run was killed during the call. The digest of a plan covers its head and its
// calls, byte for byte. A result names the digest of the lines before it, so it counts for no
// other plan, and not after a change of these lines. A line is on the disk before its step
// happens.
//
// The file is only data: no program starts and no server is trusted because of it.
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

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream/disk"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// File is an open plan. Its methods may be called concurrently.
type File struct {
	Head  Head
	Calls []*Call
	Digests

	path  string
	flag  string // prefix of errors
	f     *os.File
	begun bool // the heading is written

	mu  sync.Mutex
	ids map[string]bool // ids of Calls
	err error           // the first failed write; nothing is written after it
}

// Digests are SHA-256 sums in hex of the file at the time of Open.
type Digests struct {
	Digest string // of the lines of Head and Calls
	Whole  string // of the file
}

// Reviewed is the digest that a review of the file covers. It includes results of earlier runs,
// since they decide which calls are left.
func (s *File) Reviewed() string {
	if n := s.Count(); n.Open < len(s.Calls) {
		return s.Whole
	}
	return s.Digest
}

// A Count counts the calls of a plan by their state.
type Count struct {
	OK, Failed int    // calls with a result
	Unknown    int    // sent, without a result
	Open       int    // not sent
	Last       string // time of the last result; "" for none
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

// Head describes the run that staged the calls.
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
	Tool       string // name at the server
	Name       string // name for the model
	Arguments  []byte // canonical
	Definition string // SHA-256 of the tool's definition
	Text       string // the model's text before the call
	Why
	Edit
	State
}

// Why says why a call needs a review.
type Why struct {
	By, Rule  string // as in an Approval
	Reason    string
	Labels    []string // of the conversation
	Private   string   // source of the label private, for a call that may send private data; "" for others
	Untrusted string   // likewise
}

// Edit is the change of a file by a call of a built-in tool, and the paths of any call.
type Edit struct {
	File    string            // from PathFrom; "" for other calls
	Against string            // SHA-256 of the content of File before the change; "" for a new file
	Diff    string            // of File
	Places  map[string]string // targets of the call's paths and of a command's directory, by their texts, from PlacesFrom
}

// PathFrom is the name in a plan for the file at an absolute path: relative to the plan's directory
// if it is below it, so that the plan can be applied in another checkout.
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

// PlacesFrom applies PathFrom to all places.
func PlacesFrom(dir string, places map[string]string) map[string]string {
	all := make(map[string]string, len(places))
	for path, place := range places {
		all[path] = PathFrom(dir, place)
	}
	return all
}

// State is the state of a call.
type State struct {
	Sent   bool    // a run has started to send it
	Result *Result // nil: none
	Line   int     // in the file, from 1
}

// Server identifies the server of a call.
type Server struct {
	Name   string
	Target string // command line or URL, without secrets; "" for a built-in one
	Dir    string // working directory of the command
}

// Result is the result of a call.
type Result struct {
	Status string // as in a tool_result: ok, error or failed
	Time   string // RFC 3339
	Text   string // at most maxKept bytes
}

// Failed reports whether the call failed.
func (r *Result) Failed() bool { return r.Status != "ok" }

// maxKept is how many bytes of a result's text a plan keeps.
const maxKept = 64 << 10

const (
	version     = "1"
	longestLine = 400 << 20 // in bytes: arguments are shorter
)

// Open opens a plan; flag is the flag that names it. makes says that the plan may be created,
// goesOn that calls may be added to an existing plan.
func Open(c *config.Config, flag, path string, makes, goesOn bool, warn config.Warner) (*File, error) {
	mode := os.O_RDWR | os.O_APPEND | stdio.OpenNonblock
	if makes {
		mode |= os.O_CREATE
	}
	f, err := disk.OpenFile(path, mode, 0o600)
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
	err := disk.Lock(context.Background(), s.f, 0)
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
		return failure.Usage("%s: %q is not a plan: it does not begin with the line of --stage", s.flag, s.path)
	case s.begun && makes && !goesOn:
		return failure.UsageError([]string{"toolpipe --apply " + config.ShellQuote(s.path) + " --dry-run shows it", "rm " + config.ShellQuote(s.path) + ", or name another file"},
			"%s: %q is there already, with %d calls of %s", s.flag, s.path, len(s.Calls), s.Head.Time)
	case cut && !isOwn(end.Cut):
		return failure.Usage("%s: %s:%d: the plan is cut off here: its last line is not complete", s.flag, s.path, end.Number)
	case cut && len(end.Cut) > 0: // a line that a killed --apply was writing: its step has not begun
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

// isOwn reports whether an incomplete line was started by --apply. An incomplete line of --stage
// may be a call that the model already knows as staged.
func isOwn(line []byte) bool {
	return len(line) == 0 || bytes.HasPrefix(line, []byte(`{"sending":`)) || bytes.HasPrefix(line, []byte(`{"not_sent":`)) || bytes.HasPrefix(line, []byte(`{"result":`))
}

// Begin writes the heading, unless the plan has one.
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
	return errors.Join(s.write(line, "}\n"), s.failed(disk.SyncDir(filepath.Dir(s.path))))
}

// Now is the time for a heading or a result.
func Now() string { return time.Now().UTC().Format(time.RFC3339) }

// Add adds a call. It changes the call's ID if another call has it.
func (s *File) Add(c *Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := c.ID
	for n := 2; s.ids[free]; n++ {
		free = c.ID + "-" + strconv.Itoa(n)
	}
	c.ID, s.ids[free] = free, true
	s.Calls = append(s.Calls, c)
	return s.write(c.line(), "\n")
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

// Sending records that a call is about to be made.
func (s *File) Sending(c *Call) error { return s.mark(c, "sending") }

// NotSent records that a call was not made, so that a later run may make it.
func (s *File) NotSent(c *Call) error { return s.mark(c, "not_sent") }

func (s *File) mark(c *Call, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Sent = key == "sending"
	return s.write(jsontext.AppendQuoted([]byte(`{"`+key+`":`), c.ID), "}\n")
}

// Done records the result of a call.
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

// write writes a line and waits until it is on the disk.
func (s *File) write(line []byte, end string) error {
	if s.err == nil {
		_, err := s.f.Write(append(line, end...))
		if err == nil {
			err = disk.Sync(s.f)
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

// Close closes the file. It removes a file without content.
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
