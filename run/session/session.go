// Package session keeps a conversation in a file that later runs continue. The file consists of
// JSON lines, which are only appended. A line is a message in the chat-completions form, or a
// record about calls:
//
//	{"tools":{"NAME":"SHA-256"}}  the definitions of the tools that are called next
//	{"sending":"ID"}              this call is about to be sent to its tool
//	{"not_sent":"ID"}             it was not sent
//	{"task":{"call":"ID",…}}      its server answered it with a task (type Task)
//	{"added":{"call":"ID",…}}     this was added to its result
//	{"result":{"call":"ID",…}}    its whole result, which is cut in the message after this line
//	{"left_out":[{"call":"ID",…}]} requests leave its result out from now on (type Left)
//	{"cut":"WHY"}                 the message before is no answer: it was cut at a limit
//	{"refused":"WHY"}             likewise: the model's answer was refused
//
// A line is on the disk before its event happens, so no call is sent twice, however a run ends. The
// file is locked while it is open.
package session

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/run/stdio"
	"toolpipe/stream"
	"toolpipe/stream/disk"
	"toolpipe/stream/text/jsontext"
)

// File is an open session. Its methods may be called concurrently, and on nil, which stores
// nothing.
type File struct {
	Before
	Tools map[string]string // by tool: the digest of its definition at its last call
	Cut   int               // size of an incomplete last line, which Repair removes
	Made  bool              // Open created the file

	messages  []stream.Message
	leavesOut bool // this run leaves out what earlier runs left out of requests
	path      string
	f         *os.File

	mu     sync.Mutex
	places places
	err    error // the first failed write; nothing is written after it
}

type Before struct {
	Unknown []Sent         // calls that were sent and have no result
	Ended   *failure.Error // why the last message is no answer; nil: not recorded
}

const flag = "--session" // prefix of errors

// longestLine allows for a JSON text that takes six bytes for each byte of the largest input.
const longestLine = 6 * config.MaxInput

func Open(c *config.Config, warn config.Warner) (*File, error) {
	path := c.Session
	_, absent := os.Stat(path)
	f, err := disk.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|stdio.OpenNonblock, 0o600)
	if err != nil {
		return nil, config.OpenError(flag, path, err)
	}
	s := &File{path: path, f: f, Tools: map[string]string{}, places: places{longest: longestLine, calls: map[string]result{}, added: map[string][]place{}, results: map[string]place{}}, leavesOut: c.Trim != "off"}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = s.lock()
		s.Made = err == nil && errors.Is(absent, os.ErrNotExist) && s.isEmpty()
	}
	if err == nil {
		err = s.read(c, warn)
	}
	if err != nil {
		s.Close()
		return nil, config.OpenError(flag, path, err)
	}
	return s, nil
}

func (s *File) read(c *config.Config, warn config.Warner) error {
	if err := config.RuleFile.Check(c, s.f, flag, s.path, warn); err != nil {
		return err
	}
	l := &loader{File: s, kinds: lineKinds(), names: map[string]string{}, open: map[string]*sent{}}
	if info, err := s.f.Stat(); err == nil {
		l.size = info.Size()
	}
	end, err := document.ReadLines(s.path, s.f, s.places.longest, l.load)
	if err != nil {
		return failure.Within(flag, err)
	}
	l.finish()
	if len(end.Cut) > 0 && !isBegun(end.Cut) { // the file may contain something else, which must not be removed
		return failure.Usage("%s: %s:%d: "+NotALine, flag, s.path, end.Number)
	}
	s.places.size, s.Cut, s.places.unended = end.At, len(end.Cut), end.Unended
	if s.Made {
		err = disk.SyncDir(filepath.Dir(s.path))
	}
	return s.failed(err)
}

// Repair makes the file end with a complete line. It is called before the first write.
func (s *File) Repair() (err error) {
	if s.Cut > 0 {
		err = s.f.Truncate(s.places.size)
	} else if s.places.unended {
		_, err = s.f.Write([]byte{'\n'})
		s.places.size++
	}
	return s.failed(err)
}

func (s *File) lock() error {
	err := lock(s.f)
	if held, ok := errors.AsType[*heldError](err); ok {
		return failure.UsageError([]string{"it is free again when that run has ended"}, "%s: %q is %v", flag, s.path, held)
	}
	if err != nil {
		return failure.Usage("%s: %q cannot be locked: %s", flag, s.path, failure.Cause(err))
	}
	real, err := filepath.EvalSymlinks(s.path)
	there := false
	if err == nil {
		there, err = isAt(s.f, real)
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case !there:
		return failure.Usage("%s: %q was removed or replaced while it was opened; try again", flag, s.path)
	}
	return nil
}

// heldError says that another process has locked the file. The process may run in another
// container, so only its number is reported.
type heldError struct {
	pid int // 0: unknown
}

func (e *heldError) Error() string {
	if e.pid == 0 {
		return "in use by another run"
	}
	return "in use by process " + strconv.Itoa(e.pid)
}

// Size is the size of the file in bytes.
func (s *File) Size() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.places.size)
}

// Unfinished reports whether the model's answer or the result of a call is missing.
func (s *File) Unfinished() bool { return Unanswered(s.Messages()) }

