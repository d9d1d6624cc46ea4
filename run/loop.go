package run

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strconv"
	"time"

	"toolpipe/run/event"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/schema"
	"toolpipe/run/session"
	"toolpipe/stream"
)

// loop lets model and tools take turns until a reply asks for no more calls.
type loop struct {
	client  *stream.Client
	request *stream.Request // its Messages are the conversation with its frame
	finder  *finder         // nil: all tools are offered
	schema  *schema.Schema  // that the answer must fit; nil: none
	told    bool            // the model was told that its answer does not fit
	printed bool            // the text was printed, and only the model needs it again
	joins   bool            // nobody sees where a delta of the text ends
	outside bool            // all tools but that of --find-tools are in other processes
	alone   bool            // useOneProcessor was called
	resume  bool            // calls that the conversation leaves open run first (--input messages, --session)

	saved int              // messages of the conversation that are in the session
	later []stream.Message // that begin the conversation behind the open calls

	schemaFrom string // the flag or the argument that gives schema

	frame int // messages before the conversation: the frame, never part of the output
	*tally
	*caller // that answers the calls
}

// limits are what a run may use up, together with the runs that are nested in it.
type limits struct {
	rounds, usedRounds int
	tokens, usedTokens int // tokens 0: no limit
}

// limits are those of flags and config, none of which is used up.
func (p *plan) limits() *limits {
	return &limits{rounds: *cmp.Or(p.cfg.MaxRounds, p.settings.MaxRounds, new(8)), tokens: p.cfg.MaxTotalTokens}
}

// tally is what the end event tells.
type tally struct {
	callTally
	turns     int
	uncounted bool   // a turn came without usage
	text      []byte // of the current or last turn
	textSize  int    // of all turns together, in bytes
	hasText   bool   // it had a text, though text may not hold it
	finish    string
}

func (t *callTally) add(c callTally) {
	t.toolCalls += c.toolCalls
	t.denied += c.denied
	t.unknown = t.unknown || c.unknown
	t.ran = t.ran || c.ran
	t.usage = t.usage.Plus(c.usage)
}

// run answers the calls that the conversation leaves open, then takes turns.
func (l *loop) run(ctx context.Context) error {
	msgs := l.request.Messages
	var open []stream.Call
	var lines []string
	later := l.later
	if l.resume {
		var text string
		open, text = openCalls(msgs)
		lines = l.commandLines([]byte(text))
	}
	if len(open)+len(lines) > 0 {
		if n := len(msgs) - 1; msgs[n].Role == stream.User { // --input messages with arguments: after the open calls
			later = slices.Clone(msgs[n:])
			l.request.Messages = msgs[:n]
		}
		l.warnMissing(open)
		if err := l.answer(ctx, open, lines); err != nil {
			return err // without the later messages, so that the conversation can be resumed
		}
		session.Sort(l.request.Messages)
	}
	l.request.Messages = append(l.request.Messages, later...)
	for {
		reply, err := l.turn(ctx)
		if err != nil {
			return err
		}
		calls, lines := reply.Message.Calls, l.commandLines(l.text)
		err = l.mustEnd(reply, len(calls)+len(lines))
		if err := cmp.Or(l.save(), err); err != nil {
			counts, outputErr := l.report(l.turns, calls, lines)
			l.add(counts)
			return cmp.Or(outputErr, err)
		}
		if reply.Stop == stream.StopPause {
			l.usedRounds++
			continue // the endpoint's own tools take longer: it goes on when it gets its message back
		}
		if len(calls)+len(lines) == 0 {
			if again, err := l.checkAnswer(ctx); err != nil || !again {
				return err
			}
			continue
		}
		if l.usedRounds++; l.usedRounds >= manyRounds {
			l.useOneProcessor()
		}
		if err := l.answer(ctx, calls, lines); err != nil {
			return err
		}
	}
}

// From so many rounds, or bytes of text, on a run uses one processor.
const (
	manyRounds = 3
	longText   = 64 << 10
)

