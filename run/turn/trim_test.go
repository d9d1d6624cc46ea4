package turn

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/session"
	"toolpipe/stream"
)

// conversation is so many rounds of one call each, whose results have 1000 bytes.
func conversation(rounds int) *stream.Request {
	r := &stream.Request{Model: "m", Messages: []stream.Message{{Role: stream.User, Parts: []stream.Part{{Text: "hi"}}}}}
	for i := range rounds {
		id := fmt.Sprint("c", i)
		r.Messages = append(r.Messages,
			stream.Message{Role: stream.Assistant, Calls: []stream.Call{{ID: id, Name: "f", Arguments: []byte("{}")}}},
			stream.Message{Role: stream.ToolRole, CallID: id, Name: "f", Parts: []stream.Part{{Text: strings.Repeat("x", 1000)}}})
	}
	return r
}

// A doubleEndpoint is an endpoint that refuses the first requests.
type doubleEndpoint struct {
	refusals []string // what it answers first, with the status 400
	tokens   int      // that it counts in the others
	sizes    []int    // of the requests
}

func (d *doubleEndpoint) client(t *testing.T) *stream.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if d.sizes = append(d.sizes, len(body)); len(d.sizes) <= len(d.refusals) {
			http.Error(w, d.refusals[len(d.sizes)-1], 400)
			return
		}
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, d.tokens)
	}))
	t.Cleanup(s.Close)
	c, err := stream.New(stream.Config{API: "chat", BaseURL: s.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// trimmerAtLimit notes the kinds of events, and what is left out.
func trimmerAtLimit(how string) (t *trimmer, told *[]string) {
	told = new([]string)
	t = newTrimmer(how)
	t.Emit = func(e event.Event) error {
		switch e := e.(type) {
		case *event.Trim:
			*told = append(*told, fmt.Sprint("trim ", e.Results, " ", e.Attachments))
		case *event.Warning:
			*told = append(*told, e.Code)
		}
		return nil
	}
	return t, told
}

// TestThreeTimes: a request is sent again three times at most, each time shorter.
func TestThreeTimes(t *testing.T) {
	t.Parallel()
	barely := "prompt is too long: 1000000 tokens > 999999 maximum"
	for n := range 5 {
		d := &doubleEndpoint{tokens: 1}
		for range n {
			d.refusals = append(d.refusals, barely)
		}
		own, told := trimmerAtLimit(trimAuto)
		_, err := own.Reply(t.Context(), d.client(t), conversation(40), 1, nil)
		if (err == nil) != (n <= maxTrimRefusals) || len(d.sizes) != min(n, maxTrimRefusals)+1 {
			t.Errorf("%d refusals: %d requests, %v, %v", n, len(d.sizes), err, *told)
		}
		for i := 1; i < len(d.sizes); i++ {
			if d.sizes[i] > d.sizes[i-1]*3/4 {
				t.Errorf("%d refusals: requests of %v bytes", n, d.sizes)
			}
		}
	}
}

// TestOtherErrors: any other refusal, a length with --trim off, and a request with nothing to
// leave out end the exchange.
func TestOtherErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		how, refusal, hint string
		rounds             int
	}{
		{trimAuto, "bad request", "", 40},
		{trimOff, "prompt is too long", "--trim auto", 40},
		{"5000", "prompt is too long", "results of the last rounds 3,000", 3},
		{trimAuto, "prompt is too long", "results of the last rounds 3,000", 3},
	} {
		d := &doubleEndpoint{refusals: []string{test.refusal}}
		own, told := trimmerAtLimit(test.how)
		_, err := own.Reply(t.Context(), d.client(t), conversation(test.rounds), 1, nil)
		e, ok := errors.AsType[*stream.Error](err)
		if !ok || !strings.Contains(e.Hint, test.hint) || len(d.sizes) != 1 || len(*told) > 0 {
			t.Errorf("%+v: %d requests, %v, hint %q, told %v", test, len(d.sizes), err, e.Hint, *told)
		}
	}
}

