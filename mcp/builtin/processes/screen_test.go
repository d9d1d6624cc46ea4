package processes

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/servertest"
)

// withScreen starts a script on a terminal, where there is one.
func withScreen(t *testing.T, script string, more ...any) *mcp.Session {
	t.Helper()
	if !known(t) {
		t.Skip("needs pseudo-terminals")
	}
	s := processServer(t, shell.CommandSpec{})
	servertest.Works(t, s, "start", append([]any{"name", "x", "script", script, "pty", true}, more...)...)
	return s
}

// screenOf is what output answers, without what changes from run to run.
func screenOf(t *testing.T, s *mcp.Session) string {
	t.Helper()
	text := servertest.Works(t, s, "output", "id", "x", "screen", true)
	return regexp.MustCompile(`x is running \(pid \d+, for [0-9.a-z]+\); screen \d+ `).ReplaceAllString(text, "")
}

// A screen is read, waited for, searched and given another size, and each change is another
// version.
func TestScreen(t *testing.T) {
	t.Parallel()
	s := withScreen(t, `trap 'printf "\033[H\033[2J%s" "$(stty size)"' WINCH; printf '\033[2J\033[3;5Hcolour \033[31mred\033[0m\033]0;title\007\033[1;1Hready'; while read -r line; do printf '\033[5;1H<%s>' "$line"; done`, "cols", 40, "rows", 6)
	servertest.Works(t, s, "wait", "ids", []string{"x"}, "screen_pattern", "^ready$", "timeout_s", 60)
	if got, want := screenOf(t, s), "[toolpipe] of 40 columns and 6 rows; the cursor is in row 1, column 6; its rows follow\nready\n\n    colour red\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r, err := s.Call(t.Context(), "output", []byte(`{"id":"x","screen":true}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	version, _ := jsontext.Integer(jsontext.Member(r.Structured, "screen"))
	if got := string(r.Structured); version < 1 || !strings.HasSuffix(got, `"cols":40,"rows":6,"cursor":{"row":1,"column":6,"visible":true},"text":"ready\n\n    colour red\n"}`) {
		t.Errorf("structured: %s", got)
	}
	if found := servertest.Works(t, s, "search", "pattern", "r.d$", "screen", true); !regexp.MustCompile(`\nx \d+ 3:     colour red\n$`).MatchString(found) {
		t.Errorf("search: %s", found)
	}
	if found := servertest.Works(t, s, "search", "pattern", "title", "screen", true, "id", "x"); !strings.HasSuffix(found, "no row of a screen matches\n") {
		t.Errorf("search: %s", found)
	}
	if answer, failed := servertest.Do(t, s, "wait", "ids", []string{"x"}, "screen_after", version, "timeout_s", 0.2); !failed || !strings.Contains(answer, "timed out") || !strings.Contains(answer, "\nready\n") {
		t.Errorf("wait: %s", answer)
	}
	servertest.Works(t, s, "input", "id", "x", "text", "hello", "key", "enter")
	answer := servertest.Works(t, s, "wait", "ids", []string{"x"}, "screen_after", version, "screen_pattern", "<hello>", "timeout_s", 60)
	if !strings.Contains(answer, "; row 5 matches: <hello>; screen ") || !strings.Contains(answer, "\n<hello>") {
		t.Errorf("wait: %s", answer)
	}
	if answer := servertest.Works(t, s, "resize", "id", "x", "cols", 50); !strings.Contains(answer, "x has a screen of 50 columns and 6 rows now") {
		t.Errorf("resize: %s", answer)
	}
	servertest.Works(t, s, "wait", "ids", []string{"x"}, "screen_pattern", "^6 50$", "timeout_s", 60)
	servertest.Works(t, s, "restart", "id", "x")
	servertest.Works(t, s, "wait", "ids", []string{"x"}, "screen_pattern", "^ready$", "timeout_s", 60)
	if got := screenOf(t, s); !strings.HasPrefix(got, "[toolpipe] of 50 columns and 6 rows; ") {
		t.Errorf("after a restart: %q", got)
	}
}

// The terminal answers what a program waits for, and the cursor keys are as the program
// wants them.
func TestScreenAnswers(t *testing.T) {
	t.Parallel()
	s := withScreen(t, `stty raw -echo; printf 'x\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c | tr -d '\n'; printf '\r\n\033[?1hgo\r\n'; dd bs=1 count=3 2>/dev/null | od -An -c; echo "$TERM"; sleep 300`)
	servertest.Works(t, s, "wait", "ids", []string{"x"}, "screen_pattern", "^go$", "timeout_s", 60)
	servertest.Works(t, s, "input", "id", "x", "key", "up")
	servertest.Works(t, s, "wait", "ids", []string{"x"}, "screen_pattern", "xterm-256color", "timeout_s", 60)
	text := strings.Join(strings.Fields(screenOf(t, s)), " ")
	if !strings.Contains(text, `x 033 [ 1 ; 2 R go 033 O A xterm-256color`) {
		t.Errorf("%q", text)
	}
}

