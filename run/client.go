package run

import (
	"context"
	"strconv"

	"toolpipe/run/config"
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
