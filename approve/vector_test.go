package approve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A vector is a case of a file in testdata/policy; README.md there describes it.
type vector struct {
	line      int
	name      string
	rules     []string
	flags     []string
	otherwise string
	call      string
	readOnly  bool
	root      bool
	egress    string
	labels    []string
	effects   []string
	words     string
	seen      []string
	want      string
}

func readVectors(t testing.TB, path string) []vector {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	var rules, own []string
	v := vector{otherwise: "ask"}
	for i, line := range strings.Split(string(data)+"\n", "\n") {
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "case":
			v.name, v.line = rest, i+1
		case "policy":
			own = append(own, rest)
		case "flags":
			v.flags = strings.Fields(rest)
		case "otherwise":
			v.otherwise = rest
		case "readonly":
			v.readOnly = true
		case "root":
			v.root = true
		case "egress":
			v.egress = rest
		case "labels":
			v.labels = strings.Fields(rest)
		case "effects":
			v.effects = strings.Fields(rest)
		case "words":
			v.words = rest
		case "seen":
			v.seen = strings.Fields(rest)
		case "call":
			v.call = rest
		case "is":
			v.want = rest
		case "":
			if own != nil {
				rules = own
			}
			if v.rules = rules; v.name != "" {
				all = append(all, v)
			}
			v, own = vector{otherwise: "ask"}, nil
		default:
			if word[0] != '#' {
				t.Fatalf("%s:%d: unknown line %q", path, i+1, line)
			}
		}
	}
	return all
}

// gate returns the gate of a case.
func (v *vector) gate(t testing.TB) *Gate {
	text := `{"version":1,"otherwise":"` + v.otherwise + `","rules":[` + "\n" + strings.Join(v.rules, ",\n") + "\n]}\n"
	p, err := ParsePolicy("p.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{Otherwise: p.Otherwise, EgressRule: EgressRule{Words: v.words, EgressBy: "flag", EgressOrigin: "--egress " + v.egress}}
	if v.egress != "" {
		var ok bool
		if g.Egress, ok = ParseEgress(v.egress); !ok {
			t.Fatalf("no egress %q", v.egress)
		}
	}
	for i := 0; i < len(v.flags); i++ {
		switch f := v.flags[i]; f {
		case "-y":
			g.AutoApprove = "--auto-approve"
		default:
			i++
			d := map[string]Decision{"--allow": Allow, "--deny": Deny}[f]
			rules, err := Patterns(v.flags[i], d, "flag", f+" ")
			if err != nil {
				t.Fatal(err)
			}
			g.Rules = append(g.Rules, rules...)
		}
	}
	g.Rules = append(g.Rules, p.Rules...)
	return g
}

// tree makes the directory that under.txt describes.
func tree(t testing.TB) string {
	root := t.TempDir()
	for _, dir := range []string{"docs/sub", "docs2", "secret"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"docs/a.txt", "docs2/a.txt", "secret/key"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"docs/out": "../secret", "docs/in": "sub", "docs/loop": "loop", "docs/abs": filepath.Join(root, "secret"), "inside": "docs"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../testdata/policy/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	root := tree(t)
	for _, path := range files {
		for _, v := range readVectors(t, path) {
			t.Run(filepath.Base(path)+"/"+v.name, func(t *testing.T) { v.check(t, path, root) })
		}
	}
}

func (v *vector) check(t *testing.T, path, root string) {
	parts := strings.SplitN(v.call, " ", 3)
	arguments, err := Canonical([]byte(parts[2]))
	if err != nil {
		t.Fatalf("%s:%d: %v", path, v.line, err)
	}
	c := Call{Server: parts[0], Tool: parts[1], Name: parts[0] + "__" + parts[1], Arguments: arguments, ReadOnly: v.readOnly}
	if v.root {
		c.Root = root
	}
	if c.Labels, err = ParseLabels(v.labels, Exposed|Sends); err == nil {
		c.Seen.Labels, err = ParseLabels(v.seen, Exposed)
	}
	if err != nil {
		t.Fatal(err)
	}
	v.declare(t, &c.Traits)
	g := v.gate(t)
	verdict, err := g.decided(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got := verdictString(verdict); got != v.want {
		t.Errorf("%s:%d: %s\n got  %s\n want %s", path, v.line, v.call, got, v.want)
	}
	x, _ := g.Explain(t.Context(), c)
	if x.Verdict.Outcome != verdict.Outcome || x.Verdict.Rule != verdict.Rule {
		t.Errorf("%s:%d: Explain says %s", path, v.line, verdictString(x.Verdict))
	}
	for _, r := range x.Others {
		if r.Why == "" || r.Why == "it does not match" {
			t.Errorf("%s:%d: Explain gives no reason for %s", path, v.line, r.Origin)
		}
	}
	static, listed := g.Static(c), map[Outcome]string{Denied: "denied ", Unapproved: "asked about ", Allowed: "allowed "}
	if static.Outcome != verdict.Outcome && !strings.Contains(static.Except, listed[verdict.Outcome]) {
		t.Errorf("%s:%d: Static says %s, but %q", path, v.line, verdictString(static), static.Except)
	}
}

// declare gives a tool its effects: words such as reads:path,to and runs. A tool without is
// one of which nothing is assumed either.
func (v *vector) declare(t *testing.T, traits *Traits) {
	for _, word := range v.effects {
		name, list, located := strings.Cut(word, ":")
		switch name {
		case "builtin":
			traits.BuiltIn, traits.Reads.Absent = true, "."
			continue
		case "shows":
			traits.Shows = true
			continue
		case "assumed":
			traits.Assumed = Exposed | AllEffects
			continue
		}
		effect, err := ParseLabels([]string{name}, AllEffects)
		if err != nil {
			t.Fatal(err)
		}
		traits.Labels |= effect
		switch {
		case effect == Runs:
		case list == "?": // as annotations say it
		case located:
			err = traits.Declare(effect, strings.Split(list, ","))
		default:
			err = traits.Declare(effect, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// verdictString writes a verdict as the vectors do.
func verdictString(v Verdict) string {
	word := map[Outcome]string{Denied: "deny", Unapproved: "ask", Allowed: "allow"}[v.Outcome]
	if v.Rule == "" {
		return word + " -"
	}
	return word + " " + v.Rule
}
