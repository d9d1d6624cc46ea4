package run

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"toolpipe/approve"
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
				return nil, usage("%s: %v", f.flag, err)
			}
			g.Rules = append(g.Rules, rules...)
		}
	}
	if !c.inCI() || c.ConfigFile != "" {
		g.Rules = append(g.Rules, r.configRules()...)
		for _, p := range r.settings.patterns {
			r.face.verboseLine("auto_approve of the config: " + p)
		}
	} else {
		r.settings.rules = nil
	}
	digest := sha256.New()
	for i, path := range slices.Concat(r.settings.policies, c.Policies) {
		what := "--policy"
		if i < len(r.settings.policies) {
			what = r.settings.path + ": policy"
		}
		data, err := ruleFile.read(what, path, approve.MaxPolicy, r.warn)
		if err != nil {
			return nil, err
		}
		p, err := approve.ParsePolicy(path, data)
		if err != nil {
			return nil, usage("%v", err)
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
	if len(r.settings.policies)+len(c.Policies) > 1 {
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
		if r.servers[i].borrowed {
			borrowed = append(borrowed, r.servers[i].Name)
		}
	}
	rules := slices.Clone(r.settings.rules)
	for i := range rules {
		if rules[i].Decision == approve.Allow {
			rules[i].NotServers = borrowed
		}
	}
	return rules
}

// terminal is the way to ask a person, with the reason when there is none.
func (r *runner) terminal() *approve.Terminal {
	t := &approve.Terminal{Before: r.face.pause, After: r.face.resume, Color: r.face.color, Resumed: r.cfg.Resumed}
	r.face.yieldTo(t.Busy)
	switch {
	case r.cfg.NoInput:
		t.Disabled = "--no-input was given"
	case r.cfg.inCI():
		t.Disabled = "CI is set"
	}
	return t
}
