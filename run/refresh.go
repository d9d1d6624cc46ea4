package run

import (
	"context"

	"toolpipe/approve"
	"toolpipe/mcp/confine"
	"toolpipe/run/stdio"
)

// attach remembers a file that is attached, for --refresh.
func (r *runner) attach(path string, data []byte) {
	if r.known != nil {
		r.known.Attach(path, data, confine.Spec{Protected: ownFiles(r.cfg, r.settings, r.servers)})
	}
}

// tellChanges adds to the last result of the round which files that the model knows
// are changed, when all calls have ended. What files hold is private.
func (r *round) tellChanges(ctx context.Context, last *call) {
	if !last.answer.keepsOpen {
		if text, _ := stdio.Await(ctx, func() (string, error) { return r.known.Changes(ctx), nil }); text != "" {
			last.answer.append(text)
			last.labels |= approve.Private
			last.answer.event.Labels = last.labels.Words()
			r.flow.add(last.labels, last.origin)
			r.keep(last) // with the changes it takes the place of the result that was kept
		}
	}
}
