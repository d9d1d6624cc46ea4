package markdown

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"toolpipe/run/report/history"
	"toolpipe/stream/text/escape"
)

// hostile are texts that are something else than text in Markdown, in a table or in HTML.
var hostile = []string{
	"plain", "", " ", "  x  ", "`", "``", "` `` ``` x", "```\nx\n````", "~~~\nx", "|", `\|`, `\\|`, `a\`, `a\|b\\|c\\\|d`, "*x* __y__ ~~z~~", "# x\n## y\n\n- z\n> q",
	"<script>alert(1)</script><b>x</b><!-- x", "&lt;b&gt; &amp; &#60;", "[x](javascript:x) ![x](https://example.com/x.png) <https://example.com>", "https://example.com www.example.com a@example.com",
	"@octocat #1 !1 octocat/hello#1 0123456789abcdef0123456789abcdef01234567", "$x$ $`x`$ :smile:", "\x00\x1b[31m\u202e\u2066\u200b\r\ufeff", "e" + strings.Repeat("\u0301", 9), "漢字 😀",
	strings.Repeat("|`", 200), strings.Repeat(`\`, 99) + "|", "</code></td></tr></table>x", "\n\n\nx\n\n", "-----\n|---|---|\n| a | b |", "\ufffd",
}

// logOf is a log each of whose texts is s.
func logOf(s string) string {
	q, _ := json.Marshal(s)
	return strings.ReplaceAll(`{"type":"start","schema":1,"version":@,"model":@,"api":@,"servers":[{"name":@,"protocol":@,"tools":3}],"id":@,"time":@,"at_ms":1}
{"type":"input","text":@,"bytes":5,"messages":1}
{"type":"tool_call","turn":1,"id":"a","server":@,"tool":@,"name":@,"arguments":{"x":@,"path":@},"at_ms":2}
{"type":"approval","id":"a","decision":@,"by":@,"rule":@,"reason":@}
{"type":"tool_result","id":"a","status":@,"text":@,"content":null,"structured":null,"bytes":1,"truncated":false,"ms":1,"file":@,"diff":@}
{"type":"warning","code":@,"message":@,"more":@}
{"type":"end","status":@,"exit":1,"text":@,"labels":[@],"finish":@,"turns":1,"tool_calls":1,"denied":0,"usage":{"input_tokens":1},"cost":0.5,"currency":@,"ms":3,"error":{"message":@,"hint":@},"protected":[@]}
`, "@", string(q))
}

func planOf(s string) string {
	q, _ := json.Marshal(s)
	return strings.ReplaceAll(`{"stage":1,"version":@,"policies":@,"definitions":@,"dir":@,"time":@}
{"id":"a","server":{"name":@,"target":@,"dir":@},"tool":@,"name":@,"arguments":{"x":@},"definition":@,"by":@,"rule":@,"reason":@,"labels":[@],"private":@,"untrusted":@,"text":@,"file":@,"against":@,"diff":@,"more":@}
`, "@", string(q))
}

