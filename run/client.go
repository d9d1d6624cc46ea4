package run

import (
	"context"
	"strconv"

	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream"
)

// makeClient makes the model's client, which checks where the key may go.
func (r *runner) makeClient(ctx context.Context) (err error) {
	for _, p := range r.request.Params {
		if p.Name == "tools" && len(r.servers) > 0 {
			return failure.Usage("the param tools would take the place of the servers' tools")
		}
	}
	e := r.endpoint
	e.Wire, e.Secrets = r.face.Wire("model"), r.secrets
	if e.Record == "" && e.Replay == "" {
		r.client, err = stream.New(e.Config)
	} else { // a FIFO makes us wait
		r.client, err = stdio.Await(ctx, func() (*stream.Client, error) { return stream.New(e.Config) })
	}
	if failure.IsCancelled(err) {
		return err
	}
	if err != nil {
		return e.Refused(err)
	}
	if host := r.client.Insecure(); host != "" {
		r.warn("insecure_http", "", "the key goes over plain http to "+strconv.Quote(host))
	}
	return nil
}
