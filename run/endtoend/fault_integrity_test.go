//go:build unix

package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// TestFaultSameBytes checks that the arguments which the model wrote, without
// the white space between tokens, are shown to the approver, sent to the server
// and sent back to the model in the next request. The event has the same value
// with the same order of keys and the same text of numbers.
func TestFaultSameBytes(t *testing.T) {
	t.Parallel()
	const perRound = 30
	rounds := load.Of(t, 10, 4)
	random := rand.New(rand.NewPCG(7, 9))
	var wrote []string
	var model strings.Builder
	for round := range rounds {
		w := &chatWriter{number: round}
		reply := ""
		for range perRound {
			object := randomObject(random, 3)
			wrote = append(wrote, object)
			reply += w.call("", "fs__args", object)
		}
		fmt.Fprintf(&model, "reply\nraw %q\n", reply+w.finish("calls")+w.done())
	}
	model.WriteString("reply\ntext \"Done.\"\n")
	s := newFault(t, "-- asker --\n#!/bin/sh\ncat >> \"${0%/*}/asked\"\necho >> \"${0%/*}/asked\"\necho '{\"decision\":\"allow\"}'\n-- m --\n"+model.String())
	s.do(fmt.Sprintf(`sh 'chmod +x asker'
model m
toolpipe -o ndjson -s x --max-rounds 20 --approver $WORK/asker -t fs="$MCP -tools args -log $WORK/log" hi
events tool_call %d
event end.status ok`, len(wrote)))

	var events []string
	for line := range strings.Lines(string(s.stdout)) {
		if gjson.Get(line, "type").String() == "tool_call" {
			events = append(events, gjson.Get(line, "arguments").Raw)
		}
	}
	log, _ := os.ReadFile(filepath.Join(s.work, "log"))
	var sent []string
	for line := range strings.Lines(string(log)) {
		if rest, ok := strings.CutPrefix(line, "tools/call args "); ok {
			sent = append(sent, strings.TrimSuffix(rest, "\n"))
		}
	}
	asked, _ := os.ReadFile(filepath.Join(s.work, "asked"))
	var questions []string
	for line := range strings.Lines(string(asked)) {
		if a := gjson.Get(line, "arguments"); a.Exists() {
			questions = append(questions, a.Raw)
		}
	}
	last, _ := s.requestNumber("last")
	var echoed []string
	for _, call := range gjson.GetBytes(last.body, "messages.#.tool_calls|@flatten").Array() {
		echoed = append(echoed, call.Get("function.arguments").String())
	}
	if len(sent) != len(wrote) || len(questions) != len(wrote) || len(echoed) != len(wrote) || len(events) != len(wrote) {
		t.Fatalf("%d written, %d sent, %d asked, %d in the next request, %d events", len(wrote), len(sent), len(questions), len(echoed), len(events))
	}
	for i, text := range wrote {
		var want bytes.Buffer
		json.Compact(&want, []byte(text))
		if sent[i] != want.String() {
			t.Errorf("sent\n%s\nfor\n%s", sent[i], &want)
		}
		if questions[i] != want.String() && tokens(questions[i]) != tokens(text) {
			t.Errorf("asked\n%s\nfor\n%s", questions[i], &want)
		}
		if tokens(echoed[i]) != tokens(text) {
			t.Errorf("in the next request\n%s\nfor\n%s", echoed[i], &want)
		}
		if tokens(events[i]) != tokens(text) {
			t.Errorf("in the event\n%s\nfor\n%s", events[i], &want)
		}
	}
}

// tokens returns the tokens of a JSON text: keys in their order, numbers as written.
func tokens(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var b strings.Builder
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&b, "%T %q\n", token, fmt.Sprint(token))
	}
}

// randomObject writes a JSON object as carelessly as a model may.
func randomObject(r *rand.Rand, depth int) string {
	space := func() string { return []string{"", "", " ", "\n", "\t ", "\r\n"}[r.IntN(6)] }
	text := func() string {
		parts := []string{"a", "Z", "<&>", `\u003c`, "\u2028", `\n`, "\u202e", "é", `\"`, `\\`, "😀", `\ud83d\ude00`, `\u009b`, "\u009b", " ", "'", `\/`, "\x7f", `\u0000`}
		var b strings.Builder
		for range r.IntN(8) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		return `"` + b.String() + `"`
	}
	var value func(depth int) string
	value = func(depth int) string {
		switch n := r.IntN(9); {
		case n == 0 && depth > 0:
			return randomObject(r, depth-1)
		case n == 1 && depth > 0:
			return "[" + space() + value(depth-1) + space() + "," + value(depth-1) + "]"
		case n < 5:
			return []string{"9007199254740993", "1.0", "1E2", "-0", "0.1", "12345678901234567890", "1e-7", "true", "false", "null"}[r.IntN(10)]
		}
		return text()
	}
	var b strings.Builder
	b.WriteString("{" + space())
	for i := range r.IntN(4) {
		if i > 0 {
			b.WriteString("," + space())
		}
		fmt.Fprintf(&b, `"k%d%s%s%s`, i, strings.TrimSuffix(strings.ReplaceAll(text()[1:], `\u0000`, "0"), ""), space(), ":")
		b.WriteString(space() + value(depth))
	}
	b.WriteString(space() + "}")
	return b.String()
}
