package turn

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/run/session"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
)

// A Loop lets a model and its tools take turns until a reply contains no calls.
type Loop struct {
	model      *invocation.Model // the Messages of its request are the conversation and its frame
	trimmer    *trimmer
	form       answerForm
	finder     *toolbox.Finder // nil: all tools are offered
	text       textUse
	processors processors
	stored     stored
	paused     paused
	*Tally
	*caller // answers the calls
}

// textUse says how the text of turns is used. By default each delta is a separate event, and the
// text of the last turn is kept for the end.
type textUse struct {
	passes bool // printed already; only the model needs it again
	joins  bool // deltas of the text may be joined

	final func() bool // reports whether printed text cannot be taken back; nil: it can
}

// paused is the part of a turn before the endpoint paused it. All parts are one turn's text; see
// Answer.
type paused struct {
	on      bool
	text    event.Pieces
	hasText bool
	began   time.Time
}

// A Tally is the content of the end event.
type Tally struct {
	CallTally
	Turns   int
	Text    event.Pieces // of the last turn
	Earlier bool         // Text is from an earlier turn: the answer of a run with an empty last turn
	Finish  string

	hasText  bool // the last turn had more than white space, although Text may be empty
	textSize int  // of all turns, in bytes
}

// NewLoop returns the loop of the main run. The model's request already contains its tools and
// messages; the first frame messages do not belong to the conversation.
func (p *Plan) NewLoop(tally *Tally, f *toolbox.Finder, known *confine.Known, frame int) *Loop {
	v := p.Inv
	l := &Loop{model: v.Model, form: answerForm{from: "--schema"}, finder: f, Tally: tally, caller: p.newCaller(known)}
	l.rounds, l.maxBytes = p.newRounds(), cmp.Or(l.maxBytes, resultBytes)
	l.useTrimmer(frame)
	l.model.Request.Tools = l.results.offer(l.model.Request.Tools, false)
	l.trimmer.Drops = v.Config.Output != "messages" || v.Config.Session != ""
	l.text.joins = v.Text != nil && v.Config.Log == ""
	if text := v.Text; text != nil {
		l.text.final = func() bool { return text.Stream && !text.Terminal }
	}
	l.stored.resumes = v.Config.Input == "messages" || v.Config.Session != ""
	l.processors.others = !slices.ContainsFunc(v.Servers, func(s servers.Server) bool { return s.Local != nil })
	l.flow.begin(l.Messages(), l.box)
	if types, _ := v.Model.Request.EndpointTools(); types != nil { // their data comes from outsiders
		l.flow.add(approve.Untrusted, event.Source{Name: "the endpoint's own tools"})
	}
	return l
}

// PassText makes the loop keep no copy of a text that is printed as it comes.
func (l *Loop) PassText() {
	l.text.passes = true
	l.model.Request.TextPassing = true
}

// Messages are the conversation without its frame, which is never part of the output.
func (l *Loop) Messages() []stream.Message { return l.model.Request.Messages[l.trimmer.Frame:] }

// Model is the model that is asked now.
func (l *Loop) Model() *invocation.Model { return l.model }

// Run answers the open calls of the conversation, then takes turns.
func (l *Loop) Run(ctx context.Context) error {
	defer func() { l.Labels, _ = l.flow.before(nil) }()
	msgs := l.model.Request.Messages
	var open []stream.Call
	var lines []string
	later := l.stored.later
	if l.stored.resumes {
		var text string
		open, text = openCalls(msgs)
		lines = l.commandLines(event.Pieces{text})
	}
	if len(open)+len(lines) > 0 {
		if n := len(msgs) - 1; msgs[n].Role == stream.User { // --input messages with arguments: after the open calls
			later = slices.Clone(msgs[n:])
			l.model.Request.Messages = msgs[:n]
		}
		l.warnMissing(open)
		if err := l.answer(ctx, open, lines); err != nil {
			return err // without the later messages, so that the conversation can be resumed
		}
		session.Sort(l.model.Request.Messages)
	}
	l.model.Request.Messages = append(l.model.Request.Messages, later...)
	for {
		reply, err := l.turn(ctx)
		if err != nil {
			return err
		}
		calls, lines := reply.Message.Calls, l.commandLines(l.Text)
		round, err := l.mustEnd(reply, len(calls)+len(lines))
		if err := cmp.Or(l.save(), err); err != nil {
			counts, outputErr := l.report(l.Turns, calls, lines)
			l.Add(counts)
			return cmp.Or(outputErr, err)
		}
		if reply.Stop == stream.StopPause {
			continue // the endpoint's tools take longer; it continues when it gets its message back
		}
		if len(calls)+len(lines) == 0 {
			if again, err := l.checkAnswer(ctx); err != nil || !again {
				return err
			}
			continue
		}
		if round >= manyRounds {
			l.processors.useOne()
		}
		if err := l.answer(ctx, calls, lines); err != nil {
			return err
		}
	}
}

