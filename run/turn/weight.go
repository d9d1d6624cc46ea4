package turn

import (
	"strings"

	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

type requestLoad struct {
	weight   int
	messages int // counted in weight
	tools    int // part of weight: definitions of tools
}

// weigh adds the weight of what the request has gained since the last call.
func (l *requestLoad) weigh(r *stream.Request) {
	if l.messages > len(r.Messages) { // calls were dropped
		*l = requestLoad{}
	}
	for ; l.messages < len(r.Messages); l.messages++ {
		l.weight += weightOf(&r.Messages[l.messages])
	}
	tools := 0
	for i := range r.Tools {
		tools += len(r.Tools[i].Name) + len(r.Tools[i].Description) + len(r.Tools[i].Schema)
	}
	l.weight, l.tools = l.weight+tools-l.tools, tools
}

func weightOf(m *stream.Message) (weight int) {
	for _, p := range m.Sent() {
		weight += weightOfPart(&p)
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		weight += len(c.Name) + len(c.Arguments) + len(c.Extra)
	}
	return weight + m.Opaque.Size()
}

func weightOfPart(p *stream.Part) int {
	if p.Image == nil {
		return len(p.Text) + len(p.JSON) + len(p.Raw)
	}
	if p.Image.MIME == stream.PDF {
		return imageWeight + len(p.Image.Data)/20 // pages; their number is unknown
	}
	return imageWeight
}

// isResult reports whether a message is the result of a call, or of command lines.
func isResult(m *stream.Message) bool { return m.Role == stream.ToolRole || m.Output }

// oldResults are the indexes of the results that may be left out, first to last.
func oldResults(messages []stream.Message) (places []int) {
	rounds, end := 0, len(messages)
	for end > 0 && rounds <= untrimmedRounds {
		end--
		if isResult(&messages[end]) && (end+1 == len(messages) || !isResult(&messages[end+1])) {
			rounds++
		}
	}
	if rounds <= untrimmedRounds {
		return nil
	}
	for i := range messages[:end+1] {
		if m := &messages[i]; isResult(m) && m.Instead == nil && weightOf(m) >= smallestTrimmed {
			places = append(places, i)
		}
	}
	return places
}

// heaviestAttachment finds the heaviest attachment: a picture in a message of the user, or a text
// there with the heading of a file and followed by the prompt. message is -1 if there is none.
func heaviestAttachment(messages []stream.Message) (message, part int) {
	message, heaviest := -1, smallestTrimmed-1
	for i := range messages {
		m := &messages[i]
		if m.Role != stream.User || m.Output {
			continue
		}
		for at, p := range m.Sent() {
			isAttached := p.Image != nil || at < len(m.Sent())-1 && heading(&p) != ""
			if w := weightOfPart(&p); w > heaviest && isAttached {
				message, part, heaviest = i, at, w
			}
		}
	}
	return message, part
}

// heading is the line with the path of an attached text; "" if there is none.
func heading(p *stream.Part) string {
	const longest = 1 << 10
	text, end := p.Text, "\n\n"
	if p.JSON != nil {
		text, end = string(p.JSON[1:min(len(p.JSON)-1, longest)]), `\n\n`
	}
	head, _, found := strings.Cut(text[:min(len(text), longest)], end)
	if !found || !strings.HasSuffix(head, ":") {
		return ""
	}
	if p.JSON != nil {
		head = jsontext.Unquote([]byte(`"` + head + `"`))
	}
	return head + "\n\n"
}

// bytesOf is the size of parts: decoded texts, and pictures as files.
func bytesOf(parts []stream.Part) (n int) {
	for _, p := range parts {
		switch {
		case p.Image != nil:
			n += len(p.Image.Data) / 4 * 3
		case p.JSON != nil:
			n += len(jsontext.Unescape(p.JSON[1 : len(p.JSON)-1]))
		default:
			n += len(p.Text) + len(p.Raw)
		}
	}
	return n
}
