package modes

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/toolbox"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// instructions combines the servers' instructions that the user shows to clients, each under the
// server's name.
func (m *mode) instructions() string {
	var all []string
	for _, c := range m.box.Conns {
		if text := c.InstructionText(); text != "" {
			all = append(all, "Instructions of the tool server "+c.Name+":\n"+text)
		}
	}
	return m.inv.Secrets.Message().HideString(strings.Join(all, "\n\n"))
}

// completes reports whether a server completes arguments of prompts and templates. A server that
// starts later is not counted.
func (h *host) completes() (yes bool) {
	return slices.ContainsFunc(h.box.Conns, func(c *toolbox.Connection) bool { return c.Session != nil && c.Session.Completes() })
}

// subscribeLimit is how long a restarted server may take to accept the subscriptions again.
const subscribeLimit = 30 * time.Second

func (h *host) announced(server, method string, params []byte) {
	switch method {
	case "notifications/tools/list_changed":
		i := slices.IndexFunc(h.box.Conns, func(c *toolbox.Connection) bool { return c.Name == server })
		if i >= 0 && h.box.Follows(h.box.Conns[i]) {
			goroutine.Start(func() { h.relist(h.box.Conns[i]) })
		}
		return
	case "notifications/prompts/list_changed":
		h.lists.Delete(mcp.Prompts.Method)
	case "notifications/resources/list_changed":
		h.lists.Delete(mcp.Resources.Method)
		h.lists.Delete(mcp.Templates.Method)
	}
	if method != "notifications/resources/updated" {
		params = []byte("{}")
	}
	h.server.Announce(method, params)
}

// relist offers the host the current tools of a server.
func (h *host) relist(c *toolbox.Connection) {
	h.relisting.Lock()
	defer h.relisting.Unlock()
	if h.box.Relist(context.Background(), c, h.plan.Locked) {
		h.server.Replace(h.offered())
	}
}

// subscribe turns the server's announcements about a resource on or off.
func (h *host) subscribe(ctx context.Context, uri string, on bool) error {
	c := h.ownerOf(ctx, uri)
	if c == nil {
		return &wire.RPCError{Code: wire.CodeInvalidParams, Message: "no server lists the resource " + strconv.Quote(uri)}
	}
	session, err := c.Use(ctx)
	if err != nil {
		return err
	}
	return session.Subscribe(ctx, uri, on)
}

// restarting brings the tools and the subscriptions of the host up to date at a server that
// restarts.
func (h *host) restarting(server string) {
	h.announced(server, "notifications/tools/list_changed", nil)
	goroutine.Start(func() {
		ctx, cancel := context.WithTimeout(context.Background(), subscribeLimit)
		defer cancel()
		for _, uri := range h.server.Subscribed() {
			if c := h.ownerOf(ctx, uri); c != nil && c.Name == server {
				h.subscribe(ctx, uri, true)
			}
		}
	})
}

// complete completes an argument of a prompt or template at its server, under the name that the
// server uses.
func (h *host) complete(ctx context.Context, r *toolserver.HostRequest) ([]byte, error) {
	params := r.Params
	ref := jsontext.Member(params, "ref")
	name, uri := jsontext.Text(jsontext.Member(ref, "name")), jsontext.Text(jsontext.Member(ref, "uri"))
	var c *toolbox.Connection
	own := jsontext.AppendMember([]byte{'{'}, "type", jsontext.Quoted(jsontext.Text(jsontext.Member(ref, "type"))))
	switch jsontext.Text(jsontext.Member(ref, "type")) {
	case "ref/prompt":
		for _, x := range h.listed(ctx, mcp.Prompts, false) {
			if x.name == name {
				c, own = x.conn, jsontext.AppendMember(own, "name", jsontext.Quoted(x.conn.FarName(x.id)))
			}
		}
	case "ref/resource":
		own = jsontext.AppendMember(own, "uri", jsontext.Quoted(uri))
		for _, x := range h.listed(ctx, mcp.Templates, false) {
			if x.id == uri {
				c = x.conn
			}
		}
		if c == nil {
			c = h.ownerOf(ctx, uri)
		}
	}
	if c == nil {
		return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "no server has this prompt or resource"}
	}
	sent := jsontext.AppendMember([]byte{'{'}, "ref", append(own, '}'))
	for _, key := range []string{"argument", "context"} {
		if value := jsontext.Member(params, key); value != nil {
			sent = jsontext.AppendMember(sent, key, value)
		}
	}
	return h.forward(ctx, c, &toolserver.HostRequest{Client: r.Client}, &mcp.Named{Method: "completion/complete", Params: append(sent, '}')}, "completion")
}
