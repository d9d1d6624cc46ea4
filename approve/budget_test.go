package approve

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"toolpipe/stream/text/jsontext"
)

// manyRules returns n equal rules with a test on the argument a.
func manyRules(t testing.TB, n int, decision, test string) []Rule {
	p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"`+decision+`","server":"*","tool":"*","arguments":{"a":`+test+`}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Repeat(p.Rules, n)
}

// list returns a JSON array or object of n elements; format makes an element
// from its number.
func list(opening, closing, format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ","+format, i)
	}
	return opening + b.String()[1:] + closing
}

// A costly kind of test has rules and an argument that need much work.
type costly struct {
	name, decision string
	rules          int
	test, argument string
}

// expensive has all kinds. They are made when a test needs them, not at the start
// of each process that the tests start.
var expensive = sync.OnceValue(func() []costly {
	return []costly{
		{"glob", "deny", 400, `{"glob":"` + strings.Repeat("*a", 50) + `b"}`, `"` + strings.Repeat("a", 900_000) + `"`},
		{"glob to allow", "allow", 400, `{"glob":"` + strings.Repeat("*a", 50) + `b"}`, `"` + strings.Repeat("a", 900_000) + `"`},
		{"regex", "deny", 400, `{"regex":"(a?){200}a{200}x"}`, `"` + strings.Repeat("a", 900_000) + `"`},
		{"short regex", "deny", 400, `{"regex":"(a?){200}a{200}x"}`, list("[", "]", `"%040d"`, 20_000)},
		{"one_of", "deny", 40, `{"one_of":` + list("[", "]", "%d", 20_000) + `}`, list("[", "]", "1%09d", 40_000)},
		{"equals: strings", "deny", 2000, `{"equals":"x"}`, `"` + strings.Repeat(`\n`, 900_000) + `"`},
		{"equals: objects", "deny", 40, `{"equals":` + list("{", "}", `"k%d":1`, 20_000) + `}`, list("{", "}", `"k0%d":1`, 40_000)},
		{"range", "deny", 400, `{"range":[null,5]}`, strings.Repeat("1", 900_000)},
		{"under", "deny", 400, `{"under":"x"}`, `"` + strings.Repeat("y/../", 500) + `"`},
		{"words", "deny", 40, `{"words":[` + list("[", "]", `"w%d"`, 20_000) + `]}`, `[` + list("", "", `["v%d"]`, 40_000) + `]`},
		{"keys", "deny", 2000, `{"equals":1}`, list("{", "}", `"k%d":2`, 40_000)},
		{"leaves", "allow", 8000, `{"range":[0,null]}`, list("[", "]", "%d", 40_000)},
	}
})

// An endingContext ends when Err was called n times.
type endingContext struct {
	context.Context
	n int
}

var errEnded = errors.New("the context ended")

func (c *endingContext) Err() error {
	if c.n--; c.n < 0 {
		return errEnded
	}
	return nil
}

// Whatever a rule tests, a decision stops soon after its context has ended.
func TestDecideStops(t *testing.T) {
	for _, h := range expensive() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			g := &Gate{Rules: manyRules(t, h.rules, h.decision, h.test), Otherwise: OtherwiseAsk, AutoApprove: "--auto-approve"}
			c := Call{Server: "s", Tool: "t", Name: "s__t", Arguments: []byte(`{"a":` + h.argument + `}`), Root: t.TempDir()}
			if v, err := g.decided(&endingContext{t.Context(), 6}, c); err != errEnded {
				t.Errorf("it was decided: %v, %v", v, err)
			}
			if x, err := g.Explain(&endingContext{t.Context(), 6}, c); err != errEnded {
				t.Errorf("it was explained: %v, %v", x, err)
			}
		})
	}
}

// Arguments that need more work than a decision may take are denied, whatever
// would approve them.
func TestDecideTakesSoMuchWork(t *testing.T) {
	t.Parallel()
	h := expensive()[len(expensive())-1]
	g := &Gate{Rules: manyRules(t, h.rules, h.decision, h.test), Otherwise: OtherwiseAsk, AutoApprove: "--auto-approve"}
	allow, err := Patterns("*", Allow, "flag", "--allow ")
	if err != nil {
		t.Fatal(err)
	}
	g.Rules = append(g.Rules, allow...)
	c := Call{Server: "s", Tool: "t", Name: "s__t", Arguments: []byte(`{"a":` + h.argument + `}`)}
	v, err := g.decided(t.Context(), c)
	if err != nil || v.Outcome != Denied || v.By != "default" || v.Reason != overBudget.Reason {
		t.Errorf("%+v, %v", v, err)
	}
	c.Arguments = []byte(`{"a":"aaa"}`)
	if v, err := g.decided(t.Context(), c); err != nil || v.Outcome != Allowed {
		t.Errorf("the next call: %+v, %v", v, err)
	}
}

