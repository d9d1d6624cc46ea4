package stream

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A text that is only passed on is kept as far as a next request may need it:
// before calls, and then not without a limit.
func TestTextOfCalls(t *testing.T) {
	piece := []byte(strings.Repeat("x", maxTextPassing))
	for _, c := range []struct {
		name          string
		passing, call bool
		pieces, kept  int // in maxTextPassing; kept -1: an error
	}{
		{"passed on", true, false, 2, 0},
		{"passed on, short", true, false, 1, 1},
		{"wanted", false, false, 129, 129},
		{"passed on, with a call", true, true, 1, 1},
		{"too much passed on, with a call", true, true, 2, -1},
		{"with a call", false, true, 128, 128},
		{"too much with a call, whatever the output", false, true, 129, -1},
		{"too much passed on before a pause", true, false, 2, -1},
	} {
		passed := 0
		d := newDraft(&Request{TextPassing: c.passing}, &Sink{Text: func(b []byte) error { passed += len(b); return nil }})
		for range c.pieces {
			d.answer.add(piece)
		}
		if c.call {
			d.calls = []Call{{ID: "a", Name: "f"}}
		}
		if strings.Contains(c.name, "pause") { // the endpoint goes on when it gets its message back
			d.stop = StopPause
		}
		r, err := d.reply(&responsesDecoder{draft: d}, map[string]bool{})
		kept := -1
		if err == nil {
			kept = 0
			for _, p := range r.Message.Parts {
				kept += len(p.Text)
			}
			kept /= maxTextPassing
		}
		if kept != c.kept || passed != c.pieces*maxTextPassing {
			t.Errorf("%s: %d pieces kept, want %d; %d passed on; %v", c.name, kept, c.kept, passed, err)
		}
	}
}

// The pieces that a long text is kept in are written into requests one by one;
// none may end inside a character.
func TestTextInPieces(t *testing.T) {
	for _, char := range []string{"x", "é", "世", "😀"} {
		t.Run(char, func(t *testing.T) {
			t.Parallel()
			checkPieces(t, char)
		})
	}
}

func checkPieces(t *testing.T, char string) {
	for shift := range 5 {
		text := strings.Repeat("y", shift) + strings.Repeat(char, 3*largestChunk/len(char))
		for _, step := range []int{len(text), 7 * len(char), 100_000 * len(char)} {
			var c chunks
			for rest := text; rest != ""; {
				n := min(step, len(rest))
				for n < len(rest) && !utf8.RuneStart(rest[n]) {
					n--
				}
				c.add([]byte(rest[:n]))
				rest = rest[n:]
			}
			rest := text
			for _, p := range c.parts() {
				after, ok := strings.CutPrefix(rest, p.Text)
				if !ok || !utf8.ValidString(p.Text) {
					t.Fatalf("%q after %d bytes, in steps of %d: a part of %d bytes", char, shift, step, len(p.Text))
				}
				rest = after
			}
			if rest != "" {
				t.Fatalf("%q after %d bytes, in steps of %d: %d bytes are missing", char, shift, step, len(rest))
			}
		}
	}
}

// What is held back until the end of the reply, because it may be half a pair of
// surrogates or of a tag, is of the answer too where there is commentary before it.
func TestHeldBackBehindCommentary(t *testing.T) {
	form := `data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","phase":"commentary","content":[{"type":"output_text","text":"I think."}]}}

data: {"type":"response.output_text.delta","output_index":1,"delta":"PIECE"}

data: ` + responseEnd + "\n\n"
	for piece, want := range map[string]string{`42`: "42", `42\ud83d`: "42\ufffd", `<thi`: "<thi"} {
		in := bodyIn{api: "responses", data: []byte(strings.Replace(form, "PIECE", piece, 1)), request: Request{ThinkTags: true}}
		if got := decode(t, in); got.err != nil || !got.reply.HasAside || textOfParts(got.reply.Message.Parts) != want {
			t.Errorf("%s: %v, the answer is %q", piece, got.err, textOfParts(got.reply.Message.Parts))
		}
	}
}

// A whole text behind its pieces adds what is missing, and one that begins in another
// way adds nothing, also where the text is longer than what is compared.
func TestWholeBehindPieces(t *testing.T) {
	for _, size := range []int{1, 1000, maxCompared - 1, maxCompared, maxCompared + 1, 2 * maxCompared} {
		for _, step := range []int{1000, maxCompared - 7, 3 * maxCompared} {
			said := strings.Repeat("x", size)
			for whole, want := range map[string]string{said: said, said + "more": said + "more", "y" + said[1:] + "more": said, said[1:]: said} {
				var text strings.Builder
				d := newDraft(&Request{}, &Sink{Text: func(b []byte) error { text.Write(b); return nil }})
				for rest := said; rest != ""; {
					n := min(len(rest), step)
					d.answer.add([]byte(rest[:n]))
					rest = rest[n:]
				}
				d.answer.complete(&d.answer.whole, []byte(whole))
				if text.String() != want {
					t.Errorf("%d bytes, then a whole of %d: %d bytes, not %d", size, len(whole), text.Len(), len(want))
				}
			}
		}
	}
}
