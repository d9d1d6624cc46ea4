package elicit

import (
	"bytes"
	"context"
	"strings"
	"time"
	"unicode"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/secrets"
)

// HostPatience is how long the user of a host may take for an answer. Some hosts never answer
// (gleanwork/glean-plugins-vnext#39).
const HostPatience = 5 * time.Minute

// AtHost asks the user of a host a server's questions, prefixed with the server's name; nil if ask
// is nil.
func AtHost(ask toolserver.Asker, server string, hidden *secrets.Set) wire.AskFunc {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, form wire.Form) (string, []byte) {
		limited, cancel := context.WithTimeout(ctx, HostPatience)
		defer cancel()
		form = safeForm(form)
		form.Message = hidden.Message().HideString("Server " + server + " asks: " + form.Message)
		answer, err := ask(limited, form)
		if err != nil {
			return "cancel", nil
		}
		return answer.Action, answer.Content
	}
}

// safeForm escapes a server's form, because the host of --serve may show its words unchanged: the
// message, and names and strings of the schema. A string of the schema may be an answer that the
// host returns, such as the default. So a string is changed only if it contains characters that no
// such answer needs: control characters other than tabs and line ends, and characters that change
// the direction of text.
func safeForm(form wire.Form) wire.Form {
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
