package elicit

import (
	"bytes"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
)

// Safe is a form of a server for the host of --serve, which may show the words of the server
// as they come: they are escaped, in the message, and in each name and string of the schema.
func Safe(form wire.Form) wire.Form {
	form.Message = safe(form.Message)
	var schema []byte
	for rest := form.Schema; ; {
		from := bytes.IndexByte(rest, '"')
		if from < 0 {
			form.Schema = append(schema, rest...)
			return form
		}
		end := jsontext.LiteralEnd(rest, from)
		schema = jsontext.AppendQuoted(append(schema, rest[:from]...), safe(jsontext.Unquote(rest[from:end])))
		rest = rest[end:]
	}
}

// safe is a text as a terminal may show it. One in which only backslashes would be escaped
// stays as it is: in a schema it may be a pattern, or a value that the host gives back.
func safe(text string) string {
	shown := escape.Escape(text)
	if strings.ReplaceAll(shown, `\\`, `\`) == text {
		return text
	}
	return shown
}
