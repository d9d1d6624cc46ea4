package jsontext

import (
	"strings"
	"testing"
)

func TestGlance(t *testing.T) {
	long := strings.Repeat("é", 2000)
	for arguments, want := range map[string][2]string{
		`{}`:                                 {"", ""},
		`{"path":"a.txt"}`:                   {"a.txt", ""},
		`{"old":"x","path":"a b","new":[1]}`: {"a b", `{"old":"x","new":[1]}`},
		`{"argv":["go","test","","a b","\"","./…"],"cwd":"sub"}`: {`go test "" "a b" "\"" ./…`, `{"cwd":"sub"}`},
		`{"script":"\n set -e\nmake\n"}`:                         {"set -e…", ""},
		`{"command":["ls",1],"url":"http://x"}`:                  {"ls http://x", ""},
		`{"path":5,"paths":[],"p\u0061th":"b"}`:                  {"b", `{"path":5,"paths":[]}`},
		`{"path":"` + long + `"}`:                                {strings.Repeat("é", 150) + "…", ""},
		`{"content":"` + long + `","x":1,"path":"p"}`:            {"p", `{"content":"` + strings.Repeat("é", 494)},
		`[1]`: {"", ""},
	} {
		if named, rest := Glance([]byte(arguments)); named != want[0] || rest != want[1] {
			t.Errorf("%.60s\n got %q %q\nwant %q", arguments, named, rest, want)
		}
	}
}

func TestExit(t *testing.T) {
	for structured, want := range map[string][2]string{
		``: {}, `{}`: {}, `{"exit_code":"1"}`: {}, `{"exit_code":1.5}`: {}, `[1]`: {}, `null`: {},
		`{"exit_code":0,"stderr":"a warning"}`:                     {"0", "a warning"},
		`{"stdout":"x","stderr":"\r\n one\r\ntwo","exit_code":-1}`: {"-1", "one…"},
	} {
		if code, complaint := Exit([]byte(structured)); code != want[0] || complaint != want[1] {
			t.Errorf("%s: %q %q", structured, code, complaint)
		}
	}
}
