package approve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"toolpipe/stream/text/escape"
)

func TestPolicyErrors(t *testing.T) {
	rule := func(rest string) string {
		return `{"version":1,"rules":[` + "\n" + `{"decision":"allow","server":"s","tool":"t",` + rest + "}\n]}"
	}
	labels := func(rest string) string { return `{"version":1,"labels":[{` + rest + `}]}` }
	for _, c := range []struct{ text, want string }{
		{``, "p.json:1:1: no JSON value"},
		{`[]`, "p.json:1:1: a policy is an object"},
		{`{}`, `p.json:1:1: "version":1 is missing`},
		{`{"version":2}`, "p.json:1:12: the only version is 1"},
		{`{"version":1.0}`, "p.json:1:12: the only version is 1"},
		{`{"version":1,}`, "p.json:1:14: '}' where a key should begin"},
		{"\ufeff{\"version\":1}", "p.json:1:1: a byte order mark"},
		{`{"version":1,"version":1}`, "p.json:1:14: duplicate key"},
		{`{"version":1} x`, "p.json:1:15: 'x' after the end"},
		{"{\"version\":1,\n\t\"otherwize\":\"deny\"}", "p.json:2:3: unknown key \"otherwize\"; the keys here: version, otherwise, rules, labels, input, destinations, egress\n    \"otherwize\":\"deny\"}\n     ^"},
		{`{"version":1,"otherwise":"allow"}`, `p.json:1:26: otherwise is "ask" or "deny"`},
		{`{"version":1,"rules":{}}`, "rules is an array"},
		{`{"version":1,"rules":[1]}`, "a rule is an object"},
		{`{"version":1,"rules":[{}]}`, "a rule without a decision"},
		{`{"version":1,"rules":[{"decision":"deny","tool":"t"}]}`, "a rule without a server"},
		{`{"version":1,"rules":[{"decision":"deny","server":"t"}]}`, "a rule without a tool"},
		{`{"version":1,"rules":[{"decision":"Deny","server":"s","tool":"t"}]}`, `decision is "allow", "ask" or "deny"`},
		{`{"version":1,"rules":[{"decision":"deny","server":7,"tool":"t"}]}`, "server is a string"},
		{`{"version":1,"rules":[{"decision":"deny","server":[],"tool":"t"}]}`, "an empty list of servers"},
		{`{"version":1,"rules":[{"decision":"deny","server":"s","tool":["t",""]}]}`, "each tool is a string"},
		{`{"version":1,"rules":[{"decision":"deny","server":"s","tool":"t","arguments":{"a":{"equals":1}},"others":"any"}]}`, "others is for a rule"},
		{rule(`"arguements":{}`), "p.json:2:46: unknown key \"arguements\""},
		{rule(`"others":"any"`), "others is for a rule"},
		{rule(`"arguments":{},"others":"all"`), `others is "any"`},
		{rule(`"reason":""`), "reason is a string that is not empty"},
		{rule(`"optional":"yes"`), "optional is true or false"},
		{rule(`"script_pattern":"yes"`), "script_pattern is true or false"},
		{rule(`"arguments":[]`), "arguments is an object"},
		{rule(`"arguments":{"a":"x"}`), "a test is an object with one key of: absent, equals"},
		{rule(`"arguments":{"a":["x"]}`), "a test is an object with one key of: absent, equals"},
		{"{\"rules\":[\n{\"decision\":\"deny\",\"server\":\"s\",\"tool\":\"t\"}]}", "p.json:1:1: \"version\":1 is missing\n    {\"rules\":[\n    ^"},
		{`{"version":1,"labels":{}}`, "labels is an array of"},
		{`{"version":1,"labels":"private"}`, "labels is an array of"},
		{`{"version":1,"labels":[1]}`, "an element of labels is"},
		{`{"version":1,"labels":[{}]}`, "p.json:1:24: labels without a server"},
		{labels(`"tool":"*","labels":[]`), "labels without a server"},
		{labels(`"server":"s","labels":[]`), "labels without a tool"},
		{labels(`"server":"s","tool":"*"`), "p.json:1:24: without the labels themselves"},
		{labels(`"server":[],"tool":"*","labels":[]`), "an empty list of servers"},
		{labels(`"server":"s","tool":7,"labels":[]`), "tool is a string"},
		{labels(`"server":"s","tool":"*","labels":"private"`), "labels is a list of: private, untrusted, sends"},
		{labels(`"server":"s","tool":"*","labels":{}`), "labels is a list of: private, untrusted, sends"},
		{labels(`"server":"s","tool":"*","labels":[1]`), "labels is a list of: private, untrusted, sends"},
		{labels(`"server":"s","tool":"*","labels":[["private"]]`), "labels is a list of: private, untrusted, sends"},
		{labels(`"server":"s","tool":"*","labels":["Private"]`), `"Private" is not one of: private, untrusted, sends`},
		{labels(`"server":"s","tool":"*","labels":["\u001b[31m` + strings.Repeat("x", 5000) + `"]`), `"\x1b[31mxxx`},
		{labels(`"server":"s","tool":"*","labels":[],"label":[]`), `unknown key "label"; the keys here: server, tool, labels, runs, optional, reads, writes, sends`},
		{labels(`"server":"s","tool":"*","labels":[],"optional":"yes"`), "optional is true or false"},
		{`{"version":1,"input":"private"}`, "input is a list of: private, untrusted"},
		{`{"version":1,"input":["sends"]}`, `p.json:1:23: "sends" is not one of: private, untrusted`},
		{`{"version":1,"input":[null]}`, "input is a list of: private, untrusted"},
		{`{"version":1,"egress":"Ask"}`, `p.json:1:23: egress is "off", "warn", "ask" or "deny"`},
		{`{"version":1,"egress":""}`, `egress is "off"`},
		{`{"version":1,"egress":true}`, `egress is "off"`},
		{`{"version":1,"egress":null}`, `egress is "off"`},
		{`{"version":1,"egress":["ask"]}`, `egress is "off"`},
		{rule(`"when":"private"`), "when is a list of: private, untrusted"},
		{rule(`"when":[]`), "an empty list of labels has no effect"},
		{rule(`"when":["sends"]`), `"sends" is not one of: private, untrusted`},
		{rule(`"when":["private",1]`), "when is a list of: private, untrusted"},
		{rule(`"When":["private"]`), `unknown key "When"`},
		{"{\n\"versions\":1}", "p.json:2:2: unknown key"},
		{rule(`"arguments":{"a":{"under":"x"}},"examples":{"no_match":[{"a":"` + strings.Repeat("/", maxSteps/fileSteps) + `"}]}`), "the rules need too much work"},
		{rule(`"arguments":{"*x":{"glob":"x"}}`), "* means a complete element"},
		{rule(`"arguments":{"a":{}}`), "a test is an object with one key of"},
		{rule(`"arguments":{"a":{"equals":1,"glob":"x"}}`), "a test is an object with one key of"},
		{rule(`"arguments":{"a":{"equal":1}}`), `unknown key "equal"; the keys here: absent, equals, glob, one_of, range, regex, under, words`},
		{rule(`"arguments":{"":{"equals":1}}`), "an empty key in a path"},
		{rule(`"arguments":{"a..b":{"equals":1}}`), "an empty key in a path"},
		{rule(`"arguments":{"a*":{"equals":1}}`), "* means a complete element"},
		{rule(`"arguments":{"a\\":{"equals":1}}`), "escapes nothing"},
		{rule(`"arguments":{"a":{"one_of":"x"}}`), "one_of is an array"},
		{rule(`"arguments":{"a":{"one_of":[]}}`), "one_of is an array"},
		{rule(`"arguments":{"a":{"one_of":{"x":1}}}`), "one_of is an array"},
		{rule(`"arguments":{"a":{"regex":12}}`), "regex is a string"},
		{rule(`"arguments":{"a":{"range":{"a":1,"b":2}}}`), "range is [min, max]"},
		{rule(`"arguments":{"a":{"under":12}}`), "under is the path"},
		{rule(`"arguments":{"a":{"under":["x"]}}`), "under is the path"},
		{rule(`"arguments":{"a":{"glob":1}}`), "glob is a string"},
		{rule(`"arguments":{"a":{"regex":"("}}`), "missing closing ): `(` (the syntax is RE2's)"},
		{rule(`"arguments":{"a":{"regex":"a)|(b"}}`), "unexpected ): `a)|(b`"},
		{rule(`"arguments":{"a":{"regex":"` + strings.Repeat("x", 5000) + `"}}`), "at most 4096 bytes"},
		{rule(`"arguments":{"a":{"range":[1]}}`), "range is [min, max]"},
		{rule(`"arguments":{"a":{"range":[1,2,3]}}`), "range is [min, max]"},
		{rule(`"arguments":{"a":{"range":["1",2]}}`), "range is [min, max]"},
		{rule(`"arguments":{"a":{"range":[2,1]}}`), "matches nothing"},
		{rule(`"arguments":{"a":{"range":[1e999999999999999999,null]}}`), "exponent"},
		{rule(`"arguments":{"a":{"under":""}}`), "under is the path"},
		{rule(`"arguments":{"a":{"under":"~/x"}}`), "under is a plain path"},
		{rule(`"arguments":{"a":{"under":"/proc/self/cwd"}}`), "under is a plain path"},
		{rule(`"arguments":{"a":{"words":"git"}}`), "words is an array"},
		{rule(`"arguments":{"a":{"words":["git",[]]}}`), "words is an array"},
		{rule(`"arguments":{"a":{"words":["git",1]}}`), "words is an array"},
		{rule(`"arguments":{"a":{"words":["git",["a",1]]}}`), "words is an array"},
		{rule(`"examples":[]`), "examples is an object"},
		{rule(`"examples":{"must_match":[]}`), `unknown key "must_match"; the keys here: match, no_match`},
		{rule(`"examples":{"match":{}}`), "match is an array"},
		{rule(`"examples":{"match":["x"]}`), "an example is an object"},
		{rule(`"examples":{"no_match":[{}]}`), "p.json:2:69: the rule of line 2 matches this example of no_match"},
		{rule(`"arguments":{"a":{"equals":1}},"examples":{"match":[{"a":1},{"a":2}]}`), "the rule of line 2 does not match this example of match"},
		{rule(`"examples":{"match":[{"a":2}]},"arguments":{"a":{"equals":1}}`), "does not match this example of match"},
		{rule(`"arguments":{"a":{"under":"docs"}},"examples":{"match":[{"a":"docs2/x"}]}`), "does not match this example"},
	} {
		_, err := ParsePolicy("p.json", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got  %v\n want %s", c.text, err, c.want)
		}
	}
}

