package invocation

import (
	"cmp"
	"context"
	"os"
	"sync/atomic"
	"time"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/face"
	"toolpipe/run/stdio"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/secrets"
)

// Outputs is where a run writes. Events go to standard output in the chosen form, to the log, and
// to the face on standard error.
type Outputs struct {
	*event.Emitter
	Streams stdio.Streams
	Readers stdio.ReaderWaits
	Secrets *secrets.Set // hidden in all outputs
	Face    *face.Face
	Text    *event.TextOutput // the answer as text on standard output; nil: another form
	Began   time.Time
	Run     string               // the run's mark on lines of the log; "" without a log
	Host    atomic.Pointer[Host] // with --serve; nil before it serves

	log *os.File // nil without a log
}

// A Host is the side of --serve that its clients see. Tool servers call it from any goroutine.
type Host struct {
	Announced  func(server, method string, params []byte) // a list or a resource of the server changed
	Restarting func(server string)                        // the server restarts; does not block
	Log        func(params []byte)                        // a log message for the clients
}

// NewOutputs cannot fail, so that every error of a run is reported by an end event. messages yields
// the output of --output messages.
func NewOutputs(ctx context.Context, c *config.Config, s stdio.Streams, messages func(func([]byte, bool) bool) error) *Outputs {
	set := &secrets.Set{}
	o := &Outputs{Emitter: event.NewEmitter(set), Secrets: set, Began: time.Now()}
	began := o.Began
	if c.ReplayTools { // the same events each time
		o.Timeless, began = true, time.Time{}
	}
	if !s.OutFile {
		s.Out = stdio.Bounded(ctx, s.Out, &o.Readers)
	}
	s.Err = stdio.Bounded(ctx, s.Err, &o.Readers)
	o.Streams = s
	language, isBlock := c.Block()
	text := c.Output == "" || c.Output == "text" || isBlock
	o.Face = face.New(face.Options{
		Quiet: c.Quiet, Verbose: c.Verbose, Color: c.Color, Getenv: c.Getenv, Secrets: set,
		Frames: c.Mode == config.Answer, AnswerAtEnd: text && !c.Streams(), DeniesUnapproved: c.DeniesUnapproved(),
	}, s)
	w := o.Face.Stdout()
	switch {
	case c.Mode == config.Serve: // standard output belongs to the protocol
	case c.Output == "ndjson":
		o.add(&event.NDJSONOutput{Writer: w, Began: began})
	case c.Output == "json":
		o.add(&event.JSONOutput{Writer: w, Call: c.Mode == config.CallTool, Calls: c.Mode == config.CallMany})
	case c.Output == "messages":
		o.add(&event.MessagesOutput{Writer: w, Messages: messages})
	case c.Mode == config.CallMany:
		o.add(&event.NDJSONOutput{Writer: w, Results: true, Began: o.Began})
	case c.Mode != config.Answer:
		list := &event.ListOutput{Writer: w, Terminal: s.OutTerminal, Full: c.Mode == config.DescribeTool, Verbose: c.Verbose > 0}
		if s.OutTerminal {
			list.Columns = cmp.Or(s.OutWidth, 80)
		}
		if face.Colored(c.Color, s.OutTerminal, c.Getenv) {
			list.Color = approve.Colored
		}
		o.add(list)
	case isBlock:
		o.add(&event.BlockOutput{Writer: w, Terminal: s.OutTerminal, Language: language})
	default:
		o.Text = &event.TextOutput{Writer: w, Terminal: s.OutTerminal, Stream: c.Streams() || s.OutTerminal && c.Schema == "" && !c.Holds()}
		o.add(o.Text)
	}
	o.add(o.Face) // after standard output, with which it may share a screen
	if s.Suspend != nil {
		goroutine.Start(func() { o.Face.Suspend(s.Suspend) })
	}
	return o
}

func (o *Outputs) add(output event.Output) { o.Outs = append(o.Outs, output) }

// FirstLine gives the first line of standard input if it comes within that time. The input
// still has it.
func (o *Outputs) FirstLine(within time.Duration) (line []byte) {
	line, o.Streams.In = stdio.First(o.Streams.In, within)
	return line
}

// Warn emits a warning. server is the server concerned; "" for none.
func (o *Outputs) Warn(code, server, message string) {
	o.Emit(&event.Warning{Code: code, Server: server, Message: message})
}

// Announced passes a change of a server's list or resource on to the host.
func (o *Outputs) Announced(server, method string, params []byte) {
	if host := o.Host.Load(); host != nil {
		host.Announced(server, method, params)
	}
}

func (o *Outputs) Restarting(server string) {
	if host := o.Host.Load(); host != nil {
		host.Restarting(server)
	}
}

// ToHost passes on a log message of a server, with the server's name.
func (o *Outputs) ToHost(server string, params []byte) {
	host := o.Host.Load()
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

// Notify asks for the attention of the user and of the host of --serve. emit writes its event.
func (o *Outputs) Notify(emit func(event.Event) error, reason string) error {
	if err := emit(&event.Attention{Reason: reason}); err != nil {
		return err
	}
	data := jsontext.AppendQuoted([]byte(`{"level":"notice","data":`), o.Secrets.Message().HideString(reason))
	o.ToHost("notes", append(data, '}'))
	return o.Flush()
}

// Close closes the log, and the face, which then prints nothing more.
func (o *Outputs) Close() {
	o.Face.Close()
	if o.log != nil {
		o.log.Close()
	}
}

func (o *Outputs) SayWaiting() {
	o.Face.Say("waiting for standard input; --no-stdin or < /dev/null keeps it from being read")
}