// useOneProcessor keeps the run to one processor if all tools are in other processes.
// Then one thing follows another here: a request, the pieces of its reply, a call, its
// result. With more processors the Go scheduler wakes a second thread at each step,
// which finds nothing to do: a tenth of the time of a round, or of a fast stream. The
// change itself takes as long as two rounds gain. Tools of this process may need all
// processors.
func (l *loop) useOneProcessor() {
	if l.outside && !l.alone {
		l.alone = true
		runtime.GOMAXPROCS(1)
	}
}

// answer runs calls and appends their answers to the conversation.
func (l *loop) answer(ctx context.Context, calls []stream.Call, lines []string) error {
	answers, counts, err := l.caller.answer(ctx, l.turns, calls, lines)
	l.add(counts)
	l.request.Messages = append(l.request.Messages, answers...)
	l.saved = len(l.request.Messages) // each result was written when it came
	if l.finder != nil {
		l.request.Tools = append(l.request.Tools, l.finder.next(calls)...)
	}
	if err == nil && l.outOfTokens() { // by nested runs
		err = l.tokenLimit()
	}
	return err
}

// save writes to the session what the conversation has grown by.
func (l *loop) save() error {
	if l.session == nil {
		return nil
	}
	more := l.request.Messages[l.saved:]
	l.saved = len(l.request.Messages)
	return l.session.Add(l.definitions(more), more...)
}

// warnMissing warns about open calls whose tool this run does not have: without the
// server they are answered as failed for good, which the user may not have meant.
func (l *loop) warnMissing(open []stream.Call) {
	var names []string
	for _, call := range open {
		if name := strconv.Quote(call.Name); l.box.byName[call.Name] == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		l.emit(&event.Warning{Code: "tool_missing", Message: "the conversation leaves calls open whose tool this run does not have: " + face.JoinFew(names) +
			"; they are answered as failed (was --files or --mcp of the run before left out?)"})
	}
}

// turn is one exchange with the model.
func (l *loop) turn(ctx context.Context) (*stream.Reply, error) {
	if err := l.save(); err != nil {
		return nil, err
	}
	began := time.Now()
	l.turns++
	l.text, l.hasText, l.finish = l.text[:0], false, ""
	text, reasoning := event.Text{Turn: l.turns}, event.Reasoning{Turn: l.turns}
	var aside []byte // commentary, which is shown as a whole
	said := func() error {
		whole := aside
		if aside = nil; len(whole) == 0 {
			return nil
		}
		return l.emit(&event.Commentary{Turn: l.turns, Text: whole})
	}
	reply, err := l.client.Reply(ctx, l.request, &stream.Sink{
		Text: func(delta []byte) error {
			if err := said(); err != nil {
				return err
			}
			l.hasText = true
			if l.textSize += len(delta); l.textSize >= longText {
				l.useOneProcessor()
			}
			if !l.printed {
				l.text = append(l.text, delta...)
			}
			text.Text = delta
			return l.emit(&text)
		},
		Commentary: func(delta []byte) error {
			aside = append(aside, delta...)
			return nil
		},
		Reasoning: func(delta []byte) error {
			reasoning.Text = delta
			return l.emit(&reasoning)
		},
		Idle: l.flush,
		Join: l.joins,
		Retry: func(r stream.Retry) {
			l.emit(&event.Retry{Attempt: r.Attempt, Of: r.Of, After: r.After, Status: r.Status, Message: r.Message})
		},
		Warn: func(code, message string) { l.emit(&event.Warning{Code: code, Message: message}) },
	})
	if err = cmp.Or(said(), err); err != nil {
		return nil, err
	}
	l.request.Messages = append(l.request.Messages, reply.Message)
	l.finish = reply.Finish
	if reply.HasAside { // it may have turned out to be commentary only behind its text
		l.keepAnswer(reply)
	}
	u := event.Usage(reply.Usage)
	l.usage = l.usage.Plus(u)
	l.usedTokens += u.Total()
	if l.tokens > 0 && u.Total() == 0 && !l.uncounted {
		l.uncounted = true
		l.emit(&event.Warning{Code: "no_usage", Message: "the endpoint does not tell how many tokens it used, so --max-total-tokens has no effect"})
	}
	return reply, l.emit(&event.Turn{Turn: l.turns, Finish: reply.Finish, Usage: u, Time: time.Since(began)})
}

