package invocation

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
)

// MakeGate combines the rules of flags, config and policy files. All servers must be known.
func (v *Invocation) MakeGate() error {
	c, s := v.Config, v.Settings
	g := &approve.Gate{Otherwise: approve.OtherwiseAsk, EgressRule: approve.EgressRule{Egress: approve.EgressWarn, EgressBy: "default"}, Terminal: v.Terminal()}
	v.Gate = g
	if c.Plan() != "" {
		g.Terminal, g.Reviews = nil, true
	}
	g.Words = userWords(c)
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
				return failure.Usage("%s: %v", f.flag, err)
			}
			g.Rules = append(g.Rules, rules...)
		}
	}
	rules := configRules(s.Rules, v.Servers)
	switch {
	case !c.InCI() || c.ConfigFile != "":
		g.Rules = append(g.Rules, rules...)
		for _, p := range s.Patterns {
			v.Face.VerboseLine("auto_approve of the config: " + p)
		}
	case len(rules) > 0:
		v.Ignored, s.Rules = rules, nil
		v.Face.VerboseLine(v.IgnoredNote())
	}
	if e, ok := approve.ParseEgress(c.Egress); ok {
		setEgress(g, e, "flag", "--egress "+c.Egress)
	}
	if err := v.readPolicies(); err != nil {
		return err
	}
	if c.Approver == "" || c.ReplayTools {
		return nil
	}
	approver, err := newApprover(c, v.Warn)
	g.Approver = approver
	return err
}

// userWords is the text that the user wrote to the model on the command line. A destination in it
// was chosen by the user.
func userWords(c *config.Config) string {
	if c.Mode != config.Answer {
		return "" // the arguments are for a call
	}
	words := strings.Join(c.Args, " ")
	if c.System != nil {
		words += "\n" + *c.System
	}
	return words
}

func (v *Invocation) IgnoredNote() string {
	return "auto_approve of the config does not count where CI is set; --config " + config.ShellQuote(v.Settings.Path) + " makes it count"
}

func (v *Invocation) IgnoredAllows(c approve.Call) bool {
	g := approve.Gate{Rules: v.Ignored, Otherwise: approve.OtherwiseAsk}
	return g.Static(c).Outcome == approve.Allowed
}

func (v *Invocation) readPolicies() error {
	c, s := v.Config, v.Settings
	digest := sha256.New()
	for i, path := range slices.Concat(s.Policies, c.Policies) {
		what := "--policy"
		if i < len(s.Policies) {
			what = s.Path + ": policy"
		}
		data, err := config.RuleFile.Read(c, what, path, approve.MaxPolicy, v.Warn)
		if err != nil {
			return err
		}
		p, err := approve.ParsePolicy(path, data)
		if err != nil {
			return failure.Usage("%v", err)
		}
		for _, w := range p.Warnings {
			v.Warn(w.Code, "", w.Message)
		}
		addPolicy(v.Gate, p)
		v.Policy = p.SHA256
		digest.Write([]byte(p.SHA256))
	}
	if len(s.Policies)+len(c.Policies) > 1 {
		v.Policy = hex.EncodeToString(digest.Sum(nil))
	}
	return nil
}

func addPolicy(g *approve.Gate, p *approve.Policy) {
	g.Rules = append(g.Rules, p.Rules...)
	g.LabelRules = append(g.LabelRules, p.LabelRules...)
	g.Input |= p.Input
	g.InputSaid = g.InputSaid || p.InputSaid
	if p.AsksNamed {
		g.Words = ""
	}
	if p.EgressOrigin != "" {
		setEgress(g, p.Egress, "policy", p.EgressOrigin)
	}
	if p.Otherwise.Decision < g.Otherwise.Decision {
		g.Otherwise = p.Otherwise
	}
}

// setEgress sets the egress rule. The strictest setting of all sources is used.
func setEgress(g *approve.Gate, e approve.Egress, by, origin string) {
	if g.EgressOrigin == "" || e < g.Egress {
		g.Egress, g.EgressBy, g.EgressOrigin = e, by, origin
	}
}

// configRules are the rules of the config. They allow calls only to the user's servers, not to a
// server of the same name from another host's file.
func configRules(rules []approve.Rule, servers []servers.Server) []approve.Rule {
	var borrowed []string
	for i := range servers {
		if servers[i].Borrowed {
			borrowed = append(borrowed, servers[i].Name)
		}
	}
	for i := range rules {
		if rules[i].Decision == approve.Allow {
			rules[i].NotServers = borrowed
		}
	}
	return rules
}

// Terminal asks the person at the terminal. If nobody may be asked there, it contains the reason.
func (v *Invocation) Terminal() *approve.Terminal {
	c, f := v.Config, v.Face
	t := &approve.Terminal{Before: f.Pause, After: f.Resume, Color: f.Color, DiffColor: face.Colored(c.Color, true, c.Getenv), Resumed: c.Resumed}
	f.YieldTo(t.Busy)
	switch {
	case c.Mode == config.Serve:
		t.Disabled = "the terminal belongs to the host"
	case c.NoInput:
		t.Disabled = "--no-input was given"
	case c.InCI():
		t.Disabled = "CI is set"
	case c.ReplayTools:
		t.Disabled = "the recording has the answers"
	}
	return t
}
