//go:build unix

package endtoend

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The checks of the harness must fail where they should.

func TestStrictLine(t *testing.T) {
	for text, good := range map[string]bool{
		`{}`:                               true,
		`{"a":{"b":[{"c":1},{"c":2}]}}`:    true,
		`{"a":"\ud83d\ude00\\ud800"}`:      true,
		`{"a":"A\ud83d\ude00"}`:            true,
		`{"a":1,"a":2}`:                    false,
		`{"a":1,"\u0061":2}`:               false,
		`{"x":[{"a":1,"a":2}]}`:            false,
		`{"a":"\ud83d"}`:                   false,
		`{"a":"\ude00\ud83d"}`:             false,
		`{"a":1} {}`:                       false,
		`{"a":1}x`:                         false,
		`[1]`:                              false,
		`{"a":1,}`:                         false,
		"{\"a\":\"\xff\"}":                 false,
		"{\"a\":\"\u009b\"}":               false,
		"{\"a\":\"\u202e\"}":               false,
		"{\"a\":\"\u2028\"}":               false,
		"{\"a\":\"\x7f\"}":                 false,
		"{\"a\":\t1}":                      false,
		``:                                 false,
		`{"a":12345678901234567890.0e999}`: true,
	} {
		if err := strictLine(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSplitWords(t *testing.T) {
	lookup := func(name string) string { return "<" + name + ">" }
	for source, want := range map[string]string{
		`a b`:             `a|b`,
		`a 'b $X' "c $X"`: `a|b $X|c <X>`,
		`a\ b ''`:         `a b|`,
		`x"y z"'w'`:       `xy zw`,
		`"a\"b\$X"`:       `a"b$X`,
		`-t f="$MCP -x"`:  `-t|f=<MCP> -x`,
	} {
		words, err := splitWords(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		var got []string
		for _, word := range words {
			got = append(got, word.expand(lookup))
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%s: %s, want %s", source, text, want)
		}
	}
}

func TestParseLine(t *testing.T) {
	for source, want := range map[string]string{
		`[linux] [!root] ! a b => 1 130`: `[linux !root] true [a b] [1 130]`,
		`a '=>' 1`:                       `[] false [a => 1] []`,
		`a => any`:                       `[] false [a] [any]`,
		`a =>`:                           ``,
		`a => b`:                         ``,
		`=> 1`:                           ``,
		`[linux]`:                        ``,
	} {
		line, err := parseLine(source)
		var words []string
		for _, word := range line.words {
			words = append(words, word.expand(os.Getenv))
		}
		if got := fmt.Sprint(line.conditions, line.negate, words, line.statuses); err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s, %v", source, got, err)
		}
	}
}

func TestParseCases(t *testing.T) {
	cases, err := parseCases("env A=1\n=== case one\na\n\n=== case two words\n# c\nb\n")
	got := ""
	for _, c := range cases {
		got += c.name + ":"
		for _, line := range c.lines {
			got += fmt.Sprint(" ", line.number, " ", line.source)
		}
		got += ";"
	}
	if want := "one: 1 env A=1 3 a;two words: 1 env A=1 7 b;"; err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := parseCases("=== case a\n=== case a\n"); err == nil {
		t.Error("two cases of one name are accepted")
	}
}

// A run must fail if it violates what every run must hold.
func TestUniversalAssertions(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string]string{
		"processes left behind": `sh '(trap "" TERM HUP; sleep 60) > /dev/null 2>&1 &'`,
		"the secret":            `sh 'echo $TOOLPIPE_API_KEY'`,
		"base64":                `sh 'printf %s $TOOLPIPE_API_KEY | base64 -w0'`,
		"in secretfile":         `sh 'echo $TOOLPIPE_API_KEY > secretfile'`,
		"temporary file":        `sh 'touch $TMPDIR/left'`,
		"status 3":              `sh 'exit 3'`,
		"status 0":              `sh 'exit 0' => 3 4`,
		"nothing ended":         `env A=1 => 3`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, noFiles)
			defer s.close()
			err := s.run(mustLine(t, commands))
			if err == nil {
				err = s.finish()
			}
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", commands, err)
			}
		})
	}
}

// Events that violate a rule of the manual must fail.
func TestEventAssertions(t *testing.T) {
	const start = `{"type":"start","schema":1,"version":"v"}` + "\n"
	const end = `{"type":"end","status":"ok","exit":0,"text":"","turns":0}` + "\n"
	for text, good := range map[string]bool{
		start + end:       true,
		start:             false,
		end:               false,
		start + end + end: false,
		start + `{"type":"tool_call","id":"a","arguments":{}}` + "\n" + end:                                                          false,
		start + `{"type":"tool_call","id":"a","arguments":{}}` + "\n" + `{"type":"tool_result","id":"a","status":"ok"}` + "\n" + end: true,
		start + `{"type":"tool_call","id":"a","raw":"{"}` + "\n" + `{"type":"tool_result","id":"a","status":"good"}` + "\n" + end:    false,
		start + `{"type":"tool_result","id":"a","status":"ok"}` + "\n" + end:                                                         false,
		start + strings.Replace(end, `"exit":0`, `"exit":1`, 1):                                                                      false,
		start + strings.TrimSuffix(end, "\n"):                                                                                        false,
		start + `{"type":"text","turn":1,"text":"x"}` + "\n" + strings.Replace(end, `"turns":0`, `"turns":1`, 1):                     false,
	} {
		if err := checkEvents([]byte(text), &process{}); (err == nil) != good {
			t.Errorf("%s%v", text, err)
		}
	}
}
