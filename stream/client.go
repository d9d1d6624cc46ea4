package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"runtime/debug"
	"strings"
	"time"

	"toolpipe/stream/text/secrets"
)

// Key is a secret. It prints as a placeholder.
type Key string

func (Key) String() string   { return "[key]" }
func (Key) GoString() string { return "[key]" }

// Header is a header of all requests. Its value is shown nowhere.
type Header struct {
	Name, Value string
	Secret      bool // the value is a secret, which goes where a key may go
}

// Config says how to reach a model. It is plain data; nothing in it is read
// from the environment except the proxy variables by net/http.
type Config struct {
	API          string   // "chat", "messages" or "responses"; "": the API of the recording to Replay, or chat
	BaseURL      string   // with /v1 as the user gave it; the dialect appends its path
	Key          Key      // "" sends none
	BearerKey    bool     // the key is a bearer token, in any API
	Headers      []Header // go with each request, and only to the origin of BaseURL; they override the headers of the dialect
	InsecureHTTP []string // host names to which the key and secret headers may go over plain http; loopback always may
	CacheKey     bool     // send prompt_cache_key, which api.openai.com gets in any case
	NoToolRole   bool     // write tool calls and their results as text, for chat templates that know no tools
	UserAgent    string
	Traceparent  string                            // W3C Trace Context; "" sends none
	IdleTimeout  time.Duration                     // longest silence of the endpoint; 0: 120 s
	RetryFor     time.Duration                     // how long failed connections and the statuses 429 and 503 are retried; 0: three times, as all other failures
	NoRetry      bool                              // nothing is retried
	Record       string                            // file to store exchanges in; "" for none
	Replay       string                            // file to answer from instead of the network; "" for none
	Beside       *Client                           // another client of the same run; its recording also holds the exchanges of this one; nil for none
	Wire         func(direction byte, line []byte) // gets each line sent ('>') and received ('<'), without secrets; nil for none
	Secrets      *secrets.Set                      // kept out of Wire, Record and errors; Key is added. nil: Key alone
	Certificate  *tls.Certificate                  // shown to the origin of BaseURL, which must be https, and to no proxy; nil for none
	Hints        Hints
}

// Hints are the hints for failures that settings of the caller can solve.
type Hints struct {
	NoKey    string                  // the endpoint refused a request without a key
	Redirect string                  // the endpoint is somewhere else
	Idle     string                  // the endpoint was silent for IdleTimeout
	OtherAPI func(api string) string // the endpoint seems to have this API instead; nil: no hint
	Later    string                  // the endpoint asks for a longer wait than is waited
	Replay   string                  // the recording does not fit the run
	TLS      string                  // the endpoint may want another client certificate
	Address  string                  // where the address of the endpoint comes from, for an endpoint that cannot be reached
}

// Retry describes the next repetition of an exchange. The exchange failed before its first
// delta, or its reply was cut and is taken back (Sink.TakesBack).
type Retry struct {
	Attempt, Of int // 1 of 3 is the first repetition; Of is 0 if only the time is limited
	After       time.Duration
	Status      int // 0 when no HTTP status came
	Message     string
	Discards    bool // the part of the reply that came does not count
}

// Error is a failed exchange. Message is one line about the answer. For a Mismatch it is three
// lines; the last two show the difference. Hint says what the user can do, or is empty. Both
// are without secrets.
type Error struct {
	Kind    Kind
	Status  int    // HTTP status, also the one that an error event means; 0 for none
	Code    string // the endpoint's own word for a refusal, "" for none
	Message string
	Hint    string
	Began   bool          // a part of the reply came
	Again   bool          // the same request may succeed later
	After   time.Duration // the wait that the endpoint asks for, 0 for none
	Fits    float64       // of TooLong: the share of the request that the endpoint would accept, if it can be computed; else 0
	Cause   error
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Cause }

// ModelHints are the lines of Hint.
func (e *Error) ModelHints() []string {
	if e.Hint == "" {
		return nil
	}
	return strings.Split(e.Hint, "\n")
}

// Facts are the parts of e that a program may decide by.
func (e *Error) Facts() (kind string, status int, code string, again bool, after time.Duration) {
	return string(e.Kind), e.Status, e.Code, e.Again, e.After
}