// A regular expression has the whole length, and is used or refused at the depth
// where the group around it is one too many.
func TestRegexLimits(t *testing.T) {
	parse := func(pattern string) (*Policy, error) {
		return ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"allow","server":"s","tool":"t","arguments":{"a":{"regex":"`+pattern+`"}}}]}`))
	}
	if _, err := parse(strings.Repeat("x", maxPattern)); err != nil {
		t.Error(err)
	}
	for depth := 980; depth < 1010; depth++ {
		p, err := parse(strings.Repeat("(", depth) + "x" + strings.Repeat(")", depth))
		if err != nil {
			if depth < 990 || !strings.Contains(err.Error(), "nests too deeply") {
				t.Errorf("%d: %v", depth, err)
			}
			continue
		}
		g := &Gate{Rules: p.Rules}
		if v, err := g.decided(t.Context(), Call{Server: "s", Tool: "t", Arguments: []byte(`{"a":"x"}`)}); v.Outcome != Allowed || depth > 1000 {
			t.Errorf("%d: %v, %v", depth, v, err)
		}
	}
}

// A rule that allows cannot have a pattern over a script.
func TestScriptPattern(t *testing.T) {
	tool := func(server, name string, scripts ...string) Server {
		c := Call{Server: server, Tool: name, Name: server + "__" + name, Traits: Traits{BuiltIn: true, By: "built in", Labels: Runs | Sends}}
		return Server{Name: server, Started: true, Tools: []Tool{{Call: c, Scripts: scripts}}}
	}
	servers := []Server{tool("shell", "run_command", "script"), tool("processes", "start", "script"), tool("processes", "input"), tool("fs", "run_command"), tool("x", "y")}
	for rule, refused := range map[string]bool{
		`"decision":"allow","server":"shell","tool":"run_command","arguments":{"script":{"glob":"git *"}}`:                        true,
		`"decision":"allow","server":"shell","tool":"run_command","arguments":{"script":{"regex":"git [a-z]+"}}`:                  true,
		`"decision":"allow","server":["x","s*"],"tool":"*","arguments":{"cwd":{"under":"."},"script":{"glob":"ls"}}`:              true,
		`"decision":"allow","server":"*","tool":"*","arguments":{"*":{"glob":"**"}}`:                                              true,
		`"decision":"allow","server":"shell","tool":"run_command","arguments":{"script":{"under":"/tmp"}}`:                        true,
		`"decision":"allow","server":"*","tool":"*","arguments":{"*.path":{"glob":"src/*"}}`:                                      false,
		`"decision":"allow","server":"shell","tool":"run_command","arguments":{"script":{"glob":"git *"}},"script_pattern":true`:  false,
		`"decision":"allow","server":"shell","tool":"run_command","arguments":{"script":{"glob":"git *"}},"script_pattern":false`: true,
		`"decision":"allow","server":"shell","tool":"run_command","arguments":{"script":{"one_of":["make","make test"]}}`:         false,
		`"decision":"allow","server":"shell","tool":"run_command","arguments":{"cwd":{"glob":"*"},"argv":{"words":["ls"]}}`:       false,
		`"decision":"deny","server":"shell","tool":"run_command","arguments":{"script":{"glob":"*curl*"}}`:                        false,
		`"decision":"ask","server":"shell","tool":"run_command","arguments":{"script":{"glob":"git *"}}`:                          false,
		`"decision":"allow","server":"fs","tool":"run_command","arguments":{"script":{"glob":"*"}}`:                               false,
		`"decision":"allow","server":"processes","tool":"start","arguments":{"script":{"glob":"git *"}}`:                          true,
		`"decision":"allow","server":"processes","tool":"input","arguments":{"script":{"glob":"git *"}}`:                          false,
		`"decision":"allow","effect":"runs","arguments":{"script":{"glob":"git *"}}`:                                              true,
		`"decision":"allow","effect":"reads","arguments":{"script":{"glob":"git *"}}`:                                             false,
	} {
		p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{`+rule+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&Gate{Rules: p.Rules}).Check(servers)
		if refused != (err != nil) || refused && (!strings.HasPrefix(err.Error(), "p.json:1: no ") || !strings.Contains(err.Error(), `"argv":{"words":`) || !strings.Contains(err.Error(), `"script_pattern":true`)) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

