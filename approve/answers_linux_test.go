package approve

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"y\n":               "allow by terminal: ",
		"Y\n":               "allow by terminal: ",
		"yes\n":             "allow by terminal: ",
		"YES\n":             "allow by terminal: ",
		"y\r":               "allow by terminal: ",
		"a\n":               "allow by terminal: ",
		"n\x7fy\n":          "allow by terminal: ",
		"\n":                "deny by terminal: the user declined",
		"n\n":               "deny by terminal: the user declined",
		"no\n":              "deny by terminal: the user declined",
		"NO\n":              "deny by terminal: the user declined",
		"n \n":              "deny by terminal: the user declined",
		"n not that file\n": "deny by terminal: not that file",
		"No  why?  y\n":     "deny by terminal: why?  y",
		"n \xff\n":          "deny by terminal: \ufffd",
		"q\n":               "deny by terminal: the user ended the run; ends the run",
		"\x04":              "deny by terminal: no answer (end of input)",
		"y\x04\x04":         "deny by terminal: no answer (end of input)",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := startAsker(t, job{Calls: oneCall, Timeout: guardTime}, "")
			before := modes(t, a.slave)
			a.await("Allow fs__write_file? "+ending, 1)
			a.typeIn(typed)
			if got := a.verdict(); got != want {
				t.Errorf("%.20q: %s", typed, got)
			}
			if modes(t, a.slave) != before {
				t.Error("the terminal's modes are not as before")
			}
			a.awaitNewLine()
		})
	}
}

// A line that is none of the answers asks again; the third one denies.
func TestUnclearAnswers(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"A", "Q", "V", "T", "yes please", "nx\by" /* ^H is no erase character here */, " y", "y ", "yy", "ye\u017f", "\uff59", "y\x00", "\xff", "approve",
		"q now", "not", "n\treason", "no,", "??", " ", strings.Repeat("y", 3000)} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := startAsker(t, job{Calls: []jobCall{oneCall[0], oneCall[0]}, Timeout: guardTime}, "")
			for n := range 3 {
				a.await("Allow fs__write_file? "+ending, n+1)
				if n == 2 {
					a.typeIn("a\n")
				} else {
					a.typeIn(typed + "\n")
				}
			}
			if got := a.verdict(); got != "allow by terminal: " {
				t.Errorf("%.20q, twice, and a: %s", typed, got)
			}
			if n := strings.Count(a.text(), "That is not one of the answers; ? explains them.\r\n"); n != 2 {
				t.Errorf("%.20q is told %d times to be no answer", typed, n)
			}
		})
	}
	a := startAsker(t, job{Calls: oneCall, Timeout: guardTime}, "")
	for n, typed := range []string{"x\n", "v\n", "x\n", "?\n", "x\n"} {
		a.await(ending, n+1)
		a.typeIn(typed)
	}
	a.expect("deny by terminal: the user gave no clear answer")

	// What comes without a line end is one answer when it is too long for one.
	a = startAsker(t, job{Calls: oneCall, Timeout: guardTime}, "")
	a.await(ending, 1)
	a.typeIn(strings.Repeat("y", maxAnswer+1) + "\x04")
	a.await(ending, 2)
	a.typeIn("n\n")
	a.expect("deny by terminal: the user declined")
}

// The name typed whole allows the tool, and nothing else does.
func TestToolIsAllowedByItsName(t *testing.T) {
	t.Parallel()
	one := func(arguments string) jobCall { return jobCall{"fs__one", arguments} }
	a := startAsker(t, job{Calls: []jobCall{one(`{"a":1}`), one(`{"a":2}`), {"fs__two", `{}`}, one(`{"a":3}`)}, Timeout: guardTime}, "")
	const name = "Type the tool's name to allow that: "
	a.await(ending, 1)
	a.typeIn("t\n")
	a.await(name, 1)
	a.typeIn("y\n")
	a.await("That is not the name of the tool.\r\n", 1)
	a.await(ending, 2)
	a.typeIn("y\n")
	a.expect("allow by terminal: ")
	a.await(ending, 3)
	a.typeIn("t\n")
	a.await("toolpipe: allow fs__one with any arguments until this run ends", 2)
	a.await(name, 2)
	a.typeIn("fs__one\n")
	a.expect("allow by terminal: ")
	a.await("Allow fs__two? "+ending, 1)
	a.typeIn("t\n")
	a.await(name, 3)
	a.typeIn("fs__two\n")
	a.expect("allow by terminal: ")
	a.expect("allow by terminal: the tool was approved for this run")

	a = startAsker(t, job{Calls: oneCall, Timeout: guardTime}, "")
	for n := range maxUnclear {
		a.await(ending, n+1)
		a.typeIn("t\n")
		a.await(name, n+1)
		a.typeIn("fs__write\n")
	}
	a.expect("deny by terminal: the user gave no clear answer")
}

