package turn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/session"
	"toolpipe/stream"
)

// definitions are the digests of the tools that messages call.
func (c *caller) definitions(messages []stream.Message) map[string]string {
	digests := map[string]string{}
	for i := range messages {
		for _, call := range messages[i].Calls {
			if t := c.box.Tool(call.Name); t != nil {
				digests[t.ModelName] = t.Locked().Digest()
			}
		}
	}
	return digests
}

// note writes to the session that c is about to be sent. Where that cannot be written,
// c does not run, and the run ends.
func (r *round) note(ctx context.Context, c *call) bool {
	err := r.session.Sending(c.ID)
	if p := r.planned.reviewed; p != nil {
		err = p.File.Sending(p.Call)
	}
	c.noted = err == nil
	if err != nil {
		r.stop(err)
		c.answer = notRun(ctx)
	}
	return err == nil
}

// keep writes the result of c to the session.
func (r *round) keep(c *call) {
	var err error
	if !c.answer.keepsOpen {
		err = r.session.Add(nil, c.answer.message(&c.Call))
	} else if c.noted {
		err = r.session.NotSent(c.ID)
	}
	r.stop(err)
}

// beginTask tells, and writes to the session, that a server has answered c with a task:
// so that a run that is killed meanwhile can be gone on with.
func (r *round) beginTask(c *call, id, protocol string) error {
	err := r.session.BeginTask(c.ID, r.taskOf(c, id, protocol))
	return cmp.Or(err, r.emit(&event.Task{ID: eventID(c), Server: c.tool.Conn.Name, Task: id}), r.flush())
}

func (r *round) taskOf(c *call, id, protocol string) *session.Task {
	server := &c.tool.Conn.Server
	at := config.QuoteWords(append([]string{server.URL, server.Dir}, server.Command...))
	return &session.Task{ID: id, Server: server.Name, At: digest([]byte(at)), Protocol: protocol, Tool: c.tool.Name, Arguments: digest(c.args)}
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// takeUp allows a call that a run before this one has sent, since nothing is sent but
// the question for its result. A call that this run cannot make has an unknown outcome.
func (r *round) takeUp(c *call) error {
	if c.answer != nil {
		c.answer = lost()
		return nil
	}
	v := approve.Verdict{Outcome: approve.Allowed, By: "session", Rule: "sent by a run before"}
	c.verdict = &v
	return r.emit(r.approvalEvent(c, v))
}

// resumeTask waits for the task of a call that a run before this one has sent. A task of
// another server, or of another call, is not asked for.
func (r *round) resumeTask(ctx context.Context, c *call, server *mcp.Session, progress func(wire.Progress)) (*wire.Result, error) {
	if *c.task != *r.taskOf(c, c.task.ID, server.Protocol()) {
		return nil, &wire.NoReplyError{Sent: true, Message: "the run that sent the call ended before its result came, and its task is of another server"}
	}
	if err := r.emit(&event.Task{ID: eventID(c), Server: c.tool.Conn.Name, Task: c.task.ID}); err != nil {
		return nil, &wire.NoReplyError{Sent: true, Cause: err}
	}
	return server.ResumeTask(ctx, c.tool.Name, c.task.ID, progress)
}

// stop ends the run after the calls that are under way, if err is not nil.
func (r *round) stop(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = cmp.Or(r.stopped, err)
}

// stored is what of the conversation an earlier run, or a file, has.
type stored struct {
	resumes bool             // calls that the conversation leaves open run first (--input messages, --session)
	saved   int              // messages of the conversation that are in the session
	later   []stream.Message // that begin the conversation behind the open calls
}

// UseSession has the loop go on with a session: what the conversation has beyond it comes
// behind the calls that it leaves open.
func (l *Loop) UseSession(s *session.File) {
	l.session = s
	all := l.model.Request.Messages
	l.stored.saved = l.trimmer.Frame + len(s.Messages())
	l.stored.later = slices.Clone(all[l.stored.saved:])
	l.model.Request.Messages = all[:l.stored.saved] // results go between
}

// useTrimmer has the requests of the loop trimmed as --trim says. What they leave out is in
// the session, and files that were in it are not known any more. frame is how many messages
// are no part of the conversation.
func (l *Loop) useTrimmer(frame int) {
	t := newTrimmer(l.plan.Inv.Config.Trim)
	t.Frame, t.Emit = frame, l.emit
	t.CanRepeat = func(name string) bool {
		tool := l.box.Tool(name)
		return tool != nil && tool.OnlyReads()
	}
	t.Keep = func(all []session.Left) error {
		for i := range all {
			l.known.Forget(all[i].Call, all[i].Says)
		}
		return l.session.LeaveOut(all)
	}
	l.trimmer = t
}

// save writes to the session what the conversation has grown by.
func (l *Loop) save() error {
	if l.session == nil {
		return nil
	}
	more := l.model.Request.Messages[l.stored.saved:]
	l.stored.saved = len(l.model.Request.Messages)
	return l.session.Add(l.definitions(more), more...)
}

// warnMissing warns about open calls whose tool this run does not have: without the
// server they are answered as failed for good, which the user may not have meant.
func (l *Loop) warnMissing(open []stream.Call) {
	var names []string
	for _, call := range open {
		if name := strconv.Quote(call.Name); l.box.Tool(call.Name) == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		l.emit(&event.Warning{Code: "tool_missing", Message: "the conversation leaves calls open whose tool this run does not have: " + config.JoinFew(names) +
			"; they are answered as failed (was --files or --mcp of the run before left out?)"})
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
		text = TextOf(&msgs[i])
	}
	for _, c := range msgs[i].Calls {
		if !answered[c.ID] {
			open = append(open, c)
		}
	}
	return open, text
}

// What is kept of nested runs.
const (
	keptRuns     = 32
	keptRunBytes = 32 << 20
)

// told is the answer of a nested run, with the id by which its conversation is kept in a
// block of its own: it is no part of the answer.
func (n *nestedRun) told(l *Loop, id, text string) *wire.Result {
	result := toolserver.TextResult(text)
	switch kept := n.round.nested; {
	case kept == nil:
		return result
	case kept.Keep(id, l, l.weight()):
		text = "id: " + id + ", for " + n.agent + "__continue"
	default:
		text = "this conversation is too long to be gone on with"
	}
	result.Content = append(result.Content, toolserver.TextResult(Prefix+text).Content...)
	return result
}

// weight is about how many bytes of memory the conversation of the loop takes, once in its
// messages and once in the request that its client has written last.
func (l *Loop) weight() (n int) {
	const each = 200 // for what surrounds the texts of a message or a call
	for i := range l.model.Request.Messages {
		m := &l.model.Request.Messages[i]
		n += each + m.Opaque.Size()
		for _, p := range m.Parts {
			n += each + len(p.Text) + len(p.JSON)
			if p.Image != nil {
				n += len(p.Image.Data)
			}
		}
		for _, c := range m.Calls {
			n += each + len(c.Arguments)
		}
	}
	return 2 * n
}
