package servers

import (
	"slices"
	"strings"
	"testing"

	"toolpipe/run/config"
	"toolpipe/run/document"
)

func TestParseTarget(t *testing.T) {
	taken := func(name string) bool { return name == "mcp" }
	for _, c := range []struct {
		in, name, url string
		command       []string
		optional      bool
	}{
		{"gh=https://h/mcp", "gh", "https://h/mcp", nil, false},
		{"gh=HTTPS://h/mcp", "gh", "HTTPS://h/mcp", nil, false},
		{"Http://example.com/mcp", "example", "Http://example.com/mcp", nil, false},
		{"gh?=https://h/mcp", "gh", "https://h/mcp", nil, true},
		{"https://example.com/mcp?a=b", "example", "https://example.com/mcp?a=b", nil, false},
		{"https://mcp.example.com/", "mcp-443", "https://mcp.example.com/", nil, false},
		{"http://127.0.0.1:3001/mcp", "127-0-0-1-3001", "http://127.0.0.1:3001/mcp", nil, false},
		{"http://[::1]:80/", "--1-80", "http://[::1]:80/", nil, false},
		{"fs=srv 'a b' --x=y", "fs", "", []string{"srv", "a b", "--x=y"}, false},
		{"fs=/bin/srv", "fs", "", []string{"/bin/srv"}, false},
	} {
		s, err := parseTarget(c.in, taken)
		if err != nil || s.Name != c.name || s.URL != c.url || !slices.Equal(s.Command, c.command) || s.Optional != c.optional {
			t.Errorf("%s: %+v, %v", c.in, s, err)
		}
	}
	for in, bad := range map[string]string{
		"srv --x":                      "needs a name",
		"srv a=b":                      "needs a name", // the part before = holds a blank
		"fs=":                          "no command",
		"a__b=srv":                     "__",
		"a_=srv":                       `server name "a_"`,
		"ä=srv":                        `server name "ä"`,
		"files=srv":                    "reserved",
		"=srv":                         `server name ""`,
		"fs='srv":                      "quote",
		"gh=https://u:p@h/":            "password",
		"gh=https:///x":                "not an http",
		"gh=http://":                   `"http://" is not an http`,
		"gh=HTTP:///x@y":               `"HTTP:///x@y" is not an http`,
		"gh=https://u:p@":              "password",
		"htp://x":                      "is not an http",
		"Htp://x?a=b c":                "is not an http",
		"gh=htp://x":                   "is not an http",
		strings.Repeat("a", 33) + "=s": "at most 32",
	} {
		if s, err := parseTarget(in, taken); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %+v, %v, want %s", in, s, err, bad)
		}
	}
}

func TestExpand(t *testing.T) {
	e := &entry{c: &config.Config{Environ: []string{"A=1", "EMPTY=", "A=2"}}}
	at, _ := document.Parse("x.json", []byte("{}"))
	for in, want := range map[string]string{"x": "x", "${A}": "2", "a${A}b${A}": "a2b2", "${B:-c}": "c", "${EMPTY}": "", "${EMPTY:-d}": "d", "$A": "$A", "${env:A}": "2"} {
		if got, err := e.expand(at, in); err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, bad := range []string{"${B}", "${A"} {
		if got, err := e.expand(at, bad); err == nil {
			t.Errorf("%s gave %q", bad, got)
		}
	}
}
