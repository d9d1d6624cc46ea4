package turn

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/stream/text/jsontext"
)

// denies denies reading the result of a call that is denied now, or one of an earlier run that may show
// files which rules of this run deny. The state of the conversation does not count: nothing is sent
// again. The caller holds the plan's lock for verdicts.
func (s *results) denies(ctx context.Context, p placedResult) (v approve.Verdict, denied bool) {
	args, err := canonical(p.Arguments)
	if p.message == nil || err != nil {
		return v, false
	}
	gate, made := s.loop.plan.Inv.Gate, s.loop.box.CallOf(p.Name, args)
	x, err := gate.Explain(ctx, made)
	switch v = x.Verdict; {
	case err != nil || v.Outcome == approve.Denied:
		return v, true
	case p.number <= s.earlier && s.showsDenied(p.Name, args, gate.Withheld(ctx, made)):
		return approve.Verdict{Outcome: approve.Denied, By: "policy", Reason: "the result may show files that a rule denies now"}, true
	}
	return v, false
}

// showsDenied reports whether a call may show files that are withheld from it. Files of a tool that the
// run does not have are not known, and files that are gone may be any below the tool's root.
func (s *results) showsDenied(name string, args []byte, withheld approve.Withheld) bool {
	t := s.loop.box.Tool(name)
	if t == nil {
		return withheld.Matches != nil || len(withheld.Paths) > 0
	}
	if !t.Declares().Reads {
		return false
	}
	asked := jsontext.Text(jsontext.Member(args, t.Declares().Path))
	path := asked
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.Conn.Root, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	several := err != nil || info.IsDir()
	if err != nil {
		path = t.Conn.Root
	}
	return withheld.Matches != nil && (several || withheld.Matches(asked, path)) || slices.ContainsFunc(withheld.Paths, func(denied string) bool {
		return confine.IsBelow(path, denied) || confine.IsBelow(denied, path)
	})
}
