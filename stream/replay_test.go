package stream

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A run with refusals, a broken transfer and odd bytes is recorded and
// answers the same from the file, without a network, a key or a wait.
func TestRecordAndReplay(t *testing.T) {
	const key = "sekrit-0123456789"
	odd := "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n-- end --\n\\\n--x\n: \xff\n" + strings.TrimSuffix(hello, "\n\n")
	leak := `data: {"choices":[{"delta":{"content":"the key is ` + key + `"},"finish_reason":"stop"}]}` + "\n\n"
	s := newModelServer(t,
		status(503, "busy", "Retry-After-Ms", "1", "Set-Cookie", "c=1"),
		stream(odd),
		stream(leak),
		func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, delta("half"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
	file := filepath.Join(t.TempDir(), "rec")
	if err := os.WriteFile(file, []byte("old and longer than nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	play := func(cfg Config) (log []string) {
		c := newClient(t, cfg)
		r := ask("my key is " + key + "\n-- request --\n\\")
		for range 3 {
			text := ""
			reply, err := c.Reply(t.Context(), r, &Sink{
				Text:  func(p []byte) error { text += string(p); return nil },
				Retry: func(r Retry) { log = append(log, "retry "+r.Message[strings.Index(r.Message, " "):]) },
			})
			log = append(log, text)
			if err != nil {
				log = append(log, err.Error()[:20])
				break
			}
			r.Messages = append(r.Messages, reply.Message, Message{Role: User, Parts: []Part{{Text: "and?"}}})
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		return log
	}
	live := strings.Join(play(Config{BaseURL: s.URL, Key: key, Record: file}), "|")
	if !strings.Contains(live, "ahello|the key is "+key+"|half|") {
		t.Fatalf("live: %s", live)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for _, never := range []string{key, "Cookie", "c=1", "Authorization", "Bearer", s.URL} {
		if strings.Contains(string(data), never) {
			t.Errorf("the recording holds %q", never)
		}
	}
	p, err := openReplay(file, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.exchanges) != 4 || !p.exchanges[3].cut || string(p.exchanges[1].body) != odd || p.exchanges[0].status != 503 {
		t.Errorf("exchanges %+v", p.exchanges)
	}
}

func TestReplay(t *testing.T) {
	s := newModelServer(t, status(503, "busy", "Retry-After-Ms", "1"), stream(hello), stream(strings.ReplaceAll(hello, "hello", "again")))
	file := filepath.Join(t.TempDir(), "rec")
	converse := func(c *Client, model, second string) (texts []string, err error) {
		r := ask("hi")
		r.Model = model
		for range 2 {
			reply, err := c.Reply(t.Context(), r, nil)
			if err != nil {
				return texts, err
			}
			texts = append(texts, textOfParts(reply.Message.Parts))
			r.Messages = append(r.Messages, reply.Message, Message{Role: User, Parts: []Part{{Text: second}}})
		}
		return texts, nil
	}
	c := newClient(t, Config{BaseURL: s.URL, Record: file})
	want, err := converse(c, "m", "more")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, model := range []string{"m", ""} { // a replay needs no model
		replay := newClient(t, Config{Replay: file})
		waited := waits(replay)
		got, err := converse(replay, model, "more")
		if !slices.Equal(*waited, []time.Duration{0}) {
			t.Errorf("a replay waits before it sends again: %v", *waited)
		}
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("model %q: %q, %v", model, got, err)
		}
	}
	for name, test := range map[string]struct{ model, second, message string }{
		"other text":  {"m", "less", `"},{"role":"user","content":"less"}]}`},
		"other model": {"n", "more", "from byte 10 on it differs:\n- {\"model\":\"m\","},
	} {
		_, err := converse(newClient(t, Config{Replay: file}), test.model, test.second)
		e, ok := err.(*Error)
		if !ok || e.Kind != Mismatch || !strings.Contains(e.Message, test.message) || e.Hint == "" || strings.Contains(e.Hint, "\n") {
			t.Errorf("%s: %v\n%s", name, err, e.Hint)
		}
	}
	c = newClient(t, Config{Replay: file})
	converse(c, "m", "more")
	if _, err := c.Reply(t.Context(), ask("hi"), nil); err == nil || !strings.Contains(err.Error(), "one more") {
		t.Errorf("after the end: %v", err)
	}
}

func TestReplayRefusesOtherFiles(t *testing.T) {
	for name, data := range map[string]string{
		"empty": "", "other": "{}\n", "stray": recordingHead + "-- end --\n", "two": recordingHead + "-- request --\n-- response 200 x --\n-- response 200 x --\n",
	} {
		file := filepath.Join(t.TempDir(), "rec")
		os.WriteFile(file, []byte(data), 0o600)
		if _, err := New(Config{Replay: file}); err == nil || !strings.Contains(err.Error(), file+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Any bytes survive a recording.
func FuzzRecording(f *testing.F) {
	f.Add([]byte("-- end --\n\\\n"), []byte("data: a\r\n-"), uint8(1))
	f.Add([]byte("\\"), []byte("\n\n"), uint8(3))
	f.Fuzz(func(t *testing.T, sent, got []byte, step uint8) {
		file := filepath.Join(t.TempDir(), "rec")
		rec, err := createRecording(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		rec.request(&chatDialect, &body{parts: []piece{{text: string(sent)}}})
		s := rec.response(&http.Response{StatusCode: 200, Header: http.Header{}})
		io.CopyBuffer(struct{ io.Writer }{s}, &scriptedReader{rest: got, sizes: []int{int(step)}}, make([]byte, 7))
		s.end(nil)
		if err := rec.close(); err != nil {
			t.Fatal(err)
		}
		p, err := openReplay(file, "", nil)
		if err != nil || len(p.exchanges) != 1 {
			t.Fatalf("%v, %d exchanges", err, len(p.exchanges))
		}
		if x := p.exchanges[0]; string(x.request) != string(sent) || string(x.body) != string(got) || x.cut || x.status != 200 {
			t.Errorf("read back %q and %q", x.request, x.body)
		}
	})
}
