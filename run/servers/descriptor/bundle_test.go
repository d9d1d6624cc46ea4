package descriptor

import (
	"strings"
	"testing"
)

func TestBundle(t *testing.T) {
	for _, x := range []struct {
		config, options string // mcp_config and user_config
		environ         []string
		want, err, note string
	}{
		{`"command":"node","args":["${__dirname}/s.js","${/}${pathSeparator}","${HOME}/x","${DESKTOP}","${DOCUMENTS}","${DOWNLOADS}"]`, ``, nil,
			"node|/b/s.js|//|/home/me/x|/home/me/Desktop|/home/me/Documents|/home/me/Downloads", "", ""},
		{`"command":"server/run","args":["server/a"],"env":{"P":"server/lib"}`, ``, nil, "P=server/lib|/b/server/run|server/a", "", ""},
		{`"command":"node","env":{"K":"${user_config.api-key}"}`, `"api-key":{"type":"string","required":true,"sensitive":true}`, []string{"API_KEY=k"}, "K=k|node", "", ""},
		{`"command":"node","args":["${user_config.b}"],"env":{"K":"${user_config.a}"}`, `"a":{"required":true},"b":{"required":true}`, nil, "K=|node|", "not set: B, A", ""},
		// A required key may have a default, an empty one is none.
		{`"command":"node","args":["${user_config.a}","${user_config.b}"]`, `"a":{"required":true,"default":"x"},"b":{"required":true,"default":""}`, nil, "", "not set: B", ""},
		{`"command":"node","env":{"A":"${user_config.a}"}`, `"a":{"default":""}`, nil, "A=|node", "", ""},
		// Without a value the variable or the word is left out, and an option of which it is the value.
		{`"command":"node","args":["--c=${user_config.a}","x"],"env":{"A":"${user_config.a}"}`, `"a":{}`, nil, "node|x", "", "left out: user_config.a (A)"},
		{`"command":"node","args":["-v","--c","${user_config.a}","x"]`, `"a":{}`, nil, "node|-v|x", "", `argument_left_out x.json:1: "--c" is left out, since its value, the variable A, is not set`},
		{`"command":"node","args":["--c=1","${user_config.a}","x"]`, `"a":{}`, nil, "node|--c=1|x", "", "left out"},
		{`"command":"node","args":["--c","${user_config.a}"]`, ``, nil, "node", "", "argument_left_out"},
		// Several values are several words only where the word is the key alone.
		{`"command":"node","args":["${user_config.dirs}","end"]`, `"dirs":{"type":"directory","multiple":true}`, []string{"DIRS=/x\nsub\n~/y\n"}, "node|/x|/here/sub|/home/me/y|end", "", ""},
		{`"command":"node","args":["${user_config.dirs}"]`, `"dirs":{"multiple":true,"default":["${HOME}/a","${user_config.x}"]}`, nil, "node|/home/me/a|${user_config.x}", "", ""},
		{`"command":"node","args":["${user_config.dirs}"]`, `"dirs":{"multiple":true,"required":true,"default":[]}`, nil, "", "not set: DIRS", ""},
		{`"command":"node","args":["-d${user_config.dirs}"]`, `"dirs":{"multiple":true}`, []string{"DIRS=a"}, "node|-da", "", ""},
		{`"command":"node","env":{"D":"${user_config.dirs}"}`, `"dirs":{"multiple":true}`, []string{"DIRS=a\nb"}, "", "DIRS has several values here", ""},
		{`"command":"node","args":["${user_config.n}","${user_config.b}"]`, `"n":{"type":"number","default":10},"b":{"type":"boolean","default":true}`, nil, "node|10|true", "", ""},
		{`"command":"node","args":["${user_config.n}"]`, `"n":{"type":"number","min":1,"max":10}`, []string{"N=11"}, "", "max is 10", ""},
		{`"command":"node","args":["${user_config.n}"]`, `"n":{"type":"number"}`, []string{"N=many"}, "", "N does not hold a number", ""},
		{`"command":"node","args":["${user_config.b}"]`, `"b":{"type":"boolean"}`, []string{"B=1"}, "", "B holds neither true nor false", ""},
		// What a user gives is not expanded; what is unknown stays.
		{`"command":"node","args":["${user_config.a}","${API_KEY}","${HOME","$HOME","${A:-b}"]`, `"a":{}`, []string{"A=${HOME}"}, "node|${HOME}|${API_KEY}|${HOME|$HOME|${A:-b}", "", `"${API_KEY}" is no variable of a bundle`},
		// Variables of every session, and keys of models, are not taken for values of a bundle.
		{`"command":"node","args":["${user_config.path}"]`, `"path":{"required":true}`, []string{"PATH=/bin"}, "", "not set: TOOLPIPE_INPUT_PATH", ""},
		{`"command":"node","args":["${user_config.openai_api_key}"]`, `"openai_api_key":{}`, []string{"TOOLPIPE_INPUT_OPENAI_API_KEY=k"}, "node|k", "", ""},
		// Each key of an override replaces the whole.
		{`"command":"node","args":["a"],"env":{"A":"1","B":"2"},"platform_overrides":{"linux":{"env":{"C":"3"}},"win32":{"command":"n.exe"}}`, ``, nil, "C=3|node|a", "", ""},
		{`"command":"node","args":["a"],"platform_overrides":{"linux":{"command":"n","args":[]}}`, ``, nil, "n", "", ""},
		{`"command":"node","cwd":"/x"`, ``, nil, "node", "", `unknown key "cwd" is ignored`},
		{`"args":[]`, ``, nil, "/b/s.js", "command is missing", ""},
		{`"command":"${user_config.a}"`, `"a":{}`, nil, "/b/s.js", "command is empty", ""},
		{`"command":"","args":["x"]`, ``, nil, "/b/s.js", "command is empty", ""},
		{`"command":"node","args":["}${x${user_config.a}}"]`, `"a":{}`, []string{"A=1"}, "node|}${x1}", "", ""},
		{`"command":["node"]`, ``, nil, "/b/s.js", `["node"] is not a string`, ""},
		{`"command":"node","args":"s.js"`, ``, nil, "node", `"s.js" is not a list`, ""},
		{`"command":"node","env":[]`, ``, nil, "node", "[] is not an object of strings", ""},
		{`"command":"node","args":["${user_config.a}"]`, `"a":7`, nil, "node", "7 is not an object", ""},
	} {
		s, err := read(t, `{"manifest_version":"0.3","name":"b","server":{"type":"node","entry_point":"s.js","mcp_config":{`+x.config+`}},"user_config":{`+x.options+`}}`, x.environ...)
		if got := line(s); x.want != "" && got != x.want || x.err == "" && err != "" || !strings.Contains(err, x.err) || s.Dir != "/b" || x.err == "" && (x.note == "") != (notes(s) == "") || !strings.Contains(notes(s), x.note) {
			t.Errorf("%s %s:\n %s, want %s\n error %q\n notes %q", x.config, x.options, got, x.want, err, notes(s))
		}
	}
}

