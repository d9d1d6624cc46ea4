package approve

import (
	"context"
	"strings"
	"testing"
)

// sending is a call that sends what is private and may be asked for by an outsider.
func sending(seen Labels) Call {
	return Call{Server: "s", Tool: "t", Name: "s__t", Arguments: []byte(`{}`), Traits: Traits{Labels: Sends}, Seen: Seen{Labels: seen, Private: "mail__read (turn 1)", Untrusted: "web__open (turn 2)"}}
}

func asksAbout(egress Egress) *Gate {
	return &Gate{Otherwise: OtherwiseAsk, AutoApprove: "-y", EgressRule: EgressRule{Egress: egress, EgressBy: "flag", EgressOrigin: "--egress " + egress.String()}}
}

// The zero value of a gate denies such a call.
func TestEgressZero(t *testing.T) {
	if v, err := (&Gate{Rules: patterns(t, "s__t", Allow, "x")}).decided(t.Context(), sending(Exposed)); err != nil || v.Outcome != Denied {
		t.Errorf("%+v, %v", v, err)
	}
}

// Neither what a person allowed before nor an approver answers, and the reason names what was read.
func TestEgressIsNotAnswered(t *testing.T) {
	const reason = "it may send private data out: the conversation is private by mail__read (turn 1) and untrusted by web__open (turn 2) (nobody can be asked)"
	for _, approver := range []*Approver{nil, approverThat(Allow), approverThat(Ask)} {
		g := asksAbout(EgressAsk)
		g.Approver, g.Rules = approver, patterns(t, "s__t", Allow, "--allow s__t")
		g.allowed = map[any]bool{[2]string{"s", "t"}: true}
		c := sending(Exposed)
		g.allowed[g.callKey(&c)] = true
		v, err := g.decided(t.Context(), c)
		if err != nil || v.Outcome != Unapproved || v.Egress != "ask" || v.Rule != "--egress ask" || v.By != "flag" || v.Reason != reason {
			t.Errorf("%v: %+v, %v", approver != nil, v, err)
		}
	}
	g := asksAbout(EgressAsk)
	g.Approver = approverThat(Deny)
	if v, err := g.decided(t.Context(), sending(Exposed)); err != nil || v.Outcome != Denied || v.Rule != "--approver" {
		t.Errorf("an approver that denies: %+v, %v", v, err)
	}
	g = asksAbout(EgressDeny)
	g.Approver = approverThat(Allow)
	if v, err := g.decided(t.Context(), sending(Exposed)); err != nil || v.Outcome != Denied || v.Egress != "deny" {
		t.Errorf("--egress deny: %+v, %v", v, err)
	}
}

// A verdict is taken again when earlier calls have brought the labels meanwhile; a
// person who was asked is not asked twice.
func TestEgressRecheck(t *testing.T) {
	g := asksAbout(EgressAsk)
	before, err := g.decided(t.Context(), sending(Private))
	if err != nil || before.Outcome != Allowed {
		t.Fatalf("%+v, %v", before, err)
	}
	if v, err := g.rechecked(t.Context(), sending(Private), before); err != nil || v.Outcome != Allowed || v.Egress != "" {
		t.Errorf("nothing has changed: %+v, %v", v, err)
	}
	if v, err := g.rechecked(t.Context(), sending(Exposed), before); err != nil || v.Outcome != Unapproved || v.Egress != "ask" {
		t.Errorf("both labels are there now: %+v, %v", v, err)
	}
	// Both verdicts ask: one of a rule, which a person has answered, and one of Egress.
	g.AutoApprove = ""
	asked := Verdict{Outcome: Allowed, By: "terminal", rule: &g.Otherwise}
	if v, err := g.rechecked(t.Context(), sending(Exposed), asked); err != nil || v.Outcome != Unapproved {
		t.Errorf("the answer to another question counts: %+v, %v", v, err)
	}
	for seen, want := range map[Labels]string{Exposed: "ask", Private: ""} {
		asked.Egress = "ask"
		if v, err := g.rechecked(t.Context(), sending(seen), asked); err != nil || v.Outcome != Allowed || v.Egress != want {
			t.Errorf("asked again while %v: %+v, %v", seen.Words(), v, err)
		}
	}
	g.Rules = patterns(t, "s__t", Deny, "--deny")
	if v, err := g.rechecked(t.Context(), sending(Exposed), asked); err != nil || v.Outcome != Denied {
		t.Errorf("a rule denies: %+v, %v", v, err)
	}
	// With warn, the verdict says so from the moment on.
	g = asksAbout(EgressWarn)
	before, _ = g.decided(t.Context(), sending(Private))
	if v, err := g.rechecked(t.Context(), sending(Exposed), before); err != nil || v.Outcome != Allowed || v.Egress != "warn" {
		t.Errorf("warn: %+v, %v", v, err)
	}
}

