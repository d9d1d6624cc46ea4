//go:build unix

package endtoend

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// TestFaultMillionDeltas sends a million deltas of one character. The memory
// grows only with their text. If the time were not linear, the harness would
// give up waiting.
func TestFaultMillionDeltas(t *testing.T) {
	t.Parallel()
	thousands := load.Of(t, 1000, 100)
	block := []byte(strings.Repeat(chatText("x"), 1000))
	model := serveRaw(t, func(w io.Writer, r *http.Request, _ []byte) bool {
		head(w, 200, eventStream)
		for range thousands {
			if _, err := w.Write(block); err != nil {
				return false
			}
		}
		io.WriteString(w, chatEnd)
		return false
	})
	s := newFault(t, "")
	s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
	s.env["BYTES"] = fmt.Sprint(thousands*1000 + 1)
	s.do(`sh 'toolpipe hi > text; test "$(wc -c < text)" = $BYTES'
sh 'toolpipe -o ndjson hi > events; tail -n 1 events > end; grep "\"type\":\"text\"" events | wc -l > count'
json end status ok`)
	end, _ := s.read("end")
	if text := gjson.GetBytes(end, "text").String(); text != strings.Repeat("x", thousands*1000) {
		t.Errorf("end has %d bytes of text", len(text))
	}
}

// TestFaultMemoryOfText holds that an answer is in memory about once, in every form of
// output, also when it is cut or never ends.
func TestFaultMemoryOfText(t *testing.T) {
	if load.RaceDetector() {
		t.Skip("the race detector multiplies the memory")
	}
	t.Parallel()
	size := load.Of(t, 48, 6) // MiB
	delta := chatText(strings.Repeat("an answer of any length ", 4096/24))
	model := serveRaw(t, func(w io.Writer, r *http.Request, body []byte) bool {
		head(w, 200, eventStream)
		for sent := 0; sent < size<<20; sent += len(delta) {
			if _, err := io.WriteString(w, delta); err != nil {
				return false
			}
		}
		if gjson.GetBytes(body, "model").String() == "whole" {
			io.WriteString(w, chatEnd)
		}
		return false
	})
	for _, form := range []string{"text", "json", "ndjson", "messages", "text --log log"} {
		for _, name := range []string{"whole", "cut"} {
			t.Run(form+" "+name, func(t *testing.T) {
				s := newFault(t, "")
				s.memory = int64(size*3/2+32) << 20
				s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
				s.do("sh 'toolpipe -m " + name + " -o " + form + " hi >out; echo $? >status'")
				status, _ := s.read("status")
				if want := map[string]string{"whole": "0\n", "cut": "3\n"}[name]; string(status) != want {
					t.Errorf("status %s", status)
				}
			})
		}
	}
}

// TestFaultEndlessArguments holds that a stream of arguments that are larger than any tool
// takes is ended, and is not kept.
func TestFaultEndlessArguments(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("x", 16<<10)
	for api, stream := range map[string][2]string{
		"chat": {`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"a\":\""}}]}}]}`,
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + piece + `"}}]}}]}`},
		"messages": {`event: content_block_start` + "\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"x","input":{}}}`,
			`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"` + piece + `"}}`},
		"responses": {`event: response.output_item.added` + "\n" + `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"a","name":"x","arguments":""}}`,
			`event: response.function_call_arguments.delta` + "\n" + `data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"i","delta":"` + piece + `"}`},
	} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			model := serveRaw(t, func(w io.Writer, r *http.Request, _ []byte) bool {
				head(w, 200, eventStream)
				_, err := io.WriteString(w, stream[0]+"\n\n")
				for range 16 << 10 { // 256 MiB
					if err != nil {
						break
					}
					_, err = io.WriteString(w, stream[1]+"\n\n")
				}
				return false
			})
			s := newFault(t, "")
			s.memory = 40 << 20
			s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
			s.do("toolpipe --api " + api + ` -o ndjson hi => 3
stderr 'error: model: the arguments of a call are larger than 1 MiB$'
events tool_call 0`)
		})
	}
}

