package approve

import (
	"strings"
	"testing"
)

// The question says why it is asked, and the prompt and the explanation name the
// answers that it takes.
func TestQuestionText(t *testing.T) {
	const head, arguments = "toolpipe: tool call fs__w\n", "  | \"n\": 1\n"
	long := `{"s":"` + strings.Repeat("x ", 60_000) + `"}`
	for _, x := range []struct {
		name      string
		rule      *Rule
		moved     bool
		tool      bool
		arguments string
		body      string // "" for any
		prompt    string
		letters   string // of the explanation
	}{
		{"no rule", &OtherwiseAsk, false, true, `{"n":1}`, head + arguments, "Allow fs__w? [y/N/a/t/q/v/?] ", "y a t n n q v"},
		{"a rule", &Rule{Origin: "p.json:2"}, false, false, `{"n":1}`, head + "  | asked because of p.json:2\n" + arguments, "Allow fs__w? [y/N/a/q/v/?] ", "y a n n q v"},
		{"a reason", &Rule{Origin: "p.json:2", Reason: "careful"}, false, false, `{"n":1}`, head + "  | asked because of p.json:2: careful\n" + arguments, "Allow fs__w? [y/N/a/q/v/?] ", "y a n n q v"},
		{"moved", &OtherwiseAsk, true, false, `{"n":1}`, head + "  | asked again: its paths lead to other files since it was allowed\n" + arguments, "Allow fs__w? [y/N/a/q/v/?] ", "y a n n q v"},
		{"long", &OtherwiseAsk, false, true, long, "", "Allow fs__w? type approve to allow: ", "approve n n q v"},
	} {
		c := Call{Server: "fs", Tool: "w", Name: "fs__w", Arguments: []byte(x.arguments), pathsMoved: x.moved}
		q := newQuestion(&c, change{}, x.rule, x.tool, 80, 24, false)
		if x.body != "" && q.body != x.body || q.prompt != x.prompt {
			t.Errorf("%s: %q %q", x.name, q.body, q.prompt)
		}
		var letters []string
		for line := range strings.Lines(q.explanation()) {
			word, _, _ := strings.Cut(strings.Fields(line)[0], ",")
			letters = append(letters, word)
		}
		if got := strings.Join(letters, " "); got != x.letters {
			t.Errorf("%s: %q is explained", x.name, got)
		}
		if !strings.Contains(newQuestion(&c, change{}, x.rule, x.tool, 80, 24, true).body, "\x1b[1mfs__w\x1b[0m") {
			t.Errorf("%s: the name is not bold", x.name)
		}
		if narrow := newQuestion(&c, change{}, x.rule, x.tool, 1, 24, false); narrow.width != minWidth {
			t.Errorf("%s: it is made for %d columns", x.name, narrow.width)
		}
	}
}
