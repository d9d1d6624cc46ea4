package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"toolpipe/stream/jsontext"
)

// Error codes of JSON-RPC 2.0 and of the revisions of MCP.
const (
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeHeaderMismatch     = -32020 // 2026-07-28: headers do not say what the body does
	CodeMissingCapability  = -32021 // 2026-07-28: data.requiredCapabilities
	CodeUnsupportedVersion = -32022 // 2026-07-28: data.supported
	CodeURLElicitation     = -32042 // 2025-11-25: data.elicitations
)

// Message is one JSON-RPC message taken apart; its parts share the memory of
// the bytes that came. nil is absent. At most one of result and failure is
// looked at, the failure first.
type Message struct {
	ID, Method, Params, result, Error []byte
}

func (m *Message) IsReply() bool { return m.Method == nil && (m.result != nil || m.Error != nil) }

// Answers says whether a reply names the request it is for. One that could
// not be read has null for its id, or none.
func (m *Message) Answers() bool { return m.ID != nil && string(m.ID) != "null" }

// ParseMessages checks a frame and takes it apart. An array is a batch, which
// some servers send although only 2025-03-26 had them.
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

// ReplyID is the number that an id stands for. Servers echo it as a string
// too (python-sdk#1720), or as 0, which is never one of ours; that and
// anything else says nothing.
func ReplyID(id []byte) (int64, bool) {
	if jsontext.Kind(id) == '"' {
		id = id[1 : len(id)-1]
	}
	n, ok := jsontext.Integer(id)
	return n, ok && n > 0
}

// RPCError is a reply that is an error.
type RPCError struct {
	Code    int
	Message string
	Data    []byte // raw; nil when absent
}

func (e *RPCError) Error() string {
	if e.Code == 0 { // none, as a rule
		return e.Message
	}
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// Answer is a reply's result, or its error as a *RPCError. The error's form is
// the sender's affair: a bare string is taken as its message.
func (m *Message) Answer() ([]byte, error) {
	if m.Error == nil {
		return m.result, nil
	}
	code, _ := jsontext.Integer(jsontext.Member(m.Error, "code"))
	e := &RPCError{Code: int(code), Message: jsontext.Text(jsontext.Member(m.Error, "message")), Data: jsontext.Member(m.Error, "data")}
	if e.Message == "" {
		if e.Message = jsontext.Text(m.Error); e.Message == "" {
			e.Message = Snippet(m.Error)
		}
	}
	return nil, e
}

// Snippet is the beginning of what a peer sent, for an error message.
func Snippet(b []byte) string {
	const most = 300
	b = bytes.TrimSpace(b)
	if len(b) > most {
		b = append(bytes.Clone(b[:most]), "…"...)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// AppendRequest appends a request. params is an object; meta, members of its
// _meta without braces, is put in at its end.
func AppendRequest(dst []byte, id int64, method string, params, meta []byte, token bool) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"method":"`...)
	dst = append(dst, method...)
	dst = append(dst, `","params":`...)
	if len(meta) == 0 && !token {
		return append(append(dst, params...), '}')
	}
	dst = append(dst, params[:len(params)-1]...)
	if len(params) > 2 {
		dst = append(dst, ',')
	}
	dst = append(append(dst, `"_meta":{`...), meta...)
	if token {
		if len(meta) > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `"progressToken":`...), id, 10)
	}
	return append(dst, "}}}"...)
}

func Notification(method string, params []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func ReplyResult(id, result []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func ReplyError(id []byte, code int, what string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, jsontext.Quoted(what))
}

func CancelledNotification(id int64) []byte {
	return Notification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%d,"reason":"no longer wanted"}`, id))
}

// Request is one request on its way. Its params are complete but for _meta.
type Request struct {
	Method     string
	Params     []byte
	Meta       []byte // members of _meta; nil for none
	Name       string // 2026-07-28 over HTTP: Mcp-Name
	Headers    []HeaderField
	AtMostOnce bool                // tools/call: goes on the wire at most once
	Opening    bool                // the probe or initialize: no session yet
	Version    string              // 2026-07-28 over HTTP: what MCP-Protocol-Version says; "" for the negotiated one
	Progress   func(params []byte) // called for progress, from any goroutine; nil asks for none
}

type HeaderField struct{ Name, Value string }

// NoReplyError is a request that has no reply. sent says that the server may
// have got it.
type NoReplyError struct {
	Sent  bool
	Cause error
}

func (e *NoReplyError) Error() string { return e.Cause.Error() }
func (e *NoReplyError) Unwrap() error { return e.Cause }

// MayHaveArrived says whether the request that gave err may be known to the server.
func MayHaveArrived(err error) bool {
	u, ok := errors.AsType[*NoReplyError](err)
	return ok && u.Sent
}

const CodeInternal = -32603
