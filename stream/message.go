// Package stream is the client of a model: it sends a conversation to an endpoint and reads the
// streamed reply. A Reply is always complete: a reply that was cut off is an error. Its text
// reaches the caller's Sink while it arrives, and the arguments of tool calls keep their bytes.
//
// A dialect is the wire form of one provider: chat, messages or responses.
// Package run uses the Client; package mcp uses only the reader of server-sent
// events. This package knows nothing of tool servers, approvals and outputs.
package stream

import (
	"encoding/json"
	"slices"

	"toolpipe/stream/text/readable"
)

// Role says who speaks in a Message.
type Role string

// The roles of the chat-completions form. Developer is accepted from input
// and sent as system, because most endpoints refuse it.
const (
	System    Role = "system"
	Developer Role = "developer"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of a conversation. It must not be changed once it has been part of a
// Request, because a Client encodes each message once. The exception is Instead, before
// Client.Rewrite.
type Message struct {
	Role    Role
	Parts   []Part
	Instead []Part // sent in place of Parts, which requests leave out; nil: nothing is left out; empty: see Omit
	Calls   []Call // assistant only: the calls that the model asks for, in order
	CallID  string // tool only: the id of the call that this answers
	Name    string // tool: the name that the model knows the tool by; user and assistant: the speaker's name, sent by the chat dialect only
	Failed  bool   // tool only: the tool reported an error, or did not run
	Output  bool   // user only: the output of commands, not a message of the user
	Opaque  Opaque // assistant only: the endpoint's own state, which is sent back unread

	Labels []string // describe the content; kept in a written conversation, and never sent
}

// Size is the approximate size of m in a written conversation, in bytes.
func (m *Message) Size() int {
	size := m.Opaque.Size()
	for _, p := range m.Parts {
		size += len(p.Text) + len(p.JSON) + len(p.Raw)
		if p.Image != nil {
			size += len(p.Image.Data)
		}
	}
	for _, c := range m.Calls {
		size += len(c.Arguments) + len(c.Extra)
	}
	return size
}

// Sent returns the parts that are sent.
func (m *Message) Sent() []Part {
	if m.Instead != nil {
		return m.Instead
	}
	return m.Parts
}

// Omit makes requests leave the message out.
func (m *Message) Omit() { m.Instead = []Part{} }

// Omitted reports whether requests leave the message out.
func (m *Message) Omitted() bool { return m.Instead != nil && len(m.Instead) == 0 }

// asSent returns the message with the parts that are sent.
func (m *Message) asSent() *Message {
	if m.Instead == nil || m.Omitted() {
		return m
	}
	sent := *m
	sent.Parts, sent.Instead = m.Instead, nil
	return &sent
}

// leavesOut reports whether requests leave out any parts of messages.
func leavesOut(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return m.Instead != nil })
}

// resultsOf returns the results that follow the i-th message.
func resultsOf(messages []Message, i int) []Message {
	behind := messages[i+1:]
	n := slices.IndexFunc(behind, func(m Message) bool { return m.Role != ToolRole })
	if n < 0 {
		n = len(behind)
	}
	return behind[:n]
}

// Part is a piece of a message's content. At most one of the fields is set; a
// Part without any is empty text.
type Part struct {
	Text  string
	JSON  []byte // text as a JSON string literal with its quotes, copied to the wire as it is
	Image *Image
	Raw   json.RawMessage // a part of another kind, from a message array: sent as it came, by the chat dialect only; see Unsent
}

// Image is a picture: either Data with its MIME type, or URL. With the MIME type
// PDF, it is a document instead.
type Image struct {
	MIME   string
	Data   string // standard base64
	URL    string // not a data URL with base64: that is Data
	Detail string // chat only: "low", "high", "auto" or empty
	Name   string // of a document's file
	// Optional images are left out, with a text in their place, if the endpoint does not accept
	// them. The images of tool results always are optional.
	Optional bool
}

