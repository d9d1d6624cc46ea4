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

// note records in the session that c is about to be sent. If this fails, c does not run, and the
// run ends.
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
		err = cmp.Or(r.session.AddResult(c.ID, c.answer.whole), r.session.Add(nil, c.answer.message(&c.Call)))
		c.answer.whole = nil
	} else if c.noted {
		err = r.session.NotSent(c.ID)
	}
	r.stop(err)
}

// beginTask reports, and records in the session, that a server answered c with a task, so that a
// later run can continue if this one is killed.
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

// takeUp allows a call that an earlier run sent, because only the request for its result is sent.
// If this run cannot make the call, its outcome is unknown.
func (r *round) takeUp(c *call) error {
	if c.answer != nil {
		c.answer = lost()
		return nil
	}
	v := approve.Verdict{Outcome: approve.Allowed, By: "session", Rule: "sent by a run before"}
	c.verdict = &v
	return r.decided(c, v)
}

// resumeTask waits for the task of a call that an earlier run sent. It does not ask for a task of
// another server or another call.
func (r *round) resumeTask(ctx context.Context, c *call, server *mcp.Session, progress func(wire.Progress)) (*wire.Result, error) {
	if *c.task != *r.taskOf(c, c.task.ID, server.Protocol()) {
		return nil, &wire.NoReplyError{Sent: true, Message: "the run that sent the call ended before its result came, and its task belongs to another server"}
	}
	if err := r.emit(&event.Task{ID: eventID(c), Server: c.tool.Conn.Name, Task: c.task.ID}); err != nil {
		return nil, &wire.NoReplyError{Sent: true, Cause: err}
	}
	return server.ResumeTask(ctx, c.tool.Name, c.task.ID, progress)
}

// stop ends the run after the running calls, if err is not nil.
func (r *round) stop(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = cmp.Or(r.stopped, err)
}

// stored is the part of the conversation that an earlier run, or a file, contains.
type stored struct {
	resumes bool             // open calls of the conversation run first (--input messages, --session)
	saved   int              // messages in the session
	later   []stream.Message // messages to add after the open calls
}

// UseSession makes the loop continue a session. Messages of the conversation that are not in the
// session follow after its open calls.
func (l *Loop) UseSession(s *session.File) {
	l.session = s
	all := l.model.Request.Messages
	l.stored.saved = l.trimmer.Frame + len(s.Messages())
	l.stored.later = slices.Clone(all[l.stored.saved:])
	l.model.Request.Messages = all[:l.stored.saved] // results go in between
}

// useTrimmer sets up --trim for the requests of the loop. Content that they leave out is recorded
// in the session, and files in it are no longer known to the model. Results that are cut or left out
// get names. frame is as in NewLoop.
func (l *Loop) useTrimmer(frame int) {
	t := newTrimmer(l.plan.Inv.Config.Trim)
	t.Frame, t.Emit = frame, l.emit
	t.CanRepeat = func(name string) bool {
		tool := l.box.Tool(name)
		return tool != nil && tool.OnlyReads()
	}
	t.Keep = func(all []session.Left) error {
		for i := range all {
			if all[i].Until == 0 {
				l.known.Forget(all[i].Call, all[i].Says)
				continue
			}
			for _, m := range l.Messages()[all[i].Message+1 : all[i].Until] {
				if m.CallID != "" {
					l.known.Forget(m.CallID, "")
				}
			}
		}
		return l.session.LeaveOut(all)
	}
	l.trimmer = t
	l.results = newResults(l)
	t.Results = l.results
}

// save writes new messages of the conversation to the session.
func (l *Loop) save() error {
	if l.session == nil {
		return nil
	}
	more := l.model.Request.Messages[l.stored.saved:]
	l.stored.saved = len(l.model.Request.Messages)
	return l.session.Add(l.definitions(more), more...)
}

// warnMissing warns about open calls of tools that this run does not have. Without the server they
// are permanently answered as failed, which the user may not have meant.
func (l *Loop) warnMissing(open []stream.Call) {
	var names []string
	for _, call := range open {
		if name := strconv.Quote(call.Name); l.box.Tool(call.Name) == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		l.emit(&event.Warning{Code: "tool_missing", Message: "the conversation has open calls of tools that this run does not have: " + config.JoinFew(names) +
			"; they are answered as failed (was --files or --mcp of the run before left out?)"})
	}
}

// openCalls are the calls of the last assistant message that have no answer yet; only tool messages
// and then one user message may follow it. text is the text of this message if no user message
// follows: otherwise its command lines are already answered.
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

// Limits of stored nested runs.
const (
	keptRuns     = 32
	keptRunBytes = 32 << 20
)

// told is the answer of a nested run. A separate block contains the id of its stored conversation,
// which is not part of the answer.
func (n *nestedRun) told(l *Loop, id, text string) *wire.Result {
	result := toolserver.TextResult(text)
	switch kept := n.round.nested; {
	case kept == nil:
		return result
	case kept.Keep(id, l, l.weight()):
		text = "id: " + id + ", for " + n.agent + "__continue"
	default:
		text = "this conversation is too long to continue"
	}
	result.Content = append(result.Content, toolserver.TextResult(Prefix+text).Content...)
	return result
}

// weight is the approximate memory of the loop's conversation: its messages, and the request that
// its client wrote last.
func (l *Loop) weight() (n int) {
	const each = 200 // bytes beside the texts of a message, a part or a call
	for i := range l.model.Request.Messages {
		m := &l.model.Request.Messages[i]
		n += m.Size() + each*(1+len(m.Parts)+len(m.Calls))
	}
	return 2 * n
}
