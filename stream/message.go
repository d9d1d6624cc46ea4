// Package stream talks to a model: it sends a conversation and reads the
// streamed reply.
//
// Its words:
//
//   - A Message is one entry of the conversation; a Part is a piece of its
//     content; a Call is a tool call that an assistant message asks for.
//   - A Request is everything one exchange sends; a Reply is what came back
//     and is always whole: a reply that was cut off is an error, never a Reply.
//   - A delta is a piece of text as it arrives; the Sink takes deltas.
//   - A dialect is one provider's wire form: chat, messages or responses.
//   - An Event is one server-sent event.
//
// The package knows nothing of tools' servers, approvals or output formats.
package stream

import "encoding/json"

// Role says who speaks in a Message.
type Role string

// The roles of the chat-completions form. Developer is accepted from input
// and sent as system, because most endpoints refuse it (model-wire, section 4).
const (
	System    Role = "system"
	Developer Role = "developer"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of a conversation. It must not be changed once it has
// been part of a Request: a Client encodes each message once.
type Message struct {
	Role   Role
	Parts  []Part
	Calls  []Call // assistant only: what it asks for, in order
	CallID string // tool only: the id of the call that this answers
	Name   string // tool: the name of the tool, as the model knows it; user and assistant: who speaks, sent by the chat dialect only
	Failed bool   // tool only: the tool reported an error, or did not run
	Opaque Opaque // assistant only: state that goes back unread
}

// Part is a piece of content: exactly one of Text, JSON, Image and Raw is set
// (an empty Part is empty text).
type Part struct {
	Text  string
	JSON  []byte          // text as a JSON string literal with its quotes, copied to the wire as it is
	Image *Image          //
	Raw   json.RawMessage // a part of a kind unknown here, from a message array: sent as it came, by the chat dialect only
}

// Image is a picture: either Data with its MIME type, or URL.
type Image struct {
	MIME   string
	Data   string // standard base64
	URL    string // http(s) or data URL
	Detail string // chat only: "low", "high", "auto" or empty
}

// Call is a tool call that a model asks for.
type Call struct {
	ID        string
	Name      string // as offered
	Arguments []byte // the text as it came, unchecked; empty when the model sent none
	Extra     []byte // members of the call that must go back with it, without braces: `"extra_content":{…}`; nil when none
}

// Opaque is the dialect's own state of an assistant message (reasoning,
// signatures, encrypted items). It is sent back unread, to the same endpoint
// and within the same run only. The zero value is none.
type Opaque struct {
	dialect string
	json    []byte // members or items in the dialect's own form
	text    []Part // the content as it came, where it differs from Parts; nil if not
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

// Request is one exchange. From one Reply of a Client to the next, Messages
// may only be appended to and Tools must stay the same.
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
	TextPassing     bool            // nobody needs the text of a reply without calls: of a long one the Message has none
}

// Stop says why a reply ended, in one vocabulary for all dialects.
type Stop uint8

const (
	StopUnknown Stop = iota // an end was seen but not understood, or none was named
	StopEnd                 // the answer is complete
	StopCalls               // the model waits for its calls
	StopLength              // the token limit was reached
	StopFilter              // a content filter or a refusal ended it
)

// Usage counts tokens; a number the endpoint did not give is 0.
type Usage struct {
	Input, Output, Reasoning, Cached int
}

// Reply is one complete answer of the model.
type Reply struct {
	Message Message // role assistant; a long text comes in several parts that follow each other directly
	Stop    Stop
	Finish  string // the endpoint's own word for the stop, "" when it gave none
	Usage   Usage
	Model   string // as the endpoint names it
	Refusal string // the refusal's text, if it came apart from the content
}

// Sink takes what happens during an exchange, in order, from one goroutine.
// Any field may be nil. A returned error ends the exchange and is returned
// from Client.Reply unwrapped. Slices are valid only during the call.
type Sink struct {
	Text      func(delta []byte) error
	Reasoning func(delta []byte) error
	Idle      func() error // nothing more is buffered: the next read may wait, so flush
	Retry     func(Retry)
}
