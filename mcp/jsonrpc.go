package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Error codes of JSON-RPC 2.0 and of the revisions of MCP.
const (
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeHeaderMismatch     = -32020 // 2026-07-28: headers do not say what the body does
	codeMissingCapability  = -32021 // 2026-07-28: data.requiredCapabilities
	codeUnsupportedVersion = -32022 // 2026-07-28: data.supported
	codeURLElicitation     = -32042 // 2025-11-25: data.elicitations
)

// message is one JSON-RPC message taken apart; its parts share the memory of
// the bytes that came. nil is absent. At most one of result and failure is
// looked at, the failure first.
type message struct {
	id, method, params, result, failure []byte
}

func (m *message) isReply() bool { return m.method == nil && (m.result != nil || m.failure != nil) }

// answers says whether a reply names the request it is for. One that could
// not be read has null for its id, or none.
func (m *message) answers() bool { return m.id != nil && string(m.id) != "null" }

// parseMessages checks a frame and takes it apart. An array is a batch, which
// some servers send although only 2025-03-26 had them.
func parseMessages(frame []byte, each func(message)) error {
	i := space(frame, 0)
	if i == len(frame) || frame[i] != '[' {
		m, err := parseMessage(frame)
		if err == nil {
			each(m)
		}
		return err
	}
	if err := checkJSON(frame); err != nil {
		return err
	}
	for v := range elements(frame[i:]) {
		if m, err := parseMessage(v); err == nil {
			each(m)
		}
	}
	return nil
}

func parseMessage(b []byte) (m message, err error) {
	err = checkObject(b, func(name, value []byte) {
		switch {
		case is(name, "id"):
			m.id = value
		case is(name, "method"):
			m.method = value
		case is(name, "params"):
			m.params = value
		case is(name, "result"):
			m.result = value
		case is(name, "error"):
			m.failure = value
		}
	})
	if string(m.failure) == "null" && m.result != nil {
		m.failure = nil
	}
	return m, err
}

// replyID is the number that an id stands for. Servers echo it as a string
// too (python-sdk#1720), or as 0, which is never one of ours; that and
// anything else says nothing.
func replyID(id []byte) (int64, bool) {
	if kind(id) == '"' {
		id = id[1 : len(id)-1]
	}
	n, ok := integer(id)
	return n, ok && n > 0
}

// rpcError is a reply that is an error.
type rpcError struct {
	code    int
	message string
	data    []byte // raw; nil when absent
}

func (e *rpcError) Error() string {
	if e.code == 0 { // none, as a rule
		return e.message
	}
	return fmt.Sprintf("%s (code %d)", e.message, e.code)
}

// answer is a reply's result, or its error as a *rpcError. The error's form is
// the sender's affair: a bare string is taken as its message.
func (m *message) answer() ([]byte, error) {
	if m.failure == nil {
		return m.result, nil
	}
	code, _ := integer(member(m.failure, "code"))
	e := &rpcError{code: int(code), message: text(member(m.failure, "message")), data: member(m.failure, "data")}
	if e.message == "" {
		if e.message = text(m.failure); e.message == "" {
			e.message = snippet(m.failure)
		}
	}
	return nil, e
}

// snippet is the beginning of what a peer sent, for an error message.
func snippet(b []byte) string {
	const most = 300
	b = bytes.TrimSpace(b)
	if len(b) > most {
		b = append(bytes.Clone(b[:most]), "…"...)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// appendRequest appends a request. params is an object; meta, members of its
// _meta without braces, is put in at its end.
func appendRequest(dst []byte, id int64, method string, params, meta []byte, token bool) []byte {
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

func notification(method string, params []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func replyResult(id, result []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func replyError(id []byte, code int, what string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted(what))
}

func cancelled(id int64) []byte {
	return notification("notifications/cancelled", fmt.Appendf(nil, `{"requestId":%d,"reason":"no longer wanted"}`, id))
}

// request is one request on its way. Its params are complete but for _meta.
type request struct {
	method  string
	params  []byte
	meta    []byte // members of _meta; nil for none
	name    string // 2026-07-28 over HTTP: Mcp-Name
	headers []headerField
	once    bool                // tools/call: goes on the wire at most once
	opening bool                // the probe or initialize: no session yet
	version string              // 2026-07-28 over HTTP: what MCP-Protocol-Version says; "" for the negotiated one
	heard   func(params []byte) // called for progress, from any goroutine; nil asks for none
}

type headerField struct{ name, value string }

// undelivered is a request that has no reply. sent says that the server may
// have got it.
type undelivered struct {
	sent  bool
	cause error
}

func (e *undelivered) Error() string { return e.cause.Error() }
func (e *undelivered) Unwrap() error { return e.cause }

// mayHaveArrived says whether the request that gave err may be known to the server.
func mayHaveArrived(err error) bool {
	u, ok := errors.AsType[*undelivered](err)
	return ok && u.sent
}
