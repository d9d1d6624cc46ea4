package event

import (
	"bytes"
	"errors"
	"testing"

	"toolpipe/run/failure"
)

// runs are what may happen in a run, as events in order; text is what -o text
// must print of them, held or streamed.
var runs = []struct {
	name           string
	events         []Event
	held, streamed string
}{
	{"one turn", []Event{
		&Text{1, []byte("Hel")}, &Text{1, []byte("lo")}, &Turn{Turn: 1, Finish: "stop"},
		&End{Status: failure.StatusOK, Text: Pieces{"Hello"}},
	}, "Hello\n", "Hello\n"},
	{"its own newline", []Event{
		&Text{1, []byte("Hello\n")}, &Turn{Turn: 1}, &End{Status: failure.StatusOK, Text: Pieces{"Hello\n"}},
	}, "Hello\n", "Hello\n"},
	{"nothing", []Event{&Turn{Turn: 1}, &End{Status: failure.StatusOK}}, "", ""},
	{"a call between", []Event{
		&Text{1, []byte("Let me see.")}, &Turn{Turn: 1}, &Call{ID: "a"}, &Result{ID: "a"},
		&Text{2, []byte("Done.")}, &Turn{Turn: 2}, &End{Status: failure.StatusOK, Text: Pieces{"Done."}},
	}, "Done.\n", "Let me see.\nDone.\n"},
	{"an empty last turn", []Event{
		&Text{1, []byte("Done.")}, &Turn{Turn: 1}, &Call{ID: "a"}, &Result{ID: "a"}, &Warning{Code: "empty_answer"},
		&Turn{Turn: 2}, &End{Status: failure.StatusOK, Text: Pieces{"Done."}},
	}, "Done.\n", "Done.\n"},
	{"cut off", []Event{
		&Text{1, []byte("Hel")}, &End{Status: failure.StatusModel, Text: Pieces{"Hel"}, Err: &failure.Error{Status: failure.StatusModel}},
	}, "", "Hel\n"},
	{"its length", []Event{
		&Text{1, []byte("Hel")}, &Turn{Turn: 1, Finish: "length"},
		&End{Status: failure.StatusLimit, Text: Pieces{"Hel"}, Err: &failure.Error{Status: failure.StatusLimit, Cause: failure.ErrLength}},
	}, "Hel\n", "Hel\n"},
	{"too many rounds", []Event{
		&Text{1, []byte("More?")}, &Turn{Turn: 1}, &Call{ID: "a"}, &Result{ID: "a", Status: ResultNotRun},
		&End{Status: failure.StatusLimit, Text: Pieces{"More?"}, Err: &failure.Error{Status: failure.StatusLimit}},
	}, "", "More?\n"},
}

func TestTextOutput(t *testing.T) {
	for _, r := range runs {
		for _, stream := range []bool{false, true} {
			want := r.held
			if stream {
				want = r.streamed
			}
			var out bytes.Buffer
			o := &TextOutput{Writer: NewWriter(&out, "x"), Stream: stream}
			for _, e := range r.events {
				if err := o.Event(e); err != nil {
					t.Fatal(err)
				}
			}
			if out.String() != want {
				t.Errorf("%s, stream %v: %q, want %q", r.name, stream, out.String(), want)
			}
		}
	}
}

// TestTextForTerminals: on a terminal lines and tabs stay, and nothing that
// could steer it gets through.
func TestTextForTerminals(t *testing.T) {
	got := string(AppendLines(nil, []byte("a\tb\nc\x1b[2Jd\u202e漢")))
	for _, bad := range []string{"\x1b", "\u202e"} {
		if bytes.Contains([]byte(got), []byte(bad)) {
			t.Errorf("%q is in %q", bad, got)
		}
	}
	if !bytes.HasPrefix([]byte(got), []byte("a\tb\nc")) || !bytes.HasSuffix([]byte(got), []byte("漢")) {
		t.Errorf("%q", got)
	}
}

// TestEmojiForTerminals: what makes an emoji of its parts stays, also where a
// piece of the stream begins with it; a run of it hides nothing.
func TestEmojiForTerminals(t *testing.T) {
	for in, want := range map[string]string{
		"⚠\ufe0f 👩\u200d👧": "⚠\ufe0f 👩\u200d👧", "\ufe0f x": "\ufe0f x", "a\ufe0f\ufe0f": "a\ufe0f\\u{fe0f}",
		"\n\u200dx": "\n\\u{200d}x", "a \ufe0f": "a \\u{fe0f}", "a\u200bx": "a\\u{200b}x",
	} {
		if got := string(AppendLines(nil, []byte(in))); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestStartIsFirst: what happens before the start event is kept for after it,
// and nothing follows the end.
func TestStartIsFirst(t *testing.T) {
	var out bytes.Buffer
	m := &Emitter{Outs: []Output{&NDJSONOutput{Writer: NewWriter(&out, "x")}}}
	m.Emit(&Warning{Code: "early"})
	m.Emit(&Start{})
	m.Emit(&End{Status: failure.StatusOK})
	m.Emit(&Warning{Code: "late"})
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(lines) != 3 || !bytes.Contains(lines[0], []byte(`"start"`)) || !bytes.Contains(lines[1], []byte("early")) || !bytes.Contains(lines[2], []byte(`"end"`)) {
		t.Errorf("%s", out.Bytes())
	}
}

// TestNothingAfterALostByte: once a write failed, no later one is tried.
func TestNothingAfterALostByte(t *testing.T) {
	w := &failing{after: 1}
	o := &NDJSONOutput{Writer: NewWriter(w, "standard output")}
	o.Event(&Start{})
	if err := o.Event(&Warning{}); err == nil {
		t.Fatal("a failed write gave no error")
	}
	o.Event(&End{})
	if w.calls != 2 {
		t.Errorf("%d writes", w.calls)
	}
}

type failing struct{ after, calls int }

func (f *failing) Write(p []byte) (int, error) {
	if f.calls++; f.calls > f.after {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// TestItems: what a list prints for people, -o json has among its items, and nothing else.
func TestItems(t *testing.T) {
	for _, e := range everyEvent {
		if e.kind == "end" {
			continue
		}
		var printed bytes.Buffer
		list := &ListOutput{Writer: NewWriter(&printed, "x")}
		collects := &JSONOutput{Writer: NewWriter(&bytes.Buffer{}, "x")}
		event := e.event
		if c, ok := event.(*Staged); ok {
			shown := *c
			shown.Shown, event = "a call", &shown
		}
		if err := errors.Join(list.Event(event), list.Flush(), collects.Event(event)); err != nil {
			t.Fatal(err)
		}
		if isItem := len(collects.collected.Items) > 0; isItem != (printed.Len() > 0) {
			t.Errorf("%s: printed %q, an item of -o json: %t", e.kind, printed.String(), isItem)
		}
	}
}
