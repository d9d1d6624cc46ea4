package toolserver

import (
	"context"
	"maps"
	"slices"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

const listChanged = "notifications/tools/list_changed"

const resourceUpdated = "notifications/resources/updated"

// lists are the lists that may change: the member of subscriptions/listen for it, and the
// notification of a change.
var lists = []struct{ member, notification string }{
	{"toolsListChanged", listChanged},
	{"promptsListChanged", "notifications/prompts/list_changed"},
	{"resourcesListChanged", "notifications/resources/list_changed"},
}

// maxListens is how many subscriptions a client may have at once, and to how many resources.
const maxListens = 256

// listens is the set of a client's subscriptions, without the resources.
type listens struct {
	logLevel int         // set by a legacy client: the index in logLevels
	lowest   int         // the lowest level that a request of 2026-07-28 asked for
	legacy   *listener   // gets the changes of all lists
	all      []*listener // requests of 2026-07-28 that stay open
}

// A listener is a request subscriptions/listen. The listener of a legacy client has no id.
type listener struct {
	client *connection
	id     string   // of the request, as received
	open   bool     // it gets notifications
	lists  []string // the requested notifications
}

// listen handles a request that stays open until the client cancels it or the connection
// ends. Its first notification lists the granted subscriptions; finding them may take a
// while.
func (c *connection) listen(m wire.Message) {
	l := &listener{client: c, id: string(m.ID)}
	c.mu.Lock()
	refused := len(c.listens.all) >= maxListens || slices.ContainsFunc(c.listens.all, func(other *listener) bool { return other.id == l.id })
	if !refused {
		c.listens.all = append(c.listens.all, l)
	}
	c.mu.Unlock()
	if refused {
		c.reply(m.ID, nil, &wire.RPCError{Code: codeBusy, Message: "too many subscriptions, or two of one id"})
		return
	}
	goroutine.Start(func() { c.grant(l, jsontext.Member(m.Params, "notifications")) })
}

// grant grants a subscription what it asks for, as far as it is supported.
func (c *connection) grant(l *listener, asked []byte) {
	var known []string
	granted := []byte{'{'}
	for _, list := range lists {
		if jsontext.IsTrue(jsontext.Member(asked, list.member)) && (list.notification != listChanged || c.server.Front.ToolsChange) {
			known = append(known, list.notification)
			granted = jsontext.AppendMember(granted, list.member, []byte("true"))
		}
	}
	var quoted []byte
	for _, uri := range jsontext.Strings(jsontext.Member(asked, "resourceSubscriptions")) {
		if c.server.subscribe(c.ctx, l, uri, true) == nil {
			quoted = append(append(quoted, ','), jsontext.Quoted(uri)...)
		}
	}
	if quoted != nil {
		quoted[0] = '['
		granted = jsontext.AppendMember(granted, "resourceSubscriptions", append(quoted, ']'))
	}
	params := append(append([]byte(`{"_meta":`), l.meta()...), `,"notifications":`...)
	c.mu.Lock()
	defer c.mu.Unlock()
	l.lists, l.open = known, true
	if !slices.Contains(c.listens.all, l) { // it has ended meanwhile
		goroutine.Start(func() { c.server.forget(l) })
		return
	}
	c.put(wire.Notification("notifications/subscriptions/acknowledged", append(append(params, granted...), "}}"...)), false)
}

// meta is the _meta that names the subscription in its messages.
func (l *listener) meta() string {
	return `{"io.modelcontextprotocol/subscriptionId":` + l.id + `}`
}

// unlisten ends the subscription with that id, which gets no answer. The connection is
// locked.
func (c *connection) unlisten(id string) {
	for i, l := range c.listens.all {
		if l.id == id {
			c.listens.all = slices.Delete(c.listens.all, i, i+1)
			goroutine.Start(func() { c.server.forget(l) })
			return
		}
	}
}

// endListens answers all subscriptions at the end of the server, and ends them.
func (c *connection) endListens() {
	c.mu.Lock()
	all := c.listens.all
	c.listens.all = nil
	c.mu.Unlock()
	for _, l := range all {
		c.reply([]byte(l.id), []byte(`{"resultType":"complete","_meta":`+l.meta()+`}`), nil)
		goroutine.Start(func() { c.server.forget(l) })
	}
}

// forget ends a listener's subscriptions to resources, even after the end of the client.
func (s *Server) forget(l *listener) {
	for _, uri := range s.Subscribed() {
		s.subscribe(context.WithoutCancel(l.client.ctx), l, uri, false)
	}
}

// subscribe adds a subscriber of a resource, or removes it. Only the first and the last one
// cause a call of the front.
func (s *Server) subscribe(ctx context.Context, l *listener, uri string, on bool) error {
	s.guard.Lock()
	before := s.subscribers[uri]
	known := slices.Contains(before, l)
	if known == on || on && s.otherResources(l.client, uri) >= maxListens {
		s.guard.Unlock()
		if on && known {
			return nil
		}
		return invalidParams("not subscribed, or too many subscriptions")
	}
	now := slices.DeleteFunc(slices.Clone(before), func(other *listener) bool { return other == l })
	if on {
		now = append(now, l)
	}
	if s.subscribers[uri] = now; len(now) == 0 {
		delete(s.subscribers, uri)
	}
	s.guard.Unlock()
	if len(before) > 0 && len(now) > 0 {
		return nil
	}
	err := s.Front.Subscribe(ctx, uri, on)
	if err != nil && on {
		s.guard.Lock()
		delete(s.subscribers, uri)
		s.guard.Unlock()
	}
	return err
}

// otherResources is the number of further resources that a client subscribes to. The guard is
// locked.
func (s *Server) otherResources(c *connection, than string) (n int) {
	for uri, all := range s.subscribers {
		if uri != than && slices.ContainsFunc(all, func(l *listener) bool { return l.client == c }) {
			n++
		}
	}
	return n
}

// Subscribed are the resources that clients of Serve subscribe to.
func (s *Server) Subscribed() []string {
	s.guard.Lock()
	defer s.guard.Unlock()
	return slices.Collect(maps.Keys(s.subscribers))
}

// Announce notifies the subscribed clients of Serve that a list or a resource has changed.
// params are the params of the notification.
func (s *Server) Announce(method string, params []byte) {
	var subscribers []*listener
	if method == resourceUpdated {
		uri := jsontext.Text(jsontext.Member(params, "uri"))
		params = append(jsontext.AppendMember([]byte{'{'}, "uri", jsontext.Quoted(uri)), '}')
		s.guard.Lock()
		subscribers = s.subscribers[uri]
		s.guard.Unlock()
	}
	s.eachClient(func(c *connection) { c.announce(method, subscribers, params) })
}

func (c *connection) announce(method string, subscribers []*listener, params []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range append(c.listens.all[:len(c.listens.all):len(c.listens.all)], c.listens.legacy) {
		own := params
		if l.id != "" {
			own = append(jsontext.AppendMember(params[:len(params)-1:len(params)-1], "_meta", []byte(l.meta())), '}')
		}
		isOfList := slices.Contains(l.lists, method) || l.id == "" && method != resourceUpdated
		if l.open && (isOfList || slices.Contains(subscribers, l)) {
			c.put(wire.Notification(method, own), true)
		}
	}
}
