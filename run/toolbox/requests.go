package toolbox

import (
	"context"
	"strconv"
	"strings"

	"toolpipe/mcp"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
)

// ServerOf finds the server that the value of a flag names. The value has the form
// NAME:REST; of says what the rest is.
func (b *Toolbox) ServerOf(ctx context.Context, flag, of, value string) (c *Connection, session *mcp.Session, rest string, err error) {
	name, rest, ok := strings.Cut(value, ":")
	if !ok || name == "" || rest == "" {
		return nil, nil, "", failure.Usage("%s: %q is not of the form NAME:%s", flag, value, of)
	}
	for _, c := range b.Conns {
		if c.Name != name && c.Spelling != name {
			continue
		}
		session, err := c.Use(ctx)
		if err != nil {
			return nil, nil, "", err
		}
		if session == nil {
			return nil, nil, "", &failure.Error{Status: failure.StatusServer, Message: flag + ": server " + strconv.Quote(name) + " did not start"}
		}
		return c, session, rest, nil
	}
	return nil, nil, "", failure.UsageError(servers.Known(b.inv.Servers), "%s: no server is named %q", flag, name)
}

// Items visits the items of a list of a server. That the server cannot answer is a
// warning, and the others are asked all the same.
func (b *Toolbox) Items(ctx context.Context, c *Connection, l mcp.List, visit func(item []byte)) bool {
	session, _ := c.Use(ctx)
	if session == nil {
		return false // it failed, which the user was told
	}
	err := session.Items(ctx, l, visit)
	if err != nil && !failure.IsCancelled(err) {
		b.inv.Warn("server_failed", c.Name, WithHint(err.Error(), &c.Server, err))
	}
	return err == nil
}
