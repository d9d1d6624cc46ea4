package mcp

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// paramHeader is an argument of a tool that is also sent as a header (x-mcp-header of
// 2026-07-28).
type paramHeader struct {
	path []string
	name string // without Mcp-Param-
}

func (w *schemaWalk) header(raw []byte, path []string) {
	mark := jsontext.Member(raw, "x-mcp-header")
	if mark == nil || w.misuse != "" {
		return
	}
	name := jsontext.Text(mark)
	typ := jsontext.Text(jsontext.Member(raw, "type"))
	switch {
	case !wire.IsToken(name):
		w.misuse = fmt.Sprintf("x-mcp-header %s is not a header name", wire.Snippet(mark))
	case len(path) == 0:
		w.misuse = fmt.Sprintf("x-mcp-header %q is not on a plain property", name)
	case typ != "string" && typ != "integer" && typ != "boolean":
		w.misuse = fmt.Sprintf("x-mcp-header %q is on a property that is not of type string, integer or boolean", name)
	case slices.ContainsFunc(w.headers, func(h paramHeader) bool { return strings.EqualFold(h.name, name) }):
		w.misuse = fmt.Sprintf("x-mcp-header %q is used twice", name)
	default:
		w.headers = append(w.headers, paramHeader{path, name})
	}
}

func headerFields(headers []paramHeader, args []byte) ([]wire.HeaderField, error) {
	var fields []wire.HeaderField
	for _, h := range headers {
		value, ok, err := headerText(jsontext.Member(args, h.path...))
		if err != nil {
			return nil, fmt.Errorf("argument %q: %w", strings.Join(h.path, "."), err)
		}
		if ok {
			fields = append(fields, wire.HeaderField{Name: h.name, Value: headerValue(value)})
		}
	}
	return fields, nil
}

// headerText is the text of an argument in a header. null, an absent argument, an object and
// an array have none.
func headerText(v []byte) (string, bool, error) {
	switch {
	case jsontext.Kind(v) == '"':
		return jsontext.Unquote(v), true, nil
	case string(v) == "true" || string(v) == "false":
		return string(v), true, nil
	case !jsontext.IsNumber(v):
		return "", false, nil
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53-1 {
		return "", false, fmt.Errorf("%s cannot be sent as an integer header", v)
	}
	return strconv.FormatInt(int64(f), 10), true, nil
}

const (
	sentinelBegin = "=?base64?"
	sentinelEnd   = "?="
)

// headerValue is s as the value of a header: unchanged if it is printable ASCII without white
// space around it and does not look encoded, otherwise base64 between markers (2026-07-28,
// basic/transports).
func headerValue(s string) string {
	encoded := strings.HasPrefix(s, sentinelBegin) && strings.HasSuffix(s, sentinelEnd)
	unprintable := strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	if strings.TrimSpace(s) == s && !encoded && !unprintable {
		return s
	}
	return sentinelBegin + base64.StdEncoding.EncodeToString([]byte(s)) + sentinelEnd
}
