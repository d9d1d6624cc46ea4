package toolserver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"toolpipe/stream/text/jsontext"
)

var every = &Builtin{Name: "every", About: "takes \"every\" kind", Params: []Parameter{
	{Name: "path", Kind: "string", About: "the file", Required: true},
	{Name: "count", Kind: "integer", About: "how many"},
	{Name: "ratio", Kind: "number", About: "how much"},
	{Name: "all", Kind: "boolean", About: "whether"},
	{Name: "argv", Kind: "strings", About: "which"},
}, Annotations: ReadsOnly, Effects: Effects{None: true}}

func TestDefinition(t *testing.T) {
	tool := every.Tool()
	want := `{"type":"object","properties":{"path":{"type":"string","description":"the file"},"count":{"type":"integer","description":"how many"},` +
		`"ratio":{"type":"number","description":"how much"},"all":{"type":"boolean","description":"whether"},` +
		`"argv":{"type":"array","items":{"type":"string"},"description":"which"}},"required":["path"],"additionalProperties":false}`
	if string(tool.InputSchema) != want || tool.Name != "every" || tool.Description != every.About || !tool.ReadOnly || string(tool.Annotations) != ReadsOnly {
		t.Errorf("%+v\n%s", tool, tool.InputSchema)
	}
	for _, annotations := range []string{Destroys, RunsFree, Fetches} {
		none := (&Builtin{Annotations: annotations, Effects: Effects{None: true}}).Tool()
		if none.ReadOnly || string(none.Annotations) != annotations || string(none.InputSchema) != `{"type":"object","properties":{},"additionalProperties":false}` || jsontext.Check(none.Annotations, jsontext.Options{}) != nil {
			t.Errorf("%+v", none)
		}
	}
	if undeclared := (&Builtin{Annotations: ReadsOnly}).Tool(); undeclared.ReadOnly || string(undeclared.Annotations) != RunsFree {
		t.Errorf("a tool that declares no effects: %+v", undeclared)
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"path":"a\u0062"}`, "ab -1 0.5 false []"},
		{`{"p\u0061th":"a","count":null,"ratio":null,"all":null,"argv":null}`, "a -1 0.5 false []"},
		{`{"path":"","count":9223372036854775807,"ratio":-1.5e2,"all":true,"argv":["x","",""]}`, ` 9223372036854775807 -150 true ["x" "" ""]`},
		{`{"count":1}`, `error: every needs the argument "path": the file`},
		{`{"path":null}`, `error: argument "path" must be a string, not null`},
		{`{"path":1}`, `error: argument "path" must be a string, not 1`},
		{`{"path":"\ud800"}`, `error: argument "path" must be a string of whole characters, not "\ud800"`},
		{`{"path":"","count":1.5}`, `error: argument "count" must be a whole number, not 1.5`},
		{`{"path":"","count":9223372036854775808}`, `error: argument "count" must be a whole number, not 9223372036854775808`},
		{`{"path":"","count":"1"}`, `error: argument "count" must be a whole number, not "1"`},
		{`{"path":"","ratio":"1"}`, `error: argument "ratio" must be a number, not "1"`},
		{`{"path":"","all":1}`, `error: argument "all" must be true or false, not 1`},
		{`{"path":"","argv":"ls"}`, `error: argument "argv" must be an array of strings, not "ls"`},
		{`{"path":"","argv":["ls",1]}`, `error: argument "argv" must be an array of strings, not ["ls",1]`},
		{`{"path":"a","p\u0061th":"b"}`, `error: argument "path" is given twice`},
		{`{"pth":"a"}`, `error: every has no argument "pth", did you mean "path"? (it takes path, count, ratio, all, argv)`},
		{`{"path":"a","qwertyuiop":1}`, `error: every has no argument "qwertyuiop" (it takes path, count, ratio, all, argv)`},
	} {
		args, err := every.Read([]byte(c.in))
		got := fmt.Sprintf("%s %d %v %t %q", args.Text("path"), args.Integer("count", -1), args.Number("ratio", 0.5), args.Flag("all"), args.List("argv"))
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", c.in, got, c.want)
		}
		if err == nil && (!args.Has("path") || args.Has("count") != strings.Contains(c.in, `"count":9`)) {
			t.Errorf("%s: which arguments there are", c.in)
		}
	}
}

func TestText(t *testing.T) {
	if !LooksBinary([]byte("a\x00")) || LooksBinary([]byte("a\xff")) || LooksBinary([]byte(strings.Repeat("x", 32<<10)+"\x00")) {
		t.Error("LooksBinary")
	}
	if got := string(TextResult("a\xff\n").Content[0].Text); got != `"a`+"\ufffd"+`\n"` {
		t.Errorf("a result: %s", got)
	}
	long := strings.Repeat("é", maxFailure)
	r := failedResult(errors.New(long))
	text := jsontext.Text(r.Content[0].Text)
	if want := long[:maxFailure] + fmt.Sprintf("\n[toolpipe] %d bytes of the error are left out\n", maxFailure); !r.IsError || text != want {
		t.Errorf("a long error: …%q", text[len(text)-100:])
	}
}