// After this many rounds, or bytes of text, a run uses one processor.
const (
	manyRounds = 3
	longText   = 64 << 10
)

// processors decides whether a run is faster on a single processor: if all tools are in other
// processes. Its steps are then sequential: a request, the pieces of its reply, a call, its result.
// With more processors the Go scheduler wakes a second thread at each step, which finds no work;
// this costs a tenth of the time of a round, or of a fast stream. The change itself costs as much
// as two rounds save. Tools in this process may need all processors.
type processors struct {
	others bool // all tools except the one of --find-tools are in other processes
	one    bool // useOne was called
}

func (p *processors) useOne() {
	if p.others && !p.one {
		p.one = true
		runtime.GOMAXPROCS(1)
	}
}

// answer runs calls and appends their answers to the conversation.
func (l *Loop) answer(ctx context.Context, calls []stream.Call, lines []string) error {
	if l.plan.staging != nil {
		l.planned.said = l.Text.String()
	}
	l.echoes = l.model.Request.Echoes
	answers, counts, err := l.caller.answer(ctx, l.Turns, calls, lines)
	l.Add(counts)
	l.model.Request.Messages = append(l.model.Request.Messages, answers...)
	l.stored.saved = len(l.model.Request.Messages) // each result is saved already
	if errors.Is(err, errUsedUp) {
		return l.budget.usedUp() // with the tokens of the nested runs that were running
	}
	if err == nil {
		l.offer(ctx, calls, answers)
	}
	return err
}

// offer updates the tools of the next request. A nested run keeps the tools that it began with.
func (l *Loop) offer(ctx context.Context, calls []stream.Call, answers []stream.Message) {
	tools := &l.model.Request.Tools
	if l.nest == nil && l.box.Follow(ctx, calls, l.plan.Locked) {
		if l.finder != nil {
			*tools = l.finder.Update(*tools)
		} else {
			*tools = l.box.Offered()
		}
		l.model.Client.Rewrite()
	}
	if l.finder != nil {
		*tools = append(*tools, l.finder.Next(calls)...)
	}
	*tools = l.results.offer(append(*tools, l.box.OfferReaders(answers)...), false)
}

// turn is one exchange with the model, or the rest of a paused one.
func (l *Loop) turn(ctx context.Context) (*stream.Reply, error) {
	if err := cmp.Or(l.save(), l.budget.usedUp()); err != nil {
		return nil, err // with the text of the previous turn
	}
	before := l.paused
	if l.paused = (paused{}); !before.on {
		before.began = time.Now()
		l.Turns++
	}
	l.Text, l.Earlier, l.hasText, l.Finish = nil, false, false, ""
	sink, said := l.sink()
	if before.on {
		sink.TakesBack = nil // the part before the pause would be taken back with it
	}
	reply, err := l.trimmer.Reply(ctx, l.model.Client, l.model.Request, l.Turns, sink)
	for !before.on && l.fallsBack(ctx, err) {
		reply, err = l.trimmer.Reply(ctx, l.model.Client, l.model.Request, l.Turns, sink)
	}
	if !l.text.passes {
		l.Text = piecesOf(sink.Said)
	}
	if err == nil && reply.HasAside { // only the end may show that its text is commentary
		if l.Text, l.hasText = nil, false; len(reply.Message.Calls) == 0 {
			l.Text = piecesOf(reply.Message.Parts)
			l.hasText = !isBlank(l.Text.String())
		}
	}
	held := l.Text
	if l.Text = slices.Concat(before.text, l.Text); err == nil && l.isAnswer(reply) {
		l.Text = event.Pieces{answerIn(l.model.Request.Schema, reply.Wrapped, l.Text.String())}
		if !before.on {
			held = l.Text
		}
	}
	err = cmp.Or(said(), l.release(held), err)
	if l.hasText = l.hasText || before.hasText; err != nil {
		return nil, err
	}
	l.model.Request.Messages = append(l.model.Request.Messages, reply.Message)
	l.Finish = reply.Finish
	if reply.Stop == stream.StopPause {
		l.paused = paused{true, l.Text, l.hasText, before.began}
	}
	cost, u := l.count(reply.Usage), event.Usage(reply.Usage)
	if u.Total() == 0 {
		l.budget.uncounted.Store(true)
	}
	return reply, l.emit(&event.Turn{Turn: l.Turns, Finish: reply.Finish, Usage: u, Time: time.Since(before.began), Model: l.modelName(), Pauses: l.paused.on, Cost: cost.Shown()})
}

