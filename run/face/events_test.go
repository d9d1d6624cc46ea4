package face

import (
	"fmt"
	"strconv"

	"toolpipe/run/event"
)

// literal is s as the JSON string that a server sends.
func literal(s string) []byte { return event.AppendString(nil, s) }

// callEvent and okResult are a call and a server's answer to it.
func callEvent(n int, name, arguments string) *event.Call {
	return &event.Call{ID: event.ID("c" + strconv.Itoa(n)), Name: name, Arguments: []byte(arguments)}
}

func okResult(n int, text string) *event.Result {
	return &event.Result{ID: event.ID(fmt.Sprintf("c%d", n)), Status: event.ResultOK, Text: literal(text), Bytes: len(text)}
}

// ownResult is an answer of toolpipe's own to a call.
func ownResult(n int, status event.ResultStatus, text string) *event.Result {
	text = "[toolpipe] " + text
	return &event.Result{ID: event.ID(fmt.Sprintf("c%d", n)), Status: status, Text: literal(text), Bytes: len(text)}
}
