// Package turn lets a model and its tools take turns.
//
// A turn is one reply of the model, a round its calls and their answers. A nested run is
// the call of an agent: turns of another model, one level deep. The flow of a
// conversation is which labels what it holds has, and where they came from. A trimmer keeps
// the requests of a long conversation within the limit of its model.
//
// Each call is answered exactly once and in order, or the run ends; no tool runs
// without a verdict that allows it.
package turn

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/session"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/secrets"
)

// A Plan is what calls are made with: the invocation, its tool servers, and its agents.
type Plan struct {
	Inv    *invocation.Invocation
	Box    *toolbox.Toolbox
	Agents []*Agent

	staging *staging      // of --stage; nil: calls are not staged
	asking  chan struct{} // holds the question that somebody is being asked
	verdict sync.Mutex    // held while a verdict is taken, but not while somebody is asked
	changes chan struct{} // holds the call of a nested run that may change something: one at a time in all of them
	hosted  atomic.Int64  // numbers the calls of hosts
}

// NewPlan makes a plan without servers.
func NewPlan(v *invocation.Invocation) *Plan {
	return &Plan{Inv: v, Box: toolbox.New(v), asking: make(chan struct{}, 1), changes: make(chan struct{}, 1)}
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
	if c.Mode == config.Answer || c.Lists("models") {
		if err := p.Inv.ResolveModel(ctx); err != nil {
			return err
		}
	}
	if !c.MakesCalls() {
		return nil
	}
	if err := p.ResolveAgents(ctx); err != nil {
		return err
	}
	if err := p.openStaging(); err != nil {
		return err
	}
	return p.checkCost()
}

// rounds are the rounds of calls that a conversation may have, together with the runs that
// are nested in it. These may run at once.
type rounds struct {
	limit int
	used  atomic.Int64
}

func (p *Plan) newRounds() *rounds {
	return &rounds{limit: *cmp.Or(p.Inv.Config.MaxRounds, p.Inv.Settings.MaxRounds, new(8))}
}

// use takes one of the rounds. It returns how many are used with it; 0 if none was left.
func (r *rounds) use() int {
	if n := int(r.used.Add(1)); n <= r.limit {
		return n
	}
	return 0
}

// A budget is the tokens that a run may use and what it may cost, together with the runs that
// are nested in it. These may run at once, so the methods may be called concurrently.
type budget struct {
	tokens int // 0: no limit
	cost   float64
	costs  bool // cost is a limit

	mu         sync.Mutex
	usedTokens int
	usedCost   float64
}

// newBudget makes the budget of the flags.
func (p *Plan) newBudget() *budget {
	c := p.Inv.Config
	b := &budget{tokens: c.MaxTotal.Tokens, costs: c.MaxTotal.Cost != ""}
	b.cost, _ = strconv.ParseFloat(c.MaxTotal.Cost, 64)
	return b
}

// use counts tokens and their cost.
func (b *budget) use(tokens int, cost float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usedTokens += tokens
	b.usedCost += cost
}

// errUsedUp is the cause of the error of a budget that is used up.
var errUsedUp = errors.New("the budget of the run is used up")

// usedUp decides whether a run may go on: it is asked before every request to a model, and
// before calls for which no further request would take the results. The error says which
// limit is reached.
func (b *budget) usedUp() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var reached *failure.Error
	switch {
	case b.tokens > 0 && b.usedTokens >= b.tokens:
		reached = failure.Limit("--max-total-tokens gives the run more", "the run used %d tokens, its limit is %d", b.usedTokens, b.tokens)
	case b.costs && b.usedCost >= b.cost:
		reached = failure.Limit("--max-cost gives the run more", "the run cost %.6g, its limit is %v", b.usedCost, b.cost)
	default:
		return nil
	}
	reached.Cause = errUsedUp
	return reached
}

// A CallTally counts calls for the end event.
type CallTally struct {
	ToolCalls int
	Denied    int
	Staged    int
	Unknown   bool           // the outcome of a call is unknown
	Ran       bool           // a call may have had an effect
	Usage     event.Usage    // of the run's own turns, and of nested runs
	Cost      Cost           // of these
	Labels    approve.Labels // of the conversation
}

// Add adds what was counted of other calls.
func (t *CallTally) Add(c CallTally) {
	t.ToolCalls += c.ToolCalls
	t.Denied += c.Denied
	t.Unknown = t.Unknown || c.Unknown
	t.Ran = t.Ran || c.Ran
	t.Usage = t.Usage.Plus(c.Usage)
	t.Cost = t.Cost.plus(c.Cost)
	t.Labels |= c.Labels
}

// A Cost is what tokens have cost, as far as that is known.
type Cost struct {
	amount   float64
	currency string // "": nothing had a price
	partial  bool   // a part of it is not known, or in another currency
}

// costOf is what a reply has cost. An endpoint that reports no tokens leaves that open.
func costOf(price invocation.Price, u stream.Usage) Cost {
	if u == (stream.Usage{}) {
		return Cost{partial: true}
	}
	return Cost{price.Of(u), price.Currency, price.Currency == ""}
}

// plus adds other. The currency is that of the first part with a price.
func (c Cost) plus(other Cost) Cost {
	sum := Cost{c.amount, cmp.Or(c.currency, other.currency), c.partial || other.partial}
	switch other.currency {
	case sum.currency:
		sum.amount += other.amount
	case "":
	default:
		sum.partial = true
	}
	return sum
}

