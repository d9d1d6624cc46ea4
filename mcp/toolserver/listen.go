package toolserver

import (
	"context"
	"maps"
	"slices"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// listChanged is the notification that the list of tools has changed.
const listChanged = "notifications/tools/list_changed"

// resourceUpdated is the notification that a resource has changed.
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

// listens is the set of a client's subscriptions. A legacy client gets the changes of all
// lists.
type listens struct {
	legacy   bool // the client has begun with initialize
	logLevel int  // set by a legacy client: the index in logLevels
	lowest   int  // the lowest level that a request of 2026-07-28 asked for

	all  []*listener    // requests of 2026-07-28 that stay open
	uris map[string]int // the number of subscriptions to each resource
}

// A listener is a request subscriptions/listen.
type listener struct {
	id    string   // of the request, as received
	lists []string // the requested notifications
	uris  []string
}

// listen handles a request that stays open until the client cancels it or the connection
// ends. Its first notification lists the granted subscriptions; finding them may take a
// while.
func (c *connection) listen(m wire.Message) {
	l := &listener{id: string(m.ID)}
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
	var uris []string
	var quoted []byte
	for _, uri := range jsontext.Strings(jsontext.Member(asked, "resourceSubscriptions")) {
		if c.interest(uri, 1) == nil {
			uris = append(uris, uri)
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
	l.lists, l.uris = known, uris
	if !slices.Contains(c.listens.all, l) { // it has ended meanwhile
		goroutine.Start(func() { c.forget(l) })
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
			goroutine.Start(func() { c.forget(l) })
			return
		}
	}
}

// endListens answers all subscriptions at the end of the server.
func (c *connection) endListens() {
	c.mu.Lock()
	all := c.listens.all
	c.listens.all = nil
	c.mu.Unlock()
	for _, l := range all {
		c.reply([]byte(l.id), []byte(`{"resultType":"complete","_meta":`+l.meta()+`}`), nil)
	}
}

// forget removes a subscription's interest in resources.
func (c *connection) forget(l *listener) {
	c.mu.Lock()
	uris := l.uris
	l.uris = nil
	c.mu.Unlock()
	for _, uri := range uris {
		c.interest(uri, -1)
	}
}

// interest adds a subscription of the client to a resource, or removes one. Only the first
// and the last change something at the server.
func (c *connection) interest(uri string, more int) error {
	c.mu.Lock()
	was := c.listens.uris[uri]
	if was == 0 && (more < 0 || len(c.listens.uris) >= maxListens) {
		c.mu.Unlock()
		return invalidParams("not subscribed, or too many subscriptions")
	}
	if c.listens.uris[uri] += more; c.listens.uris[uri] == 0 {
		delete(c.listens.uris, uri)
	}
	c.mu.Unlock()
	if was > 0 && was+more > 0 {
		return nil
	}
	err := c.server.interest(c.ctx, uri, more)
	if err != nil && more > 0 {
		c.mu.Lock()
		delete(c.listens.uris, uri)
		c.mu.Unlock()
	}
	return err
}

// subscribe answers a legacy client that subscribes to a resource or unsubscribes.
func (c *connection) subscribe(sent context.Context, m wire.Message, on bool) {
	uri := jsontext.Text(jsontext.Member(m.Params, "uri"))
	c.begin(sent, m, func(context.Context, *request) func() ([]byte, error) {
		return func() ([]byte, error) {
			more := map[bool]int{true: 1, false: -1}[on]
			c.mu.Lock()
			again := on && c.listens.uris[uri] > 0
			c.mu.Unlock()
			if again {
				return []byte("{}"), nil
			}
			return []byte("{}"), c.interest(uri, more)
		}
	})
}

// Subscribed are the resources that clients of Serve subscribe to.
func (s *Server) Subscribed() []string {
	s.guard.Lock()
	defer s.guard.Unlock()
	return slices.Collect(maps.Keys(s.interests))
}

// Announce notifies the subscribed clients of Serve that a list or a resource has changed.
// params are the params of the notification.
func (s *Server) Announce(method string, params []byte) {
	uri := ""
	if method == resourceUpdated {
		uri = jsontext.Text(jsontext.Member(params, "uri"))
		params = append(jsontext.AppendMember([]byte{'{'}, "uri", jsontext.Quoted(uri)), '}')
	}
	s.eachClient(func(c *connection) { c.announce(method, uri, params) })
}

func (c *connection) announce(method, uri string, params []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listens.legacy && (uri == "" || c.listens.uris[uri] > 0) {
		c.put(wire.Notification(method, params), true)
	}
	for _, l := range c.listens.all {
		if uri == "" && slices.Contains(l.lists, method) || uri != "" && slices.Contains(l.uris, uri) {
			own := jsontext.AppendMember(params[:len(params)-1:len(params)-1], "_meta", []byte(l.meta()))
			c.put(wire.Notification(method, append(own, '}')), true)
		}
	}
}
