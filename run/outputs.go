package run

import (
	"cmp"
	"context"
	"iter"
	"os"
	"sync/atomic"

	"toolpipe/mcp/toolserver"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/face"
	"toolpipe/run/stdio"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/ownership"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/secrets"
)

// outputs are where a run writes: events go to standard output in the form that
// was asked for, to the log and to the face on standard error.
type outputs struct {
	*event.Emitter
	streams stdio.Streams
	readers stdio.ReaderWaits
	secrets *secrets.Set // what no output may show
	face    *face.Face
	text    *event.TextOutput                 // the answer as text on standard output; nil: it is printed in another form
	log     *os.File                          // nil: there is none
	host    atomic.Pointer[toolserver.Server] // the server of --serve, to which the logs of tool servers are passed on
}

// newOutputs cannot fail, so that every error of a run has its end event.
// messages are what --output messages prints.
func newOutputs(ctx context.Context, c *config.Config, s stdio.Streams, messages iter.Seq[[]byte]) *outputs {
	set := &secrets.Set{}
	o := &outputs{Emitter: event.NewEmitter(set), secrets: set}
	if !s.OutFile {
		s.Out = stdio.Bounded(ctx, s.Out, &o.readers)
	}
	s.Err = stdio.Bounded(ctx, s.Err, &o.readers)
	o.streams = s
	language, isBlock := c.Block()
	text := c.Output == "" || c.Output == "text" || isBlock
	o.face = face.New(face.Options{
		Quiet: c.Quiet, Verbose: c.Verbose, Color: c.Color, Getenv: c.Getenv, Secrets: set,
		Frames: c.Mode == config.Answer, AnswerAtEnd: text && !c.Streams(), DeniesUnapproved: c.DeniesUnapproved(),
	}, s)
	w := o.face.Stdout()
	switch {
	case c.Mode == config.Serve: // standard output belongs to the protocol
	case c.Output == "ndjson":
		o.add(&event.NDJSONOutput{Writer: w})
	case c.Output == "json":
		o.add(&event.JSONOutput{Writer: w})
	case c.Output == "messages":
		o.add(&event.MessagesOutput{Writer: w, Messages: messages})
	case c.Mode != config.Answer:
		list := &event.ListOutput{Writer: w, Terminal: s.OutTerminal, Full: c.Mode == config.DescribeTool, Verbose: c.Verbose > 0}
		if s.OutTerminal {
			list.Columns, list.ASCII = cmp.Or(s.OutWidth, 80), !face.UTF8(c.Getenv)
		}
		o.add(list)
	case isBlock:
		o.add(&event.BlockOutput{Writer: w, Terminal: s.OutTerminal, Language: language})
	default:
		o.text = &event.TextOutput{Writer: w, Terminal: s.OutTerminal, Stream: c.Streams() || s.OutTerminal && c.Schema == "" && !c.Holds()}
		o.add(o.text)
	}
	o.add(o.face) // it comes after standard output, with which it may share a screen
	if s.Suspend != nil {
		goroutine.Start(func() { o.face.Suspend(s.Suspend) })
	}
	return o
}

func (o *outputs) add(output event.Output) { o.Outs = append(o.Outs, output) }

func (o *outputs) openLog(ctx context.Context, path string) error {
	f, err := ownership.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|stdio.OpenNonblock, 0o600)
	if err != nil {
		return config.OpenError("--log", path, err)
	}
	o.log = f
	o.add(&event.NDJSONOutput{Writer: event.NewWriter(stdio.Bounded(ctx, stdio.Blocking(f), &o.readers), "--log "+config.ShellQuote(path))})
	return nil
}

func (o *outputs) warn(code, server, message string) {
	o.Emit(&event.Warning{Code: code, Server: server, Message: message})
}

// toHost passes on what a server logs, under its name.
func (o *outputs) toHost(server string, params []byte) {
	host := o.host.Load()
	data := jsontext.Member(params, "data")
	if host == nil || data == nil {
		return
	}
	logger := server
	if inner := jsontext.Text(jsontext.Member(params, "logger")); inner != "" {
		logger += "/" + inner
	}
	b := jsontext.AppendQuoted([]byte(`{"level":`), jsontext.Text(jsontext.Member(params, "level")))
	b = jsontext.AppendQuoted(append(b, `,"logger":`...), logger)
	host.Log(append(append(append(b, `,"data":`...), data...), '}'))
}

// notify calls the attention of the user, and of the host of --serve. ctx is that of
// a call.
func (o *outputs) notify(ctx context.Context, reason string) error {
	made := ctx.Value(madeKey{}).(madeCall)
	if err := made.emit(&event.Attention{Reason: reason}); err != nil {
		return err
	}
	data := jsontext.AppendQuoted([]byte(`{"level":"notice","data":`), o.secrets.Message().HideString(reason))
	o.toHost("notes", append(data, '}'))
	return o.Flush()
}
