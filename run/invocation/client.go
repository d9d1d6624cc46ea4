package invocation

import (
	"context"
	"strconv"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/settings"
	"toolpipe/run/stdio"
	"toolpipe/stream"
)

// NewClient makes the model's client, which checks where the key may be sent.
func (v *Invocation) NewClient(ctx context.Context, e *settings.Endpoint) (client *stream.Client, err error) {
	e.Wire, e.Secrets = v.Face.Wire("model"), v.Secrets
	e.Traceparent = v.Config.Trace().Parent()
	if e.Record == "" && e.Replay == "" {
		client, err = stream.New(e.Config)
	} else { // opening a named pipe may block
		client, err = stdio.Await(ctx, func() (*stream.Client, error) { return stream.New(e.Config) })
	}
	if failure.IsCancelled(err) {
		return nil, err
	}
	if err != nil {
		return nil, e.Refused(err)
	}
	if e.Record != "" {
		if err := config.WrittenFile.CheckPath(v.Config, "--record", e.Record, v.Warn); err != nil {
			return nil, err
		}
	}
	if host := client.Insecure(); host != "" {
		v.Warn("insecure_http", "", "the key goes over plain http to "+strconv.Quote(host))
	}
	return client, nil
}
