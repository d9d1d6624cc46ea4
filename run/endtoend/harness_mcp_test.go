//go:build unix

package endtoend

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/tidwall/gjson"

	"toolpipe/mcp/testdata/mcpdouble"
)

// native says that the program is built with its Linux files.
const native = mcpdouble.Native

// A fakeServer is the tool server of package mcpdouble over HTTP.
type fakeServer struct {
	*mcpdouble.Server
	auth    string      // the bearer token that it requires
	sse     bool        // answers as an event stream
	session bool        // with a session id
	issuer  *fakeIssuer // gives the tokens that it requires
}

func newFakeServer(args []string) (*fakeServer, error) {
	s := &fakeServer{}
	oauth, a := false, &fakeIssuer{codes: map[string]url.Values{}, access: map[string][]string{}, refresh: map[string][]string{}}
	var err error
	s.Server, err = mcpdouble.New(args, func(flags *flag.FlagSet) {
		flags.StringVar(&s.auth, "auth", "", "bearer token to insist on")
		flags.BoolVar(&oauth, "oauth", false, "be an authorization server too, and insist on its tokens")
		flags.IntVar(&a.life, "life", 0, "oauth: seconds for which a token is said to be good")
		flags.StringVar(&a.scope, "scope", "", "oauth: scope to ask for")
		flags.StringVar(&a.writes, "write-scope", "", "oauth: scope that a call of write needs")
		flags.BoolVar(&a.open, "open", false, "oauth: only calls need a token")
		flags.StringVar(&a.withdraw, "withdraw", "", "oauth: withdraw the token of the first request with this method")
		flags.BoolVar(&a.final, "final", false, "oauth: refuse every refresh token")
		flags.BoolVar(&a.alone, "no-refresh", false, "oauth: give no refresh token")
		flags.StringVar(&a.page, "page", "", "oauth: address of the page to sign in")
		flags.BoolVar(&a.deny, "deny", false, "oauth: the person refuses")
		flags.BoolVar(&a.garbled, "garbled", false, "oauth: give tokens in a reply that cannot be read")
		flags.BoolVar(&a.down, "down", false, "oauth: fail at every refresh")
		flags.BoolVar(&s.sse, "sse", false, "answer as an event stream")
		flags.BoolVar(&s.session, "session", false, "use a session id")
	})
	if err != nil {
		return nil, err
	}
	if oauth {
		s.issuer, a.hostile = a, s.Hostile
	}
	return s, nil
}

// serveHTTP makes s an HTTP server and gives its URL.
func (s *fakeServer) serveHTTP() (url string, closeServer func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: s}
	go server.Serve(listener)
	return "http://" + listener.Addr().String() + "/mcp", func() { server.Close() }, nil
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.issuer != nil && s.issuer.handle(w, r, s.Record) {
		return
	}
	for _, name := range []string{"Authorization", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "X-Extra"} {
		if value := r.Header.Get(name); value != "" {
			s.Record("%s %s: %s", r.Method, name, value)
		}
	}
	if s.auth != "" && r.Header.Get("Authorization") != "Bearer "+s.auth {
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":"unauthorized"}`)
		return
	}
	if r.Method != http.MethodPost {
		s.Record("%s", r.Method)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	message := gjson.ParseBytes(body)
	method := message.Get("method").String()
	if s.issuer != nil && !s.issuer.admits(w, r, message) {
		return
	}
	if s.session && method != "initialize" && method != "server/discover" && r.Header.Get("Mcp-Session-Id") != "session-1" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if s.session && method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "session-1")
	}
	if method == "tools/call" && message.Get("params.name").String() == "die" {
		s.Record("tools/call die")
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
		return
	}
	if !message.Get("id").Exists() {
		s.Handle(message, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if s.sse {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	// Only this goroutine writes the response: a tool may still answer when the client
	// is gone and the response has ended.
	texts, ended := make(chan string), make(chan struct{})
	defer close(ended)
	go s.Handle(message, func(text string) {
		select {
		case texts <- text:
		case <-ended:
		}
	})
	for {
		select {
		case <-r.Context().Done():
			return
		case text := <-texts:
			answer := gjson.Get(text, "id").Exists() && !gjson.Get(text, "method").Exists()
			if s.sse {
				fmt.Fprintf(w, "event: message\r\ndata: %s\r\n\r\n", text)
				w.(http.Flusher).Flush()
			} else if answer {
				io.WriteString(w, text)
			}
			if answer {
				return
			}
		}
	}
}
