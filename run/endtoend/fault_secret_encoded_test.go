//go:build unix

package endtoend

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolpipe/testdata/load"
)

// spellings are the encodings in which a secret may come back.
var spellings = map[string]func(string) string{
	"as it is":           func(s string) string { return s },
	"base64":             func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 behind 1":    func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(":" + s + "!")) },
	"base64 behind 2":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte("k=" + s + "\n")) },
	"hex":                func(s string) string { return hex.EncodeToString([]byte(s)) },
	"upper-case hex":     func(s string) string { return fmt.Sprintf("%X", s) },
	"percent-encoded":    func(s string) string { return eachByte("%%%02x", s) },
	"percent in capital": func(s string) string { return eachByte("%%%02X", s) },
	"half of it percent": func(s string) string { return s[:5] + eachByte("%%%02x", s[5:9]) + s[9:] },
	"reversed": func(s string) string {
		b := []byte(s)
		slices.Reverse(b)
		return string(b)
	},
}

func eachByte(format, s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

// sayEverywhere is a model that writes a word in every place of a reply, calls
// two tools with it, and then answers with it.
func sayEverywhere(t *testing.T, word string) *rawServer {
	return serveRaw(t, func(w io.Writer, _ *http.Request, body []byte) bool {
		c := &chatWriter{number: 1}
		io.WriteString(w, okHead)
		if strings.Contains(string(body), `"role":"tool"`) {
			io.WriteString(w, c.text("The answer is "+word+".")+c.finish("stop")+c.done())
			return false
		}
		call := func(index int, name, arguments string) string {
			return c.chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%q,"arguments":%s}}]}`,
				index, quote(fmt.Sprintf("id-%d-%s", index, word)), name, quote(arguments)), "null")
		}
		io.WriteString(w, c.reasoning("I think "+word+".")+c.text("I say "+word+".")+
			call(0, "fs__args", `{"text":`+quote(word)+`}`)+call(1, "fs__fail", `{"text":"`+eachByte(`\u%04x`, word)+`"}`)+
			c.finish("calls")+c.done())
		return false
	})
}

// TestFaultSecretsEncoded lets the model and a server send back the model's key
// and the server's token in other encodings. Every run checks that they are not
// shown; here the requests must keep every byte.
func TestFaultSecretsEncoded(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"TOOLPIPE_API_KEY", "FS_TOKEN"} {
		for how, spell := range spellings {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				if how != map[string]string{"TOOLPIPE_API_KEY": "base64 behind 1", "FS_TOKEN": "percent-encoded"}[name] {
					load.Variant(t)
				}
				s := newFault(t, "-- servers.in --\n"+`{"mcpServers":{"fs":{"command":"MCP","args":["-tools","args,fail","-log","sent"],"cwd":"WORK","inherit_env":["FS_TOKEN"]}}}`+"\n")
				s.begin("env FS_TOKEN=canary\nsecret sent\nsh 'sed \"s|MCP|$MCP|; s|WORK|$WORK|\" servers.in > servers.json'")
				word := spell(s.canaries[name])
				s.env["URL"] = sayEverywhere(t, word).url() + "/v1"
				s.begin(`toolpipe -vv -o ndjson -y --egress off --base-url $URL --log log --record tape --mcp-config servers.json hi
event reasoning.text '~I think .*\[secret\].*\.$'
event text[1].text '~I say .*\[secret\].*\.$'
event tool_call[1].arguments.text '~\[secret\]'
event tool_call[2].arguments.text '~\[secret\]'
event tool_result[1].text '~\[secret\]'
event tool_result[2].text '~\[secret\]'
event tool_result[1].content.0.text '~\[secret\]'
event end.text '~^The answer is .*\[secret\].*\.$'
grep 'The answer is .*\[secret\]' tape
grep 'model < data: .*I think .*\[secret\]' stderr
grep 'fs > .*tools/call.*\[secret\]' stderr
toolpipe -o ndjson -y --egress off --replay tape --mcp-config servers.json hi
event end.text '~^The answer is .*\[secret\].*\.$'
toolpipe -o text -y --egress off --base-url $URL --mcp-config servers.json hi
stdout '^The answer is .*\[secret\].*\.$'
toolpipe -o json -y --egress off --base-url $URL --mcp-config servers.json hi
json stdout text '~^The answer is .*\[secret\].*\.$'
tty -on=12 toolpipe -v -y --egress off --base-url $URL --mcp-config servers.json hi
screen "The answer is .*.secret.*"`)
				sent, _ := os.ReadFile(filepath.Join(s.work, "sent"))
				if want := `tools/call args {"text":` + quote(word) + `}`; !strings.Contains(string(sent), want+"\n") {
					t.Errorf("what was sent is not %s:\n%s", want, sent)
				}
				if err := s.finish(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestFaultSecretsInPieces sends a secret in many deltas. The events agree with
// the answer, and at most a few bytes of the secret are left.
func TestFaultSecretsInPieces(t *testing.T) {
	t.Parallel()
	for how, spell := range spellings {
		if strings.HasPrefix(how, "half") {
			continue // found only where it is in one piece
		}
		for _, size := range []int{1, 2, 5, 17} {
			t.Run(fmt.Sprint(how, " by ", size), func(t *testing.T) {
				t.Parallel()
				if size != 5 {
					load.Variant(t)
				}
				s := newFault(t, "")
				word := spell(s.canaries["TOOLPIPE_API_KEY"])
				server := serveRaw(t, func(w io.Writer, _ *http.Request, _ []byte) bool {
					c := &chatWriter{number: 1}
					var reasoning, text strings.Builder
					for piece := range slices.Chunk([]byte("The key is "+word+", I said."), size) {
						reasoning.WriteString(c.reasoning(string(piece)))
						text.WriteString(c.text(string(piece)))
					}
					io.WriteString(w, okHead+reasoning.String()+text.String()+c.finish("stop")+c.done())
					return false
				})
				s.env["URL"] = server.url() + "/v1"
				s.do(`toolpipe -o ndjson --base-url $URL --log log hi
event end.text '~^The key is .*\[secret\].*, I said\.$'
toolpipe --base-url $URL hi
stdout '^The key is .*\[secret\].*, I said\.$'
toolpipe --stream -v --base-url $URL hi
stdout '^The key is .*\[secret\].*, I said\.$'
stderr 'The key is .*\[secret\].*, I said\.'`)
			})
		}
	}
}

// TestFaultSecretsProxy lets a proxy send its credentials back wherever it can.
func TestFaultSecretsProxy(t *testing.T) {
	t.Parallel()
	for how, reply := range map[string]func(user, password, sent string) string{
		"status line": func(u, p, s string) string {
			return "HTTP/1.1 407 " + u + " " + p + " " + s + "\r\nConnection: close\r\n\r\n"
		},
		"header": func(u, p, s string) string {
			return "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"" + u + ":" + p + "\"\r\nX: " + s + "\r\nConnection: close\r\n\r\n"
		},
		"body": func(u, p, s string) string {
			return "HTTP/1.1 502 No\r\nConnection: close\r\n\r\n" + u + ":" + p + " " + s
		},
		"broken head":    func(u, p, s string) string { return "HTTP/1.1 " + p + " " + s + "\r\n\r\n" },
		"no HTTP at all": func(u, p, s string) string { return u + ":" + p + "@ " + s + "\r\n\r\n" },
	} {
		for _, target := range []string{"http", "https"} {
			t.Run(how+"/"+target, func(t *testing.T) {
				t.Parallel()
				s := newFault(t, "")
				s.begin("env PROXY_USER=canary PROXY_PASSWORD=canary TOKEN=canary")
				proxy := serveRaw(t, func(w io.Writer, r *http.Request, _ []byte) bool {
					_, sent, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
					if sent == "" {
						t.Error("the proxy got no credentials")
					}
					s.canaries["PROXY_CREDENTIALS"] = sent
					io.WriteString(w, reply(s.canaries["PROXY_USER"], s.canaries["PROXY_PASSWORD"], sent))
					return false
				})
				address := "http://" + s.canaries["PROXY_USER"] + ":" + url.PathEscape(s.canaries["PROXY_PASSWORD"]) + "@" + strings.TrimPrefix(proxy.url(), "http://")
				s.env["HTTP_PROXY"], s.env["HTTPS_PROXY"], s.env["TARGET"] = address, address, target+"://model.test"
				s.do(`toolpipe -vv -o ndjson --timeout 20 --log log --record tape --insecure-http model.test --base-url $TARGET/v1 hi => 3
stderr 'model\.test'
toolpipe -vv -o ndjson --timeout 20 --log log -t web=$TARGET/mcp --mcp-auth-env web=TOKEN --insecure-http model.test hi => 4
stderr 'web'`)
			})
		}
	}
	// The invalid address of a proxy is not shown either.
	s := newFault(t, "")
	s.begin("env PROXY_PASSWORD=canary")
	s.env["HTTP_PROXY"] = "http://me:" + s.canaries["PROXY_PASSWORD"] + "@127.0.0.1:port /"
	s.do("toolpipe -vv --insecure-http model.test --base-url http://model.test/v1 hi => 3")
}
