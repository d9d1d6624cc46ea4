package run

import (
	"context"

	"toolpipe/mcp/oauth"
)

// paste reads, on the terminal, the address on which the browser ended: it may be
// on another machine, where the redirect leads nowhere. nil when nobody can be
// asked. The line is not shown, because it holds the code.
func (r *runner) paste() func(ctx context.Context, wrong error) (string, error) {
	t := terminal(r.cfg, r.face)
	t.Timeout = oauth.SignInTime
	if !t.Reachable() {
		return nil
	}
	return func(ctx context.Context, wrong error) (string, error) {
		prompt := "toolpipe: if the last page in the browser cannot be shown, paste its address here (it does not appear): "
		if wrong != nil {
			prompt = "toolpipe: " + wrong.Error() + "\n" + prompt
		}
		return t.ReadHidden(ctx, prompt)
	}
}
