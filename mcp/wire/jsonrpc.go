package wire

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// ModernRevision is the newest revision of the protocol. It has no handshake, but metadata on
// every request.
const ModernRevision = "2026-07-28"

// LegacyRevisions are the earlier ones, newest first.
var LegacyRevisions = [...]string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// Error codes of JSON-RPC 2.0 and of the revisions of MCP.
const (
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeHeaderMismatch     = -32020 // 2026-07-28: headers contradict the body
	CodeMissingCapability  = -32021 // 2026-07-28: data.requiredCapabilities
	CodeUnsupportedVersion = -32022 // 2026-07-28: data.supported
	CodeURLElicitation     = -32042 // 2025-11-25: data.elicitations
)

// Message is one JSON-RPC message. Its members share the memory of the received bytes; nil is
// an absent member. Error takes precedence over result.
type Message struct {
	ID, Method, Params, result, Error []byte
}

func (m *Message) IsReply() bool { return m.Method == nil && (m.result != nil || m.Error != nil) }

// ParseMessages parses the messages of a frame. An array is a batch. Only 2025-03-26 has
// batches, but some servers of other revisions send them.
func ParseMessages(frame []byte, each func(Message)) error {
	i := jsontext.Space(frame, 0)
	if i == len(frame) || frame[i] != '[' {
		m, err := ParseMessage(frame)
		if err == nil {
			each(m)
		}
		return err
	}
	if err := jsontext.Check(frame, jsontext.Peer); err != nil {
		return err
	}
	for v := range jsontext.Elements(frame[i:]) {
		if m, err := ParseMessage(v); err == nil {
			each(m)
		}
	}
	return nil
}

// ParseMessage parses one message. If b is not JSON, the members before the error are
// returned with it.
func ParseMessage(b []byte) (m Message, err error) {
	err = jsontext.CheckObject(b, jsontext.Peer, func(name, value []byte) {
		switch {
		case jsontext.Is(name, "id"):
			m.ID = value
		case jsontext.Is(name, "method"):
			m.Method = value
		case jsontext.Is(name, "params"):
			m.Params = value
		case jsontext.Is(name, "result"):
			m.result = value
		case jsontext.Is(name, "error"):
			m.Error = value
		}
	})
	if string(m.Error) == "null" && m.result != nil {
		m.Error = nil
	}
	return m, err
}

// ReplyID is the request number in the id of a reply. Some servers echo it as a string
// (modelcontextprotocol/python-sdk#1720). It is 0 for no id, null and 0, which name no
// request, and -1 for an id that no request has.
func ReplyID(id []byte) int64 {
	if id == nil || string(id) == "null" {
		return 0
	}
	if jsontext.Kind(id) == '"' {
		id = id[1 : len(id)-1]
	}
	if n, ok := jsontext.Integer(id); ok && n >= 0 {
		return n
	}
	return -1
}

// Result is a reply's result, or its error as an *RPCError. An error that is a string is used
// as the message.
func (m *Message) Result() ([]byte, error) {
	if m.Error == nil {
		return m.result, nil
	}
	code, _ := jsontext.Integer(jsontext.Member(m.Error, "code"))
	message := cmp.Or(jsontext.Text(jsontext.Member(m.Error, "message")), jsontext.Text(m.Error), Snippet(m.Error))
	return nil, &RPCError{Code: int(code), Message: message, Data: jsontext.Member(m.Error, "data")}
}

// Snippet is the beginning of b as valid UTF-8, for a quotation in a message.
func Snippet(b []byte) string {
	return strings.ToValidUTF8(readable.Cut(string(bytes.TrimSpace(b)), 300, "…"), "\uFFFD")
}

func Notification(method string, params []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func ReplyResult(id, result []byte) []byte {
	return append(append(BeginReply(id, len(result)), result...), '}')
}

// BeginReply is a reply without its result, which may have size bytes, and without the bracket after it.
func BeginReply(id []byte, size int) []byte {
	const least = `{"jsonrpc":"2.0","id":,"result":}`
	return fmt.Appendf(make([]byte, 0, len(least)+len(id)+size), `{"jsonrpc":"2.0","id":%s,"result":`, id)
}

func ReplyError(id []byte, code int, what string) []byte {
	return (&RPCError{Code: code, Message: what}).Reply(id)
}

func CancelledNotification(id int64) []byte {
	return Notification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%d,"reason":"no longer wanted"}`, id))
}

type Form struct {
	Key     string // the server's key for it in 2026-07-28; "" for none
	Message string
	Schema  []byte // of the fields
}

// AskFunc shows the user a form. The action is accept, with the content, or decline or
// cancel.
type AskFunc = func(ctx context.Context, form Form) (action string, content []byte)

type Request struct {
	Method     string
	Params     []byte // an object without _meta
	Meta       []byte // members of _meta, without braces; nil for none
	Name       string // 2026-07-28 over HTTP: Mcp-Name
	Headers    []HeaderField
	AtMostOnce bool                // tools/call: sent again only if it did not run
	ReadOnly   bool                // the tool claims to be read-only: after a 503 the call is sent again
	Opening    bool                // the probe or initialize: no session yet
	Progress   func(params []byte) // called for progress, from any goroutine; nil requests none
	Ask        AskFunc             // asks the user the server's questions; nil: as for all requests
}

// Message is the request as a message with that id. The id is also the progressToken if
// progress is wanted.
func (r *Request) Message(id int64) []byte {
	meta := string(r.Meta)
	if r.Progress != nil {
		meta = strings.TrimPrefix(fmt.Sprintf(`%s,"progressToken":%d`, meta, id), ",")
	}
	params := r.Params
	if meta != "" {
		comma := ","
		if len(params) == 2 {
			comma = ""
		}
		params = fmt.Appendf(nil, `%s%s"_meta":{%s}}`, params[:len(params)-1], comma, meta)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, r.Method, params)
}

type HeaderField struct{ Name, Value string }
