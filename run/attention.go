package run

import (
	"context"

	"toolpipe/run/event"
	"toolpipe/stream/jsontext"
)

type emitKey struct{}

// withEmit gives a call of a built-in tool what emits events: those of a nested run
// have the id of the call that the run is for.
func withEmit(ctx context.Context, emit func(event.Event) error) context.Context {
	return context.WithValue(ctx, emitKey{}, emit)
}

// notify calls the attention of the user, and of the host of --serve. ctx is that of
// a call.
func (o *outputs) notify(ctx context.Context, reason string) error {
	emit := ctx.Value(emitKey{}).(func(event.Event) error)
	if err := emit(&event.Attention{Reason: reason}); err != nil {
		return err
	}
	data := jsontext.AppendQuoted([]byte(`{"level":"notice","data":`), o.secrets.Message().HideString(reason))
	o.toHost("notes", append(data, '}'))
	return o.Flush()
}