// A program that asks more than it reads does not hold up its own output.
func TestScreenFlood(t *testing.T) {
	t.Parallel()
	s := withScreen(t, `stty raw -echo; i=0; while [ $i -lt 3000 ]; do printf '\033[6n\033[c'; i=$((i+1)); done; printf 'done'; sleep 300`)
	servertest.Works(t, s, "wait", "ids", []string{"x"}, "screen_pattern", "done", "timeout_s", 60)
}

func TestScreenTerm(t *testing.T) {
	t.Parallel()
	if !known(t) {
		t.Skip("needs pseudo-terminals")
	}
	for want, set := range map[string]struct{ config, call map[string]string }{
		"xterm-256color": {}, "vt100": {config: map[string]string{"TERM": "vt100"}}, "dumb": {map[string]string{"TERM": "vt100"}, map[string]string{"TERM": "dumb"}},
	} {
		s := processServer(t, shell.CommandSpec{Env: set.config})
		args := []any{"script", `echo "TERM is $TERM"`, "pty", true}
		if set.call != nil {
			args = append(args, "env", set.call)
		}
		servertest.Works(t, s, "start", args...)
		if answer := servertest.Works(t, s, "wait", "ids", []string{"p1"}, "screen_pattern", "TERM is", "timeout_s", 60); !strings.Contains(answer, "TERM is "+want+"\n") {
			t.Errorf("want %s: %s", want, answer)
		}
	}
}

func TestScreenMistakes(t *testing.T) {
	t.Parallel()
	s := withScreen(t, "sleep 300")
	servertest.Works(t, s, "start", "name", "plain", "argv", []string{"sleep", "300"})
	for _, c := range []struct {
		want string
		call []any
	}{
		{"plain has no screen: start it with pty", []any{"output", "id", "plain", "screen", true}},
		{"plain has no screen: start it with pty", []any{"search", "id", "plain", "pattern", "x", "screen", true}},
		{"plain has no screen: start it with pty", []any{"wait", "ids", []string{"plain"}, "screen_pattern", "x"}},
		{"plain has no screen: start it with pty", []any{"resize", "id", "plain", "cols", 80}},
		{"apply to the output, not", []any{"output", "id", "x", "screen", true, "since", 0}},
		{"ids is missing", []any{"wait", "screen_pattern", "x"}},
		{"only one together with since or screen_after", []any{"wait", "ids", []string{"x", "plain"}, "screen_after", 1}},
		{"screen_after is 99; the screen of x is 0", []any{"wait", "ids", []string{"x"}, "screen_after", 99}},
		{"screen_pattern: ", []any{"wait", "ids", []string{"x"}, "screen_pattern", "("}},
		{"give cols, or rows, or both", []any{"resize", "id", "x"}},
		{"cols is 501; 1 to 500 are allowed", []any{"resize", "id", "x", "cols", 501}},
		{"rows is 0; 1 to 200 are allowed", []any{"resize", "id", "x", "rows", 0}},
		{"rows is 201; 1 to 200 are allowed", []any{"start", "argv", []string{"true"}, "pty", true, "rows", 201}},
		{"cols and rows need a terminal: give pty too", []any{"start", "argv", []string{"true"}, "cols", 80}},
	} {
		servertest.Fails(t, s, c.want, c.call[0].(string), c.call[1:]...)
	}
}

// The keys are those of terminfo's entry for the terminal.
func TestKeysAreTerminfos(t *testing.T) {
	t.Parallel()
	sends := terminalKeyBytes(true)
	for key, want := range map[string]string{
		"up": "\x1bOA", "down": "\x1bOB", "right": "\x1bOC", "left": "\x1bOD", "home": "\x1bOH", "end": "\x1bOF", "insert": "\x1b[2~", "delete": "\x1b[3~",
		"page-up": "\x1b[5~", "page-down": "\x1b[6~", "shift-tab": "\x1b[Z", "backspace": "\x7f", "f1": "\x1bOP", "f4": "\x1bOS", "f5": "\x1b[15~", "f10": "\x1b[21~", "f12": "\x1b[24~", "ctrl-a": "\x01", "ctrl-z": "\x1a",
	} {
		if sends[key] != want {
			t.Errorf("%s sends %q, want %q", key, sends[key], want)
		}
	}
	if plain := terminalKeyBytes(false); plain["up"] != "\x1b[A" || plain["end"] != "\x1b[F" || plain["f1"] != "\x1bOP" {
		t.Errorf("%q", plain)
	}
	for key := range sends {
		if !strings.HasPrefix(key, "ctrl-") && !strings.HasPrefix(key, "f") && !slices.Contains(strings.Split(terminalKeys, ", "), key) {
			t.Errorf("%s is in no description", key)
		}
	}
}
