//go:build unix

package endtoend

import (
	"fmt"
	"strings"
	"testing"

	"toolpipe/testdata/load"
)

// panics are places in the program where one goroutine of every kind panics in
// turn: the statement before which it panics, which is in the sources once, and
// the commands that bring a run to it.
var panics = map[string]struct{ before, commands string }{
	"reader of stdin": {"return Whole(c, &pulse", `stdin -text x
toolpipe -o ndjson -t fs="$MCP -grandchild"`},
	"writer of answers to a server": {"ctx, cancel := context.WithTimeout(o.Life, responseTimeout)", `model elicit
toolpipe -o ndjson -y -t fs="$MCP -tools elicit -grandchild" hi`},
	"reader of a server": {"m.owner.report.message('<', frame)", `toolpipe -o ndjson -t fs="$MCP -grandchild -stubborn" hi`},
	"progress of a call": {"r.emit(&event.Progress{", `model progress
toolpipe -o ndjson -y -t fs="$MCP -tools progress -grandchild" hi`},
	"stderr of a server": {"w.Store(time.Now().UnixNano())", `toolpipe -o ndjson -t fs="$MCP -stderr x -silent -stubborn -grandchild" hi`},
	"server starts":      {"start(c)", `toolpipe -o ndjson -t fs="$MCP" hi`},
	"timer of a call": {"cancel(TimeoutError{", `model hang
toolpipe -o ndjson -y --tool-timeout 1 -t fs="$MCP -tools hang -grandchild" hi`},
	"timer of the model": {"cancel(errStalled)", `model silent
toolpipe -o ndjson --config config -m slow hi`},
	"timer of the run": {"cancel(&failure.Overtime", `model silent
toolpipe -o ndjson --timeout 1 hi`},
	"rest of a reply": {"io.CopyN(io.Discard, body", `model unended
toolpipe -o ndjson -y --shell hi`},
	"wait for a command": {"state, err := pr.awaitLeader()", `model shell
toolpipe -o ndjson -y --shell hi`},
	"output of a command": {"o.mu.Lock()\n\tn := min(len(p)", `model shell
toolpipe -o ndjson -y --shell hi`},
	"call of a built-in tool": {"result, err := call()", `model shell
toolpipe -o ndjson -y --shell hi`},
	"output of a program in the background": {"p.keep(buf[:n])", `model background
toolpipe -o ndjson -y --shell --shell-background hi`},
	"end of a program in the background": {"close(p.ended)", `model background
toolpipe -o ndjson -y --shell --shell-background hi`},
	"calls of a turn": {"r.schedule(slices.Values(r.calls), func", `model two
toolpipe -o ndjson -y --shell hi`},
	"signals": {"cancel(&failure.Interrupted{Signal: first})", `model silent
toolpipe -o ndjson -t fs="$MCP -grandchild" hi &
await requests 1
signal TERM
wait`},
	"main": {"return r.conversation.run(ctx)", `toolpipe -o ndjson hi`},
	"end":  {"e := r.endEvent(err)", `toolpipe -t fs="$MCP -grandchild -stubborn" hi`},
	"live line": {"f.redraw(time.Now())\n\treturn", `env TERM=xterm
tty -on=2 toolpipe -t fs="$MCP -silent -grandchild" hi`},
}

const panicFiles = `-- silent --
reply
hang
-- hang --
reply
call fs__hang {}
-- elicit --
reply
call fs__elicit {}
reply
again
hang
-- progress --
reply
call fs__progress {}
reply
again
hang
-- shell --
reply
call shell__run_command {"script":"sleep 300 & echo x"}
reply
again
hang
-- background --
reply
call processes__start {"script":"sleep 300 & echo x"}
reply
again
hang
-- unended --
reply
call shell__run_command {"script":"sleep 300 & echo x"}
finish tool_calls
done
hang
-- two --
reply
call shell__run_command {"script":"sleep 300 & echo x"}
call shell__run_command {"script":"echo x"}
reply
again
hang
-- config --
{"models":{"slow":{"model":"m","idle_timeout":1}}}
`

// TestFaultPanic checks that a panic in any goroutine ends the run in an orderly
// way: with the end event and status 70. The harness checks that no process is
// left and no secret is shown.
func TestFaultPanic(t *testing.T) {
	t.Parallel()
	for where, p := range panics {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			if !load.Full(t) {
				t.Skip("it builds the program anew, with TOOLPIPE_LOAD")
			}
			program, err := faultyProgram()
			if err != nil {
				t.Fatal(err)
			}
			s := newFaulty(t, program, panicFiles)
			s.defect = true
			s.env["PANIC_BEFORE"] = where
			held := `
! stderr 'goroutine |panic:|0x|canary'
stderr 'error: defect: panic with a value of type string, at goroutine/inject.go:[0-9]+, called from [a-z]+/`
			if strings.Contains(p.commands, "tty ") {
				held = "\nscreen 'error:.* defect: panic with a value"
			} else if strings.Contains(p.commands, "ndjson") {
				held = "\nevent end.status internal\nevent end.exit 70" + held
			}
			s.do(p.commands + " => 70" + held + "'")
		})
	}
}

// injectPanics has the program panic at each place; PANIC_BEFORE in its environment
// chooses one.
func injectPanics(o *overlay) error {
	o.put("stream/goroutine/inject.go", `package goroutine

import "os"

func Inject(before string) {
	if os.Getenv("PANIC_BEFORE") == before {
		panic(os.Getenv("TOOLPIPE_API_KEY"))
	}
}
`)
	for where, p := range panics {
		file, err := o.replace(p.before, fmt.Sprintf("goroutine.Inject(%q); %s", where, p.before))
		if err != nil {
			return err
		}
		if text := o.texts[file]; !strings.Contains(text, `"toolpipe/stream/goroutine"`) {
			o.put(file, strings.Replace(text, "import (", "import (\n\"toolpipe/stream/goroutine\"\n", 1))
		}
	}
	return nil
}
