package approve

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// gateWithLink returns a gate with these rules, a directory in which link leads
// to docs, and a call of s__t with a path through the link.
func gateWithLink(t *testing.T, rules string) (g *Gate, root string, c Call) {
	t.Helper()
	p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[`+rules+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	root, err = filepath.EvalSymlinks(tree(t))
	if err != nil {
		t.Fatal(err)
	}
	move(t, root, "docs")
	return &Gate{Rules: p.Rules, Otherwise: OtherwiseAsk}, root, Call{Server: "s", Tool: "t", Name: "s__t", Root: root, Arguments: []byte(`{"path":"link/a.txt"}`)}
}

// move makes the link lead to dir.
func move(t *testing.T, root, dir string) {
	t.Helper()
	os.Remove(filepath.Join(root, "link"))
	if err := os.Symlink(dir, filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
}

const denySecret = `{"decision":"deny","server":"s","tool":"t","arguments":{"path":{"under":"secret"}}}`

func TestRecheck(t *testing.T) {
	for _, x := range []struct {
		name   string
		rules  string
		to     string   // where link leads the second time
		yes    bool     // AutoApprove
		answer Decision // the approver's
		want   string
		asked  int // how often the approver was asked
		places string
	}{
		{"nothing moved, asked once", denySecret, "docs", false, Allow, "allow --approver", 1, "docs/a.txt"},
		{"moved to another place, asked again", denySecret, "docs2", false, Allow, "allow --approver", 2, "docs2/a.txt"},
		{"moved to a denied place", denySecret, "secret", false, Allow, "deny p.json:1", 1, ""},
		{"moved to a denied place, with automatic approval", denySecret, "secret", true, Ask, "deny p.json:1", 1, ""},
		{"moved out of the allowed place", `{"decision":"allow","server":"s","tool":"t","arguments":{"path":{"under":"docs"}}}`, "docs2", false, Ask, "ask -", 2, "docs2/a.txt"},
		{"no rule looks at paths, asked once", "", "secret", false, Allow, "allow --approver", 1, ""},
	} {
		g, root, c := gateWithLink(t, x.rules)
		a := &fakeApprover{decision: x.answer}
		g.Approver, g.AutoApprove = a.approver(), autoApprove(x.yes)
		first, err := g.decided(t.Context(), c)
		if err != nil || first.Outcome != Allowed {
			t.Fatalf("%s: at first %s, %v", x.name, verdictString(first), err)
		}
		move(t, root, x.to)
		second, err := g.rechecked(t.Context(), c, first)
		if err != nil || verdictString(second) != x.want || len(a.asked) != x.asked {
			t.Errorf("%s: %s, %v, asked %d times", x.name, verdictString(second), err, len(a.asked))
		}
		if place := second.Places["link/a.txt"]; x.places != "" && place != filepath.Join(root, x.places) {
			t.Errorf("%s: the place is %q of %v", x.name, place, second.Places)
		}
	}
	g, _, c := gateWithLink(t, "")
	g.AutoApprove = "--auto-approve"
	first, _ := g.decided(t.Context(), c)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.rechecked(ended, c, first); err == nil {
		t.Error("a verdict is given though the run has ended")
	}
}

// A file that became another name of a denied file is denied, though no path
// leads elsewhere.
func TestRecheckOfAnotherFile(t *testing.T) {
	g, root, c := gateWithLink(t, `{"decision":"deny","server":"s","tool":"t","arguments":{"path":{"under":"secret/key"}}}`)
	g.AutoApprove = "--auto-approve"
	c.Arguments = []byte(`{"path":"docs/a.txt"}`)
	first, err := g.decided(t.Context(), c)
	if err != nil || first.Outcome != Allowed {
		t.Fatal(verdictString(first), err)
	}
	file := filepath.Join(root, "docs/a.txt")
	os.Remove(file)
	if err := os.Link(filepath.Join(root, "secret/key"), file); err != nil {
		t.Skip(err)
	}
	if second, err := g.rechecked(t.Context(), c, first); err != nil || second.Outcome != Denied {
		t.Error(verdictString(second), err)
	}
}

// The answer "a" holds only as long as the path leads to the same place.
func TestAlwaysIsForThePlace(t *testing.T) {
	g, root, c := gateWithLink(t, denySecret)
	key := func() [32]byte {
		g.evaluate(t.Context(), &c, nil)
		return g.callKey(&c)
	}
	before := key()
	if key() != before {
		t.Error("the same call is another one")
	}
	if move(t, root, "docs2"); key() == before {
		t.Error("the call is the same though its path leads elsewhere")
	}
}

// reading are the traits of a built-in tool that reads the file of its argument path.
var reading = Traits{BuiltIn: true, Labels: Reads | Private, Reads: Places{Known: true, Paths: []Path{{[]segment{{key: "path", index: -1}}}}, Absent: "."}}

func TestWithheld(t *testing.T) {
	for _, x := range []struct {
		rules, arguments string
		want             []string
	}{
		{denySecret, `{"pattern":"x"}`, []string{"secret"}},
		{denySecret, `{"path":"."}`, []string{"secret"}},
		{`{"decision":"deny","server":"*","tool":"*","arguments":{"*":{"under":"link"}}}`, `{}`, []string{"docs"}},
		{`{"decision":"deny","server":"*","tool":"*","arguments":{"PATH":{"under":"none/yet"}}},` + denySecret, `{}`, []string{"none/yet", "secret"}},
		// The other tests of a rule are asked about the call as it is.
		{`{"decision":"deny","server":"s","tool":"t","arguments":{"path":{"under":"secret"},"pattern":{"equals":"x"}}}`, `{"pattern":"x"}`, []string{"secret"}},
		{`{"decision":"deny","server":"s","tool":"t","arguments":{"path":{"under":"secret"},"pattern":{"equals":"x"}}}`, `{"pattern":"y"}`, nil},
		// Other tools, other decisions, other arguments, other tests.
		{`{"decision":"deny","server":"s","tool":"u","optional":true,"arguments":{"path":{"under":"secret"}}}`, `{}`, nil},
		{`{"decision":"ask","server":"s","tool":"t","arguments":{"path":{"under":"secret"}}}`, `{}`, nil},
		{`{"decision":"deny","server":"s","tool":"t","arguments":{"to":{"under":"secret"}}}`, `{}`, nil},
		{`{"decision":"deny","server":"s","tool":"t","arguments":{"path":{"glob":"secret/**"}}}`, `{}`, nil},
		{`{"decision":"deny","server":"s","tool":"t","arguments":{"path.x":{"under":"secret"}}}`, `{}`, nil},
		{`{"decision":"deny","server":"s","tool":"t"}`, `{}`, nil},
	} {
		g, root, c := gateWithLink(t, x.rules)
		c.Arguments, c.Traits = []byte(x.arguments), reading
		var got []string
		for _, path := range g.Withheld(t.Context(), c).Paths {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s %s: %q", x.rules, x.arguments, got)
		}
	}
	// A rule that denies paths to the built-in read_file holds for all built-in tools that
	// read; other rules for that tool do not.
	for rule, want := range map[string]Decision{
		`{"decision":"deny","server":"s","tool":"read_file","arguments":{"path":{"under":"secret"}}}`:                     Deny,
		`{"decision":"deny","server":"s","tool":"READ_file","arguments":{"path":{"under":"secret"}}}`:                     Deny,
		`{"decision":"deny","server":"s","tool":"read_file"}`:                                                             Ask,
		`{"decision":"deny","server":"s","tool":"read_file","arguments":{"path":{"glob":"secret/*"}}}`:                    Deny,
		`{"decision":"deny","server":"s","tool":"write","arguments":{"path":{"under":"secret"}}}`:                         Ask,
		`{"decision":"allow","server":"s","tool":"read_file","arguments":{"path":{"under":"secret"}}}`:                    Ask,
		`{"decision":"deny","server":"other","tool":"read_file","optional":true,"arguments":{"path":{"under":"secret"}}}`: Ask,
	} {
		g, root, c := gateWithLink(t, rule)
		c.Arguments, c.Traits = []byte(`{"path":"secret/key"}`), reading
		file := Call{Server: "s", Tool: "read_file", Name: "s__read_file", Root: root, Traits: reading}
		if _, err := g.Check([]Server{{Name: "s", Tools: []Tool{{Call: c}, {Call: file, Opens: true}, {Call: Call{Server: "s", Tool: "write"}}}, Started: true, Root: root}}); err != nil {
			t.Fatal(err)
		}
		if d := g.evaluate(t.Context(), &c, nil).Decision; d != want {
			t.Errorf("%s: %s", rule, d)
		}
		c.Arguments = []byte(`{}`)
		w := g.Withheld(t.Context(), c)
		shut := slices.Equal(w.Paths, []string{filepath.Join(root, "secret")}) || w.Matches != nil && w.Matches("secret/key", filepath.Join(root, "secret/key")) && !w.Matches("docs/key")
		if shut != (want == Deny) {
			t.Errorf("%s: %q", rule, w.Paths)
		}
	}
	g, root, c := gateWithLink(t, `{"decision":"deny","server":"s","tool":"t","arguments":{"path":{"under":"loop"}}}`)
	c.Traits = reading
	if err := os.Symlink("loop", filepath.Join(root, "loop")); err != nil {
		t.Skip(err)
	}
	if got := g.Withheld(t.Context(), c).Paths; !slices.Equal(got, []string{"/"}) {
		t.Errorf("a directory that cannot be resolved: %q", got)
	}
}

// Replacing a rule's directory by a link neither widens a rule that allows nor
// narrows a rule that denies.
func TestDirectoryOfRuleIsReplaced(t *testing.T) {
	for _, x := range []struct {
		rule, dir, path string
		want            Decision
	}{
		{`{"decision":"allow","server":"s","tool":"t","arguments":{"path":{"under":"docs"}}}`, "docs", "docs/key", Ask},
		{denySecret, "secret", "secret/a.txt", Deny},
		{denySecret, "secret", "docs2/a.txt", Deny},
		{denySecret, "secret", "old/key", Ask}, // the files were moved out of the directory
	} {
		g, root, c := gateWithLink(t, x.rule)
		if _, err := g.Check([]Server{{Name: "s", Tools: toolsOf("s", "t"), Started: true, Root: root}}); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(root, x.dir), filepath.Join(root, "old")); err != nil {
			t.Fatal(err)
		}
		target := "docs2"
		if x.dir == "docs" {
			target = "secret"
		}
		if err := os.Symlink(target, filepath.Join(root, x.dir)); err != nil {
			t.Skip(err)
		}
		c.Arguments = []byte(`{"path":"` + x.path + `"}`)
		if d := g.evaluate(t.Context(), &c, nil).Decision; d != x.want {
			t.Errorf("%s, %s: %s", x.rule, x.path, d)
		}
	}
}

// A rule that denies holds for the places where its directory was, and is, when
// the directory is behind a link; every rule has its own places.
func TestLinkToDirectoryOfRuleIsMoved(t *testing.T) {
	rule := func(dir string) string {
		return `{"decision":"deny","server":"s","tool":"t","arguments":{"path":{"under":"` + dir + `"}}}`
	}
	g, root, c := gateWithLink(t, rule("link")+","+rule("other")+","+rule("third"))
	other := filepath.Join(root, "other")
	if err := os.Symlink("docs2", other); err != nil {
		t.Skip(err)
	}
	if _, err := g.Check([]Server{{Name: "s", Tools: toolsOf("s", "t"), Started: true, Root: root}}); err != nil {
		t.Fatal(err)
	}
	move(t, root, "secret")
	os.Remove(other)
	if err := os.Symlink("secret", other); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Decision{"docs/a.txt": Deny, "docs2/a.txt": Deny, "secret/key": Deny, "free": Ask} {
		c.Arguments = []byte(`{"path":"` + path + `"}`)
		if d := g.evaluate(t.Context(), &c, nil).Decision; d != want {
			t.Errorf("%s: %s", path, d)
		}
	}
}

// What a sandbox closes, and what a tool leaves out, includes the place where a rule's directory was
// before any program started.
func TestDirectoriesAreRemembered(t *testing.T) {
	g, root, c := gateWithLink(t, `{"decision":"deny","effect":"reads","path":{"under":"link"}}`)
	c.Traits = reading
	at := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, filepath.Join(root, name))
		}
		return all
	}
	if got := g.Closes(root).Reads; !slices.Equal(got, at("docs")) {
		t.Fatalf("at first %q", got)
	}
	move(t, root, "secret")
	if got := g.Withheld(t.Context(), c).Paths; !slices.Equal(got, at("docs", "secret")) {
		t.Errorf("left out: %q", got)
	}
	if got := g.Closes(root).Reads; !slices.Equal(got, at("docs", "secret")) {
		t.Errorf("closed: %q", got)
	}
}

// In one evaluation a path leads to one place for all tests.
func TestPlaceIsLookedUpOnce(t *testing.T) {
	g, root, c := gateWithLink(t, denySecret)
	g.evaluate(t.Context(), &c, nil)
	move(t, root, "secret")
	if g.evaluation.under("secret", "link/a.txt", true) || !g.evaluation.under("docs", "link/a.txt", false) {
		t.Error("a path was looked up again")
	}
}

// A rule that allows must have the path's own name; for a rule that denies it is
// enough that the file is the same.
func TestUnderByAnotherName(t *testing.T) {
	root := tree(t)
	if err := os.Link(filepath.Join(root, "docs/a.txt"), filepath.Join(root, "hard")); err != nil {
		t.Skip(err)
	}
	if under(root, "docs/a.txt", "hard", false, false) || !under(root, "docs/a.txt", "hard", true, false) {
		t.Error("a second name of a file")
	}
}
