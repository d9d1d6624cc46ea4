package history

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

func reportOf(t *testing.T, text string) *Report {
	t.Helper()
	r := NewReader(64 << 10)
	if err := r.Read("file", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return r.Report()
}

// everyText is all that a report says of its runs.
func everyText(r *Report) string {
	return fmt.Sprintf("%+v", dump(r))
}

func dump(r *Report) (all []any) {
	for _, run := range r.Runs {
		all = append(all, run.Start, run.Talk, run.Plan, run.Details, run.End)
		for _, t := range run.Turns {
			all = append(all, *t)
		}
		for _, c := range run.Calls {
			all = append(all, *c)
		}
		for _, n := range run.Notes {
			all = append(all, *n)
		}
	}
	return all
}

// TestEveryKind: of each kind of event that there is, and of one that is not known, a member
// that is not known is kept. The pieces of a text are joined, and have no further members.
func TestEveryKind(t *testing.T) {
	source, err := os.ReadFile("../../event/event.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{"resource", "prompt", "model", "of_a_later_version"}
	for _, k := range regexp.MustCompile(`kind\(\) string +\{ return "(\w+)" \}`).FindAllStringSubmatch(string(source), -1) {
		kinds = append(kinds, k[1])
	}
	if len(kinds) < 25 {
		t.Fatalf("only %q", kinds)
	}
	for _, kind := range kinds {
		line := fmt.Sprintf(`{"type":%q,"id":"a","unheard_of":"needle"}`, kind)
		if kind == "text" || kind == "reasoning" || kind == "commentary" {
			line = fmt.Sprintf(`{"type":%q,"turn":1,"text":"needle"}`, kind)
		}
		for _, before := range []string{"", `{"type":"start"}` + "\n", `{"type":"start"}` + "\n" + `{"type":"tool_call","id":"a","name":"x","arguments":{}}` + "\n"} {
			if all := everyText(reportOf(t, before+line+"\n")); !strings.Contains(all, "needle") {
				t.Errorf("%s behind %q is not kept: %s", kind, before, all)
			}
		}
	}
}

// TestCounts: what a log says is counted also where it has no end, and nothing that is kept
// depends on how many there are.
func TestCounts(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"start"}` + "\n")
	const n = 5000
	for i := range n {
		status := "ok"
		if i%10 == 9 {
			status = "denied"
		}
		fmt.Fprintf(&b, `{"type":"tool_call","turn":%d,"id":"%d","name":"x","arguments":{}}`+"\n", i+1, i)
		fmt.Fprintf(&b, `{"type":"tool_result","id":"%d","status":%q,"text":"","bytes":0,"ms":1}`+"\n", i, status)
		fmt.Fprintf(&b, `{"type":"turn","turn":%d,"usage":{"input_tokens":3,"output_tokens":2}}`+"\n", i+1)
	}
	run := reportOf(t, b.String()).Runs[0]
	c := run.Counts
	if c.Calls != n || c.Denied != n/10 || c.Results["ok"] != n*9/10 || c.Tokens.Input != 3*n || c.Turns != n {
		t.Errorf("%+v", c)
	}
	if len(run.Calls)+run.More.Calls != n || len(run.Turns)+run.More.Turns != n || len(run.Turns) != maxTurns {
		t.Errorf("%d and %d calls, %d and %d turns", len(run.Calls), run.More.Calls, len(run.Turns), run.More.Turns)
	}
	denied := 0
	for _, c := range run.Calls {
		if c.Result.Status == "denied" {
			denied++
		}
	}
	if denied != n/10 {
		t.Errorf("%d denied calls are kept", denied)
	}
}

// TestInterleaved: lines of several runs are told apart by their words.
func TestInterleaved(t *testing.T) {
	text := `{"type":"start","id":"one","run":"a"}
{"type":"start","id":"two","run":"b"}
{"type":"tool_call","id":"1","name":"x","arguments":{},"run":"a"}
{"type":"tool_call","id":"1","name":"y","arguments":{},"run":"b"}
{"type":"tool_result","id":"1","status":"ok","text":"of y","run":"b"}
{"type":"end","status":"ok","exit":0,"text":"b","run":"b"}
{"type":"tool_result","id":"1","status":"ok","text":"of x","run":"a"}
`
	r := reportOf(t, text)
	if len(r.Runs) != 2 || r.Runs[0].Start.ID != "one" || r.Runs[0].Calls[0].Result.Text.Head != "of x" || r.Runs[0].End.Known ||
		r.Runs[1].Calls[0].Name != "y" || r.Runs[1].Calls[0].Result.Text.Head != "of y" || !r.Runs[1].End.Known {
		t.Errorf("%+v", dump(r))
	}
}

// TestLies: numbers that no run can have are Unknown, and values of other types are missing.
func TestLies(t *testing.T) {
	for _, number := range []string{"-1", "1e400", "-1e400", "99999999999999999999", "1e18", `"5"`, "null", "[]", "{}", "true"} {
		text := strings.ReplaceAll(`{"type":"start","servers":@,"at_ms":@}
{"type":"tool_call","turn":@,"id":@,"name":@,"arguments":@,"at_ms":@}
{"type":"approval","id":@,"decision":@,"ms":@,"egress":@,"at_ms":@}
{"type":"tool_result","id":@,"status":@,"text":@,"content":@,"bytes":@,"ms":@,"began_ms":@,"labels":@}
{"type":"turn","turn":@,"usage":@,"ms":@,"at_ms":@}
{"type":"retry","after_ms":@,"at_ms":@}
{"type":"end","status":@,"exit":@,"text":@,"labels":@,"turns":@,"usage":{"input_tokens":@},"ms":@,"error":@}
`, "@", number)
		r := reportOf(t, text)
		run := r.Runs[0]
		for _, n := range []int64{run.Calls[0].Turn, run.Calls[0].At, run.Calls[0].Result.Ms, run.Turns[0].Ms, run.Turns[0].At, run.End.Ms, run.Notes[0].Wait} {
			if n != Unknown {
				t.Errorf("%s became %d", number, n)
			}
		}
		if run.Counts.Tokens.Input != 0 || run.Counts.Turns != 0 {
			t.Errorf("%s: %+v", number, run.Counts)
		}
	}
}

// TestMemory: a log that is larger than what is kept of it, and a line that is too long.
func TestMemory(t *testing.T) {
	r := NewReader(64 << 10)
	r.longest = 1 << 20
	const results = 350
	line := `{"type":"tool_result","id":"a","status":"ok","text":"` + strings.Repeat("x", 100<<10) + `","bytes":1,"ms":1}` + "\n"
	in := []io.Reader{strings.NewReader(`{"type":"start"}` + "\n")}
	for range results {
		in = append(in, strings.NewReader(line))
	}
	answer := strings.Repeat("the answer", 1000)
	in = append(in, strings.NewReader(strings.Repeat("x", 1<<20)+"x\n"+`{"type":"end","text":"`+answer+`"}`))
	if err := r.Read("file", io.MultiReader(in...)); err != nil {
		t.Fatal(err)
	}
	calls, source := r.Report().Runs[0].Calls, r.Report().Sources[0]
	if len(calls) != results || r.kept > maxKept+results*shortText+1<<20 || r.kept < maxKept || r.Report().Short != shortText {
		t.Errorf("%d calls, %d bytes, short %d", len(calls), r.kept, r.Report().Short)
	}
	for i, want := range map[int]int{0: 64 << 10, results - 1: shortText} {
		if text := &calls[i].Result.Text; text.Size() != 100<<10 || len(text.Head)+len(text.Tail) != want || text.Tail == "" {
			t.Errorf("call %d has %d bytes of %d", i, len(text.Head)+len(text.Tail), text.Size())
		}
	}
	if got := r.Report().Runs[0].Talk[0].Answer.Head; got != answer {
		t.Errorf("the answer has %d bytes", len(got))
	}
	if !slices.Equal(source.Long, []string{fmt.Sprintf("line %d is longer than 64 MiB and was skipped", results+2)}) || source.Lines != results+2 {
		t.Errorf("%d lines, and these are too long: %v", source.Lines, source.Long)
	}
}

// TestPlanDigest: the digest is that of the head and the calls, as in package stage. A result
// counts only for a call that was sent, and with the digest of the lines before it.
func TestPlanDigest(t *testing.T) {
	head, call := `{"stage":1,"version":"1"}`, `{"id":"a","server":{"name":"s"},"tool":"t","name":"s__t","arguments":{}}`
	want := reportOf(t, head+"\n"+call+"\n").Runs[0].Plan.Digest
	long := `{"result":{"call":"a","status":"ok","digest":"` + want + `","text":"` + strings.Repeat("x", 3<<16) + `"}}`
	sent := head + "\n" + call + "\n" + `{"sending":"a"}` + "\n"
	run := reportOf(t, sent+long+"\n").Runs[0]
	if run.Plan.Digest != want || run.Calls[0].Review.State != "done" || len(want) != 64 {
		t.Errorf("%s, not %s", run.Plan.Digest, want)
	}
	if run.Plan.Whole != run.Source.SHA256 {
		t.Errorf("with results: %s", run.Plan.Whole)
	}
	for _, forged := range []string{head + "\n" + call + "\n" + long, sent + strings.Replace(long, want, want[1:]+"0", 1), sent + long + "\n" + long} {
		if err := NewReader(100).Read("p", strings.NewReader(forged+"\n")); err == nil {
			t.Errorf("read %.200q", forged)
		}
	}
	r := NewReader(100)
	r.longest = len(call) - 1
	if err := r.Read("p", strings.NewReader(head+"\n"+call+"\n")); err == nil || !strings.Contains(err.Error(), "p:2: byte 1: the line is longer than") {
		t.Errorf("a plan without a call that is too long: %v", err)
	}
}

// FuzzCollector: head and tail of a text are its own, and what is between them is counted.
func FuzzCollector(f *testing.F) {
	f.Add("ab漢字cd", 3, 8)
	f.Add("漢字", 3, 10)
	f.Add(strings.Repeat("漢", 100), 7, 64)
	f.Fuzz(func(t *testing.T, s string, piece, limit int) {
		if piece < 1 || limit < 8 || limit > 1000 || !utf8.ValidString(s) {
			return
		}
		c := collector{limit: limit}
		for rest := []byte(s); len(rest) > 0; {
			n := min(piece, len(rest))
			c.add(string(rest[:n]))
			rest = rest[n:]
		}
		for _, text := range []Text{c.text(), Text{Head: s}.Within(limit), c.text().Within(limit / 2)} {
			if text.Size() != int64(len(s)) || !strings.HasPrefix(s, text.Head) || !strings.HasSuffix(s, text.Tail) || len(text.Head)+len(text.Tail) > limit ||
				!utf8.ValidString(text.Head) || !utf8.ValidString(text.Tail) || len(s) <= limit/2 && text.Left > 0 {
				t.Errorf("%q in pieces of %d, limit %d: %+v", s, piece, limit, text)
			}
		}
	})
}

// FuzzEvent: a line is taken if and only if it is one JSON object without a key that it has
// twice, and the beginning of an object is cut.
func FuzzEvent(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,-2.5e3,true,false,null,"x\u00e9\ud83d\ude00\ud800\n"]}`, `{"a":{"b":[]}}`, ` {"a" : 1 } `, `{"a":01}`, `{"a":"` + "\x01" + `"}`, `{"a":"\x"}`, `{"a":tru}`, `{"a":1}}`, `[1]`, `{"a`, "{\"a\":\"\xff\"}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := newEvent([]byte(s), 1)
		if want := jsontext.Check([]byte(s), jsontext.Options{Depth: 1000, DuplicateNames: true, LoneSurrogates: true, AnyBytes: true, Object: true}); (err == nil) != (want == nil) {
			if err == nil || !strings.HasSuffix(err.Error(), "twice at byte 0") {
				t.Fatalf("%q: %v, not %v", s, err, want)
			}
			return
		}
		if err != nil {
			return
		}
		i := 0
		for name, v := range jsontext.Members(bytes.TrimSpace([]byte(s))) {
			if m := e.members[i]; m.name != jsontext.Unquote(name) || !bytes.Equal(m.value, v) {
				t.Fatalf("%q: %q is %q, not %q", s, m.name, m.value, v)
			}
			i++
		}
		for cut := 1; cut < len(e.text) && !strings.ContainsAny(s, "\n"); cut++ {
			if _, err := newEvent(e.text[:cut], 1); err == nil || !isCut(e.text[:cut]) {
				t.Fatalf("%q is not cut: %v", e.text[:cut], err)
			}
		}
	})
}
