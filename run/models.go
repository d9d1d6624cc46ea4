package run

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream"
)

// newClient makes the model's client, which checks where the key may go.
func newClient(ctx context.Context, e *config.Endpoint, o *outputs) (client *stream.Client, err error) {
	e.Wire, e.Secrets = o.face.Wire("model"), o.secrets
	if e.Record == "" && e.Replay == "" {
		client, err = stream.New(e.Config)
	} else { // opening a named pipe waits
		client, err = stdio.Await(ctx, func() (*stream.Client, error) { return stream.New(e.Config) })
	}
	if failure.IsCancelled(err) {
		return nil, err
	}
	if err != nil {
		return nil, e.Refused(err)
	}
	if host := client.Insecure(); host != "" {
		o.warn("insecure_http", "", "the key goes over plain http to "+strconv.Quote(host))
	}
	return client, nil
}

func (in *inspection) listModels(ctx context.Context) error {
	if err := in.emitStart(); err != nil {
		return err
	}
	names, err := in.client.Models(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		in.Emit(&event.Item{Kind: "model", Name: name})
	}
	if len(names) == 0 {
		in.face.Say("the endpoint lists no models")
	}
	return nil
}

// withModels adds to the error of a model that the endpoint does not have what it
// has instead.
func (v *conversation) withModels(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*stream.Error](err)
	if !ok || ctx.Err() != nil || v.cfg.Replay != "" {
		return err
	}
	asked, text := v.request.Model, strings.ToLower(refused.Message)
	if !(refused.Status == 404 && strings.Contains(text, "model") || refused.Status == 400 && strings.Contains(text, "model") && strings.Contains(refused.Message, asked)) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	names, failed := v.client.Models(ctx)
	if failed != nil || len(names) == 0 || slices.Contains(names, asked) {
		return err
	}
	e := *failure.Of(err)
	e.Hints = config.DidYouMean("-m ", config.NearestPart(asked, names), "the endpoint has: "+face.JoinFew(names)+"; --list-models shows all")
	return &e
}