func TestBundleForms(t *testing.T) {
	for _, x := range []struct{ text, want, err string }{
		{`{"manifest_version":"0.4","name":"b","server":{"type":"uv","entry_point":"src/s.py"}}`, "uv|run|--directory|/b|src/s.py", ""},
		{`{"manifest_version":"0.4","name":"b","server":{"type":"uv","entry_point":"s.py","mcp_config":{"command":"uv","args":["run","s.py"]}}}`, "uv|run|s.py", ""},
		{`{"manifest_version":"0.3","name":"b","server":{"type":"node","entry_point":"s.js"}}`, "/b/s.js", "mcp_config is missing"},
		{`{"dxt_version":"0.1","name":"b","server":{"type":"binary","entry_point":"s","mcp_config":{"command":"${__dirname}/s"}},"compatibility":{"platforms":["linux"]}}`, "/b/s", ""},
		{`{"manifest_version":"0.3","name":"b","server":{"mcp_config":{"command":"s"}},"compatibility":{"platforms":["darwin","win32"]}}`, "/b", "the bundle is for darwin, win32, and this system is linux"},
		{`{"manifest_version":"0.3","name":"b","server":{"mcp_config":{"command":"s"}},"compatibility":{"platforms":7}}`, "/b", "is not a list"},
	} {
		s, err := read(t, x.text)
		if got := line(s); got != x.want || x.err == "" && err != "" || !strings.Contains(err, x.err) {
			t.Errorf("%s: %s, %s", x.text, got, err)
		}
	}
}
