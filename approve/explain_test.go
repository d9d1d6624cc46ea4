package approve

import "testing"

// A verdict of Static is that of every call of the tool, or all that calls can get are listed.
func TestStatic(t *testing.T) {
	policy := func(rules string) []Rule {
		p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[`+rules+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		return p.Rules
	}
	const (
		allow, ask, deny = `{"decision":"allow"`, `{"decision":"ask"`, `{"decision":"deny"`

		every  = `,"server":"s","tool":"t"}`
		everyT = `,"server":"s","tool":"T"}` // in other case
		some   = `,"server":"s","tool":"t","arguments":{"a":{"equals":1}}}`
		someT  = `,"server":"s","tool":"T","arguments":{"b":{"equals":1}}}`
		none   = `,"server":"s","tool":"t","arguments":{}}`
		path   = `,"server":"s","tool":"t","arguments":{"p":{"under":"src"}}}`
		reads  = `,"effect":"reads","path":{"under":"src"}}`
		writes = `,"effect":"writes"}`
		now    = `,"server":"s","tool":"t","when":["untrusted"]}`
		nowIn  = `,"server":"s","tool":"t","when":["private","untrusted"],"arguments":{"a":{"equals":1}}}`
		other  = `,"server":"s","tool":"u","optional":true}`
	)
	reading := Traits{Labels: Reads, Reads: Places{Known: true, Paths: []Path{{[]segment{{key: "p", index: -1}}}}}}
	readsAny := Traits{Labels: Reads, Reads: Places{Known: true}}
	running, sending, unknown := Traits{Labels: Runs}, Traits{Labels: Sends}, Traits{Assumed: Exposed | AllEffects}
	for _, x := range []struct {
		rules     string
		otherwise Decision
		yes       bool
		egress    Egress
		traits    Traits
		want      string
		except    string
	}{
		{"", Ask, false, EgressWarn, unknown, "ask -", ""},
		{"", Ask, true, EgressWarn, unknown, "allow --auto-approve", ""},
		{"", Deny, true, EgressWarn, unknown, "deny -", ""},
		{deny + other, Ask, false, EgressWarn, unknown, "ask -", ""},

		// Rules about every call.
		{allow + every, Ask, false, EgressWarn, unknown, "allow p.json:1", ""},
		{allow + every, Deny, false, EgressWarn, unknown, "allow p.json:1", ""},
		{allow + everyT, Ask, false, EgressWarn, unknown, "ask -", ""},
		{ask + every, Ask, false, EgressWarn, unknown, "ask p.json:1", ""},
		{ask + every, Ask, true, EgressWarn, unknown, "allow --auto-approve", ""},
		{ask + every, Deny, true, EgressWarn, unknown, "allow --auto-approve", ""},
		{ask + everyT, Deny, true, EgressWarn, unknown, "deny -", ""},
		{deny + every, Ask, true, EgressWarn, unknown, "deny p.json:1", ""},
		{deny + everyT, Ask, true, EgressWarn, unknown, "deny p.json:1", ""},
		{allow + every + "\n," + ask + every, Ask, false, EgressWarn, unknown, "ask p.json:2", ""},
		{allow + every + "\n," + deny + every, Ask, true, EgressWarn, unknown, "deny p.json:2", ""},

		// Rules about some calls.
		{allow + some, Ask, false, EgressWarn, unknown, "ask p.json:1", "allowed for some arguments"},
		{allow + some, Ask, true, EgressWarn, unknown, "allow --auto-approve", ""},
		{allow + some, Deny, false, EgressWarn, unknown, "deny p.json:1", "allowed for some arguments"},
		{allow + some, Deny, true, EgressWarn, unknown, "deny p.json:1", "allowed for some arguments"},
		{allow + path, Deny, false, EgressWarn, unknown, "deny p.json:1", "allowed for some paths"},
		{ask + some, Ask, false, EgressWarn, unknown, "ask -", ""},
		{ask + some, Deny, false, EgressWarn, unknown, "deny p.json:1", "asked about for some arguments"},
		{ask + some, Deny, true, EgressWarn, unknown, "deny p.json:1", "allowed for some arguments"},
		{ask + someT, Deny, false, EgressWarn, unknown, "deny -", ""},
		{deny + some, Ask, false, EgressWarn, unknown, "ask p.json:1", "denied for some arguments"},
		{deny + some, Ask, true, EgressWarn, unknown, "allow --auto-approve", "denied for some arguments"},
		{deny + some, Deny, true, EgressWarn, unknown, "deny -", ""},
		{allow + every + "\n," + deny + some, Ask, false, EgressWarn, unknown, "allow p.json:1", "denied for some arguments"},
		{allow + every + "\n," + ask + some, Ask, false, EgressWarn, unknown, "allow p.json:1", "asked about for some arguments"},
		{allow + every + "\n," + ask + some, Ask, true, EgressWarn, unknown, "allow p.json:1", ""},
		{allow + some + "\n," + ask + every, Ask, false, EgressWarn, unknown, "ask p.json:2", ""},
		{allow + some + "\n," + ask + everyT, Deny, false, EgressWarn, unknown, "deny p.json:1", "asked about for some arguments"},
		{allow + path + "\n," + ask + someT, Deny, false, EgressWarn, unknown, "deny p.json:2", "asked about for some arguments, allowed for some paths"},
		{allow + some + "\n," + deny + every, Ask, true, EgressWarn, unknown, "deny p.json:2", ""},
		{allow + some + "," + deny + path, Ask, false, EgressWarn, unknown, "ask p.json:1", "denied for some paths, allowed for some arguments"},
		{allow + some + "," + allow + some + "," + allow + path, Ask, false, EgressWarn, unknown, "ask p.json:1", "allowed for some arguments, allowed for some paths"},

		// No arguments: an allow is about calls without any, and a deny about all.
		{allow + none, Ask, false, EgressWarn, unknown, "ask p.json:1", "allowed for some arguments"},
		{deny + none, Ask, true, EgressWarn, unknown, "deny p.json:1", ""},
		{ask + none, Deny, false, EgressWarn, unknown, "deny p.json:1", "asked about for some arguments"},
		{allow + every + "\n," + ask + none, Deny, false, EgressWarn, unknown, "ask p.json:2", ""},

		// Effects and paths.
		{deny + reads, Ask, true, EgressWarn, reading, "allow --auto-approve", "denied for some paths"},
		{allow + reads, Deny, false, EgressWarn, reading, "deny p.json:1", "allowed for some paths"},
		{deny + reads, Ask, true, EgressWarn, unknown, "allow --auto-approve", "denied for some paths"},
		{deny + reads, Ask, true, EgressWarn, readsAny, "deny p.json:1", ""},
		{allow + reads, Ask, false, EgressWarn, readsAny, "ask -", ""},
		{deny + reads, Ask, true, EgressWarn, running, "allow --auto-approve", ""},
		{deny + reads, Ask, true, EgressWarn, sending, "allow --auto-approve", ""},
		{deny + writes, Ask, true, EgressWarn, running, "deny p.json:1", ""},
		{deny + writes, Ask, true, EgressWarn, unknown, "deny p.json:1", ""},
		{allow + writes, Ask, false, EgressWarn, unknown, "ask -", ""},

		// What the conversation holds.
		{deny + now, Ask, true, EgressWarn, unknown, "allow --auto-approve", "denied while the conversation is untrusted"},
		{deny + now, Ask, false, EgressWarn, unknown, "ask p.json:1", "denied while the conversation is untrusted"},
		{allow + every + "\n," + ask + now, Ask, false, EgressWarn, unknown, "allow p.json:1", "asked about while the conversation is untrusted"},
		{allow + nowIn, Deny, false, EgressWarn, unknown, "deny p.json:1", "allowed for some arguments while the conversation is private and untrusted"},
		{allow + now, Deny, false, EgressWarn, unknown, "deny p.json:1", "allowed while the conversation is untrusted"},

		// --egress
		{"", Ask, true, EgressWarn, sending, "allow --auto-approve", ""},
		{"", Ask, true, EgressOff, sending, "allow --auto-approve", ""},
		{"", Ask, true, EgressAsk, sending, "allow --auto-approve", "asked about while the conversation is private and untrusted"},
		{"", Ask, true, EgressDeny, sending, "allow --auto-approve", "denied while the conversation is private and untrusted"},
		{"", Ask, true, EgressDeny, Traits{Labels: Sends | Private}, "allow --auto-approve", "denied while the conversation is untrusted"},
		{"", Ask, true, EgressDeny, reading, "allow --auto-approve", ""},
		{"", Ask, false, EgressAsk, sending, "ask -", ""},
		{"", Ask, false, EgressDeny, sending, "ask --egress", "denied while the conversation is private and untrusted"},
		{deny + every, Ask, true, EgressAsk, sending, "deny p.json:1", ""},
		{allow + some, Deny, false, EgressAsk, sending, "deny p.json:1", "asked about while the conversation is private and untrusted, allowed for some arguments"},
		{allow + some, Deny, false, EgressDeny, sending, "deny p.json:1", "allowed for some arguments"},
	} {
		otherwise := map[Decision]Rule{Ask: OtherwiseAsk, Deny: {Reason: "no rule allows it"}}[x.otherwise]
		g := &Gate{Rules: policy(x.rules), Otherwise: otherwise, AutoApprove: autoApprove(x.yes), EgressRule: EgressRule{Egress: x.egress, EgressOrigin: "--egress"}}
		c := Call{Server: "s", Tool: "t", Name: "s__t", Traits: x.traits}
		v := g.Static(c)
		if verdictString(v) != x.want || v.Except != x.except {
			t.Errorf("%s otherwise %v, -y %v, --egress %v: %s, but %q", x.rules, x.otherwise, x.yes, x.egress, verdictString(v), v.Except)
		}
		if g.Denies(c) != (v.Outcome == Denied && x.except == "") {
			t.Errorf("%s: Denies", x.rules)
		}
	}
}
