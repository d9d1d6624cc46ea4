package approve

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestPathText(t *testing.T) {
	for text, problem := range map[string]string{"path": "", "a.*.b": "", `a\.b.0`: "", `\*`: "", "a.": "empty key", `a\`: "escapes nothing"} {
		path, got := parsePath(text)
		shown := Path{path}.String()
		if (problem == "") != (got == "") || !strings.Contains(got, problem) || got == "" && shown != text {
			t.Errorf("%q: %q, %q", text, shown, got)
		}
	}
	if err := new(Traits).Declare(Reads, []string{"ok", "a..b"}); err == nil || !strings.HasPrefix(err.Error(), `"a..b": `) {
		t.Error(err)
	}
	if err := new(Traits).DeclareNamed("private", nil); err == nil {
		t.Error("a label is taken for an effect")
	}
}

// What policies say of a tool takes the place of all else; a built-in tool keeps the effects
// that it has, and loses what a policy takes away of where it sends.
func TestTraitsOf(t *testing.T) {
	const all = Exposed | AllEffects
	builtin := Traits{BuiltIn: true, Shows: true, By: "built in", Labels: Private | Untrusted | Runs | Sends, Sends: Places{Known: true, Paths: []Path{{[]segment{{key: "url", index: -1}}}}}}
	unknown := Traits{Assumed: all}
	for _, x := range []struct {
		rules     string
		otherwise Traits
		labels    Labels
		assumed   Labels
		by, sends string
	}{
		{``, unknown, 0, all, "", ""},
		{`{"server":"other","tool":"*","labels":[]}`, unknown, 0, all, "", ""},
		{`{"server":"s","tool":"*","labels":[]}`, unknown, 0, Reads | Writes | Runs, "p.json:2", ""},
		{`{"server":"s","tool":"*","labels":["sends"]}`, unknown, Sends, Reads | Writes | Runs, "p.json:2", ""},
		{`{"server":"s","tool":"*","sends":["to"]}`, unknown, Sends, Exposed, "p.json:2", "to"},
		{`{"server":"s","tool":"*","reads":[]}`, unknown, Reads, Exposed, "p.json:2", ""},
		{`{"server":"s","tool":"*","runs":false,"labels":["private"]}`, unknown, Private, 0, "p.json:2", ""},
		{`{"server":"s","tool":"*","runs":true,"labels":["private"]}`, unknown, Private | Runs, 0, "p.json:2", ""},
		{`{"server":"s","tool":"*","labels":["private"]},` + "\n" + `{"server":"*","tool":"t","sends":["to"]},{"server":"*","tool":"t","sends":["cc"]}`, unknown, Private | Sends, 0, "p.json:2, p.json:3, p.json:3", "to cc"},
		{`{"server":"s","tool":"*","labels":["private"]}`, builtin, Private | Runs, 0, "p.json:2", ""},
		{`{"server":"s","tool":"*","labels":["sends"],"writes":["x"]}`, builtin, Sends | Runs, 0, "p.json:2", "url"},
	} {
		p, err := ParsePolicy("p.json", []byte(`{"version":1,"labels":[`+"\n"+x.rules+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		g := &Gate{LabelRules: p.LabelRules}
		got := g.TraitsOf(&Call{Server: "s", Tool: "t"}, x.otherwise)
		var sends []string
		for _, path := range got.Sends.Paths {
			sends = append(sends, path.String())
		}
		if got.By == "built in" {
			t.Errorf("%s: the policy is not named", x.rules)
		}
		if got.Labels != x.labels || got.Assumed != x.assumed || got.By != x.by || strings.Join(sends, " ") != x.sends || got.BuiltIn != x.otherwise.BuiltIn || got.Shows != x.otherwise.Shows {
			t.Errorf("%s: %v, assumed %v, by %q, sends %q, %+v", x.rules, got.Labels.Words(), got.Assumed.Words(), got.By, sends, got)
		}
	}
}

// A deny of a path to read_file holds for all built-in tools that read, from the root of the
// tool that it names, and not for one that is not built in, or for other arguments.
func TestStandBehind(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	file := Call{Server: "files", Tool: "read_file", Name: "files__read_file", Root: root, Traits: reading}
	foreign := file
	foreign.Server, foreign.Name, foreign.BuiltIn = "fs", "fs__read_file", false
	code := Call{Server: "code", Tool: "outline", Name: "code__outline", Root: other, Traits: reading}
	for _, x := range []struct {
		rule, path string
		want       Decision
	}{
		{`"server":"files","tool":"read_file","arguments":{"path":{"under":"private"}}`, filepath.Join(root, "private/a"), Deny},
		{`"server":"files","tool":"read_file","arguments":{"path":{"under":"private"}}`, "private/a", Ask},
		{`"server":"files","tool":"read_file","arguments":{"path":{"under":"` + root + `/private"}}`, filepath.Join(root, "private/a"), Deny},
		{`"server":"files","tool":"read_file","arguments":{"path":{"under":"private"},"offset":{"absent":true}}`, filepath.Join(root, "private/a"), Deny},
		{`"server":"files","tool":"read_file","arguments":{"path":{"under":"private"},"offset":{"range":[1,null]}}`, filepath.Join(root, "private/a"), Ask},
		{`"server":"files","tool":"read_file","arguments":{"offset":{"absent":true}}`, filepath.Join(root, "private/a"), Ask},
		{`"server":"files","tool":"read_file"`, filepath.Join(root, "private/a"), Ask},
		{`"server":"fs","tool":"read_file","arguments":{"path":{"under":"private"}}`, filepath.Join(root, "private/a"), Ask},
		{`"effect":"writes","server":"files","tool":"read_file","optional":true,"path":{"under":"private"}`, filepath.Join(root, "private/a"), Ask},
	} {
		p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"deny",`+x.rule+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		g := &Gate{Rules: p.Rules, Otherwise: OtherwiseAsk}
		known := []Server{{Name: "files", Tools: []Tool{{Call: file, Opens: true}}, Started: true, Root: root}, {Name: "fs", Tools: []Tool{{Call: foreign}}, Started: true, Root: root}, {Name: "code", Tools: []Tool{{Call: code}}, Started: true, Root: other}}
		if _, err := g.Check(known); err != nil {
			t.Fatal(err)
		}
		c := code
		c.Arguments = []byte(`{"path":"` + x.path + `"}`)
		if d := g.evaluate(t.Context(), &c, nil).Decision; d != x.want {
			t.Errorf("%s: %s: %s", x.rule, x.path, d)
		}
		c.Arguments = []byte(`{"path":"."}`)
		if w := g.Withheld(t.Context(), c); (w.Paths != nil) != (x.want == Deny || x.path == "private/a") {
			t.Errorf("%s: %q is left out", x.rule, w.Paths)
		}
	}
}