// fallsBack switches to the next model of the list, for this and all further turns, if the model
// failed before the first byte of its reply and another model may not fail.
func (l *Loop) fallsBack(ctx context.Context, err error) bool {
	was, next := l.model, l.model.Next
	e, ours := errors.AsType[*stream.Error](err)
	if next == nil || !ours || ctx.Err() != nil || e.Began || !e.Kind.Elsewhere() {
		return false
	}
	w := &event.Warning{Code: "model_fallback", Message: "the model " + strconv.Quote(was.Endpoint.Model) + " failed, and " + strconv.Quote(next.Endpoint.Model) + " is asked from now on: " + e.Message}
	if l.emit(w) != nil {
		return false
	}
	next.Request.Messages, next.Request.Tools, next.Request.TextPassing = was.Request.Messages, was.Request.Tools, was.Request.TextPassing
	next.Client.Adopt(next.Request, next.Request.Messages)
	l.model = next
	return true
}

// modelName is the current model if several are listed.
func (l *Loop) modelName() string {
	if m := l.plan.Inv.Model; l.nest != nil || m == nil || m.Next == nil {
		return ""
	}
	return l.model.Endpoint.Model
}

// mustEnd returns an error if the run must end after this reply. Calls in a reply that ended by
// length or by a filter never run: their arguments may be cut, and cut arguments can still be valid
// JSON. With an unknown finish reason the text is used, but calls never run. If the run goes on,
// round is the number of rounds used, including the next one; 0 if the answer is complete.
func (l *Loop) mustEnd(reply *stream.Reply, calls int) (round int, err error) {
	switch stop := reply.Stop; {
	case reply.Waits != "":
		l.dropCalls()
		return 0, &failure.Error{Status: failure.StatusModel, Message: "model: the reply waits for a result that toolpipe cannot give: " + strconv.Quote(reply.Waits),
			Hints: []string{"toolpipe does not ask for this tool; check --param tools and the settings of the endpoint"}}
	case stop == stream.StopLength, stop == stream.StopContext:
		l.dropCalls()
		e := failure.Limit("--max-tokens lets the model write more; its own limit may be lower", "the answer was cut at the model's length limit")
		if stop == stream.StopContext {
			e = failure.Limit("the conversation must be shorter, or the model's context longer", "the answer was cut: the model's context is full")
		}
		if l.model.Schema == nil { // otherwise the text is not printed, because it must be checked first
			e.Cause = failure.ErrLength
		}
		return 0, e
	case stop == stream.StopUnknown && reply.Finish == "":
	case stop == stream.StopUnknown && calls == 0:
		l.emit(&event.Warning{Code: "unknown_finish", Message: "the model ended its answer with a finish reason that is not known: " + strconv.Quote(reply.Finish)})
	case stop == stream.StopUnknown, stop == stream.StopFailed:
		l.dropCalls()
		return 0, &failure.Error{Status: failure.StatusModel, Message: "model: the reply ended with finish_reason " + strconv.Quote(reply.Finish) + ", so its calls do not run"}
	case stop == stream.StopFilter:
		l.dropCalls()
		return 0, &failure.Error{Status: failure.StatusModel, Model: failure.ModelFacts{Kind: string(stream.Moderation)},
			Message: "model: the answer was refused or stopped by a content filter" + detail(reply.Refusal)}
	}
	if len(reply.Unknown) > 0 {
		l.emit(&event.Warning{Code: "unknown_item", Message: "the reply has parts that toolpipe does not know, and does not use: " + config.JoinFew(reply.Unknown)})
	}
	if calls == 0 && reply.Stop != stream.StopPause {
		if l.budget.unbounded() { // the answer is paid
			l.emit(&event.Warning{Code: "no_usage", Message: unboundedText})
		}
		return 0, nil
	}
	if round = l.rounds.use(); round == 0 {
		what := "the model asked for more calls than"
		if reply.Stop == stream.StopPause {
			what = "the endpoint paused its reply more often than"
		}
		return 0, failure.Limit("--max-rounds allows more", "%s the limit of rounds allows: %d", what, l.rounds.limit)
	}
	return round, l.budget.usedUp()
}

// dropCalls removes the calls of the last reply from the conversation: their arguments may be cut,
// and a later run must not make them. The endpoint's state contains the calls, so it is removed too.
// A text with command lines is removed completely.
func (l *Loop) dropCalls() {
	n := len(l.model.Request.Messages) - 1
	m := &l.model.Request.Messages[n]
	if m.Calls, m.Opaque = nil, (stream.Opaque{}); len(m.Parts) == 0 || len(l.commandLines(l.Text)) > 0 {
		l.model.Request.Messages = l.model.Request.Messages[:n]
	}
}
