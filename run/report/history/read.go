package history

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
)

// Limits of a report. Items beyond them are only counted.
const (
	maxRuns     = 500
	maxCalls    = 2000     // of all runs
	maxFailed   = 500      // of all runs, beyond maxCalls: calls with a result other than ok
	maxTalk     = 2000     // of all runs
	maxTurns    = 2000     // of all runs
	maxNotes    = 1000     // of all runs
	maxProgress = 5        // of a call
	maxNested   = 200      // nested runs of a run
	maxOpen     = 100      // runs that write to one file at a time
	maxDetails  = 50       // of a run
	maxMembers  = 200      // of an object
	maxKept     = 16 << 20 // bytes of all texts; further texts are short
	shortText   = 2 << 10  // bytes kept of a short text
)

type Reader struct {
	report                            *Report
	calls, failed, talk, turns, notes int // numbers of kept items
	kept                              int // bytes of texts
	longest                           int // bytes of a line
}

// NewReader returns a reader that keeps at most limit bytes of each text.
func NewReader(limit int) *Reader { return &Reader{report: &Report{Limit: limit}, longest: 64 << 20} }

func (r *Reader) Report() *Report { return r.report }

// A former processes the lines of a file of one form.
type former interface {
	line(*event) error
	end() // called after the last line, with a complete source
}

// Read reads a file to its end. Errors have status usage, and name the line and the byte.
func (r *Reader) Read(name string, in io.Reader) error {
	src, sum := &Source{Name: name}, sha256.New()
	r.report.Sources = append(r.report.Sources, src)
	f := &file{in: bufio.NewReader(io.TeeReader(in, sum)), longest: r.longest}
	form, err := r.lines(f, src)
	if err != nil {
		return err
	}
	src.Bytes, src.SHA256 = f.bytes, hex.EncodeToString(sum.Sum(nil))
	if form != nil {
		form.end()
	}
	return nil
}

func (r *Reader) lines(f *file, src *Source) (form former, err error) {
	var torn error // error of a cut line, which must be the last line of its run
	for f.next() {
		switch {
		case f.long && src.Form == Plan: // without the line the plan would seem complete
			return nil, f.failure(src, 0, "the line is longer than 64 MiB")
		case f.long:
			src.Long = append(src.Long, fmt.Sprintf("line %d is longer than 64 MiB and was skipped", f.number))
			continue
		case len(bytes.TrimSpace(f.line)) == 0:
			continue
		}
		e, err := newEvent(f.line, f.number)
		syntax, _ := errors.AsType[*jsontext.SyntaxError](err)
		switch {
		case err != nil:
			err = f.failure(src, syntax.Offset, syntax.Message)
			if torn != nil || form == nil || !isCut(f.line) {
				return nil, err
			}
			torn = err
			src.Cut = append(src.Cut, fmt.Sprintf("line %d is cut off at byte %d: its writer was killed, or goes on", f.number, len(f.line)+1))
			continue
		case torn != nil && !e.begins():
			return nil, torn
		}
		src.Lines, torn = src.Lines+1, nil
		if form == nil {
			if form = r.form(e, src); form == nil {
				return nil, f.failure(src, 0, "neither an event, nor a message of a session, nor the beginning of a plan")
			}
		}
		if err := form.line(e); err != nil {
			return nil, f.failure(src, 0, err.Error())
		}
	}
	if f.err != io.EOF {
		return nil, failure.Usage("--report: %s: %s", src.Name, failure.Cause(f.err))
	}
	return form, nil
}

type file struct {
	in      *bufio.Reader
	longest int   // bytes of a line
	err     error // why reading ended
	bytes   int64 // read so far
	line    []byte
	number  int  // of the line, from 1
	long    bool // the line is longer than longest; line is then empty
}

// next reads the next line, without its end, and reports whether there is one.
func (f *file) next() bool {
	if f.err != nil {
		return false
	}
	f.line, f.long = f.line[:0], false
	f.number++
	for {
		var piece []byte
		piece, f.err = f.in.ReadSlice('\n')
		f.bytes += int64(len(piece))
		if f.long = f.long || len(f.line)+len(piece) > f.longest; f.long {
			f.line = nil
		} else {
			f.line = append(f.line, piece...)
		}
		if f.err == bufio.ErrBufferFull {
			f.err = nil
			continue
		}
		f.line = bytes.TrimSuffix(f.line, []byte{'\n'})
		return f.err == nil || f.err == io.EOF
	}
}

func (f *file) failure(src *Source, offset int, message string) error {
	hints := []string{"a log comes from -o ndjson or --log FILE, a session from --session, a plan from --stage"}
	return failure.UsageError(hints, "--report: %s:%d: byte %d: %s", src.Name, f.number, offset+1, message)
}

