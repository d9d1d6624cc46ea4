// Package stream is the client of a model: it sends a conversation to an
// endpoint and reads the streamed reply. A Reply is always whole: a reply that
// was cut off is an error. Its text reaches the caller's Sink while it arrives,
// and the arguments of tool calls stay the bytes that came.
//
// A dialect is the wire form of one provider: chat, messages or responses.
// Package run uses the Client; package mcp uses only the reader of server-sent
// events. This package knows nothing of tool servers, approvals and outputs.
package stream

import (
	"encoding/json"
	"slices"
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

// Message is one entry of a conversation. It must not be changed once it has
// been part of a Request, since a Client encodes each message once, but for
// Instead, before Client.Rewrite.
type Message struct {
	Role    Role
	Parts   []Part
	Instead []Part // what is sent in place of Parts, which are left out of requests; nil: nothing is left out
	Calls   []Call // assistant only: the calls that it asks for, in order
	CallID  string // tool only: the id of the call that this answers
	Name    string // tool: the name that the model knows the tool by; user and assistant: the speaker's name, sent by the chat dialect only
	Failed  bool   // tool only: the tool reported an error, or did not run
	Output  bool   // user only: it is no message of the user, but holds what commands printed
	Opaque  Opaque // assistant only: the endpoint's own state, which is sent back unread

	Labels []string // say what the content is; kept in a written conversation, and never sent
}

// Size is about how many bytes m has in a written conversation.
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

// Sent are the parts that are sent.
func (m *Message) Sent() []Part {
	if m.Instead != nil {
		return m.Instead
	}
	return m.Parts
}

// asSent is the message with what is sent of it.
func (m *Message) asSent() *Message {
	if m.Instead == nil {
		return m
	}
	sent := *m
	sent.Parts, sent.Instead = m.Instead, nil
	return &sent
}

// leavesOut reports whether anything of messages is left out of requests.
func leavesOut(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return m.Instead != nil })
}

// resultsOf are the results that follow the i-th message.
func resultsOf(messages []Message, i int) []Message {
	behind := messages[i+1:]
	n := slices.IndexFunc(behind, func(m Message) bool { return m.Role != ToolRole })
	if n < 0 {
		n = len(behind)
	}
	return behind[:n]
}

// bare is a message of the assistant without the endpoint's own state, whose signatures may
// hold for what followed it. The extra members of calls stay, which some endpoints demand.
func (m *Message) bare() *Message {
	bare := *m
	bare.Opaque = Opaque{}
	return &bare
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
}

// PDF is the MIME type of a document.
const PDF = "application/pdf"

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
	Schema      json.RawMessage // a JSON object with "type":"object"; sent as it is
}

// Param is a request field given by the user; it wins over what the dialect
// would write under the same name.
type Param struct {
	Name  string
	Value json.RawMessage
}

// Request is what one exchange sends. From one Reply of a Client to the next, Messages
// and Tools may only be appended to.
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
	StopPause               // the model is not done: the conversation goes on as it stands
	StopFailed              // the model failed; its calls must not run
)

// Usage counts tokens; a number the endpoint did not give is 0.
type Usage struct {
	Input, Output, Reasoning int
	Cached, CacheWrite       int // of the input: read from the endpoint's cache, and written to it
}

// Reply is one complete answer of the model.
type Reply struct {
	Message Message // of the assistant; a long text is in several parts, with nothing between them
	Stop    Stop
	Finish  string // the stop in the endpoint's own word, "" when it gave none
	Usage   Usage
	Model   string // as the endpoint names it
	Refusal string // the text of a refusal that came apart from the content
	// Waits names what the endpoint waits for, such as "shell_call": a call that only another
	// kind of client can answer. Unknown are things in the reply of which it is not known what
	// they are, where there is an answer beside them.
	Waits   string
	Unknown []string
	// HasAside says that a part of the text was commentary. It is in the parts of
	// the message only if there is no answer beside it.
	HasAside bool
}

// Sink takes what happens during an exchange, in order, from one goroutine.
// Any field may be nil. A returned error ends the exchange and is returned
// from Client.Reply unwrapped. Slices are valid only during the call.
type Sink struct {
	Begin      func() error // called before each request is sent, also before one that is sent again
	Text       func(delta []byte) error
	Join       bool                     // deltas of the text that came at once may be given to Text as one
	Commentary func(delta []byte) error // text that the endpoint says is not the answer
	Reasoning  func(delta []byte) error
	Idle       func() error // called before a read that may wait, so that outputs are flushed
	Retry      func(Retry)
	Spent      func(Usage)                // called with the tokens of a reply that failed after it began, as far as the endpoint reported them
	TakesBack  func() bool                // reports whether what came of a reply can be taken back, so that it may come again
	Warn       func(code, message string) // the exchange goes on, but the user should know this
	Said       []Part                     // set by Reply: all that Text got of the last exchange, also of one that failed; see TextPassing
}