// Shown is the cost for an event, to nine places; nothing if no part of it is known.
func (c Cost) Shown() event.Cost {
	if c.currency == "" {
		return event.Cost{}
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(c.amount, 'f', 9, 64), 64)
	return event.Cost{Cost: strconv.AppendFloat(nil, rounded, 'f', -1, 64), Currency: c.currency, Partial: c.partial}
}

// count counts what an exchange has used up.
func (l *Loop) count(used stream.Usage) Cost {
	u, cost := event.Usage(used), costOf(l.model.Endpoint.Price, used)
	l.Usage, l.Cost = l.Usage.Plus(u), l.Cost.plus(cost)
	l.budget.use(u.Total(), cost.amount)
	return cost
}

// warnUncounted warns once that limits have no effect, after a whole reply without tokens.
func (l *Loop) warnUncounted() {
	if (l.budget.tokens > 0 || l.budget.costs) && !l.uncounted {
		l.uncounted = true
		l.emit(&event.Warning{Code: "no_usage", Message: "the endpoint does not report how many tokens it used, so --max-total-tokens and --max-cost have no effect"})
	}
}

// checkCost refuses --max-cost where the cost of a run cannot be known.
func (p *Plan) checkCost() error {
	if p.Inv.Config.MaxTotal.Cost == "" {
		return nil
	}
	currency := ""
	check := func(e *invocation.Endpoint) error {
		switch {
		case e.Price.Currency == "":
			return failure.UsageError([]string{`"price": {"input": 3, "output": 15} in the profile, for a million tokens`}, "--max-cost: the model %q has no price", e.Model)
		case currency != "" && currency != e.Price.Currency:
			return failure.Usage("--max-cost: the prices of the models are in %s and in %s", currency, e.Price.Currency)
		}
		currency = e.Price.Currency
		return nil
	}
	for m := p.Inv.Model; m != nil && m.Endpoint != nil; m = m.Next {
		if err := check(m.Endpoint); err != nil {
			return err
		}
	}
	for _, a := range p.Agents {
		if err := check(a.Endpoint); err != nil {
			return err
		}
	}
	return nil
}

// caller answers the calls of the model's turns. Each turn's calls are a round.
type caller struct {
	plan *Plan
	box  *toolbox.Toolbox
	output
	options
	memory
	lines lineCalls
	nest  *nestedRun // that asks for the calls; nil for the run itself
	flow  *flow      // of the conversation that the calls belong to
	limits
	*client
}

// limits are what is left of what a run may use.
type limits struct {
	rounds *rounds // nil: no loop asks for the calls
	budget *budget // of the run; nil: each call of a host has one of its own
}

// client is what is known of the client that the calls come from, and of the nested runs that
// work for it: a connection of --serve, or the run itself.
type client struct {
	ctx         context.Context // ends with the connection; nil: it is the run itself
	silent      atomic.Bool     // it has left a question without an answer
	heldSecrets atomic.Int64    // calls that were denied for the secret in their arguments
}

// memory is what outlives the round of a call.
type memory struct {
	session *session.File    // of the run itself; nil: there is none
	known   *confine.Known   // of files, by the model that asks for the calls; nil: it is not told of changes
	nested  *lruStore[*Loop] // the nested runs that can go on, by the ids of the calls that began them; nil: none can
}

// planned is what calls have to do with a plan of calls.
type planned struct {
	said     string    // what the model said before its calls, where these may be staged
	reviewed *Reviewed // the call is that of a plan; nil: it is not
}

// output is where what happens to calls is told.
type output struct {
	emit  func(event.Event) error
	flush func() error
	say   func(format string, args ...any) // prints a line on stderr
}

// options are what flags say of calls.
type options struct {
	planned        planned
	parallel       int  // read-only calls that run at once
	maxBytes       int  // of a result for the model; 0: all of it
	wholeResults   bool // events show in full what was cut for the model
	separate       bool // no model reads a result, so text and structured content stay apart
	dryRun         bool
	denyUnapproved bool         // an unapproved call is denied, and the run goes on
	serves         bool         // the calls are those of a host (--serve)
	askHost        string       // which of its calls the host asks its user about, as --ask-host says
	secrets        *secrets.Set // of the run; nil: none
	trace          config.Trace // that the run is part of
}

// resultBytes is how much of a result a model gets if no flag says it.
const resultBytes = 256 << 10

// newCaller has what flags and config say of calls. known may be nil.
func (p *Plan) newCaller(known *confine.Known) *caller {
	v, c := p.Inv, p.Inv.Config
	k := &caller{
		plan: p, box: p.Box, client: new(client), memory: memory{known: known, nested: &lruStore[*Loop]{Number: keptRuns, Bytes: keptRunBytes}}, flow: newFlow(v.Gate), lines: lineCalls{enabled: c.CmdLines},
		output: output{v.Emit, v.Flush, v.Face.Notef},
		options: options{
			parallel: cmp.Or(c.Parallel, 8), maxBytes: cmp.Or(int(c.MaxResultBytes), resultBytes),
			wholeResults: c.Output == "ndjson" || c.Log != "", dryRun: c.DryRun, denyUnapproved: c.DeniesUnapproved(), serves: c.Mode == config.Serve, askHost: c.AskHost, secrets: v.Secrets, trace: c.Trace(),
		},
	}
	if !k.serves {
		k.budget = p.newBudget()
	}
	return k
}
