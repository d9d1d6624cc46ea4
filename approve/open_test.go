package approve

import "testing"

// TestOpen holds that @open allows the calls of the input alone, that a deny and an
// ask still win, and that only a flag can say it.
func TestOpen(t *testing.T) {
	decide := func(open bool, extra ...Rule) Outcome {
		rules, err := Patterns("@open", Allow, "flag", "--allow ")
		if err != nil {
			t.Fatal(err)
		}
		g := Gate{Rules: append(rules, extra...), Otherwise: OtherwiseAsk}
		v, err := g.decided(t.Context(), Call{Server: "fs", Tool: "write", Name: "fs__write", Arguments: []byte("{}"), Open: open})
		if err != nil {
			t.Fatal(err)
		}
		return v.Outcome
	}
	deny, _ := Patterns("fs__*", Deny, "flag", "--deny ")
	ask, _ := Patterns("fs__*", Ask, "config", "config.json:1")
	for _, c := range []struct {
		open  bool
		extra []Rule
		want  Outcome
	}{{true, nil, Allowed}, {false, nil, Unapproved}, {true, deny, Denied}, {true, ask, Unapproved}} {
		if got := decide(c.open, c.extra...); got != c.want {
			t.Errorf("open %v with %d more rules: %v", c.open, len(c.extra), got)
		}
	}
	for _, by := range []struct {
		d    Decision
		name string
	}{{Deny, "flag"}, {Allow, "config"}, {Ask, "config"}} {
		if _, err := Patterns("@open", by.d, by.name, "x"); err == nil {
			t.Errorf("@open of %s", by.name)
		}
	}
}
