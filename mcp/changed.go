package mcp

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// changes is the state of change notifications: those announced and those requested.
type changes struct {
	announced atomic.Bool // the list of tools has changed

	mu      sync.Mutex
	listens map[string]context.CancelFunc // 2026-07-28: open requests for changes of resources, by URI
}

// listenMethod is the request of 2026-07-28 that stays open to receive notifications.
const listenMethod = "subscriptions/listen"

// announcements are the notifications that a server sends when something has changed.
var announcements = []string{
	"notifications/tools/list_changed", "notifications/prompts/list_changed",
	"notifications/resources/list_changed", "notifications/resources/updated",
}

func (s *Session) changed(method string, params []byte) {
	if !slices.Contains(announcements, method) {
		return
	}
	if method == announcements[0] {
		s.changes.announced.Store(true)
	}
	s.report.announced(method, params)
}

// Settle warns, at the end of a run, if the list of tools differs from the one at the start.
// It asks for the list only if the server announced a change, since an announcement may mean
// nothing: a browser's server sends one at every page. It takes at most limit.
func (s *Session) Settle(limit time.Duration) {
	if !s.changes.announced.Swap(false) {
		return
	}
	ctx, cancel := context.WithTimeout(s.life, limit)
	defer cancel()
	var now uint64
	was := s.listing.Load()
	err := s.allPages(ctx, toolList, func(item []byte) { now += maphash.Bytes(was.seed, item) })
	switch {
	case err != nil:
		s.report.log("the list of tools was announced as changed, and could not be read: " + err.Error())
	case now != was.sum:
		s.report.warn("tools_changed", fmt.Sprintf("server %q has a changed list of tools; this run used the list that it began with", s.spec.Name))
	default:
		s.report.log("the list of tools was announced as changed, and is the same")
	}
}

// AnnouncesTools reports whether the server declares that it announces changes of its list of
// tools.
func (s *Session) AnnouncesTools() bool {
	return jsontext.IsTrue(s.agreed.Load().member("capabilities", "tools", "listChanged"))
}

// ToolsAnnounced reports whether the list of tools was announced as changed since it was read.
func (s *Session) ToolsAnnounced() bool { return s.changes.announced.Load() }

// DoubtTools makes ToolsAnnounced true, as if the server had announced a change.
func (s *Session) DoubtTools() { s.changes.announced.Store(true) }

// Relist lists the tools again. From then on Tools returns the new list.
func (s *Session) Relist(ctx context.Context) ([]wire.Tool, error) {
	s.changes.announced.Store(false)
	ctx, _, stop := s.watch(ctx)
	defer stop()
	l, err := s.list(ctx)
	if err != nil {
		return nil, s.failed(toolList.Method, err)
	}
	s.listing.Store(l)
	return l.tools, nil
}

// Watch asks a server of 2026-07-28 to announce changes of its lists. Servers of other
// revisions do so without being asked, over HTTP on the stream that belongs to no request. Call
// it once.
func (s *Session) Watch() {
	switch {
	case s.Protocol() == wire.ModernRevision:
		s.listen(s.life, `"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true`)
	case s.transport == "http" && !s.elicits():
		s.start(s.http.listen)
	}
}

// listen asks for notifications until ctx ends. A server that does not offer them refuses the
// request, or answers it at once.
func (s *Session) listen(ctx context.Context, notifications string) {
	r := s.request(listenMethod, []byte(`{"notifications":{`+notifications+`}}`), nil)
	s.start(func() {
		if _, err := s.conn.exchange(ctx, r); err != nil && ctx.Err() == nil {
			s.report.log("subscriptions/listen: " + err.Error())
		}
	})
}

// Subscribe turns the server's announcements about a resource on or off. If the server answers
// with an error, the returned error wraps a *wire.RPCError.
func (s *Session) Subscribe(ctx context.Context, uri string, on bool) error {
	if s.isLegacy() {
		method := map[bool]string{true: "resources/subscribe", false: "resources/unsubscribe"}[on]
		_, err := s.Request(ctx, &Named{Method: method, Name: uri, Params: append(jsontext.AppendQuoted([]byte(`{"uri":`), uri), '}')})
		return err
	}
	if on && !s.has("resources") {
		return errors.New("the server has no resources")
	}
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	stop := s.changes.listens[uri]
	switch {
	case on == (stop != nil):
		return nil
	case !on:
		stop()
		delete(s.changes.listens, uri)
		return nil
	case s.changes.listens == nil:
		s.changes.listens = map[string]context.CancelFunc{}
	}
	listening, stop := context.WithCancel(s.life)
	s.changes.listens[uri] = stop
	s.listen(listening, `"resourceSubscriptions":[`+string(jsontext.Quoted(uri))+`]`)
	return nil
}
