package history

import (
	"cmp"
	"slices"

	"toolpipe/stream/text/jsontext"
)

// A log processes the lines of an event log. Several runs may write to one log at the same time;
// then each line contains the word of its run. A line without a word belongs to the run that
// started last.
type log struct {
	reader *Reader
	source *Source
	runs   map[string]*taken // by their words
	all    []*taken          // started and not ended
}

// taken is a run while its lines are processed.
type taken struct {
	*Run
	reader *Reader
	speech
	open    map[string]*Call  // calls without a result, by id
	nested  map[string]*taken // by call id
	turn    int64             // the last turn that ended
	last    int64             // the latest time of a line
	counted Counts            // counted from lines
	kept    bool              // keep calls, turns and notes
	word    string            // of the run, in its lines
}

type speech struct {
	said  map[string]*collector // text, reasoning and commentary
	first int64                 // when it began; Unknown
}

func (r *Reader) take(run *Run, kept bool) *taken {
	return &taken{Run: run, reader: r, speech: speech{map[string]*collector{}, Unknown}, open: map[string]*Call{}, nested: map[string]*taken{}, kept: kept,
		counted: Counts{Results: run.Counts.Results, Decisions: run.Counts.Decisions}}
}

func (l *log) line(e *event) error {
	e.kind, e.at = e.get("type").word(), e.get("at_ms").number()
	word := e.get("run").str()
	t := l.runs[word]
	if e.begins() || t == nil {
		if t != nil {
			l.close(t)
		}
		if len(l.all) >= maxOpen { // limit of runs at the same time
			l.close(l.all[0])
		}
		run := l.reader.begin(Log, l.source, e.number)
		t = l.reader.take(run, l.reader.report.MoreRuns == 0)
		t.word = word
		l.runs[word], l.all = t, append(l.all, t)
	}
	if t.take(e); t.End.Known {
		l.close(t)
	}
	return nil
}

func (l *log) close(t *taken) {
	t.finish()
	delete(l.runs, t.word)
	l.all = slices.DeleteFunc(l.all, func(other *taken) bool { return other == t })
	if !t.kept && t.End.Exit != 0 {
		l.reader.report.Failed++
	}
}

func (l *log) end() {
	for _, t := range slices.Clone(l.all) {
		t.End.Cut = len(l.source.Cut) > 0
		l.close(t)
	}
}

func (t *taken) take(e *event) {
	t.last = max(t.last, e.at)
	if parent := e.get("parent").word(); parent != "" {
		n := t.inside(parent)
		n.last = max(n.last, e.at)
		if n.takeOwn(e); e.kind == "tool_result" {
			tally(t.counted.Results, e.get("status").str())
		}
		return
	}
	t.takeOwn(e)
}

func (t *taken) takeOwn(e *event) {
	switch e.kind {
	case "start":
		t.start(e)
	case "input":
		prompt := Text{Head: jsontext.Text(e.get("text"))}
		prompt.Left = max(0, e.get("bytes").number()-prompt.Size())
		t.reader.ask(t.Run, prompt)
		t.Messages = e.get("messages").number()
		t.detail(e)
	case "text", "reasoning", "commentary":
		t.say(e)
	case "turn":
		t.turned(e)
	case "tool_call":
		t.called(e)
	case "approval":
		t.approved(e)
	case "progress":
		t.progressed(e)
	case "tool_result":
		t.answered(e)
	case "plan":
		t.Run.Form = Plan
		t.Plan = Head{e.get("version").str(), e.get("time").str(), e.get("dir").str(), e.get("digest").str(), e.get("digest_with_results").str(), e.get("last").str()}
		t.detail(e)
	case "staged":
		t.staged(e)
	case "end":
		t.ended(e)
	default:
		t.note(e)
	}
}

// inside is the run in the call parent: the nested run of an agent, or the calls of a command, which
// may be in a nested run.
func (t *taken) inside(parent string) *taken {
	n := t.nested[parent]
	for _, other := range t.nested {
		if n == nil && (other.open[parent] != nil || other.nested[parent] != nil) {
			return other.inside(parent)
		}
	}
	if n == nil && len(t.nested) >= maxNested {
		n = t.nested[""]
		parent = ""
	}
	if n == nil {
		run := newRun(Log, t.Source, 0)
		n = t.reader.take(run, t.kept && parent != "")
		c := t.open[parent]
		if c == nil {
			c = newCall(parent, 0)
			if n.kept && t.reader.addCall(t.Run, c, false) {
				t.open[parent] = c
			}
		}
		c.Nested, t.nested[parent] = run, n
	}
	return n
}

func (t *taken) start(e *event) {
	t.Start = Start{Version: e.get("version").str(), Model: e.get("model").str(), API: e.get("api").str(), Time: e.get("time").str(), ID: e.get("id").str(), Ready: e.at}
	e.get("schema")
	servers := e.get("servers").elements()
	for _, s := range servers[:min(len(servers), maxWords)] {
		words := s.get("name").str() + " (" + s.get("protocol").str() + ", tools: " + s.get("tools").word()
		if box := s.get("sandbox").str(); box != "" {
			words += ", sandbox: " + box
		}
		t.Start.Servers = append(t.Start.Servers, words+")")
	}
	t.detail(e)
}

