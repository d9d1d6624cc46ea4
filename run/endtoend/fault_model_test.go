//go:build unix

package endtoend

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"toolpipe/testdata/load"
)

// TestFaultRedirects checks that no redirect is followed, whatever its status
// and target. The error may name the host of the target, but not its path or
// query.
func TestFaultRedirects(t *testing.T) {
	t.Parallel()
	canary := serveRaw(t, nil)
	port := canary.listener.Addr().String()[strings.LastIndexByte(canary.listener.Addr().String(), ':')+1:]
	targets := map[string]string{
		"other port": canary.url() + "/hidden?q=hidden", "other host": "http://localhost:" + port + "/hidden",
		"subdomain": "http://sub.127.0.0.1.localhost:" + port + "/hidden", "file": "file:///etc/hidden",
		"itself": "", "no scheme": "//localhost:" + port + "/hidden", "userinfo": "http://u:hidden@127.0.0.1:" + port + "/",
	}
	s := newFault(t, "")
	for _, status := range []int{301, 302, 303, 307, 308} {
		for name, target := range targets {
			model := serveRaw(t, func(w io.Writer, r *http.Request, _ []byte) bool {
				head(w, status, "Location: "+target, "Content-Length: 0")
				return false
			})
			s.env["BASE"] = model.url() + "/v1"
			s.do("toolpipe --base-url $BASE hi => 3\n! stderr hidden\n! stdout .")
			if got := model.got(); len(got) != 1 {
				t.Errorf("%d to %s: %d requests", status, name, len(got))
			}
		}
	}
	canary.untouched(t)
}

// TestFaultMCPRedirect checks that a redirect to another origin gets neither the
// bearer token nor another header of a tool server, nor the request's body.
func TestFaultMCPRedirect(t *testing.T) {
	t.Parallel()
	canary := serveRaw(t, nil)
	s := newFault(t, "-- web.json --\n{\"mcpServers\":{\"web\":{\"url\":\"${WEB_URL}\",\"headers\":{\"X-Api-Key\":\"${OTHER_SECRET}\"},\"auth_env\":\"TOKEN\"}}}\n")
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, host := range []string{"127.0.0.1", "localhost"} {
			web := serveRaw(t, func(w io.Writer, r *http.Request, _ []byte) bool {
				_, port, _ := strings.Cut(canary.listener.Addr().String(), ":")
				head(w, status, "Location: http://"+host+":"+port+"/mcp", "Content-Length: 0")
				return false
			})
			s.env["WEB_URL"] = web.url() + "/mcp"
			s.do("env TOKEN=canary\ntoolpipe --mcp-config web.json hi => 4\nstderr web")
			if len(web.got()) == 0 {
				t.Error("the server itself was not asked")
			}
		}
	}
	canary.untouched(t)
}

// TestFaultKeyOrigin checks that a key goes over plain http to loopback only,
// and that no spelling of a URL sends it to another host.
func TestFaultKeyOrigin(t *testing.T) {
	t.Parallel()
	canary := serveRaw(t, nil)
	s := newFault(t, "")
	s.env["HTTP_PROXY"] = canary.url() // a request to any other host would come here
	for _, url := range []string{"http://192.0.2.1/v1", "http://127.0.0.1.example/v1", "http://localhost.example/v1", "http://good@192.0.2.1/v1",
		"http://127.0.0.1@192.0.2.1/v1", "http://[2001:db8::1]/v1", "http://0x7f.1.example/v1", "HTTP://MODEL.EXAMPLE/v1", "http://localhost./v1"} {
		s.env["BASE"] = url
		s.do("toolpipe --base-url $BASE hi => 2\nstderr -count=1 '^toolpipe: error: '")
	}
	canary.untouched(t)
}

