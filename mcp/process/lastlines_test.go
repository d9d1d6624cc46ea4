package process

import (
	"strings"
	"testing"
)

func TestTellingLines(t *testing.T) {
	usage := strings.Repeat("  --flag  what it is for\n", 40)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"a\nb\nc\nd\n", "a\nb\nc\nd"},
		{"v1\nERROR: no kubeconfig\n" + usage, "v1\nERROR: no kubeconfig" + strings.Repeat("\n  --flag  what it is for", 3) + "\n[…]\n  --flag  what it is for\n  --flag  what it is for"},
		{"1\n2\n3\n4\n5\n6\nan Error\n7\n8\n9\n10\n", "1\n2\n3\n4\n5\n[…]\nan Error\n[…]\n9\n10"},
		{strings.Repeat("error\n", 100), strings.Repeat("error\n", 10) + "[…]\nerror\nerror"},
	} {
		if got := TellingLines(c.text, 2); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"a\nb\nc\n", 2, "b\nc"},
		{"a\r\n\r\nb\r\n", 5, "a\nb"},
		{`node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/srv/index.js'
Require stack:
- /srv/a.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at node:internal/main/run_main_module:36:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '/srv/a.js' ]
}

Node.js v20.20.2
`, 5, "Error: Cannot find module '/srv/index.js'"},
		{`starting
Traceback (most recent call last):
  File "/srv/server.py", line 3, in <module>
    import nothing
  File "/usr/lib/python3.11/x.py", line 7, in f
    g(1)
    ^^^^
ModuleNotFoundError: No module named 'nothing'
`, 5, "starting\nModuleNotFoundError: No module named 'nothing'"},
		{"panic: no database\n\ngoroutine 1 [running]:\nmain.open(0x1)\n\t/srv/main.go:12 +0x1d\ncreated by main.main in goroutine 1\n\t/srv/main.go:9 +0x25\n", 5, "panic: no database\nmain.open(0x1)"},
		{"    at f (a.js:1)\n", 5, "    at f (a.js:1)"},
		{"at last it works\nfrom here on\n", 5, "at last it works\nfrom here on"},
		{"", 5, ""},
	} {
		if got := LastLines(c.text, c.n); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