// A rule that allows a program which runs other programs gets a warning.
func TestRunnerWarnings(t *testing.T) {
	for arguments, runner := range map[string]string{
		`"argv":{"words":[["sh"],["-c"],["ls"]]}`:                  "sh -c",
		`"argv":{"words":[["ls","/bin/bash"],["-l","-ec"],["x"]]}`: "/bin/bash -ec",
		`"argv":{"words":["python3.12",["-V","-c"],"x"]}`:          "python3.12 -c",
		`"argv":{"words":["node","--eval","x"]}`:                   "node --eval",
		`"argv":{"words":["find",".",["-name","-exec"],"x",";"]}`:  "find -exec",
		`"argv":{"words":[["git","env"],["status","x"]]}`:          "env",
		`"argv":{"words":["xargs"]}`:                               "xargs",
		`"command":{"words":["sudo","ls"]}`:                        "sudo",
		`"argv":{"words":["sh",["abc","","-","--norc"]]}`:          "",
		`"argv":{"words":["find",["-noexec"]]}`:                    "",
		`"argv.0":{"one_of":["env","ls"]}`:                         "",
		`"argv.0":{"equals":"env"},"argv.1":{"glob":"*"}`:          "",
		`"argv":{"words":["env","-i"]}`:                            "env",
		`"argv":{"words":[["ls"],["-l","-c"]]}`:                    "",
		`"argv":{"words":["sh","build.sh"]}`:                       "",
		`"argv":{"words":["python3","-V"]}`:                        "",
		`"argv":{"words":["find",".","-name","x"]}`:                "",
		`"argv":{"words":[]}`:                                      "",
	} {
		p, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[`+"\n"+`{"decision":"allow","server":"shell","tool":"run_command","arguments":{`+arguments+`}}]}`))
		switch {
		case err != nil:
			t.Fatal(err)
		case runner == "" && len(p.Warnings) > 0:
			t.Errorf("%s: %v", arguments, p.Warnings)
		case runner != "" && (len(p.Warnings) != 1 || !strings.HasPrefix(p.Warnings[0].Message, `p.json:2: this rule allows "`+runner+`"`)):
			t.Errorf("%s: %v, not of %v", arguments, p.Warnings, runner)
		}
	}
}

func TestPolicyExamples(t *testing.T) {
	_, err := ParsePolicy("p.json", []byte(`{"version":1,"rules":[{"decision":"allow","server":"s","tool":"t",
		"arguments":{"p":{"under":"docs"}},"examples":{"match":[{"p":"docs/a"},{"p":"docs/a/../b"}],"no_match":[{"p":"docs/../x"},{"p":"/docs2"},{"p":"docs/a","x":1},{}]}},
		{"decision":"deny","server":"s","tool":"t","arguments":{"p":{"glob":"*.env"}},"examples":{"match":[{"p":["x",".env"]}],"no_match":[{"q":".env"}]}}]}`))
	if err != nil {
		t.Error(err)
	}
}

func TestCaretIsUnderTheCulprit(t *testing.T) {
	for _, before := range []string{``, `   {"decision":"deny","server":"s","tool":"t"},`, "\t{\"reason\":\"a\\\\b\\n \u202e ä 世\",\"decision\":\"deny\",\"server\":\"s\",\"tool\":\"t\"},"} {
		_, err := ParsePolicy("p.json", []byte("{\"version\":1,\"rules\":[\n"+before+`{"x":1}`+strings.Repeat(" ", 500)+`]}`))
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != 3 || len(lines[1]) > 140 {
			t.Fatalf("%q", lines)
		}
		shown, caret := []rune(strings.ReplaceAll(escape.Escape(lines[1]), `\\`, `\`)), len(lines[2])-1
		if string(shown[caret-1:caret+4]) != `"x":1` {
			t.Errorf("%s\n%s", string(shown), lines[2])
		}
	}
}

func TestParsePolicy(t *testing.T) {
	text := "{\"version\":1,\n \"otherwise\":\"deny\",\n \"rules\":[\n  {\"decision\":\"ask\",\n   \"server\":[\"a\",\"b*\"],\"tool\":\"t\",\"reason\":\"why\"}]}\n"
	path := "/etc/ci.json"
	p, err := ParsePolicy(path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	r := p.Rules[0]
	if p.SHA256 != hex.EncodeToString(sum[:]) || p.Otherwise.Decision != Deny || p.Otherwise.Origin != path+":2" ||
		r.Origin != path+":4" || r.Decision != Ask || r.By != "policy" || r.Reason != "why" {
		t.Errorf("%+v", p)
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"version":1,"otherwise":"ask","rules":[{"decision":"allow","server":"s","tool":"t*","arguments":{"a.*.b":{"one_of":[1,"x"]},"p":{"under":"docs"}},"others":"any","examples":{"match":[{"a":[{"b":1}],"p":"docs/x"}]}}]}`), []byte(`{"a":[{"b":1}],"p":"docs/x"}`))
	f.Add([]byte(`{"version":1,"rules":[{"decision":"deny","server":"*","tool":"*","arguments":{"n":{"range":[1,null]}}},{"decision":"ask","server":"*","tool":"*","arguments":{"w":{"words":["a",["b","c"]]}}}]}`), []byte(`{"n":2,"w":["a","b"]}`))
	f.Add([]byte(`{"version":1,"rules":[{"decision":"allow","server":"s","tool":"t","arguments":{"r":{"regex":"a+"},"g":{"glob":"x/**/?"}},"reason":"r","optional":true}]}`), []byte(`{"r":"aa","g":"x/y/z"}`))
	f.Fuzz(func(t *testing.T, policy, arguments []byte) {
		p, err := ParsePolicy("p.json", policy)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "p.json:") || strings.Count(err.Error(), "\n") != 2 {
				t.Errorf("an error without place or line: %q", err)
			}
			return
		}
		arguments, err = Canonical(arguments)
		if err != nil {
			return
		}
		checkLattice(t, p, &Call{Server: "s", Tool: "t", Name: "s__t", Arguments: arguments})
	})
}

