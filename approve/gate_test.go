package approve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"toolpipe/stream/text/jsontext"
)

// A fakeApprover gives one decision always, and keeps what it was asked.
type fakeApprover struct {
	decision Decision
	asked    []string // the verdicts of the rules, and the rules
}

func (s *fakeApprover) approver() *Approver {
	answer := map[Decision]string{Allow: "allow", Ask: "none", Deny: "deny"}[s.decision]
	return &Approver{Origin: "--approver", Ask: func(_ context.Context, question []byte) ([]byte, string) {
		verdict, rule := jsontext.Text(jsontext.Member(question, "verdict")), jsontext.Text(jsontext.Member(question, "rule"))
		s.asked = append(s.asked, strings.TrimSpace(verdict+" "+rule))
		return []byte(`{"decision":"` + answer + `","reason":"because"}`), ""
	}}
}

// approverThat gives one decision always.
func approverThat(d Decision) *Approver { return (&fakeApprover{decision: d}).approver() }

// autoApprove is the field AutoApprove of a gate.
func autoApprove(yes bool) string {
	if yes {
		return "--auto-approve"
	}
	return ""
}

func patterns(t *testing.T, list string, d Decision, origin string) []Rule {
	t.Helper()
	rules, err := Patterns(list, d, "flag", origin)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestApproverInTheLattice(t *testing.T) {
	c := Call{Server: "fs", Tool: "w", Name: "fs__w"}
	allow, ask, deny := patterns(t, "fs__w", Allow, "--allow "), patterns(t, "fs__w", Ask, "cfg"), patterns(t, "fs__w", Deny, "--deny ")
	for _, x := range []struct {
		name   string
		rules  []Rule
		yes    bool
		answer Decision // the approver's
		want   string   // the verdict
		asked  string   // the decision of the rules that the approver got
	}{
		{"it answers what nothing decided", nil, false, Allow, "allow --approver", "ask"},
		{"it answers an ask", ask, false, Allow, "allow --approver", "ask cfg"},
		{"it may deny what is asked", ask, true, Deny, "deny --approver", "ask cfg"},
		{"it may deny what is allowed", allow, true, Deny, "deny --approver", "allow --allow fs__w"},
		{"it allows what is allowed", allow, false, Allow, "allow --approver", "allow --allow fs__w"},
		{"no opinion on an allow", allow, false, Ask, "allow --allow fs__w", "allow --allow fs__w"},
		{"no opinion, and -y", nil, true, Ask, "allow --auto-approve", "ask"},
		{"no opinion, and nobody", ask, false, Ask, "ask cfg", "ask cfg"},
		{"it is not asked about a deny", append(deny, allow...), true, Allow, "deny --deny fs__w", ""},
	} {
		a := &fakeApprover{decision: x.answer}
		g := &Gate{Rules: x.rules, AutoApprove: autoApprove(x.yes), Otherwise: OtherwiseAsk, Approver: a.approver()}
		v, err := g.decided(t.Context(), c)
		if err != nil || verdictString(v) != x.want {
			t.Errorf("%s: %s, %v", x.name, verdictString(v), err)
		}
		if asked := strings.Join(a.asked, ""); asked != x.asked {
			t.Errorf("%s: it got %q", x.name, asked)
		}
		if g.Explain(t.Context(), c); len(a.asked) > 1 {
			t.Errorf("%s: Explain asked it", x.name)
		}
	}
}

// When the run ends while the approver is asked, its answer is no verdict.
func TestApproverError(t *testing.T) {
	ended := errors.New("the run ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	approver := &Approver{Ask: func(context.Context, []byte) ([]byte, string) {
		cancel(ended)
		return []byte(`{"decision":"allow"}`), ""
	}}
	g := &Gate{Rules: patterns(t, "*", Allow, "--allow "), AutoApprove: "--auto-approve", Approver: approver}
	if v, err := g.decided(ctx, Call{Server: "s", Tool: "t", Name: "s__t"}); err != ended || v.Outcome == Allowed {
		t.Errorf("%+v, %v", v, err)
	}
}

