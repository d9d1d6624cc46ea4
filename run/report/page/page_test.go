package page

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"toolpipe/run/report/history"
	"toolpipe/stream/text/escape"
)

var hostile = []string{
	`</pre></code></title></style></script><script>window.executed=1</script>`, `"' onclick=x style=y`, "a\x00\x1b[2J\x7f\u0085\u009b\u202e\u2028\u200b\U000e0041\r\n\t é 漢 \u2066",
	"e" + strings.Repeat("\u0301", 9), "\xff\xed\xa0\x80", "👩\u200d👧 ⚠\ufe0f \ufe0f\ufe0f\u200d", "&lt;&amp;", `\u{202e}`, "", strings.Repeat("W", 5000),
}

// TestText: nothing of a text is markup, nothing that could deceive stands in it, and what was
// made visible can be told from a text that looks the same.
func TestText(t *testing.T) {
	seen := map[string]string{}
	for _, s := range hostile {
		got := string(appendText(nil, s))
		if before, again := seen[got]; again {
			t.Errorf("%q and %q are both %q", before, s, got)
		}
		seen[got] = s
		rest := regexp.MustCompile(`<b class="x">[^<]*</b>`).ReplaceAllString(got, "")
		if strings.ContainsAny(rest, `<>"'`) {
			t.Errorf("%q became %q", s, got)
		}
		for _, r := range rest {
			if r != '\n' && r != '\t' && escape.Unsafe(r) && !isJoiner(r) {
				t.Errorf("%q leaves %U", s, r)
			}
		}
	}
}

// TestPage: whatever a log holds, a page has no element, attribute and link but its own.
func TestPage(t *testing.T) {
	for _, s := range hostile {
		q, _ := json.Marshal(s)
		text := strings.ReplaceAll(`{"type":"start","schema":1,"version":@,"model":@,"api":@,"servers":[{"name":@,"protocol":@,"tools":3}],"id":@,"time":@,"at_ms":1,"more":{"x":@}}
{"type":"input","text":@,"bytes":5,"messages":1}
{"type":"text","turn":1,"text":@}
{"type":"turn","turn":1,"finish":@,"usage":{"input_tokens":1},"model":@,"cost":1,"currency":@,"ms":5,"at_ms":6}
{"type":"tool_call","turn":1,"id":@,"server":@,"tool":@,"name":@,"arguments":{"x":@,"y":[@]},"at_ms":7}
{"type":"approval","id":@,"decision":@,"by":@,"rule":@,"reason":@,"egress":{"decision":@,"private":{"name":@},"untrusted":{"name":@}},"ms":1,"at_ms":8}
{"type":"progress","id":@,"progress":1,"total":2,"message":@}
{"type":"tool_result","id":@,"status":@,"text":@,"content":[{"x":@}],"structured":{"x":@},"bytes":1,"labels":[@],"ms":1,"began_ms":8,"file":@,"diff":@}
{"type":"retry","message":@,"after_ms":5,"at_ms":9}
{"type":"trim","turn":1,"at_ms":9}
{"type":@,"x":@}
{"type":"end","status":@,"exit":1,"text":@,"labels":[@],"turns":1,"usage":{"input_tokens":1},"cost":@,"ms":3,"error":{"message":@,"hint":@},"protected":[@]}
`, "@", string(q))
		r := history.NewReader(64 << 10)
		if err := r.Read(s, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, r.Report()); err != nil {
			t.Fatal(err)
		}
		body := strings.Replace(strings.Replace(b.String(), style, "", 1), script, "", 1)
		if n := strings.Count(body, "<script>"); n != 1 {
			t.Errorf("%d scripts with %q", n, s)
		}
		tag := regexp.MustCompile(`^</?[a-z0-9]+( [a-z0-9-]+(="[^"<>]*")?)*/?>$`)
		bad := regexp.MustCompile(` (on[a-z]+|style|src|srcdoc|action|xlink:href)=`)
		values := regexp.MustCompile(`"[^"]*"`)
		for _, found := range regexp.MustCompile(`<[^>]*>?`).FindAllString(body, -1) {
			if found != "<!DOCTYPE html>" && !tag.MatchString(found) ||
				bad.MatchString(values.ReplaceAllString(found, "")) || strings.Contains(found, ` href="`) && !strings.Contains(found, ` href="#`) {
				t.Errorf("%q: %s", s, found)
			}
		}
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			if ids[id[1]] {
				t.Errorf("%q: the id %s twice", s, id[1])
			}
			ids[id[1]] = true
		}
	}
}
