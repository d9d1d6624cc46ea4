package mcp

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// doubles are the named faults of a server over stdio. Each runs as a process
// of its own.
var doubles = map[string]func(d *double){
	"plain": func(d *double) { d.serve() },

	// Its SDK gives up on anything but initialize (rmcp before 3).
	"exit-on-unknown": func(d *double) {
		if m, _ := d.read(); jsontext.Text(m.Method) != "initialize" {
			fmt.Fprintln(os.Stderr, "expected initialize")
			os.Exit(1)
		} else {
			d.answer(m)
		}
		d.serve()
	},
	"silent-on-unknown": func(d *double) {
		d.serve(on("server/discover", func(*double, wire.Message) {}))
	},
	// Modern, but it takes no probe as the first request.
	"late-discover": func(d *double) {
		first := true
		d.serve(func(d *double, m wire.Message) bool {
			method := jsontext.Text(m.Method)
			switch {
			case method == "initialize":
				d.fail(m, -32601, "unknown method")
			case method == "server/discover" && !first:
				d.result(m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
			case method != "server/discover":
				return false
			}
			first = false
			return true
		})
	},
	// The stateful servers of go-sdk: only legacy revisions, and initialize
	// after discover is one too many.
	"duplicate-initialize": func(d *double) {
		probed := false
		d.serve(
			on("server/discover", func(d *double, m wire.Message) {
				probed = true
				d.result(m, `{"supportedVersions":["2025-06-18","2025-03-26"],"capabilities":{}}`)
			}),
			func(d *double, m wire.Message) bool {
				if jsontext.Text(m.Method) == "initialize" && probed {
					d.fail(m, 0, `duplicate "initialize" received`)
					return true
				}
				return false
			})
	},
	"modern-only": func(d *double) {
		d.serve(
			on("server/discover", func(d *double, m wire.Message) {
				d.result(m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"be brief"}`)
			}),
			on("initialize", func(d *double, m wire.Message) { d.fail(m, wire.CodeUnsupportedVersion, "unsupported") }))
	},
	"future-only": func(d *double) {
		d.serve(on("server/discover", func(d *double, m wire.Message) {
			d.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2031-01-01"],"requested":"2026-07-28"}}}`, m.ID)
		}))
	},
	// It fails on revisions it does not know instead of negotiating.
	"refuses-versions": func(d *double) {
		d.serve(func(d *double, m wire.Message) bool {
			if jsontext.Text(m.Method) == "initialize" && jsontext.Text(jsontext.Member(m.Params, "protocolVersion")) != "2024-11-05" {
				d.fail(m, wire.CodeInvalidParams, "bad protocol version")
				return true
			}
			return false
		})
	},
	"odd-version": func(d *double) {
		d.serve(on("initialize", func(d *double, m wire.Message) {
			d.result(m, `{"protocolVersion":"2024-10-07","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"1"}}`)
		}))
	},
	"banner": func(d *double) {
		fmt.Fprint(d.out, "\xEF\xBB\xBF\x1b[32mServer ready\x1b[0m\r\n\r\n\nlistening on stdio\n[info] loaded 3 tools\n{not json}\n")
		d.serve()
	},
	"content-length": func(d *double) { d.serveFramed() },
	"long-line": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			d.result(m, `{"content":[{"type":"text","text":"`+strings.Repeat("é", 5<<19)+`"}]}`)
		}))
	},
	"too-long-line": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			for range (wire.MaxFrame >> 20) + 2 {
				io.WriteString(d.out, strings.Repeat("x", 1<<20))
			}
		}))
	},
	"many-writes": func(d *double) {
		d.out = &dribble{d.out}
		d.serve()
	},
	"out-of-order": func(d *double) {
		var first *wire.Message
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			if first == nil {
				first = &m
				return
			}
			for _, m := range []wire.Message{m, *first} {
				d.result(m, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, jsontext.Member(m.Params, "arguments", "n")))
			}
			first = nil
		}))
	},
	"list-hangs": func(d *double) {
		fmt.Fprintln(os.Stderr, "waiting for the disk")
		d.serve(on("tools/list", func(*double, wire.Message) {}))
	},
	"list-then-dies": func(d *double) {
		d.serve(on("tools/list", func(d *double, m wire.Message) {
			d.answer(m)
			os.Exit(3)
		}))
	},
	"no-tools": func(d *double) {
		d.serve(on("tools/list", func(d *double, m wire.Message) { d.fail(m, wire.CodeMethodNotFound, "no such method") }))
	},
	"list-slow": func(d *double) {
		d.serve(on("tools/list", func(d *double, m wire.Message) {
			time.Sleep(200 * time.Millisecond)
			d.answer(m)
		}))
	},
	"list-fails": func(d *double) {
		fmt.Fprintln(os.Stderr, "the table is gone")
		d.serve(on("tools/list", func(d *double, m wire.Message) { d.fail(m, -32603, "database is locked") }))
	},
	"list-dies": func(d *double) {
		d.serve(on("tools/list", func(*double, wire.Message) {
			fmt.Fprintln(os.Stderr, "panic: out of cheese")
			os.Exit(3)
		}))
	},
	"batch": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			d.write(`[{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}]`, m.ID)
		}))
	},
	"deep": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			d.result(m, `{"content":[],"structuredContent":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`}`)
		}))
	},
	// It asks in mid-call, and answers only when it has been answered.
	"asks": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			var said []string
			for i, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"} {
				d.write(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, i, method)
				r, _ := d.read()
				result, _ := r.Result()
				said = append(said, string(r.ID)+string(result)+string(jsontext.Member(r.Error, "code")))
			}
			d.result(m, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, jsontext.Quoted(strings.Join(said, " "))))
		}))
	},
	// It asks without end, does not read what it is answered, and stays.
	"asks-unread": func(d *double) {
		w := bufio.NewWriter(d.out)
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			for i := range 20_000 {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
			}
			w.Flush()
			time.Sleep(hang)
		}))
	},
	"dies-in-call": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			fmt.Fprintf(os.Stderr, "loading\npanic: out of cheese\n")
			os.Exit(3)
		}))
	},
	"never-answers": func(d *double) {
		d.serve(on("tools/call", func(*double, wire.Message) {}))
	},
	"keeps-talking": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			for i := range 3000 {
				d.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3000,"message":"m"}}`, m.ID, i)
				time.Sleep(10 * time.Millisecond)
			}
		}))
	},
	"progress": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			for _, p := range []string{"1", "2.5"} {
				d.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s,"total":10,"message":"step"}}`, jsontext.Member(m.Params, "_meta", "progressToken"), p)
			}
			d.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":12345,"progress":1}}`)
			d.answer(m)
		}))
	},
	// Its list is another after the first call.
	"changes": func(d *double) {
		called := false
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			called = true
			d.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			d.answer(m)
		}), func(d *double, m wire.Message) bool {
			if called && jsontext.Text(m.Method) == "tools/list" {
				d.result(m, `{"tools":[{"name":"t","description":"other","inputSchema":{"type":"object"}}]}`)
				return true
			}
			return false
		})
	},
	// It announces changes that are none, again and again.
	"changes-nothing": func(d *double) {
		d.serve(func(d *double, m wire.Message) bool {
			if jsontext.Text(m.Method) == "tools/list" {
				d.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
			return false
		}, on("tools/call", func(d *double, m wire.Message) {
			for range 3 {
				d.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
			d.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"l","data":"look out"}}`)
			d.answer(m)
		}))
	},
	"changes-early": func(d *double) {
		d.serve(func(d *double, m wire.Message) bool {
			if jsontext.Text(m.Method) == "tools/list" {
				d.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
			return false
		})
	},
	"notification-flood": func(d *double) {
		w := bufio.NewWriter(d.out)
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			for range 200_000 {
				w.WriteString(`{"jsonrpc":"2.0","method":"notifications/nothing","params":{}}` + "\n")
			}
			w.Flush()
			d.answer(m)
		}))
	},
	"stderr-flood": func(d *double) {
		go func() {
			line := []byte(strings.Repeat("noise ", 20) + "\n")
			for {
				if _, err := os.Stderr.Write(line); err != nil {
					return
				}
			}
		}()
		d.serve()
	},
	"environment": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			d.result(m, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, jsontext.Quoted(strings.Join(os.Environ(), "\n"))))
		}))
	},
	"exits-at-once": func(d *double) {
		fmt.Fprintln(os.Stderr, "one\ntwo\ncannot find the database")
		os.Exit(1)
	},
	"slow-initialize": func(d *double) { d.serve(on("initialize", func(*double, wire.Message) {})) },
	// It refuses to begin after the probe, and is slow without it.
	"slow-when-fresh": func(d *double) {
		probed := false
		d.serve(
			on("server/discover", func(d *double, m wire.Message) { probed = true; d.answer(m) }),
			on("initialize", func(d *double, m wire.Message) {
				if probed {
					d.fail(m, 0, "too late")
				}
			}))
	},
	"never-speaks":  func(d *double) { io.Copy(io.Discard, d.in) },
	"junk-for-ever": func(d *double) { d.junk() },

	// Servers that do not answer with the ids they were given.
	"string-ids": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			d.write(`{"jsonrpc":"2.0","id":"%s","result":{"content":[{"type":"text","text":"ok"}]}}`, m.ID)
		}))
	},
	"null-ids": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			d.write(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"lost the id"}}`)
		}))
	},
	"zero-ids": func(d *double) {
		d.serve(func(d *double, m wire.Message) bool {
			if m.ID != nil {
				m.ID = []byte("0")
			}
			d.answer(m)
			return true
		})
	},
	"foreign-ids": func(d *double) {
		d.serve(func(d *double, m wire.Message) bool {
			m.ID = []byte("77")
			d.answer(m)
			return true
		})
	},
	"id-games": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			for _, id := range []string{"1", "99", `"99"`} {
				d.write(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"wrong"}]}}`, id)
			}
			d.result(m, `{"content":[{"type":"text","text":"right"}]}`)
			d.result(m, `{"content":[{"type":"text","text":"again"}]}`)
		}))
	},
	// It announces changes, asks and tells of progress before it answers.
	"chatters": func(d *double) {
		d.serve(on("tools/call", func(d *double, m wire.Message) {
			d.write("%s"+`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, chat, jsontext.Member(m.Params, "_meta", "progressToken"))
			d.answer(m)
		}))
	},
	"modern-asks": func(d *double) {
		d.serve(on("server/discover", func(d *double, m wire.Message) { d.result(m, modernResult) }),
			on("tools/call", func(d *double, m wire.Message) { d.write("%s%s", chat, wire.ReplyResult(m.ID, []byte(okResult))) }))
	},
}