// PDF is the MIME type of a document.
const PDF = readable.PDF

func (img *Image) isDocument() bool { return img.MIME == PDF }

// Call is a tool call that a model asks for.
type Call struct {
	ID        string
	Name      string // as offered
	Arguments []byte // the text as it came, unchecked; empty when the model sent none
	Extra     []byte // members of the call that must go back with it, without braces: `"extra_content":{…}`; nil when none
}

// Tool is one tool as offered to the model.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON object with "type":"object"; sent in a form that providers take
	Required    bool            // an endpoint that refuses the tool fails the request, instead of getting it without the tool
}

// Param is a request field given by the user; it replaces the dialect's field of the same name.
type Param struct {
	Name  string
	Value json.RawMessage
}

// Request is the content of one exchange. From one Reply of a Client to the next, Messages and
// Tools may only be appended to.
type Request struct {
	Model           string
	Messages        []Message
	Tools           []Tool
	MaxTokens       int             // 0: not sent
	Temperature     json.RawMessage // a JSON number as the user wrote it; nil: not sent
	ReasoningEffort string          // "": not sent
	Params          []Param         // see AddParams and AddDefaults
	Schema          json.RawMessage // JSON Schema for the answer; nil: none
	ThinkTags       bool            // text between <think> and </think> is reasoning
	TextPassing     bool            // the caller needs the text only in its Sink: a long text of a reply without calls is left out of its Message
}

// Stop says why a reply ended, in one vocabulary for all dialects.
type Stop uint8

const (
	StopUnknown Stop = iota // the endpoint named no stop, or one that is not known: then calls must not run
	StopEnd                 // the answer is complete
	StopCalls               // the model waits for its calls
	StopLength              // the token limit was reached
	StopFilter              // a content filter or a refusal ended it
	StopContext             // the model's context was full
	StopPause               // the model is not done: the conversation goes on unchanged
	StopFailed              // the model failed; its calls must not run
)

// Usage counts tokens; a number the endpoint did not give is 0. Reasoning is a part of the output.
type Usage struct {
	Input, Output, Reasoning int
	Cached, CacheWrite       int // of the input: read from the endpoint's cache, and written to it
}

// Reply is one complete answer of the model.
type Reply struct {
	Message Message // of the assistant; a long text is in several parts, with nothing between them
	Stop    Stop
	Finish  string // the stop in the endpoint's word, "" if it gave none
	Usage   Usage
	Model   string // as the endpoint names it
	Refusal string // the text of a refusal that came outside the content
	Wrapped bool   // the request asked for the answer as the only member of an object; see Unwrapped
	// Waits names the thing that the endpoint waits for, such as "shell_call": a call that only
	// another kind of client can answer. Unknown lists unknown kinds of items in a reply that also
	// holds an answer.
	Waits   string
	Unknown []string
	// HasAside says that a part of the text was commentary. It is in the parts of the message
	// only if there is no answer.
	HasAside bool
}

// Sink takes the events of an exchange, in order, from one goroutine. Any field may be nil. A
// returned error ends the exchange and is returned from Client.Reply unwrapped. Slices are
// valid only during the call.
type Sink struct {
	Begin      func() error // called before each request is sent, also before one that is sent again
	Text       func(delta []byte) error
	Join       bool                     // Text may get deltas that came together as one
	Commentary func(delta []byte) error // text that is not the answer, according to the endpoint
	Reasoning  func(delta []byte) error
	Cite       func(Citation) error
	Idle       func() error // called before a read that may wait, so that outputs are flushed
	Retry      func(Retry)
	Spent      func(Usage)                // called with the tokens of a reply that failed after it began, as reported by the endpoint
	TakesBack  func() bool                // reports whether the received part of a reply can be taken back, so that it may come again
	Warn       func(code, message string) // the exchange goes on, but the user should know this
	Said       []Part                     // set by Reply: all that Text got of the last exchange, also of one that failed; see TextPassing
}