func (e *event) begins() bool { return e.get("type").str() == "start" }

func (r *Reader) form(e *event, src *Source) former {
	role, kind := e.find("role"), e.find("type")
	switch {
	case e.has("stage"):
		src.Form = Plan
		return &plan{reader: r, run: r.begin(Plan, src, e.number), sum: sha256.New()}
	case role == nil && kind != nil && kind.value.kind() == '"':
		src.Form = Log
		return &log{reader: r, source: src, runs: map[string]*taken{}}
	case role != nil && role.value.kind() == '"' || isSessionLine(e):
		src.Form = Session
		return &session{reader: r, run: r.begin(Session, src, e.number), calls: map[string]*Call{}}
	}
	return nil
}

func (r *Reader) begin(form Form, src *Source, line int) *Run {
	run := newRun(form, src, line)
	if len(r.report.Runs) >= maxRuns {
		r.report.MoreRuns++
	} else {
		r.report.Runs = append(r.report.Runs, run)
	}
	return run
}

func newRun(form Form, src *Source, line int) *Run {
	return &Run{Form: form, Source: src, Line: line, Messages: Unknown, End: End{Exit: Unknown, Ms: Unknown},
		Counts: Counts{Results: map[string]int64{}, Decisions: map[string]int64{}}}
}

func newCall(id string, line int) *Call {
	return &Call{ID: id, At: Unknown, Turn: Unknown, Line: line, Result: Result{Ms: Unknown, Began: Unknown, Bytes: Unknown}}
}

// keep shortens a long text to its head and tail, and counts it.
func (r *Reader) keep(t Text) Text {
	limit := r.report.Limit
	if r.kept > maxKept && limit > shortText {
		limit, r.report.Short = shortText, shortText
	}
	t.shrink(limit)
	r.kept += len(t.Head) + len(t.Tail)
	return t
}

// shown keeps a string unchanged, and any other value as JSON; nothing for none.
func (r *Reader) shown(v value) Text { return r.keep(v.text()) }

func (r *Reader) details(members []member) (all []Detail) {
	for i, m := range members {
		if i == maxMembers {
			return append(all, Detail{Name: "…", Text: Text{Head: strconv.Itoa(len(members)-i) + " more members are not shown here"}})
		}
		all = append(all, Detail{Name: shortened(m.name), Text: r.shown(m.value), JSON: m.value.kind() != '"'})
	}
	return all
}

// called keeps the arguments of a call.
func (r *Reader) called(c *Call, arguments []byte) {
	c.Arguments = r.details(value(arguments).members())
	c.Named, c.Rest = jsontext.Glance(arguments)
}

// calledRaw keeps arguments that are not one JSON object.
func (r *Reader) calledRaw(c *Call, raw value) {
	c.Raw = true
	c.Arguments = []Detail{{Name: "raw", Text: r.shown(raw)}}
	c.Rest = jsontext.FirstLine(raw)
}

func (r *Reader) addCall(run *Run, c *Call, failed bool) bool {
	switch {
	case r.calls < maxCalls:
		r.calls++
	case failed && r.failed < maxFailed:
		r.failed++
		run.More.Calls-- // counted with its tool_call event
	default:
		run.More.Calls++
		return false
	}
	run.Calls = append(run.Calls, c)
	return true
}

// ask keeps a question. The next answer belongs to it.
func (r *Reader) ask(run *Run, prompt Text) {
	add(&run.Talk, Exchange{Prompt: prompt.Within(r.report.Limit)}, &r.talk, maxTalk, &run.More.Questions)
}

// answer keeps the answer to the last question. A later answer replaces it.
func (r *Reader) answer(run *Run, answer Text) {
	if len(run.Talk) == 0 {
		r.ask(run, Text{})
	}
	if run.More.Questions == 0 {
		run.Talk[len(run.Talk)-1].Answer = answer.Within(r.report.Limit)
	}
}

// add appends an item to a list, unless the report has most of its kind; then more counts it. It
// reports whether the list has the item.
func add[T any](list *[]T, item T, kept *int, most int, more *int) bool {
	if *kept >= most {
		*more++
		return false
	}
	*kept++
	*list = append(*list, item)
	return true
}

func (r *Reader) addTurn(run *Run, t *Turn) bool {
	return add(&run.Turns, t, &r.turns, maxTurns, &run.More.Turns)
}

func (r *Reader) addNote(run *Run, n *Note) bool {
	return add(&run.Notes, n, &r.notes, maxNotes, &run.More.Notes)
}

// tally counts a word from a file. A file may contain any number of different words.
func tally(counts map[string]int64, word string) {
	const most, other = 20, "other"
	if _, known := counts[word]; !known && (len(counts) >= most || len(word) > 40) {
		word = other
	}
	counts[word]++
}
