package turn

import (
	"cmp"
	"context"
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
