package elicit

import (
	"bytes"
	"strings"
	"unicode"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
)

// Safe is a form of a server for the host of --serve, which may show the words of the server
// as they come: they are escaped, in the message, and in each name and string of the schema. A
// string of the schema may be an answer that the host gives back, such as the default. So only
// those are changed that hold what no such answer needs: control characters other than tabs and
// line ends, and those that change the direction of text.
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

func safe(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) || unicode.Is(unicode.Bidi_Control, r)
	}) {
		return escape.Escape(text)
	}
	return text
}