// checkLattice checks what holds for any rules and any call: the decision is
// that of the strictest rule that matches, in any order of the rules, and a rule
// that matches narrow also matches wide.
func checkLattice(t *testing.T, p *Policy, c *Call) {
	g := &Gate{Rules: p.Rules, Otherwise: OtherwiseAsk}
	strictest := Ask
	matched, x := map[Decision]bool{}, Explanation{}
	decision := g.evaluate(t.Context(), c, &x).Decision
	for _, r := range x.Matched {
		matched[r.Decision] = true
	}
	for _, d := range []Decision{Allow, Ask, Deny} {
		if matched[d] {
			strictest = d
		}
	}
	if decision != strictest {
		t.Errorf("%v of %v", decision, matched)
	}
	reversed := &Gate{Otherwise: OtherwiseAsk}
	for i := range p.Rules {
		reversed.Rules = append(reversed.Rules, p.Rules[len(p.Rules)-1-i])
	}
	if d := reversed.evaluate(t.Context(), c, nil).Decision; d != decision {
		t.Errorf("in the other order %v, not %v", d, decision)
	}
	e := &evaluation{}
	e.begin(t.Context(), c)
	for i := range p.Rules {
		if r := &p.Rules[i]; r.matchesArguments(e, false) && !r.matchesArguments(e, true) {
			t.Errorf("the rule of %s matches narrow but not wide", r.Origin)
		}
	}
}