// Unanswered reports whether the last message of a conversation needs an answer or has calls.
func Unanswered(messages []stream.Message) bool {
	if len(messages) == 0 {
		return false
	}
	last := &messages[len(messages)-1]
	return last.Role == stream.User || last.Role == stream.ToolRole || len(last.Calls) > 0
}

// Messages are the conversation at the time of Open, and the results from Answer.
func (s *File) Messages() []stream.Message {
	if s == nil {
		return nil
	}
	return s.messages
}

// Add writes messages, with the digests of the definitions of the tools that they call.
func (s *File) Add(tools map[string]string, messages ...stream.Message) error {
	if s == nil || len(messages) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range messages {
		if err := s.checkLength(&messages[i]); err != nil {
			return err
		}
	}
	lines := s.definitions(nil, tools)
	for i := range messages {
		m, begin := &messages[i], s.places.size+int64(len(lines))
		for piece, last := range stream.ChatMessage(m) {
			joinLines(piece)
			if last && m.Failed {
				piece = append(piece[:len(piece)-1], failedSuffix...)
			}
			if lines = append(lines, piece...); len(lines) > longPiece {
				if s.put(lines) != nil {
					return s.err
				}
				lines = lines[:0]
			}
		}
		s.placed(m, place{begin, int(s.places.size + int64(len(lines)) - begin)})
		lines = append(lines, '\n')
	}
	return s.write(lines)
}

// failedSuffix is the end of the message of a failed call, instead of its bracket.
const failedSuffix = `,"` + input.FailedMember + `":true}`

// longPiece is how many bytes of a message are in memory while it is written.
const longPiece = 256 << 10

func (s *File) checkLength(m *stream.Message) error {
	const most = 6 // bytes of a line for a byte of text
	rough := int64(0)
	for _, p := range m.Parts {
		rough += int64(len(p.Text)+len(p.JSON)+len(p.Raw)) * most
		if p.Image != nil {
			rough += int64(len(p.Image.Data))
		}
	}
	if rough <= s.places.longest/2 {
		return nil
	}
	length := int64(0)
	for piece := range stream.ChatMessage(m) {
		length += int64(len(piece))
	}
	if m.Failed {
		length += int64(len(failedSuffix)) - 1
	}
	if length <= s.places.longest {
		return nil
	}
	what := "a message of the role " + string(m.Role)
	e := failure.Usage("%s: %s has %d MiB as a line, and a line of a session may have %d MiB", flag, what, length>>20, s.places.longest>>20)
	if m.Role != stream.User {
		e.Status = failure.StatusOutput
	}
	return e
}

// joinLines converts multi-line JSON, which an endpoint may send, to one line of the same length.
// No JSON string contains a line end.
func joinLines(text []byte) {
	for i := bytes.IndexByte(text, '\n'); i >= 0; i = bytes.IndexByte(text, '\n') {
		text[i] = ' '
		text = text[i+1:]
	}
}

// definitions appends a line with the digests that are not in the file yet.
func (s *File) definitions(dst []byte, tools map[string]string) []byte {
	changed := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		if s.Tools[name] != tools[name] {
			s.Tools[name] = tools[name]
			changed = jsontext.AppendMember(changed, name, jsontext.Quoted(tools[name]))
		}
	}
	if len(changed) == 1 {
		return dst
	}
	return append(dst, noteLine("tools", append(changed, '}'))...)
}

// Answer writes the result of a call that an earlier run sent.
func (s *File) Answer(result stream.Message) error {
	s.messages = append(s.messages, result)
	Sort(s.messages)
	return s.Add(nil, result)
}

// write writes lines and waits until they are on the disk.
func (s *File) write(lines []byte) error {
	if s.put(lines) != nil {
		return s.err
	}
	s.err = s.failed(disk.Sync(s.f))
	return s.err
}

// put writes lines, or a part of a line, without waiting for the disk.
func (s *File) put(lines []byte) error {
	if s.err != nil {
		return s.err
	}
	n, err := s.f.Write(lines)
	s.places.size += int64(n)
	s.err = s.failed(err)
	return s.err
}

func (s *File) failed(err error) error {
	if err == nil {
		return nil
	}
	return failure.Output(flag+" "+config.ShellQuote(s.path), err)
}

// Close closes the file, which releases the lock. It removes a new file without content.
func (s *File) Close() {
	if s == nil {
		return
	}
	if there, _ := isAt(s.f, s.path); there && s.Made && s.isEmpty() {
		os.Remove(s.path)
	}
	s.f.Close()
}

func (s *File) isEmpty() bool {
	info, err := s.f.Stat()
	return err == nil && info.Size() == 0
}

// isAt reports whether path names the open file f, without a symbolic link.
func isAt(f *os.File, path string) (bool, error) {
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, named), err
}

// Sort puts the results of each turn into the order of its calls. Results are written as they come,
// but the model must get them in the same order as in the earlier requests.
func Sort(messages []stream.Message) {
	var calls []stream.Call
	for i := 0; i < len(messages); {
		calls = messages[i].Calls
		from := i + 1
		for i = from; i < len(messages) && messages[i].Role == stream.ToolRole; i++ {
		}
		position := func(m stream.Message) int {
			return slices.IndexFunc(calls, func(c stream.Call) bool { return c.ID == m.CallID })
		}
		slices.SortStableFunc(messages[from:i], func(a, b stream.Message) int { return position(a) - position(b) })
	}
}