// Withheld holds a deny with when only while the conversation has its labels.
func TestWhenOfWithheld(t *testing.T) {
	p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"deny","server":"files","tool":"read_file","when":["untrusted"],"arguments":{"path":{"under":"secret"}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{Otherwise: OtherwiseAsk, Rules: p.Rules}
	c := Call{Server: "files", Tool: "grep_files", Name: "files__grep_files", Arguments: []byte(`{}`), Root: t.TempDir(), Traits: reading}
	file := c
	file.Tool, file.Name = "read_file", "files__read_file"
	if _, err := g.Check([]Server{{Name: "files", Tools: []Tool{{Call: c}, {Call: file, Opens: true}}, Started: true}}); err != nil {
		t.Fatal(err)
	}
	if paths := g.Withheld(t.Context(), c).Paths; len(paths) != 0 {
		t.Errorf("before: %q", paths)
	}
	c.Seen.Labels = Exposed
	if paths := g.Withheld(t.Context(), c).Paths; len(paths) != 1 || !strings.HasSuffix(paths[0], "secret") {
		t.Errorf("while untrusted: %q", paths)
	}
}

// The question names both sources, escaped, and takes no answer for more than the call.
func TestEgressQuestion(t *testing.T) {
	g := asksAbout(EgressAsk)
	c := sending(Exposed)
	c.Seen.Private = hostile
	rule := g.weigh(context.Background(), &c, nil)
	q := newQuestion(&c, change{}, rule, true, 80, 40, false)
	for _, line := range newScreen(t, 80, q.body).Lines()[1:] {
		if line != "" && !strings.HasPrefix(line, "  |") {
			t.Errorf("no margin: %q", line)
		}
	}
	if !strings.Contains(q.body, "untrusted: web__open (turn 2)") || q.prompt != "Allow s__t? [y/N/q/v/?] " {
		t.Errorf("%s%s", q.body, q.prompt)
	}
	for line, want := range map[string]answerKind{"a": answerUnclear, "t": answerUnclear, "y": answerYes, "": answerNo} {
		if got := q.answer(line); got.kind != want {
			t.Errorf("%q: %v", line, got)
		}
	}
	if text := q.explanation(); strings.Contains(text, "\na ") || strings.Contains(text, "\nt ") || !strings.HasPrefix(text, "y, yes ") {
		t.Errorf("explanation:\n%s", text)
	}
}

func TestParseLabels(t *testing.T) {
	if got, err := ParseLabels([]string{"sends", "private", "private"}, Exposed|Sends); got != Private|Sends || err != nil || strings.Join(got.Words(), ",") != "private,sends" {
		t.Errorf("%v, %v", got, err)
	}
	for _, word := range []string{"", "Private", "private ", "send", "\x00"} {
		if got, err := ParseLabels([]string{"private", word}, Exposed|Sends); got != 0 || err == nil {
			t.Errorf("%q: %v, %v", word, got, err)
		}
	}
	if Labels(0).Words() != nil {
		t.Error("no labels have no words")
	}
}