// A tool that a person allowed is asked about again where a rule or the approver
// wants to know of each call.
func TestAllowedToolMayBeAskedAbout(t *testing.T) {
	for _, x := range []struct {
		name     string
		rules    []Rule
		approver *Approver
		want     string
	}{
		{"no rule", nil, nil, "allow terminal"},
		{"another tool", patterns(t, "s__u", Ask, "cfg"), nil, "allow terminal"},
		{"a rule that asks", patterns(t, "s__t", Ask, "cfg"), nil, "ask cfg"},
		{"an approver without an opinion", nil, approverThat(Ask), "ask -"},
	} {
		g := &Gate{Rules: x.rules, Otherwise: OtherwiseAsk, Approver: x.approver, allowed: map[any]bool{[2]string{"s", "t"}: true}}
		if v, err := g.decided(t.Context(), Call{Server: "s", Tool: "t", Name: "s__t"}); err != nil || verdictString(v) != x.want {
			t.Errorf("%s: %s, %v", x.name, verdictString(v), err)
		}
	}
}

// A verdict that no person and no approver gave says who decided, and why.
func TestVerdictsOfRules(t *testing.T) {
	reasoned := patterns(t, "s__t", Ask, "cfg")
	reasoned[0].Reason = "careful"
	for _, x := range []struct {
		gate Gate
		want Verdict
	}{
		{Gate{Otherwise: Rule{By: "default", Reason: "no rule allows it"}}, Verdict{Outcome: Denied, By: "default", Reason: "no rule allows it"}},
		{Gate{Otherwise: Rule{By: "policy", Origin: "p.json:1", Reason: "no rule allows it"}}, Verdict{Outcome: Denied, By: "policy", Rule: "p.json:1", Reason: "no rule allows it"}},
		{Gate{Otherwise: OtherwiseAsk}, Verdict{Outcome: Unapproved, By: "default", Reason: "nobody can be asked"}},
		{Gate{Otherwise: OtherwiseAsk, Rules: patterns(t, "s__t", Ask, "cfg")}, Verdict{Outcome: Unapproved, By: "flag", Rule: "cfg", Reason: "nobody can be asked"}},
		{Gate{Otherwise: OtherwiseAsk, Rules: reasoned}, Verdict{Outcome: Unapproved, By: "flag", Rule: "cfg", Reason: "careful (nobody can be asked)"}},
	} {
		v, err := x.gate.decided(t.Context(), Call{Server: "s", Tool: "t", Name: "s__t"})
		v.Places, v.rule = nil, nil
		if err != nil || !reflect.DeepEqual(v, x.want) {
			t.Errorf("%+v, %v, want %+v", v, err, x.want)
		}
	}
}

// The answer "a" is for one call: no part of its names can move to another part.
func TestCallKey(t *testing.T) {
	g := &Gate{}
	keys := map[[32]byte]Call{}
	for _, c := range []Call{
		{Server: "a", Tool: "bc", Name: "n"}, {Server: "ab", Tool: "c", Name: "n"}, {Server: "ab", Tool: "", Name: "cn"}, {Server: "a", Tool: "bc", Name: "n", Arguments: []byte("{}")},
		{Server: "a", Tool: "bc", Name: "n{}"},
	} {
		if other, ok := keys[g.callKey(&c)]; ok {
			t.Errorf("%+v is %+v", c, other)
		}
		keys[g.callKey(&c)] = c
	}
}

func TestZeroGateDenies(t *testing.T) {
	var g Gate
	if v, err := g.decided(t.Context(), Call{Name: "x__y"}); err != nil || v.Outcome != Denied {
		t.Error(v, err)
	}
	if v := g.Static(Call{Name: "x__y"}); v.Outcome != Denied {
		t.Error(v)
	}
	var r Rule
	if r.matchesTool(&Call{}) {
		t.Error("the zero rule matches")
	}
}

