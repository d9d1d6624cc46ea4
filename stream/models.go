package stream

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// maxModels caps the endpoint's list of models, in bytes.
const maxModels = 16 << 20

// Models returns the names of the models that the endpoint lists, in its order.
// The error is the cause that ended ctx or an *Error.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	if c.network == nil {
		return nil, &Error{Kind: Unreachable, Message: "a recording has no list of models"}
	}
	x := exchange{client: c, request: &Request{}, sink: &Sink{}, sent: &body{}}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	x.idle = newIdleTimer(c.cfg.IdleTimeout, func() { stop(errStalled) })
	defer x.idle.pause()
	names, err := x.models(inner)
	x.hideSecrets(nil, err)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return names, err
}

// Server is the program that answered Models, as it names itself; "" if it does not.
func (c *Client) Server() string { return c.server }

func (x *exchange) models(ctx context.Context) ([]string, error) {
	c := x.client
	req := x.httpRequest(ctx)
	url := *c.endpoint.url
	url.Path = strings.TrimSuffix(url.Path, c.dialect.path) + "/models"
	if c.dialect == &messagesDialect && url.RawQuery == "" {
		url.RawQuery = "limit=1000" // the most that Anthropic's API gives at once; without it, 20
	}
	req.Method, req.URL, req.Body, req.GetBody, req.ContentLength = http.MethodGet, &url, nil, nil, 0
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", "application/json")
	res, err := x.roundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, x.refused(res)
	}
	x.idle.start(0)
	c.server = clean(res.Header.Get("Server"), 80)
	text, err := io.ReadAll(io.LimitReader(res.Body, maxModels+1))
	switch {
	case err != nil:
		return nil, x.unreachable(ctx, err)
	case len(text) > maxModels:
		return nil, tooMuch("%s%s is larger than 16 MiB", x.where(), url.Path)
	}
	names, ok := modelNames(text)
	if !ok {
		return nil, &Error{Kind: Malformed, Message: x.where() + url.EscapedPath() + " is not a list of models: " + quoteShort(x.shown(text))}
	}
	return names, nil
}

// modelNames reads a list of models: an object with the list in data, as OpenAI's
// and Anthropic's APIs write it, or the list alone.
func modelNames(text []byte) (names []string, ok bool) {
	list := gjson.ParseBytes(text)
	if data := list.Get("data"); data.Exists() {
		list = data
	}
	if !gjson.ValidBytes(text) || !list.IsArray() {
		return nil, false
	}
	for _, model := range list.Array() {
		if id := model.Get("id").Str; id != "" {
			names = append(names, id)
		}
	}
	return names, true
}
