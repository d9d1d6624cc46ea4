// Package turn lets a model and its tools take turns.
//
// A turn is one reply of the model, a round its calls and their answers. A nested run is the call
// of an agent: turns of another model, one level deep. The flow of a conversation is the labels of
// its content, with their sources. A trimmer keeps requests within the limit of their model.
//
// Each call is answered exactly once and in order, or the run ends; no tool runs without a verdict
// that allows it.
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
)

// A Plan is the context of calls: the invocation, its tool servers, and its agents.
type Plan struct {
	Inv    *invocation.Invocation
	Box    *toolbox.Toolbox
	Agents []*Agent
	Stop   context.CancelCauseFunc // ends the run

	staging *staging      // of --stage; nil without it
	asking  chan struct{} // contains an element while somebody is asked
	verdict sync.Mutex    // held during verdicts, but not while somebody is asked
	changes chan struct{} // contains an element while a nested run makes a call that may change something
	hosted  atomic.Int64  // number of calls of hosts and of programs
	forPrograms
}

// forPrograms is what programs in commands use until the run ends.
type forPrograms struct {
	doors doors
	files resultFiles // the model reads them too
}

// NewPlan returns a plan without servers.
func NewPlan(v *invocation.Invocation) *Plan {
	return &Plan{Inv: v, Box: toolbox.New(v), asking: make(chan struct{}, 1), changes: make(chan struct{}, 1)}
}

