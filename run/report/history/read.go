package history

import (
	"encoding"
	"encoding/hex"
	"errors"
	"io"

	"toolpipe/run/failure"
)

// The bounds of a report. What is beyond them is counted.
const (
	maxRuns     = 500
	maxCalls    = 2000     // of all runs
	maxFailed   = 500      // of all runs, beyond maxCalls: those whose result is not ok
	maxTalk     = 2000     // of all runs
	maxTurns    = 2000     // of all runs
	maxNotes    = 1000     // of all runs
	maxProgress = 5        // of a call
	maxNested   = 200      // nested runs of a run
	maxOpen     = 100      // runs that write to one file at a time
	maxDetails  = 50       // of a run
	maxKept     = 12 << 20 // bytes of all texts, before Limit is halved
	leastLimit  = 512      // which Limit does not go below
)

// A Reader makes one report of any number of files.
type Reader struct {
	report                            *Report
	calls, failed, talk, turns, notes int // that are kept
	kept                              int // bytes of texts
}

// NewReader is a reader that keeps at most limit bytes of each text.
func NewReader(limit int) *Reader {
	return &Reader{report: &Report{Limit: limit, Asked: limit}}
}

// Report is the report of all that was read.
func (r *Reader) Report() *Report { return r.report }

// A former takes the lines of a file of one form.
type former interface {
	line(v *value, number int) error
	end() // there are no more lines; it is called once
}

// Read reads a file to its end. The error is of status usage, and names the line and the byte.
// What came before that stays in the report.
func (r *Reader) Read(name string, in io.Reader) error {
	src := &Source{Name: name}
	r.report.Sources = append(r.report.Sources, src)
	f := newFile(in)
	s := &scanner{file: f}
	err := r.lines(s, src)
	if err == nil || f.err == nil {
		for f.next() { // so that the sum is that of the whole file
		}
	}
	src.Bytes, src.SHA256 = f.bytes, hex.EncodeToString(f.sum.Sum(nil))
	if e, ok := errors.AsType[*syntaxError](err); ok {
		hints := []string{"a log is what -o ndjson or --log FILE wrote; a session that of --session, a plan that of --stage"}
		return failure.UsageError(hints, "--report: %s:%v", name, e)
	}
	if err != nil {
		return failure.Usage("--report: %s: %s", name, failure.Cause(err))
	}
	return nil
}

// lines reads the lines of a file.
func (r *Reader) lines(s *scanner, src *Source) error {
	var form former
	var torn *syntaxError // a line that is not whole, which must be the last one of its run
	defer func() {
		if form != nil {
			form.end()
		}
	}()
	for more := s.i < len(s.block) || s.fill(); more; more = s.next() {
		s.limit = r.report.Limit
		before, _ := s.snapshot()
		v, err := s.object()
		e, isSyntax := errors.AsType[*syntaxError](err)
		switch {
		case isSyntax && e.ended && torn == nil && form != nil:
			torn = e
			src.Cut = append(src.Cut, Cut{e.line, e.byte})
			continue
		case err != nil:
			return err
		case v.kind == 0:
			continue
		case torn != nil && !v.begins():
			return torn
		}
		src.Lines, torn = src.Lines+1, nil
		if form == nil {
			if form = r.form(&v, src, s); form == nil {
				return s.lineError("neither an event, nor a message of a session, nor the beginning of a plan")
			}
		}
		if src.Form == Plan && !v.counts() {
			s.restore(before)
		} else if src.Form == Plan {
			s.file.lines.Write([]byte{'\n'})
		}
		if err := form.line(&v, s.line); err != nil {
			return s.lineError(err.Error())
		}
		r.shrink()
	}
	if s.err != io.EOF {
		return s.err
	}
	return nil
}

// begins reports whether a line is the first one of a run.
func (v *value) begins() bool { return v.get("type").str() == "start" }

// counts reports whether a line of a plan is one that its digest is of.
func (v *value) counts() bool { return v.get("server").kind != 0 || v.get("stage").kind != 0 }

// lineError is an error of the whole line.
func (f *file) lineError(message string) error {
	return &syntaxError{line: f.line, byte: 1, message: message}
}

// snapshot is the state of the hash of lines.
func (f *file) snapshot() ([]byte, error) {
	if f.lines == nil {
		return nil, nil
	}
	return f.lines.(encoding.BinaryMarshaler).MarshalBinary()
}

func (f *file) restore(state []byte) {
	f.lines.(encoding.BinaryUnmarshaler).UnmarshalBinary(state)
}

// form finds out by the first line what a file is; nil if it is none of the forms.
func (r *Reader) form(v *value, src *Source, s *scanner) former {
	if v.get("stage").kind != 0 {
		src.Form = Plan
		return &plan{reader: r, run: r.begin(Plan, src, s.line), sum: s.file.lines, whole: s.file.sum}
	}
	s.file.lines = nil
	switch {
	case v.get("type").kind == '"' && v.get("role").kind == 0:
		src.Form = Log
		return &log{reader: r, source: src, runs: map[string]*taken{}}
	case v.get("role").kind == '"' || isSessionLine(v):
		src.Form = Session
		return &session{reader: r, run: r.begin(Session, src, s.line), calls: map[string]*Call{}}
	}
	return nil
}

// begin begins a run.
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

// full reports whether there are so many texts that even short ones take too much memory.
func (r *Reader) full() bool { return r.kept > maxKept && r.report.Limit <= leastLimit }

// addCall keeps a call, and reports whether it does.
func (r *Reader) addCall(run *Run, c *Call, failed bool) bool {
	switch {
	case r.calls < maxCalls && !r.full():
		r.calls++
	case failed && r.failed < maxFailed && !r.full():
		r.failed++
		run.More.Calls-- // it was counted when the model asked for it
	default:
		run.More.Calls++
		return false
	}
	run.Calls = append(run.Calls, c)
	return true
}

// ask keeps a question, which the next answer is an answer to.
func (r *Reader) ask(run *Run, prompt Text) {
	if r.talk >= maxTalk || r.full() {
		run.More.Questions++
		return
	}
	r.talk++
	r.kept += prompt.kept()
	run.Talk = append(run.Talk, Exchange{Prompt: prompt})
}

// answer keeps the answer to the last question. A later one takes its place.
func (r *Reader) answer(run *Run, answer Text) {
	if len(run.Talk) == 0 {
		r.ask(run, Text{})
	}
	if run.More.Questions == 0 {
		r.kept += answer.kept()
		run.Talk[len(run.Talk)-1].Answer = answer
	}
}

// addTurn keeps a turn, and reports whether it does.
func (r *Reader) addTurn(run *Run, t *Turn) bool {
	if r.turns >= maxTurns || r.full() {
		run.More.Turns++
		return false
	}
	r.turns++
	run.Turns = append(run.Turns, t)
	return true
}

// addNote keeps a note.
func (r *Reader) addNote(run *Run, n *Note) {
	if r.notes >= maxNotes || r.full() {
		run.More.Notes++
		return
	}
	r.notes++
	r.kept += n.Text.kept() + keptOf(n.Details)
	run.Notes = append(run.Notes, n)
}

// tally counts a word of a file, of which there may be any number of different ones.
func tally(counts map[string]int64, word string) {
	const most, other = 20, "other"
	if _, known := counts[word]; !known && (len(counts) >= most || len(word) > 40) {
		word = other
	}
	counts[word]++
}
