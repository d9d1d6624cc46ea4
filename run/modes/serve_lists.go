package modes

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/toolbox"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

type listedItem struct {
	conn *toolbox.Connection
	id   string // its URI, or its name at the server
	name string // its name for the host: its URI, or SERVER__PROMPT
	json []byte // the item for the host
}

// request answers a request of the host other than a tool call.
func (h *host) request(ctx context.Context, r *toolserver.HostRequest) ([]byte, error) {
	method, params := r.Method, r.Params
	for _, l := range []mcp.List{mcp.Resources, mcp.Templates, mcp.Prompts} {
		if l.Method != method {
			continue
		}
		items := h.listed(ctx, l, jsontext.Member(params, "cursor") == nil)
		return toolserver.Page(params, l.Key, len(items), func(b []byte, i int) []byte { return append(b, items[i].json...) })
	}
	switch method {
	case "resources/read":
		return h.readResource(ctx, r, jsontext.Text(jsontext.Member(params, "uri")))
	case "prompts/get":
		return h.getPrompt(ctx, r, jsontext.Text(jsontext.Member(params, "name")), jsontext.Member(params, "arguments"))
	case "completion/complete":
		return h.complete(ctx, r)
	case "logging/setLevel":
		level := jsontext.Text(jsontext.Member(params, "level"))
		// A server that does not support it is no worse than one that does not log.
		h.box.EachSession(func(_ *toolbox.Connection, s *mcp.Session) { s.LogFrom(ctx, level) })
		return []byte("{}"), nil
	}
	return nil, &wire.RPCError{Code: wire.CodeMethodNotFound, Message: "no method " + strconv.Quote(method)}
}

// listed returns the items of a list. It asks the servers if afresh is true or if they were never
// asked.
func (h *host) listed(ctx context.Context, l mcp.List, afresh bool) []listedItem {
	items, asked := h.lists.Load(l.Method)
	if !asked || afresh {
		items = h.listAll(ctx, l)
		h.lists.Store(l.Method, items)
	}
	return items.([]listedItem)
}

// listAll asks all servers in parallel. Of two items with the same name for the host it keeps the
// first.
func (h *host) listAll(ctx context.Context, l mcp.List) []listedItem {
	found := make([][]listedItem, len(h.box.Conns))
	goroutine.SideBySide(len(found), func(i int) {
		c := h.box.Conns[i]
		h.box.Items(ctx, c, l, func(item []byte) { found[i] = append(found[i], newListedItem(c, l, item)) })
	})
	names := map[string]bool{}
	return slices.DeleteFunc(slices.Concat(found...), func(item listedItem) bool {
		again := names[item.name]
		names[item.name] = true
		return again
	})
}

// newListedItem reads an item of a server's list. Its name gets the server's name as prefix. The
// URI of a resource is unchanged, because results of tools refer to it.
func newListedItem(c *toolbox.Connection, l mcp.List, item []byte) listedItem {
	x := listedItem{conn: c, id: jsontext.Text(jsontext.Member(item, l.Identity))}
	x.name = x.id
	shown := c.Name + "__" + jsontext.Text(jsontext.Member(item, "name"))
	if l == mcp.Prompts {
		x.name = mcp.OfferedName(c.Name, x.id)
		shown = x.name
	}
	x.json = jsontext.AppendQuoted([]byte(`{"name":`), shown)
	for key, value := range jsontext.Members(item) {
		if !jsontext.Is(key, "name") {
			x.json = jsontext.AppendMember(x.json, jsontext.Unquote(key), value)
		}
	}
	x.json = append(x.json, '}')
	return x
}

func (h *host) readResource(ctx context.Context, r *toolserver.HostRequest, uri string) ([]byte, error) {
	c := h.ownerOf(ctx, uri)
	if c == nil {
		return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "no server lists the resource " + strconv.Quote(uri)}
	}
	params := jsontext.AppendMember([]byte{'{'}, "uri", jsontext.Quoted(uri))
	return h.forward(ctx, c, r, &mcp.Named{Method: "resources/read", Name: uri, Params: append(params, '}')}, "contents")
}

// ownerOf finds the server of a resource: the server that lists it, else the one with the template
// that shares the longest prefix, else the only server; nil for none. No other server learns the
// URI.
func (h *host) ownerOf(ctx context.Context, uri string) (owner *toolbox.Connection) {
	for _, x := range h.listed(ctx, mcp.Resources, false) {
		if x.id == uri {
			return x.conn
		}
	}
	longest := 0
	for _, x := range h.listed(ctx, mcp.Templates, false) {
		if begin, _, _ := strings.Cut(x.id, "{"); len(begin) > longest && strings.HasPrefix(uri, begin) {
			owner, longest = x.conn, len(begin)
		}
	}
	usable := slices.DeleteFunc(slices.Clone(h.box.Conns), func(c *toolbox.Connection) bool { return c.Err != nil })
	if owner == nil && len(usable) == 1 {
		return usable[0]
	}
	return owner
}

func (h *host) getPrompt(ctx context.Context, r *toolserver.HostRequest, name string, args []byte) ([]byte, error) {
	for _, x := range h.listed(ctx, mcp.Prompts, false) {
		if x.name != name {
			continue
		}
		params := jsontext.AppendQuoted([]byte(`{"name":`), x.conn.FarName(x.id))
		if jsontext.Kind(args) == '{' {
			params = jsontext.AppendMember(params, "arguments", args)
		}
		return h.forward(ctx, x.conn, r, &mcp.Named{Method: "prompts/get", Name: x.conn.FarName(x.id), Params: append(params, '}')}, "messages", "description")
	}
	return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "no prompt is named " + strconv.Quote(name)}
}

// forward sends a request to a server and returns those members of the result that clients of all
// revisions know. The first one is required, and is an array or an object. Questions of the server
// meanwhile go to the user of the host.
func (h *host) forward(ctx context.Context, c *toolbox.Connection, asked *toolserver.HostRequest, r *mcp.Named, members ...string) ([]byte, error) {
	session, err := c.Use(ctx)
	if err != nil {
		return nil, err
	}
	r.Ask = toolbox.AskHost(asked.Ask, c.Name, func(text string) string { return h.inv.Secrets.Message().HideString(text) })
	result, err := session.Request(ctx, r)
	// An error contains the server's words too.
	if feed := h.feed(asked.Client); feed != nil {
		feed.Bring(c.Exposes, event.Source{Name: c.Name, Where: r.Method})
	}
	if e, ok := errors.AsType[*wire.RPCError](err); ok {
		return nil, h.passedOn(e)
	}
	if err != nil {
		return nil, errors.New(h.inv.Secrets.Message().HideString(toolbox.WithHint(err.Error(), &c.Server, err)))
	}
	list := jsontext.Member(result, members[0])
	if kind := jsontext.Kind(list); kind != '[' && kind != '{' {
		list = []byte("[]")
	}
	b := append([]byte(`{"`+members[0]+`":`), list...)
	for _, key := range members[1:] {
		if value := jsontext.Member(result, key); value != nil {
			b = jsontext.AppendMember(b, key, value)
		}
	}
	return h.inv.Secrets.Content().HideJSON(append(b, '}')), nil
}