// keepAnswer takes commentary out of the text of the turn.
func (l *loop) keepAnswer(reply *stream.Reply) {
	l.text, l.hasText = l.text[:0], false
	if len(reply.Message.Calls) > 0 {
		return
	}
	for _, p := range reply.Message.Parts {
		l.text = append(l.text, p.Text...)
	}
	l.hasText = len(l.text) > 0
}

// mustEnd is the error of a reply after which the run cannot go on. Calls in a
// reply that ended by length or by a filter are never run: their arguments may be
// cut, and cut arguments can still be valid JSON. Of a reply whose finish reason is not
// known the text counts, but calls never run.
func (l *loop) mustEnd(reply *stream.Reply, calls int) error {
	switch stop := reply.Stop; {
	case stop == stream.StopLength, stop == stream.StopContext:
		l.dropCalls()
		e := failure.Limit("--max-tokens lets the model write more; its own limit may be lower", "the answer was cut at the model's length limit")
		if stop == stream.StopContext {
			e = failure.Limit("the conversation must be shorter, or the model's context longer", "the answer was cut: the model's context is full")
		}
		if l.schema == nil { // else the text had to be checked first, and is not printed
			e.Cause = failure.ErrLength
		}
		return e
	case stop == stream.StopUnknown && reply.Finish == "":
	case stop == stream.StopUnknown && calls == 0:
		l.emit(&event.Warning{Code: "unknown_finish", Message: "the model ended its answer with a finish reason that is not known: " + strconv.Quote(reply.Finish)})
	case stop == stream.StopUnknown, stop == stream.StopFailed:
		l.dropCalls()
		return &failure.Error{Status: failure.StatusModel, Message: "model: the reply ended with finish_reason " + strconv.Quote(reply.Finish) + ", so its calls do not run"}
	case stop == stream.StopFilter:
		l.dropCalls()
		return &failure.Error{Status: failure.StatusModel, Message: "model: the answer was refused or stopped by a content filter" + detail(reply.Refusal)}
	}
	if (calls > 0 || reply.Stop == stream.StopPause) && l.usedRounds >= l.rounds {
		return failure.Limit("--max-rounds allows more", "the model asked for more calls than the limit of rounds allows: %d", l.rounds)
	}
	if (calls > 0 || reply.Stop == stream.StopPause) && l.outOfTokens() {
		return l.tokenLimit()
	}
	return nil
}

func (l *limits) outOfTokens() bool { return l.tokens > 0 && l.usedTokens >= l.tokens }

func (l *limits) tokenLimit() error {
	return failure.Limit("--max-total-tokens gives the run more", "the run used %d tokens, its limit is %d", l.usedTokens, l.tokens)
}

// dropCalls takes the calls of the last reply out of the conversation: their
// arguments may be cut, and a later run must not take them up. What the endpoint
// wants back goes too: it holds the calls, for which there will be no results, and
// may be cut as well. A text with command lines is taken out as a whole.
func (l *loop) dropCalls() {
	n := len(l.request.Messages) - 1
	m := &l.request.Messages[n]
	if m.Calls, m.Opaque = nil, (stream.Opaque{}); len(m.Parts) == 0 || len(l.commandLines(l.text)) > 0 {
		l.request.Messages = l.request.Messages[:n]
	}
}

// openCalls are the calls of the last assistant message that have no answer yet;
// only tool messages and then one user message may follow it. text is the text of
// that message if no user message follows, since only then the command lines in it
// have no answer yet.
func openCalls(msgs []stream.Message) (open []stream.Call, text string) {
	i := len(msgs) - 1
	if i > 0 && msgs[i].Role == stream.User {
		i--
	}
	answered := map[string]bool{}
	for ; i >= 0 && msgs[i].Role == stream.ToolRole; i-- {
		answered[msgs[i].CallID] = true
	}
	if i < 0 || msgs[i].Role != stream.Assistant {
		return nil, ""
	}
	if msgs[len(msgs)-1].Role != stream.User {
		text = textOf(&msgs[i])
	}
	for _, c := range msgs[i].Calls {
		if !answered[c.ID] {
			open = append(open, c)
		}
	}
	return open, text
}