// Resolve prepares the run from flags, environment, config and policy. It starts nothing, so usage
// errors come early and cost nothing.
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
	for i := range p.Inv.Servers {
		if c.ReplayTools { // none starts
			p.Inv.Servers[i].Unusable = nil
		}
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

// rounds are the rounds of calls that a conversation may have, including its nested runs, which may
// run in parallel.
type rounds struct {
	limit int
	used  atomic.Int64
}

func (p *Plan) newRounds() *rounds {
	return &rounds{limit: *cmp.Or(p.Inv.Config.MaxRounds, p.Inv.Settings.MaxRounds, new(8))}
}

// use uses one round, and returns the number of used rounds; 0 if none was left.
func (r *rounds) use() int {
	if n := int(r.used.Add(1)); n <= r.limit {
		return n
	}
	return 0
}

// A budget limits the tokens and the cost of a run, including its nested runs. These may run in
// parallel, so the methods may be called concurrently.
type budget struct {
	tokens int // 0: no limit
	cost   float64
	costs  bool // cost is a limit

	uncounted atomic.Bool // a reply came without its tokens

	mu         sync.Mutex
	usedTokens int
	usedCost   float64
}

func (p *Plan) newBudget() *budget {
	c := p.Inv.Config
	b := &budget{tokens: c.MaxTotal.Tokens, costs: c.MaxTotal.Cost != ""}
	b.cost, _ = strconv.ParseFloat(c.MaxTotal.Cost, 64)
	return b
}

// use adds tokens and their cost.
func (b *budget) use(tokens int, cost float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usedTokens += tokens
	b.usedCost += cost
}

var errUsedUp = errors.New("the budget of the run is used up")

// unbounded reports whether a limit cannot be checked any more.
func (b *budget) unbounded() bool { return b.uncounted.Load() && (b.tokens > 0 || b.costs) }

const unboundedText = "the endpoint does not report how many tokens it used, so --max-total-tokens and --max-cost cannot limit the run"

// usedUp returns an error that names the limit, if the budget is exhausted or cannot be checked. It
// is called before every request to a model, and before calls with results for which no request
// would be left.
func (b *budget) usedUp() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var reached *failure.Error
	switch {
	case b.tokens > 0 && b.usedTokens >= b.tokens:
		reached = failure.Limit("--max-total-tokens gives the run more", "the run used %d tokens, its limit is %d", b.usedTokens, b.tokens)
	case b.costs && b.usedCost >= b.cost:
		reached = failure.Limit("--max-cost gives the run more", "the run cost %.6g, its limit is %v", b.usedCost, b.cost)
	case b.unbounded():
		reached = failure.Limit("without these two flags, --max-rounds and --timeout limit the run", unboundedText)
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
	Usage     event.Usage    // of the run's turns, and of nested runs
	Cost      Cost           // of these tokens
	Labels    approve.Labels // of the conversation
}

// Add adds the counts of other calls.
func (t *CallTally) Add(c CallTally) {
	t.ToolCalls += c.ToolCalls
	t.Denied += c.Denied
	t.Unknown = t.Unknown || c.Unknown
	t.Ran = t.Ran || c.Ran
	t.Usage = t.Usage.Plus(c.Usage)
	t.Cost = t.Cost.plus(c.Cost)
	t.Labels |= c.Labels
}

// A Cost is the known cost of tokens.
type Cost struct {
	amount   float64
	currency string // "": nothing had a price
	partial  bool   // a part is unknown or in another currency
}

// costOf is the cost of a reply. It is unknown if the endpoint reports no tokens.
func costOf(price invocation.Price, u stream.Usage) Cost {
	if u == (stream.Usage{}) {
		return Cost{partial: true}
	}
	return Cost{price.Of(u), price.Currency, price.Currency == ""}
}

// plus adds other. The first part with a price determines the currency.
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

// Shown is the cost for an event, with nine decimal places; empty if it is unknown.
func (c Cost) Shown() event.Cost {
	if c.currency == "" {
		return event.Cost{}
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(c.amount, 'f', 9, 64), 64)
	return event.Cost{Cost: strconv.AppendFloat(nil, rounded, 'f', -1, 64), Currency: c.currency, Partial: c.partial}
}

func (l *Loop) count(used stream.Usage) Cost {
	u, cost := event.Usage(used), costOf(l.model.Endpoint.Price, used)
	l.Usage, l.Cost = l.Usage.Plus(u), l.Cost.plus(cost)
	l.budget.use(u.Total(), cost.amount)
	return cost
}

// checkCost refuses --max-cost if the cost of the run cannot be known.
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

// caller answers the calls of the model's turns. The calls of a turn are a round.
type caller struct {
	plan *Plan
	box  *toolbox.Toolbox
	output
	options
	memory
	lines lineCalls
	asker
	flow *flow // of the conversation with the calls
	limits
	*client
}

// An asker makes the calls.
type asker struct {
	nest    *nestedRun // the nested run; nil for the main run
	command *command   // the command with the program that makes them; nil: a model or a host does
}

// limits are the rounds and the budget that a run has left.
type limits struct {
	rounds *rounds // nil: no loop asks for the calls
	budget *budget // of the run; nil: a separate one for each call of a host
}

// client is the state of a client that makes calls, including nested runs that work for it: a
// connection of --serve, or the run itself.
type client struct {
	ctx         context.Context // ends with the connection; nil for the run itself
	silent      atomic.Bool     // it left a question without an answer
	heldSecrets atomic.Int64    // calls that were denied because of a secret in their arguments
}

// memory outlives the round of a call.
type memory struct {
	session *session.File    // of the main run; nil: none
	results *results         // of the conversation; nil: they have no names
	known   *confine.Known   // files that the asking model knows; nil: it gets no reports of changes
	nested  *lruStore[*Loop] // nested runs that can be continued, by the id of their first call; nil: none
}

// planned is the relation of calls to a plan.
type planned struct {
	said     string    // the model's text before its calls, if these may be staged
	reviewed *Reviewed // the call's entry in the plan; nil: none
}

type output struct {
	emit  func(event.Event) error
	flush func() error
	say   func(format string, args ...any) // prints a line on stderr
}

type options struct {
	planned        planned
	parallel       int  // read-only calls in parallel
	maxBytes       int  // of a result for the model; 0: no limit
	wholeResults   bool // events contain results in full, even if they are cut for the model
	separate       bool // no model reads the results, so text and structured content stay separate
	dryRun         bool
	denyUnapproved bool         // deny an unapproved call, and go on
	serves         bool         // the calls come from a host (--serve)
	askHost        string       // --ask-host: about which calls the host asks its user
	trace          config.Trace // to which the run belongs

	echoes func(name string) bool // stream.Request.Echoes of the request that led to the calls; nil: none
}

// resultBytes is the default limit of a result in bytes. It applies where a model reads the result.
const resultBytes = 256 << 10

// newCaller returns a caller with the settings of flags and config. known may be nil.
func (p *Plan) newCaller(known *confine.Known) *caller {
	v, c := p.Inv, p.Inv.Config
	k := &caller{
		plan: p, box: p.Box, client: new(client), memory: memory{known: known, nested: &lruStore[*Loop]{Number: keptRuns, Bytes: keptRunBytes}}, flow: newFlow(v.Gate), lines: lineCalls{enabled: c.CmdLines},
		output: output{v.Emit, v.Flush, v.Face.Notef},
		options: options{
			parallel: cmp.Or(c.Parallel, 8), maxBytes: int(c.MaxResultBytes),
			wholeResults: c.Output == "ndjson" || c.Log != "", dryRun: c.DryRun, denyUnapproved: c.DeniesUnapproved(), serves: c.Mode == config.Serve, askHost: c.AskHost, trace: c.Trace(),
		},
	}
	if c.ReplayTools {
		k.parallel = 1 // events have the same order each time
	}
	if !k.serves {
		k.budget = p.newBudget()
	}
	return k
}
