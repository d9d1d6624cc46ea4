package event

import "testing"

// TestFencedBlock holds which block of an answer is taken, and that prose, an open
// block or a block of another language is never taken for it.
func TestFencedBlock(t *testing.T) {
	const none = "(none)"
	for _, c := range []struct{ text, language, want string }{
		{"Run this:\n```sh\nls -l\n```\nDone.", "", "ls -l\n"},
		{"```\na\n```\n```\nb\n```\n", "", "a\n"},
		{"```json\n{}\n```\n```sh\nls\n```\n", "sh", "ls\n"},
		{"```SH title=x\nls\n```", "sh", "ls\n"},
		{"```shell\nls\n```", "sh", none},
		{"ls -l", "", none},
		{"", "", none},
		{"``` ls ```", "", none},
		{"```sh\nrm -rf /tmp/x", "", none},
		{"```sh\nrm -rf /tmp/x\n``", "", none},
		{"```sh\na\n~~~\n```", "", "a\n~~~\n"},
		{"~~~ sh\na\n```\n~~~~  \n", "sh", "a\n```\n"},
		{"````md\n```sh\nls\n```\n````\n", "", "```sh\nls\n```\n"},
		{"````md\n```sh\nls\n```\n````\n", "sh", none},
		{"1. First\n\n   ```sh\n   if a\n     b\n\n   fi\n   ```\n", "sh", "if a\n  b\n\nfi\n"},
		{"```sh\n\ta\n```", "", "\ta\n"},
		{"```\r\na\r\n```\r\n", "", "a\r\n"},
		{"```sh\n```", "", ""},
		{"```sh\na\n``` b\nc\n```\n", "", "a\n``` b\nc\n"},
	} {
		got, ok := FencedBlock(c.text, c.language)
		if !ok {
			got = []byte(none)
		}
		if string(got) != c.want {
			t.Errorf("%q, %q: %q, not %q", c.text, c.language, got, c.want)
		}
	}
}
