package run

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// makeGate puts the rules of flags, config and policy files into one set.
func (r *runner) makeGate() (*approve.Gate, error) {
	c := r.cfg
	g := &approve.Gate{Otherwise: approve.Ask, Terminal: r.terminal(), ApproverOrigin: "--approver"}
	if c.AutoApprove {
		g.AutoApprove = "--auto-approve"
	}
	for _, f := range []struct {
		flag     string
		lists    []string
		decision approve.Decision
	}{{"--allow", c.Allow, approve.Allow}, {"--deny", c.Deny, approve.Deny}} {
		for _, list := range f.lists {
			rules, err := approve.Patterns(list, f.decision, "flag", f.flag+" ")
			if err != nil {
				return nil, failure.Usage("%s: %v", f.flag, err)
			}
			g.Rules = append(g.Rules, rules...)
		}
	}
	if !c.InCI() || c.ConfigFile != "" {
		g.Rules = append(g.Rules, r.configRules()...)
		for _, p := range r.settings.Patterns {
			r.face.VerboseLine("auto_approve of the config: " + p)
		}
	} else {
		r.settings.Rules = nil
	}
	digest := sha256.New()
	for i, path := range slices.Concat(r.settings.Policies, c.Policies) {
		what := "--policy"
		if i < len(r.settings.Policies) {
			what = r.settings.Path + ": policy"
		}
		data, err := config.RuleFile.Read(what, path, approve.MaxPolicy, r.warn)
		if err != nil {
			return nil, err
		}
		p, err := approve.ParsePolicy(path, data)
		if err != nil {
			return nil, failure.Usage("%v", err)
		}
		for _, w := range p.Warnings {
			r.warn("policy_runner", "", w)
		}
		g.Rules = append(g.Rules, p.Rules...)
		if p.Otherwise < g.Otherwise {
			g.Otherwise, g.OtherwiseOrigin = p.Otherwise, p.OtherwiseOrigin
		}
		r.policy = p.SHA256
		digest.Write([]byte(p.SHA256))
	}
	if len(r.settings.Policies)+len(c.Policies) > 1 {
		r.policy = hex.EncodeToString(digest.Sum(nil))
	}
	var err error
	if c.Approver != "" {
		g.Approver, err = r.approver(c.Approver)
	}
	return g, err
}

// configRules are those of the config. What they allow they allow to the servers
// that the user had in mind, not to one of another host's file that bears the
// name of one of the user's own.
func (r *runner) configRules() []approve.Rule {
	var borrowed []string
	for i := range r.servers {
		if r.servers[i].Borrowed {
			borrowed = append(borrowed, r.servers[i].Name)
		}
	}
	rules := slices.Clone(r.settings.Rules)
	for i := range rules {
		if rules[i].Decision == approve.Allow {
			rules[i].NotServers = borrowed
		}
	}
	return rules
}

// terminal is the way to ask a person, with the reason when there is none.
func (r *runner) terminal() *approve.Terminal {
	t := &approve.Terminal{Before: r.face.Pause, After: r.face.Resume, Color: r.face.Color, Resumed: r.cfg.Resumed}
	r.face.YieldTo(t.Busy)
	switch {
	case r.cfg.NoInput:
		t.Disabled = "--no-input was given"
	case r.cfg.InCI():
		t.Disabled = "CI is set"
	}
	return t
}
