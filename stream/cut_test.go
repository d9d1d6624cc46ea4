package stream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"toolpipe/testdata/load"
)

// A reply that is cut at any byte is an error when the transfer broke. When
// the body ended cleanly it is an error, or, once a finish reason was seen,
// exactly what came until then; what was shown is always a beginning of the
// whole text.
func TestCutAtEveryByte(t *testing.T) {
	seen := map[string]bool{} // situations share bodies
	for _, d := range dialects {
		for _, s := range situations {
			p, err := openReplay(vectorFile(d.name, s.name), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range p.exchanges {
				if x.cut || seen[d.name+string(x.body)] {
					continue
				}
				seen[d.name+string(x.body)] = true
				t.Run(fmt.Sprintf("%s/%s/%d", d.name, s.name, i), func(t *testing.T) {
					t.Parallel()
					cutEverywhere(t, bodyIn{api: d.name, data: x.body})
				})
			}
		}
	}
}

func cutEverywhere(t *testing.T, in bodyIn) {
	whole := decode(t, in)
	data := in.data
	step := 3
	switch { // .ci/run sets TOOLPIPE_LOAD, and runs the race detector with -short
	case testing.Short():
		step = 7
	case load.Full(t):
		step = 1
	}
	for n := 0; n < len(data); n += step {
		in.data, in.broken = data[:n], errors.New("reset")
		if got := decode(t, in); got.err == nil && !got.done {
			t.Fatalf("broken after %d bytes of %q: no error", n, data[:n])
		}
		in.broken = nil
		got := decode(t, in)
		if !strings.HasPrefix(whole.text, got.text) || !strings.HasPrefix(whole.reasoning, got.reasoning) {
			t.Fatalf("cut after %d bytes: text %q, reasoning %q", n, got.text, got.reasoning)
		}
		if got.err == nil {
			checkCut(t, n, got.reply, whole.reply)
		}
	}
}

// checkCut compares a reply that was cut after its finish reason.
func checkCut(t *testing.T, n int, got, whole *Reply) {
	t.Helper()
	if whole == nil {
		t.Fatalf("cut after %d bytes: a reply, although the whole is none", n)
	}
	if got.Finish == "" || got.Finish != whole.Finish || got.Stop != whole.Stop {
		t.Fatalf("cut after %d bytes: finish %q, want %q", n, got.Finish, whole.Finish)
	}
	if g, w := textOfParts(got.Message.Parts), textOfParts(whole.Message.Parts); g != w {
		t.Fatalf("cut after %d bytes: text %q, want %q", n, g, w)
	}
	if g, w := fmt.Sprintf("%q", got.Message.Calls), fmt.Sprintf("%q", whole.Message.Calls); g != w {
		t.Fatalf("cut after %d bytes: calls %s, want %s", n, g, w)
	}
}

// The same for calls of which some come after the finish reason.
func TestCutAfterFinish(t *testing.T) {
	const body = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}

data: [DONE]

`
	first := strings.Index(body, `"tool_calls"}]}`) + len(`"tool_calls"}]}`)
	for n := range len(body) {
		got := decode(t, bodyIn{api: "chat", data: []byte(body[:n])})
		switch {
		case n < first:
			if got.err == nil {
				t.Fatalf("cut after %d bytes: no error", n)
			}
		case got.err == nil:
			if calls := got.reply.Message.Calls; len(calls) < 1 || len(calls) > 2 || string(calls[len(calls)-1].Arguments) != "{}" {
				t.Fatalf("cut after %d bytes: calls %q", n, calls)
			}
		}
	}
}