func TestExplain(t *testing.T) {
	p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[
		{"decision":"allow","server":"s","tool":"*"},
		{"decision":"ask","server":"*","tool":"t","reason":"careful"},
		{"decision":"deny","server":"s","tool":"t","arguments":{"a":{"equals":1}}},
		{"decision":"ask","server":"s","tool":"t"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{Rules: p.Rules, Otherwise: OtherwiseAsk, Terminal: &Terminal{Disabled: "Explain asks nobody"}}
	e, _ := g.Explain(t.Context(), Call{Server: "s", Tool: "t", Name: "s__t", Arguments: []byte(`{"a":2}`)})
	var got []string
	for _, m := range e.Matched {
		got = append(got, m.Decision.String()+" "+m.Origin)
	}
	if strings.Join(got, ", ") != "allow p.json:2, ask p.json:3, ask p.json:5" || !e.Ask || e.Verdict.Outcome != Unapproved || e.Verdict.Rule != "p.json:3" || !strings.HasPrefix(e.Verdict.Reason, "careful") {
		t.Errorf("%v %+v", got, e)
	}
	if e, _ := g.Explain(t.Context(), Call{Server: "s", Tool: "t", Name: "s__t", Arguments: []byte(`{"a":1}`)}); e.Verdict.Outcome != Denied || e.Ask || len(e.Matched) != 4 {
		t.Errorf("%+v", e)
	}
}

func TestExplainNamesTheApprover(t *testing.T) {
	for d, want := range map[Decision]bool{Ask: true, Allow: true, Deny: false} {
		g := &Gate{Rules: patterns(t, "s__t", d, "--x "), Otherwise: OtherwiseAsk, Approver: approverThat(Deny)}
		c := Call{Server: "s", Tool: "t", Name: "s__t"}
		if e, _ := g.Explain(t.Context(), c); e.Approver != want {
			t.Errorf("%s: %+v", d, e)
		}
		g.Approver = nil
		if e, _ := g.Explain(t.Context(), c); e.Approver {
			t.Errorf("%s: no approver is asked: %+v", d, e)
		}
	}
}

// Check goes on behind a rule without fault, and gives the warnings beside an error.
func TestCheckAllRules(t *testing.T) {
	p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"deny","server":"fs","tool":"read"},`+"\n"+`{"decision":"deny","server":"gh","tool":"*"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{Rules: append(patterns(t, "none__*,@read-only", Allow, "--allow "), p.Rules...)}
	for i, want := range []string{`p.json:2: no configured server is named "gh"`, `p.json:1: no tool is named "read"`} {
		tools := toolsOf("fs", "read", "write")
		tools[0].ReadOnly = true
		w, err := g.Check([]Server{{Name: "fs", Tools: tools[i:], Started: true}})
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(w) != 1+i {
			t.Errorf("%v, %v", w, err)
		}
	}
}

func TestPatterns(t *testing.T) {
	rules := patterns(t, "fs__read_*, gh__*,@read-only", Allow, "--allow ")
	if len(rules) != 3 || rules[0].Origin != "--allow fs__read_*" || rules[1].Origin != "--allow gh__*" || rules[2].Origin != "--allow @read-only" {
		t.Errorf("%+v", rules)
	}
	patterns(t, "my server__b", Allow, "--allow ")
	if rules := patterns(t, "a__b,c__d", Ask, "config.json:4"); rules[1].Origin != "config.json:4" {
		t.Errorf("%+v", rules)
	}
	for list, want := range map[string]string{
		"": "empty pattern", "a__b,": "empty pattern", "a__b,,c__d": "empty pattern", "@readonly": `unknown word "@readonly"`,
		"a__b c": "is not a pattern", "a b": "is not a pattern", "a__{b,c}": "is not a pattern", "a__\u202eb": "is not a pattern", "Bash(git:*)": "is not a pattern",
	} {
		if _, err := Patterns(list, Allow, "flag", "--allow "); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", list, err)
		}
	}
	if _, err := Patterns("@read-only", Deny, "flag", "--deny "); err == nil {
		t.Error("@read-only can be denied")
	}
}

func TestMappedNames(t *testing.T) {
	c := Call{Server: "gh", Tool: "issues/delete", Name: "gh__issues_delete_1a2b"}
	for _, x := range []struct {
		list string
		d    Decision
		want Outcome
	}{
		{"gh__issues_delete_1a2b", Allow, Allowed}, {"gh__issues/delete", Allow, Unapproved},
		{"gh__issues/delete", Deny, Denied}, {"gh__issues_*", Deny, Denied},
	} {
		g := &Gate{Rules: patterns(t, x.list, x.d, "flag "), Otherwise: OtherwiseAsk}
		if v, _ := g.decided(t.Context(), c); v.Outcome != x.want {
			t.Errorf("%s: %v", x.list, v)
		}
	}
}

// A rule matches a server by both of its names, and no server that it leaves out.
func TestRuleOfServer(t *testing.T) {
	spelled := Call{Server: "x_y", Spelling: "x.y", Tool: "t", Name: "x_y__t"}
	plain := Call{Server: "s", Tool: "t", Name: "s__t"}
	for _, d := range []Decision{Allow, Ask, Deny} {
		for _, x := range []struct {
			call    Call
			pattern string // of a flag
			server  string // of a policy rule
			want    bool
		}{
			{spelled, "x_y__t", "x_y", true}, {spelled, "x.y__t", "x.y", true}, {spelled, "x.z__t", "x.z", false},
			{plain, "s__t", "s", true}, {plain, "__t", "t", false}, {plain, "*__t", "*", true},
		} {
			r := patterns(t, x.pattern, d, "--x ")[0]
			p := Rule{Decision: d, selector: selector{servers: []glob{glob(x.server)}, tools: []glob{"t"}}}
			if r.matchesTool(&x.call) != x.want || p.matchesTool(&x.call) != x.want {
				t.Errorf("%s %s of %+v: %t, %t", d, x.pattern, x.call, r.matchesTool(&x.call), p.matchesTool(&x.call))
			}
			p.NotServers = []string{"other", x.call.Server}
			if p.matchesTool(&x.call) {
				t.Errorf("%s: a server that is left out is matched", d)
			}
		}
	}
}

// toolsOf are tools of a server, of which nobody says what they do.
func toolsOf(server string, names ...string) (tools []Tool) {
	for _, name := range names {
		tools = append(tools, Tool{Call: Call{Server: server, Tool: name, Name: server + "__" + name, Traits: Traits{Assumed: Exposed | AllEffects}}})
	}
	return tools
}

func TestCheck(t *testing.T) {
	known := []Server{{Name: "fs", Tools: toolsOf("fs", "read_file", "write/file"), Started: true}, {Name: "gh"}, {Name: "sh", Tools: toolsOf("sh", "run"), Started: true}}
	known[0].Tools[1].Name = "fs__write_file_77"
	for list, warned := range map[string]bool{
		"fs__read_*": false, "fs__write_file_??": false, "fs__raed_file": true, "gh__anything": false, "g*": false, "?h__x": false, "gl__*": true, "*": false, "@read-only": false, "gh": true, "gh_": true, "gh__": false, "fs__": true, "__x": true,
	} {
		g := &Gate{Rules: patterns(t, list, Allow, "--allow ")}
		w, err := g.Check(known)
		if err != nil || (len(w) == 1) != warned {
			t.Errorf("%s: %v, %v", list, w, err)
		}
		if warned && w[0].Message != `--allow: no tool has a name like "`+list+`"` {
			t.Error(w)
		}
	}
	for list, want := range map[string]string{
		"fs__raed_file": `--deny: no tool is named "fs__raed_file" (a pattern with * or ? accepts that), did you mean "fs__read_file"?`, "zz__yyyyyyyyy": `--deny: no tool is named "zz__yyyyyyyyy" (a pattern with * or ? accepts that)`,
		"fs__raed_*": "", "gh__anything": "", "FS__read_file": "",
	} {
		w, err := (&Gate{Rules: patterns(t, list, Deny, "--deny ")}).Check(known)
		if fmt.Sprint(err) != cmp.Or(want, "<nil>") || (len(w) == 1 && w[0].Grave) != (list == "fs__raed_*") {
			t.Errorf("--deny %s: %v, %v", list, w, err)
		}
	}
	config, err := Patterns("gl__*", Allow, "config", "c.json:1")
	if err != nil {
		t.Fatal(err)
	}
	if w, err := (&Gate{Rules: config}).Check(known); len(w) > 0 || err != nil {
		t.Errorf("a pattern of the config that matches nothing: %v, %v", w, err)
	}
	spelled := []Server{{Name: "x_y", Spelling: "x.y"}}
	for list, warned := range map[string]bool{"x_y__*": false, "x.y__*": false, "x.z__*": true} {
		g := &Gate{Rules: patterns(t, list, Deny, "--deny ")}
		if w, _ := g.Check(spelled); (len(w) == 1) != warned {
			t.Errorf("%s: %v", list, w)
		}
	}
	for name, found := range map[string]bool{"x_y": true, "x.y": true, "x.z": false} {
		p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"deny","server":"`+name+`","tool":"*"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&Gate{Rules: p.Rules}).Check(spelled); (err == nil) != found {
			t.Errorf("the server %s: %v", name, err)
		}
	}
	g := &Gate{Rules: patterns(t, "fs__write/*", Allow, "--allow ")}
	if w, _ := g.Check(known); len(w) != 1 || w[0].Message != `--allow: no tool has a name like "fs__write/*"` {
		t.Errorf("an unmapped name: %v", w)
	}
	for decision, warnings := range map[Decision]int{Allow: 3, Deny: 0} {
		g := &Gate{Rules: patterns(t, "fs__Read*,GH__x,FS__read_file", decision, "--x ")}
		if w, _ := g.Check(known); len(w) != warnings {
			t.Errorf("names in other case, %s: %v", decision, w)
		}
	}
	p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"allow","server":"fs","tool":"Read_File"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Gate{Rules: p.Rules}).Check(known); err == nil {
		t.Error("an allow of a name in other case is taken")
	}
	for rule, want := range map[string]string{
		`"server":"fs","tool":"read_file"`:           "",
		`"server":"fss","tool":"*"`:                  `p.json:1: no configured server is named "fss" (configured: fs, gh, sh)`,
		`"server":["fs","x"],"tool":"*"`:             `p.json:1: no configured server is named "x"`,
		`"server":"fs","tool":"raed_file"`:           `p.json:1: no tool is named "raed_file" (servers in the rule: fs)`,
		`"server":"fs","tool":["read_file","run"]`:   `p.json:1: no tool is named "run"`,
		`"server":"*","tool":"run"`:                  "",
		`"server":"*","tool":"nothing"`:              "", // gh may have it
		`"server":"gh","tool":"nothing"`:             "",
		`"server":"s*","tool":"nothing"`:             `no tool is named "nothing" (servers in the rule: sh)`,
		`"server":"z*","tool":"*"`:                   "",
		`"server":"z*","tool":"run"`:                 `no tool is named "run" (servers in the rule: none)`,
		`"server":"fss","tool":"x","optional":true`:  "",
		`"server":"fss","tool":"x","optional":false`: "no configured server",
		`"server":"f?","tool":"read_*"`:              "",
		`"server":"FS","tool":"Read_File"`:           "", // a deny holds in any case
	} {
		p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"deny",`+rule+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		g := &Gate{Rules: p.Rules}
		_, err = g.Check(known)
		if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
