package stream

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the requests that are sent into testdata/format")

// vectorFile names the vector of a situation in a dialect: a recording whose
// requests are the exact bytes to be sent.
func vectorFile(dialect, situation string) string {
	return filepath.Join("..", "testdata", "format", dialect, situation+".txt")
}

// Every dialect goes through every situation: it sends exactly the requests
// of its vector, and its replies mean the same in all of them.
func TestSituations(t *testing.T) {
	for _, d := range dialects {
		for _, s := range situations {
			t.Run(d.name+"/"+s.name, func(t *testing.T) { s.test(t, d.name) })
		}
	}
}

func (s *situation) test(t *testing.T, dialect string) {
	file := vectorFile(dialect, s.name)
	c := newClient(t, Config{API: dialect, Replay: file, NoToolRole: s.noToolRole})
	if *update {
		for i := range c.replayer.exchanges {
			c.replayer.exchanges[i].request = nil
		}
	}
	r := s.request()
	for i, want := range s.outcomes {
		got := outcome{}
		sink := &Sink{
			Text:      func(p []byte) error { got.text += string(p); return nil },
			Reasoning: func(p []byte) error { got.reasoning += string(p); return nil },
			Retry:     func(Retry) { got.retries++ },
		}
		reply := s.exchange(t, c, r, sink, &got)
		if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
			t.Errorf("exchange %d\n got %s\nwant %s", i+1, g, w)
		}
		if reply == nil {
			break
		}
		r.Messages = append(append(r.Messages, reply.Message), s.answers(i, reply)...)
	}
	if c.replayer.next != len(c.replayer.exchanges) {
		t.Errorf("%d of %d exchanges were used", c.replayer.next, len(c.replayer.exchanges))
	}
	checkRequests(t, c.replayer.exchanges)
	if *update {
		writeVector(t, file, c.replayer.exchanges)
	}
}

// exchange makes one exchange. In an update the request is taken over.
func (s *situation) exchange(t *testing.T, c *Client, r *Request, sink *Sink, got *outcome) *Reply {
	if *update {
		for i := c.replayer.next; i < len(c.replayer.exchanges); i++ {
			c.replayer.exchanges[i].request = c.body(r).bytes()
		}
	}
	reply, err := c.Reply(t.Context(), r, sink)
	if err != nil {
		e, ok := err.(*Error)
		if !ok || e.Kind == Mismatch {
			t.Fatalf("%v\n%s", err, e.Hint)
		}
		got.failure = fmt.Sprintf("%s %d", e.Kind, e.Status)
		return nil
	}
	got.text = textOfParts(reply.Message.Parts) + reply.Refusal
	for _, call := range reply.Message.Calls {
		got.calls = append(got.calls, call.ID+" "+call.Name+" "+string(call.Arguments))
	}
	got.stop, got.usage, got.model = reply.Stop, reply.Usage, reply.Model
	return reply
}

// checkRequests holds what is true of every request.
func checkRequests(t *testing.T, exchanges []recorded) {
	for i := range exchanges {
		r := exchanges[i].request
		if !json.Valid(r) {
			t.Errorf("request %d is no JSON: %s", i+1, r)
		}
		for _, never := range []string{`"tools":[]`, `"tool_calls":[]`, `"arguments":""`, `"developer"`, `"content":[]`} {
			if bytes.Contains(r, []byte(never)) {
				t.Errorf("request %d holds %s", i+1, never)
			}
		}
	}
}

func writeVector(t *testing.T, file string, exchanges []recorded) {
	rec, err := createRecording(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range exchanges {
		rec.request(&chatDialect, &body{parts: []piece{{text: string(x.request)}}})
		end := "end"
		if x.cut {
			end = "cut"
		}
		rec.write(fmt.Appendf(nil, "-- response %d %s --\n", x.status, x.contentType))
		s := &bodyWriter{recorder: rec, lineStart: true}
		s.Write(x.body)
		s.close()
		rec.write([]byte("-- " + end + " --\n"))
	}
	if err := rec.close(); err != nil {
		t.Fatal(err)
	}
	os.Chmod(file, 0o644)
}

// There is a vector for each situation, and no other.
func TestVectorsAreComplete(t *testing.T) {
	files, err := filepath.Glob(vectorFile("*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, d := range dialects {
		for _, s := range situations {
			known[vectorFile(d.name, s.name)] = true
		}
	}
	for _, f := range files {
		if !known[f] && !strings.Contains(f, "rules") {
			t.Errorf("%s belongs to no situation", f)
		}
		delete(known, f)
	}
	for f := range known {
		t.Errorf("%s is missing", f)
	}
}