func written(t *testing.T, files ...string) string {
	t.Helper()
	r := history.NewReader(64 << 10)
	for i, text := range files {
		if err := r.Read(fmt.Sprintf("file%d", i), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := Write(&b, r.Report()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tags are all that a report may become. A class is the language of a fenced block.
var tags = regexp.MustCompile(`^<(/?(h[234]|p|table|thead|tbody|tr|th|td|code|pre|ul|li|strong)|t[hd] align="right"|pre lang="(text|diff)"|code class="language-(text|diff)")>$`)

// TestHostileTexts: GitHub's own program takes each text as text, whatever it is.
func TestHostileTexts(t *testing.T) {
	if _, err := exec.LookPath("cmark-gfm"); err != nil {
		t.Skip("needs cmark-gfm")
	}
	for _, s := range hostile {
		for form, text := range map[string]string{"log": logOf(s), "plan": planOf(s)} {
			cmd := exec.Command("cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink", "-e", "tasklist")
			cmd.Stdin = strings.NewReader(written(t, text))
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			for _, tag := range regexp.MustCompile(`<[^>]*>?`).FindAllString(string(out), -1) {
				if !tags.MatchString(tag) {
					t.Errorf("%s of %q: the tag %s", form, s, tag)
				}
			}
			for _, row := range strings.Split(string(out), "<tr>")[1:] {
				if cells := strings.Count(row, "<td") + strings.Count(row, "<th>") + strings.Count(row, "<th "); cells != 2 && cells != 6 {
					t.Errorf("%s of %q: a row with %d cells: %s", form, s, cells, row)
				}
			}
			shown := escape.Escape(s)
			if strings.Trim(s, " ") == "" {
				continue
			}
			var spans []string
			for _, span := range regexp.MustCompile(`(?s)<code>(.*?)</code>`).FindAllStringSubmatch(string(out), -1) {
				spans = append(spans, html.UnescapeString(span[1]))
			}
			want := escape.Cut(shown, 60)
			if form == "plan" {
				want = escape.Cut(shown, 200)
			}
			if !slices.Contains(spans, want) && !slices.ContainsFunc(spans, func(span string) bool { return strings.TrimSpace(span) == strings.TrimSpace(want) }) {
				t.Errorf("%s: %q is not shown as %q: %q", form, s, want, spans)
			}
		}
	}
}

// TestBound: however long a log is, the report is not longer than it may be, counts what it has
// no room for, and has its beginning and the answer.
func TestBound(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"start","schema":1}` + "\n")
	for i := range 3000 {
		diff := strings.Repeat("+line\\n", 500)
		fmt.Fprintf(&b, `{"type":"tool_call","turn":1,"id":"%d","name":"%s","arguments":{}}`+"\n", i, strings.Repeat("`|", 30))
		fmt.Fprintf(&b, `{"type":"tool_result","id":"%d","status":"error","text":"x","bytes":1,"ms":1,"file":"f%d","diff":"%s"}`+"\n", i, i, diff)
	}
	b.WriteString(`{"type":"end","status":"ok","exit":0,"text":"the answer","turns":1,"tool_calls":3000,"usage":{}}` + "\n")
	log := b.String()
	for _, files := range [][]string{{log}, {log, log, log}, {strings.Repeat(`{"type":"start"}`+"\n"+`{"type":"end","status":"ok","exit":0,"text":"the answer"}`+"\n", 5000)}} {
		text := written(t, files...)
		if len(text) > MaxBytes {
			t.Errorf("%d bytes", len(text))
		}
		if !strings.Contains(text, "further") || !strings.Contains(text, "the answer") {
			t.Errorf("it counts nothing, or has no answer: %s", text[:1000])
		}
	}
}

// TestSkipped: a line that was too long to be read is named.
func TestSkipped(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, &history.Report{Sources: []*history.Source{{Name: "log", Long: []string{"line 7 is longer than 64 MiB and was skipped"}}}}); err != nil || !strings.Contains(b.String(), "**Note: line 7 is longer than 64 MiB and was skipped.**") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// FuzzCode: a code span has no end within it, and a cell neither.
func FuzzCode(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, cell := range []bool{false, true} {
			span := code(s, 100, cell)
			if s == "" {
				continue
			}
			n := len(span) - len(strings.TrimLeft(span, "`"))
			inner := span[n : len(span)-n]
			if strings.Contains(span, "\n") || longest(inner, '`', 0) >= n || !strings.HasSuffix(span, span[:n]) {
				t.Errorf("%q became %q", s, span)
			}
			slashes := 0
			for _, c := range inner {
				if c == '|' && cell && slashes%2 == 0 {
					t.Errorf("%q became %q", s, span)
				}
				if slashes++; c != '\\' {
					slashes = 0
				}
			}
		}
	})
}