// thousandRules returns a large policy with rules of several kinds.
func thousandRules() []byte {
	var b strings.Builder
	b.WriteString(`{"version":1,"rules":[`)
	for i := range 1000 {
		if i > 0 {
			b.WriteString(",\n")
		}
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, `{"decision":"allow","server":"s%d","tool":"read_%d","arguments":{"path":{"glob":"docs/%d/*"}}}`, i%7, i, i)
		case 1:
			fmt.Fprintf(&b, `{"decision":"deny","server":"*","tool":"*_%d"}`, i)
		case 2:
			fmt.Fprintf(&b, `{"decision":"deny","server":"fs","tool":"write_file","arguments":{"path":{"glob":"*/secret%d/*"}}}`, i)
		case 3:
			fmt.Fprintf(&b, `{"decision":"ask","server":"fs","tool":"*","arguments":{"mode.flags.*":{"one_of":["x%d","y"]}}}`, i)
		}
	}
	b.WriteString("]}")
	return []byte(b.String())
}

var benchCall = Call{Server: "fs", Tool: "write_file", Name: "fs__write_file", Arguments: []byte(`{"path":"docs/notes/a.txt","content":"some text","mode":{"flags":["a","b"]}}`)}

func benchmarkDecide(b *testing.B, rules []Rule) {
	g := &Gate{Rules: rules, Otherwise: OtherwiseAsk, AutoApprove: "--auto-approve"}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := g.decided(b.Context(), benchCall); err != nil || v.Outcome != Allowed {
			b.Fatal(v, err)
		}
	}
}

func BenchmarkDecideNoRules(b *testing.B) { benchmarkDecide(b, nil) }

func BenchmarkDecideThousandRules(b *testing.B) {
	p, err := ParsePolicy("p.json", thousandRules())
	if err != nil {
		b.Fatal(err)
	}
	benchmarkDecide(b, p.Rules)
}

func BenchmarkLoadThousandRules(b *testing.B) {
	text := thousandRules()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParsePolicy("p.json", text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadTenRules(b *testing.B) {
	text := thousandRules()
	text = append(text[:strings.Index(string(text), `,`+"\n"+`{"decision":"ask","server":"fs","tool":"*","arguments":{"mode.flags.*":{"one_of":["x11"`)], "]}"...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParsePolicy("p.json", text); err != nil {
			b.Fatal(err)
		}
	}
}
