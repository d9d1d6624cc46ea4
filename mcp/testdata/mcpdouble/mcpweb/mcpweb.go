//go:build unix

// Package mcpweb is the tool server of package mcpdouble over HTTP, as a package of its
// own, because the program over stdio starts faster without HTTP.
package mcpweb

import (
	"fmt"
	"io"
	"net/http"

	"github.com/tidwall/gjson"

	"toolpipe/mcp/testdata/mcpdouble"
)

// A Server answers with JSON bodies, unless its fields say otherwise.
type Server struct {
	*mcpdouble.Server
	Auth    string                                                                       // the bearer token that it requires
	SSE     bool                                                                         // answers as an event stream
	Session bool                                                                         // with a session id
	Admits  func(w http.ResponseWriter, r *http.Request, message gjson.Result) (ok bool) // refuses what it does not admit
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{"Authorization", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "X-Extra"} {
		if value := r.Header.Get(name); value != "" {
			s.Record("%s %s: %s", r.Method, name, value)
		}
	}
	if s.Auth != "" && r.Header.Get("Authorization") != "Bearer "+s.Auth {
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
	if s.Admits != nil && !s.Admits(w, r, message) {
		return
	}
	if s.Session && method != "initialize" && method != "server/discover" && r.Header.Get("Mcp-Session-Id") != "session-1" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if s.Session && method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "session-1")
	}
	if method == "tools/call" && message.Get("params.name").String() == "die" {
		s.Record("tools/call die")
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
		return
	}
	if !message.Get("id").Exists() || method == "" {
		s.Handle(message, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if s.SSE {
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
			if s.SSE {
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
