//go:build unix

package endtoend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"toolpipe/testdata/load"
)

// TestFaultStdio has servers that do something wrong during a call: the call has
// one result with the given status, the server ran it once, and the run goes on
// to its answer. A call that may have been done is never sent again.
func TestFaultStdio(t *testing.T) {
	t.Parallel()
	const model = "-- m --\nreply\ncall fs__do {}\nreply\ntext \"Done.\"\n"
	for fault, test := range map[string]struct {
		status string // of the result
		more   string
		heavy  bool
	}{
		"none":           {"ok", "event tool_result.text 'done 1'\n! stderr .", false},
		"die":            {"unknown", "event warning.code server_lost", false},
		"line":           {"unknown", "", true},
		"huge":           {"unknown", "", true},
		"deep":           {"ok|unknown|failed", "", false},
		"helper":         {"ok", "", false},
		"stderr-flood":   {"ok", "", true},
		"notifications":  {"ok|unknown", "", true},
		"ids":            {"ok", "event tool_result.text 'done 1'", false},
		"guessed-ids":    {"ok", "event tool_result.text 'done 1'", false},
		"changed-mind":   {"ok", "event warning.code tools_changed\n! grep 'ssh|fs__more' request:2", false},
		"both-errors":    {"failed|unknown", "", false},
		"crlf":           {"ok", "", false},
		"blank-lines":    {"ok", "", false},
		"bom":            {"unknown", "", false},
		"utf-16":         {"unknown", "", false},
		"two-on-a-line":  {"unknown", "", false},
		"three-lines":    {"unknown", "", false},
		"trailing-comma": {"unknown", "", false},
		"half":           {"unknown", "", false},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			if test.heavy && load.RaceDetector() {
				t.Skip("moves hundreds of MiB")
			}
			if fault == "huge" { // as much as a line, in an answer
				load.Variant(t)
			}
			s := newFault(t, model)
			s.env["NAME"] = fault
			s.do(`model m
toolpipe -o ndjson -y --tool-timeout 5 -t fs="$MCP -fault $NAME -tools do -log $WORK/log" hi
event end.status ok
event end.text Done.
events tool_result 1
event tool_result.status ~^(` + test.status + `)$
grep -count=1 '^tools/call ' log
` + test.more)
		})
	}
}

// TestFaultStdioStart has servers that never complete their start: status 4
// before the first request to the model.
func TestFaultStdioStart(t *testing.T) {
	t.Parallel()
	for fault, timeout := range map[string]string{"junk": "2", "line-at-start": "20"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			if fault == "line-at-start" {
				load.Variant(t)
			}
			s := newFault(t, "-- m --\n-- c.in --\n{\"mcpServers\":{\"fs\":{\"command\":\"PROGRAM\",\"args\":[\"-fault\",\"NAME\"],\"startup_timeout\":TIMEOUT}}}\n")
			s.env["NAME"], s.env["TIMEOUT"] = fault, timeout
			s.do(`model m
sh 'sed "s|PROGRAM|$MCP|; s|NAME|$NAME|; s|TIMEOUT|$TIMEOUT|" c.in > c.json'
toolpipe -o ndjson --mcp-config c.json hi => 4
event end.status server
stderr fs
requests 0`)
		})
	}
}

// TestFaultLateAnswer checks that an answer which comes after the deadline is
// dropped, and is not taken for the answer to the next call.
func TestFaultLateAnswer(t *testing.T) {
	t.Parallel()
	s := newFault(t, "-- m --\nreply\ncall fs__do {\"n\":1}\nreply\ncall fs__do {\"n\":2}\nreply\ntext \"Done.\"\n")
	s.do(`model m
toolpipe -o ndjson -y --tool-timeout 2 -t fs="$MCP -fault late -tools do -log $WORK/log" hi => 0 7
event tool_result[1].status unknown
! stdout 'too late'
grep -count=2 '^tools/call ' log
grep notifications/cancelled log`)
}

// TestFaultContents checks that the links of a result are not opened or fetched,
// and that all its content stays inside one tool message and one picture.
func TestFaultContents(t *testing.T) {
	t.Parallel()
	canary := serveRaw(t, nil)
	s := newFault(t, "-- m --\nreply\ncall fs__do {}\nreply\ntext \"Done.\"\n-- c.in --\n"+
		`{"mcpServers":{"fs":{"command":"PROGRAM","args":["-fault","contents","-tools","do"],"env":{"CANARY_URL":"${CANARY_URL}"}}}}`+"\n")
	s.env["CANARY_URL"] = canary.url()
	s.do(`model m
sh 'sed "s|PROGRAM|$MCP|" c.in > c.json'
toolpipe -o ndjson -y -s x --mcp-config c.json hi
event tool_result.status ok
request 2 messages.3.role tool
request 2 messages.# 5
grep -count=1 obey request:2
request 2 messages.4.content.#(type=="image_url")#.type '["image_url"]'
request 2 messages.4.content.#(type=="image_url").image_url.url '~data:image/png;base64,'
request 2 messages.3.content '~obey'
request 2 messages.3.content '~embedded text'
! grep 'root:' request:2`)
	canary.untouched(t)
}

// TestFaultKilled checks that the servers end with a toolpipe that is killed in
// the middle of a call and cannot clean up.
func TestFaultKilled(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]string{"a server": "$MCP -tools hang -log $WORK/log", "one that ignores its end": "$MCP -tools hang -stubborn -log $WORK/log"} {
		condition := map[bool]string{true: "linux", false: "native"}[name == "a server"]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFault(t, "-- m --\nreply\ncall fs__hang {}\n")
			s.do("[!" + condition + "] skip needs " + condition + `
model m
toolpipe -y -t fs="` + server + `" hi &
await file log 'tools/call hang'
signal KILL
wait => 137`)
		})
	}
}

// TestFaultLauncher has a server that is the child of a shell, which waits for
// it.
func TestFaultLauncher(t *testing.T) {
	t.Parallel()
	s := newFault(t, "-- m --\nreply\ncall fs__echo {\"text\":\"x\"}\nreply\ntext \"Done.\"\n-- launch.sh --\n$1 -stubborn -grandchild\ntrue\n")
	s.do(`model m
toolpipe -o ndjson -y -t fs="sh $WORK/launch.sh $MCP" hi
event tool_result.status ok
event end.exit 0`)
}

// TestFaultBigArguments checks that a server which does not read its input
// delays the run only for the time limit of the call.
func TestFaultBigArguments(t *testing.T) {
	t.Parallel()
	s := newFault(t, "")
	text := strings.Repeat("x", 900<<10)
	if err := os.WriteFile(filepath.Join(s.work, "m"), fmt.Appendf(nil, "reply\ncall fs__echo {\"text\":%q}\ncall fs__echo {\"text\":%q}\nreply\ntext \"Done.\"\n", text, text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.do(`model m
toolpipe -o ndjson -y -t fs="$MCP -tools echo,hang" hi
event tool_result[1].bytes 921600
event tool_result[2].bytes 921600
event end.exit 0`)
	// A stopped server reads nothing: the pipe fills in the middle of a frame.
	s.begin(`model m
toolpipe -o ndjson -y --tool-timeout 2 -t fs="$MCP -tools echo -log $WORK/log" hi &
await file log tools/list`)
	if pid := childOf(s.running.pid); pid > 0 {
		syscall.Kill(pid, syscall.SIGSTOP)
	}
	s.do("wait => 0 7\nevents tool_result 2")
}

// childOf returns a child of the process pid, or 0.
func childOf(pid int) (child int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		if fmt.Sscan(string(text), &child); child > 0 {
			return child
		}
	}
	return 0
}