// detail keeps the unused members of an event in the details of the run.
func (t *taken) detail(e *event) { t.Details = t.reader.more(t.Details, e) }

func (r *Reader) more(details []Detail, e *event) []Detail {
	rest := e.rest()
	for _, d := range r.details(rest[:min(len(rest), max(0, maxDetails-len(details)))]) {
		d.Name = e.kind + "." + d.Name
		details = append(details, d)
	}
	return details
}

func (t *taken) say(e *event) {
	if !t.kept {
		return
	}
	if t.first == Unknown {
		t.first = e.at
	}
	c := t.said[e.kind]
	if c == nil {
		c = &collector{limit: t.reader.report.Limit}
		t.said[e.kind] = c
	}
	c.add(jsontext.Text(e.get("text")))
}

func (t *taken) speak(u *Turn) {
	text := func(kind string) Text {
		if c := t.said[kind]; c != nil {
			return t.reader.keep(c.text())
		}
		return Text{}
	}
	u.First, u.Text, u.Reasoning, u.Beside = t.first, text("text"), text("reasoning"), text("commentary")
}

func tokensOf(v value) Tokens {
	return Tokens{v.get("input_tokens").count(), v.get("output_tokens").count(), v.get("reasoning_tokens").count(), v.get("cached_tokens").count(), v.get("cache_write_tokens").count()}
}

func (t *Tokens) add(u Tokens) {
	t.Input, t.Output, t.Reasoning = t.Input+u.Input, t.Output+u.Output, t.Reasoning+u.Reasoning
	t.Cached, t.CacheWrite = t.Cached+u.Cached, t.CacheWrite+u.CacheWrite
}

func (t *taken) turned(e *event) {
	u := &Turn{Number: e.get("turn").number(), At: e.at, Ms: e.get("ms").number(), Finish: e.get("finish").str(), Model: e.get("model").str(),
		Tokens: tokensOf(e.get("usage")), Cost: e.get("cost").word()}
	t.Counts.Currency = cmp.Or(e.get("currency").str(), t.Counts.Currency)
	t.counted.Turns = max(t.counted.Turns, u.Number)
	t.counted.Tokens.add(u.Tokens)
	if t.kept && t.reader.addTurn(t.Run, u) {
		t.speak(u)
		u.Details = t.reader.details(e.rest())
	}
	clear(t.said)
	t.first, t.turn = Unknown, max(u.Number, 0)
}

// note keeps an event of any other kind.
func (t *taken) note(e *event) {
	if e.kind == "retry" && jsontext.IsTrue(e.get("discards")) {
		clear(t.said)
	}
	n := &Note{Kind: e.kind, At: e.at, Turn: t.turn, Line: e.number, Wait: Unknown}
	if !t.kept || !t.reader.addNote(t.Run, n) {
		return
	}
	text := func(name string) Text { return t.reader.shown(e.get(name)) }
	switch e.kind {
	case "retry":
		n.Wait, n.Text = e.get("after_ms").number(), text("message")
	case "warning":
		n.Code, n.Text = e.get("code").str(), text("message")
	case "attention":
		n.Text = text("reason")
	}
	n.Details = t.reader.details(e.rest())
}

func (t *taken) ended(e *event) {
	r := t.Run
	r.End = End{Known: true, Status: e.get("status").str(), Exit: e.get("exit").number(), Finish: e.get("finish").str(),
		Labels: e.get("labels").strs(), Changed: e.get("protected").strs(), Ms: e.get("ms").number()}
	if err := e.get("error"); err.kind() == '{' {
		r.End.Error, r.End.Hint = t.reader.shown(err.get("message")), t.reader.shown(err.get("hint"))
	}
	r.Start.ID = cmp.Or(r.Start.ID, e.get("id").str())
	c := &r.Counts
	c.Turns, c.Calls, c.Denied, c.Staged = e.get("turns").count(), e.get("tool_calls").count(), e.get("denied").count(), e.get("staged").count()
	c.Tokens, c.Cost, c.Currency = tokensOf(e.get("usage")), e.get("cost").word(), cmp.Or(e.get("currency").str(), c.Currency)
	if jsontext.IsTrue(e.get("cost_partial")) {
		c.Cost = "at least " + c.Cost
	}
	if answer := e.get("text").text(); !answer.IsEmpty() {
		t.reader.answer(r, answer)
	}
	t.detail(e)
}

func (t *taken) finish() {
	for _, n := range t.nested {
		n.finish()
	}
	if len(t.said) > 0 { // an unfinished turn
		u := &Turn{Number: t.turn + 1, At: t.last, Ms: Unknown}
		if t.reader.addTurn(t.Run, u) {
			t.speak(u)
		}
	}
	if !t.End.Known {
		c := t.counted
		c.Currency = t.Counts.Currency
		t.Run.Counts = c
		if t.last > 0 && t.End.Ms == Unknown {
			t.End.Ms = t.last
		}
	}
}