// Client exchanges requests for replies with one endpoint over one
// connection. Its methods may not be called concurrently, except Warm.
type Client struct {
	cfg      Config
	dialect  *dialect
	endpoint *endpoint
	network  *network // nil in a replay
	recorder *recorder
	replayer *replayer

	options  options
	cacheKey bool     // send prompt_cache_key
	head     segments // the request up to the conversation
	headKey  headKey  // the values that head depends on
	encoder  encoder
	messages segments        // the conversation as encoded so far
	encoded  int             // number of messages in it
	server   string          // the program that answered Models
	buffer   []byte          // for the bytes of a reply; nil before the first one
	drained  <-chan struct{} // closed when the rest of the last body was read
	sleep    func(context.Context, time.Duration) error
	now      func() time.Time
}

// New checks cfg and makes a client without sending a packet. Its errors are mistakes of the
// user: a bad URL, a key that would go over plain http to another host, an unknown API, a
// recording that cannot be read or written.
func New(cfg Config) (*Client, error) {
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = 120 * time.Second
	}
	if cfg.Secrets == nil {
		cfg.Secrets = &secrets.Set{}
	}
	cfg.Secrets.AddFrom("the key of the model", string(cfg.Key))
	cfg.Secrets.AddURL(cfg.BaseURL)
	for _, h := range cfg.Headers {
		cfg.Secrets.AddHeader(h.Name, h.Value)
		if h.Secret {
			cfg.Secrets.Add(h.Value)
		}
	}
	c := &Client{cfg: cfg, options: options{noToolRole: cfg.NoToolRole}, sleep: sleep, now: time.Now}
	var err error
	if cfg.Beside != nil {
		c.recorder, c.replayer = cfg.Beside.recorder, cfg.Beside.replayer
	}
	if c.replayer == nil && cfg.Replay != "" {
		if c.replayer, err = openReplay(cfg.Replay, cfg.Hints.Replay, cfg.Secrets); err != nil {
			return nil, err
		}
	}
	if c.dialect, err = findDialect(cfg.API); err != nil {
		return nil, err
	}
	if c.replayer != nil {
		c.endpoint = &recordingEndpoint
	} else if c.endpoint, err = newEndpoint(&cfg, c.dialect.path); err != nil {
		return nil, err
	} else {
		c.network = newNetwork(c.endpoint, cfg.Certificate)
	}
	c.options.isOpenAI, c.options.nineIDs = c.endpoint.isOpenAI(), c.endpoint.isMistral()
	c.cacheKey = cfg.CacheKey || c.endpoint.url.Hostname() == "api.openai.com"
	if err := c.asRecorded(); err != nil {
		return nil, err
	}
	if cfg.Record != "" {
		if c.recorder, err = createRecording(cfg.Record, cfg.Secrets); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// asRecorded takes the form of requests from the next request of a recording, if the form
// depends on the endpoint: a recording does not name its endpoint. The dialect is the recorded
// one, unless the configuration names another.
func (c *Client) asRecorded() error {
	if c.replayer != nil {
		next := c.replayer.upcoming()
		c.cacheKey, c.options.isOpenAI, c.options.nineIDs = next.has("prompt_cache_key"), next.isForOpenAI(), next.hasNineIDs()
		if c.cfg.API == "" {
			d, err := findDialect(next.api)
			if err != nil {
				return err
			}
			c.dialect = d
		}
	}
	return nil
}

// API returns the name of the client's dialect.
func (c *Client) API() string { return c.dialect.name }

// Fork makes a client for another conversation over the same connections. c, which makes no
// exchange itself, may be forked at any time; only c is closed.
func (c *Client) Fork() *Client {
	fork := *c
	fork.buffer = nil
	fork.asRecorded() // if this fails, the recording is from a newer program: its request will differ
	return &fork
}

// Insecure returns the host that gets the key over plain http because Config.InsecureHTTP names
// it, "" for none.
func (c *Client) Insecure() string { return c.endpoint.insecure }

// Warm opens the connection in the background so that the first request
// finds it open. A failure is ignored here: the request reports it.
func (c *Client) Warm(ctx context.Context) {
	if c.network != nil {
		c.network.warm(ctx)
	}
}

// Reply sends r and returns the complete reply; sink, which may be nil, takes its deltas. The
// error is the cause that ended ctx, an error of sink, or an *Error.
func (c *Client) Reply(ctx context.Context, r *Request, sink *Sink) (*Reply, error) {
	if sink == nil {
		sink = &Sink{}
	}
	retries := retries{until: c.now().Add(c.cfg.RetryFor)}
	for {
		if sink.Begin != nil {
			if err := sink.Begin(); err != nil {
				return nil, err
			}
		}
		x := exchange{client: c, request: withoutTools(r, c.options.refusedTools), sink: sink}
		reply, err := x.run(ctx)
		x.hideSecrets(reply, err)
		sink.Said = x.draft.text.only(x.draft.text.said)
		if err != nil && sink.Spent != nil && (x.draft.began || x.draft.usage != (Usage{})) {
			sink.Spent(x.draft.usage)
		}
		switch {
		case err == nil:
			c.options.answered = true
			return reply, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case x.repair(err):
			continue
		}
		next, again := x.nextRetry(err, &retries)
		if !again {
			if e, ok := errors.AsType[*Error](err); ok {
				e.Began = x.draft.began
			}
			return nil, err
		}
		large := x.draft.text.size > largeText
		if sink.Said, x = nil, (exchange{}); large { // otherwise the text is in memory twice while it comes again
			debug.FreeOSMemory()
		}
		if sink.Retry != nil {
			sink.Retry(next)
		}
		if err := c.sleep(ctx, next.After); err != nil {
			return nil, err
		}
	}
}

// largeText is the size of a cut text, in bytes, from which a garbage collection is worth its
// time.
const largeText = 1 << 20

// Close closes the connection and finishes the recording.
func (c *Client) Close() error {
	if c.network != nil {
		c.network.close()
	}
	if c.recorder != nil && c.cfg.Beside == nil {
		return c.recorder.close()
	}
	return nil
}

// body encodes the request. It encodes each message of the conversation once. The same request
// always gives the same bytes, so that a replay can compare them.
func (c *Client) body(r *Request) *body {
	if c.dialect.saysForm(r, c.options) {
		r = withForm(r, c.options)
	}
	messages := c.fitting(r.Messages)
	if c.options.noToolRole { // later messages may change the last one: all are written anew
		messages, c.encoder = withoutToolRole(messages), nil
	}
	if c.options.noState && c.options.stateless == 0 {
		c.options.stateless = len(messages)
	}
	if learn(&c.options, messages[min(c.encoded, len(messages)):]) || c.encoder == nil {
		c.encoder, c.messages, c.encoded = c.dialect.encoder(r, c.options), segments{}, 0
	}
	c.messages.reserve(2 * (len(messages) - c.encoded)) // a content, and the text around it
	for ; c.encoded < len(messages); c.encoded++ {
		if m := c.written(messages, c.encoded); !isSystem(m) {
			c.encoder.message(&c.messages, m)
		}
	}
	if c.cacheKey && c.options.cacheKey == "" && c.dialect.cacheKey {
		c.options.cacheKey = c.promptCacheKey(r)
	}
	key := headKey{c.options, len(r.Tools), len(systemMessages(r.Messages))}
	if c.head.len() == 0 || key != c.headKey {
		c.head, c.headKey = segments{}, key
		if c.options.answered {
			r = withoutForcedCall(r)
		}
		c.dialect.open(&c.head, r, c.options)
	}
	var between, tail segments
	if c.head.last() != '[' && c.messages.len() > 0 { // a system message precedes them
		between.str(",")
	}
	c.encoder.finish(&tail)
	tail.str("]}")
	sent := joinBody(&c.head, &between, &c.messages, &tail)
	sent.openAI = c.options.isOpenAI
	return sent
}

// written returns the i-th message in the form in which the endpoint accepts it.
func (c *Client) written(messages []Message, i int) *Message {
	m, asks := messages[i].asSent(), i
	for asks > 0 && messages[asks].Role == ToolRole {
		asks--
	}
	bare := asks < c.options.stateless || c.options.bareRounds && leavesOut(resultsOf(messages, asks)) // signatures may cover the left-out text
	if bare && m.Role == Assistant {
		m = m.withoutState()
	}
	own := !bare && messages[asks].Opaque.api == c.dialect.name
	return m.withIDs(func(id string) string { return c.dialect.ids.sent(id, own, &c.options) })
}

// Size is the size of a request in bytes, as it would be sent.
func (c *Client) Size(r *Request) int { return int(c.body(r).size) }

// Rewrite makes the next request encode everything anew, after a change of Instead or of tools
// that were sent.
func (c *Client) Rewrite() { c.encoder, c.head = nil, segments{} }

// headKey holds the values that the head of a request depends on: the options, and the number
// of tools and of system messages.
type headKey struct {
	options       options
	tools, system int
}
