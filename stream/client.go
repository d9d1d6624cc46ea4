package stream

import (
	"context"
	"errors"
	"time"

	"toolpipe/stream/secrets"
)

// Key is a secret. It prints as a placeholder.
type Key string

func (Key) String() string   { return "[key]" }
func (Key) GoString() string { return "[key]" }

// Config says how to reach a model. It is plain data; nothing in it is read
// from the environment except the proxy variables by net/http.
type Config struct {
	API          string   // "chat" (also ""), "messages" or "responses"
	BaseURL      string   // with /v1 as the user gave it; the dialect appends its path
	Key          Key      // "" sends none
	InsecureHTTP []string // host names to which the key may go over plain http; loopback always may
	NoToolRole   bool     // tool_role: false
	UserAgent    string
	IdleTimeout  time.Duration                     // longest silence within a reply, comments not counted; 0: 120 s
	Record       string                            // file to store exchanges in; "" for none
	Replay       string                            // file to answer from instead of the network; "" for none
	Wire         func(direction byte, line []byte) // -vv: '>' and '<' lines, secrets removed; nil for none
	Secrets      *secrets.Set                      // kept out of Wire, Record and errors; Key is added. nil: Key alone
}

// Retry tells that an exchange failed before its first delta and is tried again.
type Retry struct {
	Attempt, Of int // 1 of 3 is the first repetition
	After       time.Duration
	Status      int // 0 when no HTTP status came
	Message     string
}

// Kind says what went wrong with a model, for those who must branch on it.
type Kind uint8

const (
	Unreachable Kind = iota // no connection, TLS, or a time-out before the headers
	Refused                 // an HTTP status that is not 2xx, or an error event
	Malformed               // a body that is no model's reply
	Cut                     // the reply ended before it was whole
	Stalled                 // no useful data for IdleTimeout
	TooLarge                // a cap was exceeded
	Mismatch                // a replay that does not fit the request
)

// Error is a failed exchange. Message is one line without secrets and names
// what came back, that of a Mismatch three: the last two are the difference.
// Hint, when not empty, gets the user out.
type Error struct {
	Kind    Kind
	Status  int // HTTP status, 0 for none
	Message string
	Hint    string
	Cause   error
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Cause }

// Client exchanges requests for replies with one endpoint over one
// connection. Its methods may not be called concurrently, except Warm.
type Client struct {
	cfg      Config
	dialect  *dialect
	endpoint *endpoint // nil in a replay
	network  *network  // nil in a replay
	recorder *recorder
	replayer *replayer

	options  options
	head     segments // what precedes the conversation, and what it was made of
	headKey  headKey
	encoder  encoder
	messages segments // the conversation as encoded so far
	encoded  int      // how many messages that is
	draining chan struct{}
}

// New checks cfg and makes a client; no packet is sent. The error is a usage
// error: a bad URL, a key over plain http to another host, an unknown API, a
// replay file that cannot be read.
func New(cfg Config) (*Client, error) {
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = 120 * time.Second
	}
	if cfg.Secrets == nil {
		cfg.Secrets = &secrets.Set{}
	}
	cfg.Secrets.Add(string(cfg.Key))
	cfg.Secrets.AddURL(cfg.BaseURL)
	c := &Client{cfg: cfg, options: options{noToolRole: cfg.NoToolRole}}
	var err error
	if c.dialect, err = findDialect(cfg.API); err != nil {
		return nil, err
	}
	if cfg.Replay != "" {
		c.replayer, err = openReplay(cfg.Replay)
	} else {
		c.endpoint, err = newEndpoint(&cfg, c.dialect.path)
	}
	if err != nil {
		return nil, err
	}
	if c.endpoint != nil {
		c.network = newNetwork(c.endpoint)
		c.options.newTokenLimit = c.endpoint.isOpenAI()
	}
	if cfg.Record != "" {
		if c.recorder, err = createRecording(cfg.Record, cfg.Secrets); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Insecure is the host to which the key goes over plain http because
// Config.InsecureHTTP names it, "" if it does not.
func (c *Client) Insecure() string {
	if c.endpoint == nil {
		return ""
	}
	return c.endpoint.insecure
}

// Warm opens the connection in the background so that the first request
// finds it open. Failure is silent: the request will meet it again.
func (c *Client) Warm(ctx context.Context) {
	if c.network != nil {
		c.network.warm(ctx)
	}
}

// Reply sends r and returns the complete reply, telling sink what happens
// meanwhile. The error is ctx's cause, an error of sink, or an *Error.
func (c *Client) Reply(ctx context.Context, r *Request, sink *Sink) (*Reply, error) {
	if sink == nil {
		sink = &Sink{}
	}
	for attempt := 0; ; {
		x := exchange{client: c, request: r, sink: sink}
		reply, err := x.run(ctx)
		x.hideSecrets(reply, err)
		switch {
		case err == nil:
			return reply, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case x.canRepair():
			continue
		}
		if s, ok := errors.AsType[sinkError](err); ok {
			return nil, s.error
		}
		wait, again := x.wait(err, attempt)
		if !again {
			return nil, err
		}
		attempt++
		if err := c.retryAfter(ctx, wait, attempt, err, sink); err != nil {
			return nil, err
		}
	}
}

// Close ends the connection and finishes the recording.
func (c *Client) Close() error {
	if c.network != nil {
		c.network.close()
	}
	if c.recorder != nil {
		return c.recorder.close()
	}
	return nil
}

// body encodes the request: each message of the conversation once, the rest
// anew. It is the same for the same request, so that a replay can compare it.
func (c *Client) body(r *Request) *body {
	if c.encoder == nil {
		c.encoder, c.messages, c.encoded = c.dialect.encoder(r, c.options), segments{}, 0
	}
	for ; c.encoded < len(r.Messages); c.encoded++ {
		m := &r.Messages[c.encoded]
		if c.options.noResultImages && m.Role == ToolRole && hasImage(m.Parts) {
			m = withoutImages(m)
		}
		c.encoder.message(&c.messages, m)
	}
	if key := headOf(r, c.options); c.head.len() == 0 || key != c.headKey {
		c.head, c.headKey = segments{}, key
		c.dialect.open(&c.head, r, c.options)
	}
	var tail segments
	c.encoder.finish(&tail)
	c.dialect.end(&tail, r, c.options)
	return joinBody(&c.head, &c.messages, &tail)
}

// headKey is what the beginning of a request depends on, apart from the tools.
type headKey struct {
	options                        options
	model, temperature, effort     string
	schema, params                 string
	maxTokens, tools, system, rest int
}

func headOf(r *Request, o options) headKey {
	k := headKey{options: o, model: r.Model, temperature: string(r.Temperature), effort: r.ReasoningEffort,
		schema: string(r.Schema), maxTokens: r.MaxTokens, tools: len(r.Tools)}
	for _, p := range r.Params {
		k.params += p.Name + "\x00" + string(p.Value) + "\x00"
	}
	for i := range r.Messages {
		if isSystem(&r.Messages[i]) {
			k.system++
		}
	}
	k.rest = min(len(r.Messages)-k.system, 1)
	return k
}