// TestFaultBodies sends replies that never end, come slowly or grow when they are
// decompressed: the run ends in bounded memory, with a failure of the model or
// by the run's time limit.
func TestFaultBodies(t *testing.T) {
	t.Parallel()
	gzipped := func(text string) []byte {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		z.Write([]byte(text))
		z.Close()
		return b.Bytes()
	}
	bomb := func(w io.Writer) { // members of gzip follow one another
		w.Write(gzipped(chatText("Hel")))
		w.Write(bytes.Repeat(gzipped(strings.Repeat(": comment\n\n", 1<<20/11)), 300)) // of 1 MiB
	}
	forever := func(w io.Writer, piece string, pause time.Duration) {
		for {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
			time.Sleep(pause)
		}
	}
	for name, test := range map[string]struct {
		status string
		head   []string
		body   func(w io.Writer)
		heavy  bool
	}{
		"gzip bomb":      {"3", []string{eventStream, "Content-Encoding: gzip"}, bomb, true},
		"brotli":         {"3", []string{eventStream, "Content-Encoding: br"}, func(w io.Writer) { io.WriteString(w, "\x8b\x02\x80hello\x03") }, false},
		"endless line":   {"3", []string{eventStream}, func(w io.Writer) { io.WriteString(w, "data: "); forever(w, strings.Repeat("x", 1<<20), 0) }, true},
		"comments":       {"6", []string{eventStream}, func(w io.Writer) { forever(w, ": ping\n\n", 100*time.Millisecond) }, false},
		"byte by byte":   {"6", []string{eventStream}, func(w io.Writer) { slowly(w, strings.Repeat(chatText("x"), 9)) }, false},
		"endless header": {"3", []string{eventStream, "X-Long: " + strings.Repeat("x", 20<<20)}, func(w io.Writer) {}, false},
		"no HTTP":        {"3", nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.heavy && load.RaceDetector() {
				t.Skip("moves hundreds of MiB")
			}
			model := serveRaw(t, func(w io.Writer, r *http.Request, _ []byte) bool {
				if test.body == nil {
					io.WriteString(w, "SSH-2.0-OpenSSH_9.7\r\n")
					return false
				}
				head(w, 200, test.head...)
				test.body(w)
				return false
			})
			s := newFault(t, "")
			s.env["BASE"] = model.url() + "/v1"
			limit := "120"
			if test.status == "6" {
				limit = "2"
			}
			s.do("toolpipe -o ndjson --timeout " + limit + " --base-url $BASE hi => " + test.status)
		})
	}
}

func slowly(w io.Writer, text string) {
	for i := range len(text) {
		if _, err := io.WriteString(w, text[i:i+1]); err != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestFaultMediaTypes checks that a reply of another type than an event stream
// is not an answer, and that a parameter of the media type does not matter.
func TestFaultMediaTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status string
		code   int
		head   string
		body   string
	}{
		"login page":    {"3", 200, "Content-Type: text/html", "<html><title>Sign in</title>" + chatText("evil") + chatEnd},
		"error":         {"3", 200, "Content-Type: application/json", `{"error":{"message":"no","code":400}}`},
		"no content":    {"3", 204, "Content-Length: 0", ""},
		"empty":         {"3", 200, eventStream, ""},
		"charset":       {"0", 200, eventStream + "; charset=utf-8", chatText("Hello") + chatEnd},
		"upper case":    {"0", 200, "content-type: TEXT/EVENT-STREAM", chatText("Hello") + chatEnd},
		"only comments": {"3", 200, eventStream, ": a\n\n: b\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := serveRaw(t, func(w io.Writer, r *http.Request, _ []byte) bool {
				head(w, test.code, test.head)
				io.WriteString(w, test.body)
				return false
			})
			s := newFault(t, "")
			s.env["BASE"] = model.url() + "/v1"
			s.do("toolpipe -o ndjson --base-url $BASE hi => " + test.status + "\n! event end.text ~evil")
			if n := len(model.got()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestFaultUnknownTools checks that only the exact name of an offered tool calls
// it. For any other name nothing runs, and the model is told.
func TestFaultUnknownTools(t *testing.T) {
	t.Parallel()
	w := &chatWriter{number: 1}
	names := []string{"FS__echo", "fs__Echo", "fs__echo ", " fs__echo", "fs__\u0435cho", "fs__echo\n", "echo", "fs__echo\x00", "fs/echo", "fs.echo", ""}
	reply := ""
	for _, name := range names {
		reply += w.call("", name, `{"text":"x"}`)
	}
	reply += w.finish("calls") + w.done()
	s := newFault(t, fmt.Sprintf("-- m --\nreply\nraw %q\nreply\ntext \"Done.\"\n", reply))
	s.do(`model m
toolpipe -o ndjson -y -s x -t fs="$MCP -log $WORK/log" hi => 0 3
! grep tools/call log`)
}
