package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// A script is a server that answers each poll with the next of its states, the last of
// them again and again, and writes down what came.
type script struct {
	states []string // "" is a poll that fails, "unknown" one that the server refuses
	came   []string
	notes  []string
	times  []time.Duration
	began  time.Time
	gone   bool
	update error
}

func (s *script) peer() Peer {
	s.began = time.Now()
	return Peer{
		Request: func(ctx context.Context, method string, params []byte) ([]byte, error) {
			s.came = append(s.came, strings.TrimPrefix(method, "tasks/")+" "+strings.TrimPrefix(string(params), `{"taskId":"t",`))
			if method != "tasks/get" {
				return []byte("{}"), s.update
			}
			s.times = append(s.times, time.Since(s.began))
			state := s.states[0]
			if len(s.states) > 1 {
				s.states = s.states[1:]
			}
			switch state {
			case "":
				return nil, &wire.NoReplyError{Sent: true, Message: "no answer"}
			case "unknown":
				return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "no such task"}
			}
			return []byte(state), nil
		},
		Answers: func(_ context.Context, requests []byte) ([]byte, error) {
			answers := []byte{'{'}
			for name, request := range jsontext.Members(requests) {
				if jsontext.Text(jsontext.Member(request, "method")) != "elicitation/create" {
					return nil, errors.New("not offered")
				}
				answers = jsontext.AppendMember(answers, jsontext.Unquote(name), []byte(`{"action":"decline"}`))
			}
			return append(answers, '}'), nil
		},
		Gone: func() bool { return s.gone },
		Note: func(message string) { s.notes = append(s.notes, message) },
	}
}

const (
	working = `{"status":"working","pollIntervalMs":2000,"statusMessage":"at it"}`
	done    = `{"status":"completed","result":{"content":[]}}`
	asks    = `{"status":"input_required","inputRequests":{"a":{"method":"elicitation/create"}}}`
	asksTwo = `{"status":"input_required","inputRequests":{"a":{"method":"elicitation/create"},"b":{"method":"elicitation/create"}}}`
)

