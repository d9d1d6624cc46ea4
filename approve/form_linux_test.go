package approve

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFormIsForeign(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Heading: "Your\x1bname?", Timeout: guardTime}, "typed before\n")
	a.await(answerPrompt, 1)
	a.typeIn("Jürgen x\n")
	if got := a.verdict(); got != `"Jürgen x" <nil>` {
		t.Error(got)
	}
	if !strings.Contains(a.text(), "\r\ntoolpipe: Your\\u{1b}name?\r\n") {
		t.Errorf("the heading is not on a line of its own: %q", a.text())
	}
	for _, line := range strings.Split(a.text(), "\r\n") {
		if strings.Contains(line, "fs__read_file") && !strings.HasPrefix(line, margin) && !strings.HasPrefix(line, continuation) {
			t.Errorf("a line without margin: %q", line)
		}
	}
	for want, j := range map[string]job{
		`"" nobody can be asked: not in the foreground of the terminal`: {Heading: "?", Timeout: guardTime, Background: true},
		`"" no answer in time`: {Heading: "?", Timeout: 300 * time.Millisecond},
	} {
		if got := startAsker(t, j, "").verdict(); got != want {
			t.Error(got)
		}
	}
}

// Typed at a form: an answer, an end of file, or nothing at all.
func TestFormAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		confirm     bool
		typed, want string
	}{
		{false, "\x04", `"" end of file on the terminal`},
		{true, "y\n", `"true" <nil>`},
		{true, "\n", `"false" <nil>`},
		{true, "\x04", `"false" end of file on the terminal`},
	} {
		a := startAsker(t, job{Heading: "?", Confirm: c.confirm, Timeout: guardTime}, "")
		prompt := answerPrompt
		if c.confirm {
			prompt = confirmPrompt
		}
		a.await(prompt, 1)
		a.typeIn(c.typed)
		if got := a.verdict(); got != c.want {
			t.Errorf("%q: %s, want %s", c.typed, got, c.want)
		}
	}
}

// A server cannot scroll our heading off the screen.
func TestFormFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{{strings.Repeat("x", 100_000)}, slices.Repeat([]string{"Allow x? [y/N/a] "}, 10_000), {"\n\r\n"}, nil} {
		for _, height := range []int{5, 24, 60} {
			q := newFormQuestion("a server asks", lines, answerPrompt, 80, height)
			if n := strings.Count(q.body, "\n") + 2; n > max(height, 14) {
				t.Errorf("%d lines on a terminal of %d", n, height)
			}
			for _, line := range strings.Split(strings.TrimSuffix(q.body, "\n"), "\n")[1:] {
				if !strings.HasPrefix(line, margin) && !strings.HasPrefix(line, continuation) && !strings.HasPrefix(line, "  ... ") || len(line) > 80 {
					t.Errorf("%q", line)
				}
			}
		}
	}
}

// Only what does not fit is left out.
func TestFormIsWhole(t *testing.T) {
	for n, cut := range map[int]bool{18: false, 19: true} {
		q := newFormQuestion("a server asks", slices.Repeat([]string{"line"}, n), answerPrompt, 80, 24)
		if strings.Contains(q.body, "not shown") != cut {
			t.Errorf("%d lines: %s", n, q.body)
		}
	}
}

// Forms and questions that are put at the same time, in one process and in two
// of a pipeline, come one after the other.
// The person thinks for a moment, then says yes to every form and no to every
// call.
func TestOneOwnerOfTheTerminal(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			calls, each := 11, 11
			if twice {
				calls, each = 8, 4
			}
			j := job{Forms: true, Twice: twice, Timeout: guardTime, Calls: slices.Repeat([]jobCall{{"fs__x", "{}"}}, each)}
			a := startAsker(t, j, "")
			ended := make(chan string)
			go func() {
				all, _ := io.ReadAll(a.verdicts)
				ended <- string(all)
			}()
			answered, interrupted := 0, 0
			for guard := time.After(guardTime * 2); ; {
				select {
				case got := <-ended:
					if strings.Count(got, "call: deny <nil>\n") != calls || strings.Count(got, "form: yes\n") != calls || strings.Count(got, "\n") != 2*calls {
						t.Errorf("want %d refused calls and as many forms with yes, got:\n%s", calls, got)
					}
					if interrupted > 2 { // a loaded machine may have a question drawn again
						t.Errorf("another question came before the answer, %d times", interrupted)
					}
					return
				case <-guard:
					t.Fatalf("no end; the terminal got %q", a.text())
				case <-a.drawn:
				}
				text := a.text()
				for question, answer := range map[string]string{answerPrompt: "yes\n", ending: "n\n"} {
					if strings.HasSuffix(text, question) && len(text) > answered {
						if time.Sleep(settleTime / 2); a.text() != text {
							interrupted++
							continue
						}
						answered = len(text)
						a.typeIn(answer)
					}
				}
			}
		})
	}
}

// A question that follows a withdrawn form waits until nobody can still be
// typing the form's answer.
func TestLateAnswerToAForm(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Withdrawn: true, RealTimes: true, Timeout: 4 * settleTime, Calls: oneCall}, "")
	if got := a.verdict(); got != "context canceled" {
		t.Errorf("the form: %s", got)
	}
	a.expect("deny by terminal: no answer in 400ms")
	if got := a.verdict(); got != "waited" {
		t.Errorf("the question %s", got)
	}
}

// A form that waits for the terminal ends with its context, and is not shown.
func TestFormCancelled(t *testing.T) {
	var terminal Terminal
	terminal.asking.Lock()
	defer terminal.asking.Unlock()
	gone := errors.New("the call is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	err := terminal.Form(ctx, func(*Form) error {
		t.Error("the form is shown")
		return nil
	})
	if !errors.Is(err, gone) {
		t.Error(err)
	}
}
