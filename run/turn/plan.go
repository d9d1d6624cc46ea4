// Package turn lets a model and its tools take turns.
//
// A turn is one reply of the model, a round its calls and their answers. A nested run is
// the call of an agent: turns of another model, one level deep. The flow of a
// conversation is which labels what it holds has, and where they came from.
//
// Each call is answered exactly once and in order, or the run ends; no tool runs
// without a verdict that allows it.
package turn

import (
	"cmp"
	"context"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/toolbox"
)

// A Plan is what calls are made with: the invocation, its tool servers, and its agents.
type Plan struct {
	Inv    *invocation.Invocation
	Box    *toolbox.Toolbox
	Agents []*Agent

	asking chan struct{} // holds the question that somebody is being asked
}

// NewPlan makes a plan without servers.
func NewPlan(v *invocation.Invocation) *Plan {
	return &Plan{Inv: v, Box: toolbox.New(v), asking: make(chan struct{}, 1)}
}

// Resolve turns flags, environment, config and policy into what the run
// needs. Nothing is started yet, so that every usage error is cheap.
func (p *Plan) Resolve(ctx context.Context) error {
	c := p.Inv.Config
	if err := p.Box.AddBuiltins(); err != nil {
		return err
	}
	if err := p.addAgents(); err != nil {
		return err
	}
	if err := p.Inv.MakeGate(); err != nil {
		return err
	}
	if err := p.Box.ReadLock(); err != nil {
		return err
	}
	if c.Mode == config.Answer || c.Mode == config.ListModels {
		if err := p.Inv.ResolveModel(ctx); err != nil {
			return err
		}
	}
	if !c.MakesCalls() {
		return nil
	}
	return p.ResolveAgents(ctx)
}

// limits are what a run may use up, together with the runs that are nested in it.
type limits struct {
	rounds, usedRounds int
	tokens, usedTokens int // tokens 0: no limit
}

// newLimits are those of flags and config, none of which is used up.
func (p *Plan) newLimits() *limits {
	c := p.Inv.Config
	return &limits{rounds: *cmp.Or(c.MaxRounds, p.Inv.Settings.MaxRounds, new(8)), tokens: c.MaxTotalTokens}
}

func (l *limits) outOfTokens() bool { return l.tokens > 0 && l.usedTokens >= l.tokens }

func (l *limits) tokenLimit() error {
	return failure.Limit("--max-total-tokens gives the run more", "the run used %d tokens, its limit is %d", l.usedTokens, l.tokens)
}