// With an exhausted budget all paths are denied.
func TestWithheldStops(t *testing.T) {
	t.Parallel()
	h := expensive()[0]
	g := &Gate{Rules: manyRules(t, 40, "deny", h.test), Otherwise: OtherwiseAsk}
	p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"deny","server":"*","tool":"*","arguments":{"a":`+h.test+`,"path":{"under":"/secret"}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	g.Rules = append(g.Rules, p.Rules...)
	c := Call{Server: "s", Tool: "t", Name: "s__t", Arguments: []byte(`{"path":"/x","a":` + h.argument + `}`), Root: "/", Traits: reading}
	if got := g.Withheld(&endingContext{t.Context(), 6}, c).Paths; !slices.Equal(got, []string{"/"}) {
		t.Errorf("%q", got)
	}
	c.Arguments = []byte(`{"path":"/x","a":"aaa"}`)
	if got := g.Withheld(t.Context(), c).Paths; len(got) > 0 {
		t.Errorf("it does not say so of short arguments: %q", got)
	}
}

// A long text inside of other values is no reason to deny under an ordinary policy.
func TestOrdinaryWork(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("An ordinary line of an ordinary file, with a word or two.\n", 2000)
	argument := strings.Repeat("[", 60) + string(jsontext.Quoted(text)) + strings.Repeat("]", 60)
	for test, n := range map[string]int{
		`{"glob":"*BEGIN PRIVATE KEY*"}`:               200,
		`{"regex":"(?s).*(password|secret)\\s*=.*"}`:   5,
		`{"regex":"[a-z]+"}`:                           500,
		`{"one_of":["main","master","release","dev"]}`: 500,
	} {
		g := &Gate{Rules: manyRules(t, n, "deny", test), Otherwise: OtherwiseAsk, AutoApprove: "--auto-approve"}
		c := Call{Server: "s", Tool: "t", Name: "s__t", Arguments: []byte(`{"a":` + argument + `}`)}
		if v, err := g.decided(t.Context(), c); err != nil || v.Outcome != Allowed {
			t.Errorf("%d of %s: %+v, %v", n, test, v, err)
		}
	}
}

// A budget pays for each step, looks at its context now and then, and stays
// exhausted.
func TestBudget(t *testing.T) {
	if !(*budget)(nil).spend(maxSteps + 1) {
		t.Error("no budget is a limit")
	}
	b := newBudget(t.Context())
	if !b.spend(maxSteps) || b.exhausted() {
		t.Error("the last step cannot be spent")
	}
	if !b.spend(0) || b.spend(1) || !b.exhausted() {
		t.Error("it is not exhausted")
	}
	if b.spend(0) {
		t.Error("it was exhausted, and steps can be spent")
	}
	ctx := &endingContext{t.Context(), 1 << 30}
	b = newBudget(ctx)
	for range 10 {
		b.spend(checkEvery)
	}
	if checks := 1<<30 - ctx.n; checks != 10 {
		t.Errorf("the context was looked at %d times in 10 times checkEvery steps", checks)
	}
	ctx.n = 0
	if b.spend(2*checkEvery) || !b.exhausted() {
		t.Error("it goes on though its context has ended")
	}
}

// A text of any length costs as much for each character.
func TestMatchLongText(t *testing.T) {
	re := regexp.MustCompile(`\A(?:(?:é|x)*é!?)\z`)
	const instructions = 16
	for _, n := range []int{1, 1000, 1 << 16} {
		for text, want := range map[string]bool{
			strings.Repeat("é", n): true, strings.Repeat("é", n) + "!": true, strings.Repeat("é", n) + "?": false, strings.Repeat("é", n-1) + "e": false,
		} {
			b := newBudget(t.Context())
			if got := b.match(re, instructions, []byte(text)); got != want {
				t.Errorf("%d of %.3q…: %v", n, text, got)
			}
			most := len(text) * 2 * instructions
			if spent := maxSteps - b.left; spent > most || want && spent < most/2 {
				t.Errorf("%d of %.3q…: %d steps", n, text, spent)
			}
		}
	}
	text := []byte(strings.Repeat("é", 1<<16))
	b := newBudget(t.Context())
	b.left = 2 * instructions * 1000
	if b.match(re, instructions, text); !b.exhausted() {
		t.Error("a part of the text was matched as if it were the whole")
	}
	b = newBudget(t.Context())
	b.left = 2 * instructions
	if b.match(re, instructions, []byte("xé")) || !b.exhausted() {
		t.Error("a short text costs nothing")
	}
}

// The arguments are not read if no rule looks at them.
func TestArgumentsAreReadWhenARuleLooks(t *testing.T) {
	g := &Gate{Rules: append(patterns(t, "s__*", Allow, "--allow"), manyRules(t, 1, "deny", `{"equals":1}`)...), Otherwise: OtherwiseAsk}
	g.Rules[1].servers[0] = "other"
	for server, want := range map[string]bool{"s": false, "other": true} {
		c := Call{Server: server, Tool: "t", Name: server + "__t", Arguments: []byte(`{"a":[0,1]}`)}
		if _, err := g.decided(t.Context(), c); err != nil || (len(g.evaluation.document.nodes) > 0) != want {
			t.Errorf("%s: %d values, %v", server, len(g.evaluation.document.nodes), err)
		}
	}
}
