package turn

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"toolpipe/run/event"
	"toolpipe/run/face"
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
	l.stored.saved = l.frame + len(s.Messages())
	l.stored.later = all[l.stored.saved:]
	l.model.Request.Messages = all[:l.stored.saved:l.stored.saved] // results go between
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
		l.emit(&event.Warning{Code: "tool_missing", Message: "the conversation leaves calls open whose tool this run does not have: " + face.JoinFew(names) +
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