// A call that changes a file is shown as a diff. A yes to a diff that is not true
// any more asks again.
func TestDiffIsShown(t *testing.T) {
	t.Parallel()
	const one, two = "@@ -1 +1 @@\n-one\n+x\n", "@@ -1 +1 @@\n-two\n+x\n"
	for answer, verdict := range map[string]string{"y": "allow by terminal: ", "a": "allow by terminal: ", "n": "deny by terminal: the user declined",
		"q": "deny by terminal: the user ended the run; ends the run"} {
		a := startAsker(t, job{Calls: oneCall, Changes: []string{one, two}, Timeout: guardTime}, "")
		a.await(ending, 1)
		a.typeIn(answer + "\n")
		if answer == "y" || answer == "a" {
			a.await("The file was changed meanwhile.\r\n", 1)
			a.await("  | it changes the file:\r\n  |> @@ -1 +1 @@\r\n  |> -two\r\n  |> +x\r\n", 1)
			a.await(ending, 2)
			a.typeIn(answer + "\n")
		}
		a.expect(verdict)
		if text := a.text(); !strings.Contains(text, "  |> -one\r\n") || strings.Contains(text, "content") {
			t.Errorf("%q", text)
		}
	}
}

// A rule that asks wants each call asked about, and an approver too.
func TestToolIsNotOfferedWhereARuleAsks(t *testing.T) {
	t.Parallel()
	const short = "[y/N/a/q/v/?] "
	for _, j := range []job{{AskRule: true}, {Approver: true}} {
		j.Calls, j.Timeout = oneCall, guardTime
		a := startAsker(t, j, "")
		a.await(short, 1)
		a.typeIn("?\n")
		a.await(short, 2)
		if strings.Contains(a.text(), "every call of this tool") || !strings.Contains(a.text(), "whenever it comes again") {
			t.Error(a.text())
		}
		a.typeIn("t\n")
		a.await("That is not one of the answers", 1)
		a.await(short, 3)
		a.typeIn("y\n")
		a.expect("allow by terminal: ")
	}
}

func TestLongArguments(t *testing.T) {
	t.Parallel()
	arguments := `{"content":"` + strings.Repeat("harmless ", 6000) + "DANGER" + strings.Repeat(" harmless", 5000) + `","path":"end.txt"}`
	sum := sha256.Sum256([]byte(arguments))
	for typed, want := range map[string]string{
		"y\n": "deny by terminal: the user declined", "a\n": "deny by terminal: the user declined", "t\n": "deny by terminal: the user declined", "yes\n": "deny by terminal: the user declined",
		"Approve\n": "deny by terminal: the user declined", "approve \n": "deny by terminal: the user declined", "approve\n": "allow by terminal: ",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := startAsker(t, job{Calls: []jobCall{{"fs__write", arguments}}, Timeout: guardTime}, "")
			a.await("Allow fs__write? type approve to allow: ", 1)
			a.typeIn(typed)
			if got := a.verdict(); got != want {
				t.Errorf("%q: %s", typed, got)
			}
			for _, part := range []string{`"content": "harmless`, `"path": "end.txt"`, "lines are not shown", hex.EncodeToString(sum[:]), strconv.Itoa(len(arguments)) + " bytes"} {
				if !strings.Contains(a.text(), part) {
					t.Errorf("%q is not shown in %q", part, a.text())
				}
			}
			if strings.Contains(a.text(), "DANGER") || strings.Contains(a.text(), ending) {
				t.Error("it is all shown, or the short question is asked")
			}
		})
	}
	a := startAsker(t, job{Calls: []jobCall{{"fs__write", arguments}}, Timeout: guardTime}, "")
	const question = "Allow fs__write? type approve to allow: "
	a.await(question, 1)
	a.typeIn("?\n")
	a.await("approve    run this call\r\nn, no", 1)
	a.await(question, 2)
	a.typeIn("v\n")
	a.await("DANGER", 1)
	a.await(question, 3)
	a.typeIn("n too long\n")
	a.expect("deny by terminal: too long")
	a = startAsker(t, job{Calls: []jobCall{{"fs__write", arguments}}, Timeout: guardTime}, "")
	a.await(question, 1)
	a.typeIn("q\n")
	a.expect("deny by terminal: the user ended the run; ends the run")
}