// TestLimit: a request over the limit is trimmed down to a part of it, by what the endpoint
// counted before, and one that cannot be is not sent.
func TestLimit(t *testing.T) {
	t.Parallel()
	d := &doubleEndpoint{tokens: 9000}
	own, told := trimmerAtLimit("10000")
	c, r := d.client(t), conversation(36)
	if _, err := own.Reply(t.Context(), c, r, 1, nil); err != nil || len(*told) > 0 {
		t.Fatal(err, *told)
	}
	more := conversation(45)
	r.Messages = append(r.Messages, more.Messages[len(r.Messages):]...)
	d.tokens = 6000
	if _, err := own.Reply(t.Context(), c, r, 2, nil); err != nil || fmt.Sprint(*told) != "[trim 23 0 trimmed]" {
		t.Error(err, *told)
	}
	r.Messages = append(r.Messages, stream.Message{Role: stream.User, Parts: []stream.Part{{Text: strings.Repeat("y", 40_000)}}})
	_, err := own.Reply(t.Context(), c, r, 3, nil)
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Status != failure.StatusLimit || len(d.sizes) != 2 || !strings.Contains(e.Hints[1], "--files DIR") {
		t.Error(err, len(d.sizes))
	}
}

// TestGuess: before any count, a limit is kept by a guess, which is no reason to end the run.
func TestGuess(t *testing.T) {
	t.Parallel()
	d := &doubleEndpoint{tokens: 1}
	own, told := trimmerAtLimit("1000")
	if _, err := own.Reply(t.Context(), d.client(t), conversation(7), 1, nil); err != nil || fmt.Sprint(*told) != "[trim 4 0 trimmed]" {
		t.Error(err, *told)
	}
}

// TestSilentCut: a count that falls although the request has grown is warned of, once, and
// not where the request was trimmed or another model is asked.
func TestSilentCut(t *testing.T) {
	t.Parallel()
	d := &doubleEndpoint{}
	own, told := trimmerAtLimit(trimAuto)
	c, r := d.client(t), conversation(2)
	for _, step := range []struct {
		tokens int
		want   string
	}{{100, "[]"}, {200, "[]"}, {150, "[context_cut]"}, {120, "[context_cut]"}} {
		d.tokens = step.tokens
		if _, err := own.Reply(t.Context(), c, r, 1, nil); err != nil || fmt.Sprint(*told) != step.want {
			t.Error(step, err, *told)
		}
		r.Messages = append(r.Messages, conversation(1).Messages...)
	}
	other, told := trimmerAtLimit(trimAuto)
	for _, tokens := range []int{100, 50} {
		d := &doubleEndpoint{tokens: tokens}
		if _, err := other.Reply(t.Context(), d.client(t), conversation(1), 1, nil); err != nil || len(*told) > 0 {
			t.Error(err, *told)
		}
	}
}

// TestKept: what is left out is told with its place before the request is sent; when that
// fails nothing is sent.
func TestKept(t *testing.T) {
	t.Parallel()
	d := &doubleEndpoint{refusals: []string{"prompt is too long"}, tokens: 1}
	own, _ := trimmerAtLimit(trimAuto)
	own.Frame, own.Drops = 1, true
	r := conversation(5)
	picture := stream.Part{Image: &stream.Image{MIME: "image/png", Data: strings.Repeat("A", 4000)}}
	r.Messages[0].Parts = []stream.Part{picture, {Text: "a:b"}, {JSON: []byte(`"long.txt:\n\n` + strings.Repeat("z", 20_000) + `"`)}, {Text: "what?"}}
	r.Messages = append([]stream.Message{{Role: stream.System, Parts: []stream.Part{{Text: "frame"}}}}, r.Messages...)
	var kept []session.Left
	own.Keep = func(all []session.Left) error {
		kept = append(kept, all...)
		return nil
	}
	if _, err := own.Reply(t.Context(), d.client(t), r, 1, nil); err != nil {
		t.Fatal(err)
	}
	says := "[toolpipe] left out: 1,000 bytes of this result"
	want := fmt.Sprint([]session.Left{{Call: "c0", Message: 2, Part: session.WholeMessage, Says: says}, {Call: "c1", Message: 4, Part: session.WholeMessage, Says: says},
		{Part: 2, Says: "long.txt:\n\n[toolpipe] left out: 20,011 bytes of this attachment"}})
	if fmt.Sprint(kept) != want {
		t.Errorf("%+v\nwant %s", kept, want)
	}
	if r.Messages[3].Parts != nil || r.Messages[3].Instead == nil || r.Messages[7].Parts == nil {
		t.Error("what is left out stayed in memory, or something else went")
	}
	broken := errors.New("disk full")
	d = &doubleEndpoint{refusals: []string{"prompt is too long"}}
	own, _ = trimmerAtLimit(trimAuto)
	own.Keep = func([]session.Left) error { return broken }
	if _, err := own.Reply(t.Context(), d.client(t), conversation(5), 1, nil); err != broken || len(d.sizes) != 1 {
		t.Error(err, d.sizes)
	}
}