func TestAwait(t *testing.T) {
	for _, tt := range []struct {
		name   string
		seed   string
		states []string
		result string // or the beginning of the error
		came   string // "" is not compared
		times  string
	}{
		{"plain", working, []string{working, working, done}, `{"content":[]}`, "", "[2s 4s 6s]"},
		{"resumed", "", []string{done}, `{"content":[]}`, "", "[0s]"},
		{"completed at once", `{"status":"completed"}`, []string{done}, `{"content":[]}`, "", "[0s]"},
		{"without an interval", `{"status":"working"}`, []string{`{"status":"working","pollIntervalMs":0}`, done}, `{"content":[]}`, "", "[1s 2s]"},
		{"intervals out of bounds", `{"status":"working","pollIntervalMs":1}`, []string{`{"status":"working","pollIntervalMs":99999999999999}`, done}, `{"content":[]}`, "", "[250ms 1m0.25s]"},
		{"a status of the future", working, []string{`{"status":"paused"}`, done}, `{"content":[]}`, "", ""},
		{"an error of the tool", working, []string{`{"status":"completed","result":{"content":[],"isError":true}}`}, `{"content":[],"isError":true}`, "", ""},
		{"no result", working, []string{`{"status":"completed"}`}, "the task is completed and has no result", "", ""},
		{"failed", working, []string{`{"status":"failed","error":{"code":-32000,"message":"broken"}}`}, "RPC broken", "", ""},
		{"failed without a word", working, []string{`{"status":"failed","statusMessage":"out of memory"}`}, "RPC out of memory", "", ""},
		{"cancelled there", working, []string{`{"status":"cancelled"}`}, "the task was cancelled at the server", "", ""},
		{"unknown", working, []string{working, "unknown"}, "the server does not know the task any more", "", ""},
		{"polls that fail now and then", working, []string{"", "", "", "", working, "", "", done}, `{"content":[]}`, "", ""},
		{"polls that fail", working, []string{""}, "its task cannot be polled: no answer", "", "[2s 4s 6s 8s 10s]"},
		{"input", `{"status":"input_required"}`, []string{asks, asks, asksTwo, working, done}, `{"content":[]}`,
			`get {"taskId":"t"}; update "inputResponses":{"a":{"action":"decline"}}}; get {"taskId":"t"}; get {"taskId":"t"}; update "inputResponses":{"b":{"action":"decline"}}}; get {"taskId":"t"}; get {"taskId":"t"}`, "[0s 1s 2s 3s 5s]"},
		{"input for ever", working, []string{asks}, "the task waits for input that the server has", "", ""},
		{"input that is not offered", working, []string{`{"status":"input_required","inputRequests":{"a":{"method":"sampling/createMessage"}}}`}, "not offered",
			`get {"taskId":"t"}; cancel {"taskId":"t"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{states: tt.states}
				var seed []byte
				if tt.seed != "" {
					seed = []byte(tt.seed)
				}
				result, err := Await(t.Context(), "t", seed, s.peer())
				got := string(result)
				if err != nil {
					got = err.Error()
					if e, failed := errors.AsType[*wire.RPCError](err); failed {
						got = "RPC " + e.Message
					} else if !wire.MayHaveArrived(err) {
						t.Errorf("%v is not of a call that was sent", err)
					}
				}
				if got != tt.result {
					t.Errorf("got %s, want %s", got, tt.result)
				}
				if came := strings.Join(s.came, "; "); tt.came != "" && came != tt.came {
					t.Errorf("came %s\nwant %s", came, tt.came)
				}
				if times := fmt.Sprint(s.times); tt.times != "" && times != tt.times {
					t.Errorf("polls at %s, want %s", times, tt.times)
				}
				if tt.name == "input for ever" && (len(s.came) != maxQuestions+3 || !strings.HasPrefix(s.came[len(s.came)-1], "cancel ")) {
					t.Errorf("%d requests, the last %s", len(s.came), s.came[len(s.came)-1])
				}
			})
		})
	}
}

// TestLegacy: the form of 2025-11-25.
func TestLegacy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, last := range []string{"completed", "failed", "input_required"} {
			s := &script{states: []string{`{"status":"working","pollInterval":500}`, `{"status":"` + last + `"}`}}
			peer := s.peer()
			peer.Legacy = true
			result, err := Await(t.Context(), "t", []byte(`{"status":"working","pollInterval":500}`), peer)
			if string(result) != "{}" || err != nil || fmt.Sprint(s.times) != "[500ms 1s]" || s.came[2] != `result {"taskId":"t"}` {
				t.Errorf("%s: %s, %v, %s at %v", last, result, err, s.came, s.times)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{states: []string{working}}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errors.New("the run ended")) })
		_, err := Await(ctx, "t", []byte(working), s.peer())
		if !wire.MayHaveArrived(err) || !strings.Contains(fmt.Sprint(err), "the run ended") {
			t.Errorf("%v", err)
		}
		if last := s.came[len(s.came)-1]; last != `cancel {"taskId":"t"}` || time.Since(s.began) != time.Minute {
			t.Errorf("%s after %v", last, time.Since(s.began))
		}
		if len(s.notes) != 1 || s.notes[0] != "at it" { // told once, as nothing has changed
			t.Errorf("%q", s.notes)
		}
	})
}

// TestGone: a server that cannot be asked any more is not waited for.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{states: []string{""}, gone: true}
		if _, err := Await(t.Context(), "t", nil, s.peer()); !wire.MayHaveArrived(err) || len(s.times) != 1 {
			t.Errorf("%v after %v", err, s.times)
		}
	})
}

// TestLostUpdate: answers whose arrival is not known are given again.
func TestLostUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{states: []string{asks, asks, done}, update: &wire.NoReplyError{Sent: true}}
		if _, err := Await(t.Context(), "t", nil, s.peer()); err != nil || strings.Count(strings.Join(s.came, ";"), "update") != 2 {
			t.Errorf("%v: %s", err, s.came)
		}
	})
}

func TestID(t *testing.T) {
	if id, err := ID([]byte(`{"taskId":"x/ä"}`)); id != "x/ä" || err != nil {
		t.Errorf("%q %v", id, err)
	}
	for _, handle := range []string{`{}`, `{"taskId":""}`, `{"taskId":7}`} {
		if _, err := ID([]byte(handle)); err == nil {
			t.Errorf("%s has an id", handle)
		}
	}
}
