//go:build unix

package endtoend

import (
	"flag"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"toolpipe/mcp/testdata/mcpdouble"
	"toolpipe/mcp/testdata/mcpdouble/mcpweb"
)

// native says that the program is built with its Linux files.
const native = mcpdouble.Native

// A fakeServer is a tool server over HTTP, which may have an authorization server.
type fakeServer struct {
	mcpweb.Server
	issuer *fakeIssuer // gives the tokens that it requires
}

func newFakeServer(args []string) (*fakeServer, error) {
	s := &fakeServer{}
	var busy string
	oauth, a := false, &fakeIssuer{codes: map[string]url.Values{}, access: map[string][]string{}, refresh: map[string][]string{}}
	var err error
	s.Server.Server, err = mcpdouble.New(args, func(flags *flag.FlagSet) {
		flags.StringVar(&s.Auth, "auth", "", "bearer token to insist on")
		flags.BoolVar(&oauth, "oauth", false, "be an authorization server too, and insist on its tokens")
		flags.IntVar(&a.life, "life", 0, "oauth: seconds for which a token is said to be good")
		flags.StringVar(&a.scope, "scope", "", "oauth: scope to ask for")
		flags.StringVar(&a.writes, "write-scope", "", "oauth: scope that a call of write needs")
		flags.BoolVar(&a.open, "open", false, "oauth: only calls need a token")
		flags.StringVar(&a.withdraw, "withdraw", "", "oauth: withdraw the token of the first request with this method")
		flags.StringVar(&a.refuse, "refuse", "", "oauth: the answers to the first refreshes, such as '429 slow_down,503'")
		flags.BoolVar(&a.final, "final", false, "oauth: refuse every refresh token")
		flags.BoolVar(&a.alone, "no-refresh", false, "oauth: give no refresh token")
		flags.StringVar(&a.page, "page", "", "oauth: address of the page to sign in")
		flags.StringVar(&a.old, "old", "", "oauth: as MCP 2025-03-26: metadata (of the issuer alone), bare, or down")
		flags.BoolVar(&a.dpop, "dpop", false, "oauth: bind tokens to a key")
		flags.BoolVar(&a.deny, "deny", false, "oauth: the person refuses")
		flags.BoolVar(&a.garbled, "garbled", false, "oauth: give tokens in a reply that cannot be read")
		flags.BoolVar(&a.down, "down", false, "oauth: fail at every refresh")
		flags.BoolVar(&s.SSE, "sse", false, "answer as an event stream")
		flags.BoolVar(&s.Session, "session", false, "use a session id")
		flags.StringVar(&busy, "busy", "", "METHOD:SECONDS: refuse the first request with this method with 429 and that Retry-After")
	})
	if err != nil {
		return nil, err
	}
	if oauth {
		s.issuer, a.hostile, s.Admits = a, s.Hostile, a.admits
	}
	if method, seconds, ok := strings.Cut(busy, ":"); ok {
		var refused atomic.Bool
		s.Admits = func(w http.ResponseWriter, _ *http.Request, message gjson.Result) bool {
			if message.Get("method").String() != method || !refused.CompareAndSwap(false, true) {
				return true
			}
			s.Record("%s refused", method)
			w.Header().Set("Retry-After", seconds)
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return false
		}
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
	if s.issuer == nil || !s.issuer.handle(w, r, s.Record) {
		s.Server.ServeHTTP(w, r)
	}
}