// TestFaultSlowReader writes 20 MB to a reader that pauses after each piece,
// while the model sends as fast as it can. Every event comes, complete and in
// order. An answer in few large pieces has the same bytes in every form.
func TestFaultSlowReader(t *testing.T) {
	t.Parallel()
	const size = 20_000
	deltas := load.Of(t, 1000, 100)
	filler := strings.Repeat("0123456789", size/10)
	model := serveRaw(t, func(w io.Writer, r *http.Request, _ []byte) bool {
		head(w, 200, eventStream)
		for i := range deltas {
			if _, err := io.WriteString(w, chatText(fmt.Sprintf("<%d>%s", i, filler))); err != nil {
				return false
			}
		}
		io.WriteString(w, chatEnd)
		return false
	})
	var want strings.Builder
	for i := range deltas {
		fmt.Fprintf(&want, "<%d>%s", i, filler)
	}
	for _, form := range []string{"text", "json", "ndjson", "messages"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			s := newFault(t, "")
			s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
			if err := s.launch("toolpipe", []string{"-o", form, "hi"}, command{pace: 4 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
			got := string(s.stdout)
			switch form {
			case "text":
				got = strings.TrimSuffix(got, "\n")
			case "json":
				got = gjson.Get(got, "text").String()
			case "messages":
				got = gjson.Get(got, "1.content").String()
			case "ndjson": // checkRun compares end.text with the text of the events
				lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
				got = gjson.Get(lines[len(lines)-1], "text").String()
			}
			if got != want.String() {
				t.Errorf("%d bytes of %d, or others", len(got), want.Len())
			}
			if err := s.finish(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFaultHundredProcesses starts a hundred runs at once with one config, one
// lock file and one log: each gets its own answer, the log has complete lines,
// and no process is left.
func TestFaultHundredProcesses(t *testing.T) {
	t.Parallel()
	model := serveRaw(t, func(w io.Writer, r *http.Request, body []byte) bool {
		head(w, 200, eventStream)
		messages := gjson.GetBytes(body, "messages").Array()
		io.WriteString(w, chatText("You said "+messages[len(messages)-1].Get("content").String())+chatEnd)
		return false
	})
	count := load.Of(t, 100, 20)
	s := newFault(t, "-- config.in --\n"+`{"model":"m","models":{"m":{"base_url":"URL"}},"mcpServers":{"fs":{"command":"PROGRAM","args":["-tools","echo"]}}}`+"\n")
	s.env["URL"], s.env["COUNT"] = model.url()+"/v1", fmt.Sprint(count)
	s.do(`env -TOOLPIPE_MODEL -TOOLPIPE_BASE_URL
sh 'mkdir -p $XDG_CONFIG_HOME/toolpipe; sed "s|URL|$URL|; s|PROGRAM|$MCP|" config.in > $XDG_CONFIG_HOME/toolpipe/config.json'
sh 'toolpipe --tools-lock lock --tools-lock-update'
sh 'mkdir out; for i in $(seq $COUNT); do { toolpipe --tools-lock lock --log log "number $i" > out/$i 2> out/$i.err; echo $? > out/$i.code; } & done; wait'
sh 'for i in $(seq $COUNT); do test "$(cat out/$i.code) $(cat out/$i)" = "0 You said number $i" || { echo $i; cat out/$i out/$i.err; }; done'
! stdout .
sh 'ls; ls $XDG_CONFIG_HOME/toolpipe'
! stdout '(?i)tmp|\.lock$|~$'
mode log 0600`)
	log, _ := s.read("log")
	lines := map[string]int{}
	for line := range strings.Lines(string(log)) {
		if err := strictLine(strings.TrimSuffix(line, "\n")); err != nil {
			t.Fatalf("in the log: %v: %s", err, line)
		}
		lines[gjson.Get(line, "type").String()]++
	}
	if lines["start"] != count || lines["end"] != count {
		t.Errorf("in the log: %v", lines)
	}
}

// TestFaultThousandTurns, with half of them so that a busy machine ends in time, checks that each request of a long run is larger than
// the one before only by the messages of one round.
func TestFaultThousandTurns(t *testing.T) {
	t.Parallel()
	turns := load.Of(t, 500, 100)
	var mu sync.Mutex
	var sizes []int
	model := serveRaw(t, func(w io.Writer, r *http.Request, body []byte) bool {
		mu.Lock()
		sizes = append(sizes, len(body))
		n := len(sizes)
		mu.Unlock()
		reply := chatText("Done.") + chatEnd
		if n <= turns {
			c := &chatWriter{number: n}
			reply = c.call("", "fs__big", `{"bytes":1000}`) + c.finish("calls") + c.done()
		}
		fmt.Fprintf(w, "HTTP/1.1 200 OK\r\n%s\r\nContent-Length: %d\r\n\r\n%s", eventStream, len(reply), reply)
		return true
	})
	s := newFault(t, "")
	s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
	s.do(fmt.Sprintf(`toolpipe -o ndjson -y --max-rounds 1000 -t fs="$MCP -tools big" hi
events tool_result %d
event end.turns %d
event end.text Done.`, turns, turns+1))
	// A round adds one call and one result of a kilobyte, and no more later on than early.
	for i := 2; i < len(sizes); i++ {
		if grown := sizes[i] - sizes[i-1]; grown < 1000 || grown > 1500 {
			t.Fatalf("request %d is larger by %d bytes", i+1, grown)
		}
	}
	if len(model.got()) != turns+1 {
		t.Errorf("%d requests", len(model.got()))
	}
}
