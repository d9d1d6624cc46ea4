package turn

import (
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/session"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
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
	if m.Omitted() {
		return 0
	}
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

// A share is a part of a request that cannot be left out.
type share struct {
	what, hint string // the hint says how to shorten it
	bytes      int
}

// remains says what a request consists of that cannot be left out, and how to shorten its largest
// parts.
func (t *trimmer) remains(r *stream.Request) []string {
	shares := []share{
		{what: "results of the last rounds", hint: "--max-result-bytes N cuts each result that the model gets"},
		{what: "prompts and attachments", hint: "give the model less at once: --files DIR lets it read a large file in parts"},
		{what: "the model's own texts and calls", hint: "--max-tokens N limits each reply of the model"},
		{"tools and system message", "--tools GLOBS offers fewer tools, and --find-tools auto offers them when the model searches for them", t.load.tools},
	}
	named := t.load.tools
	for i := range r.Messages {
		m, of := &r.Messages[i], 3
		switch {
		case m.Omitted():
			continue
		case isResult(m):
			of = 0
		case m.Role == stream.User:
			of = 1
		case m.Role == stream.Assistant:
			of = 2
		}
		sent := stream.Message{Parts: m.Sent(), Calls: m.Calls, Opaque: m.Opaque}
		shares[of].bytes += sent.Size()
		named += sent.Size()
	}
	size := max(t.client.Size(r), named)
	text := "the rest, in bytes:"
	for _, s := range shares {
		text += " " + s.what + " " + readable.Grouped(s.bytes) + ","
	}
	text += " JSON, ids and names around them " + readable.Grouped(size-named) + "; in all " + readable.Grouped(size)
	slices.SortStableFunc(shares, func(a, b share) int { return b.bytes - a.bytes })
	hint := shares[0].hint
	for _, s := range shares[1:] {
		if s.bytes > named/4 {
			hint += "; " + s.hint
		}
	}
	if r.MaxTokens > 0 {
		hint += "; --max-tokens, which is " + strconv.Itoa(r.MaxTokens) + ", takes a part of the context too"
	}
	if t.cut.Bytes > 0 {
		hint += "; left out already: " + readable.Grouped(t.cut.Bytes) + " bytes"
	}
	return []string{text, hint}
}

// isResult reports whether a message is the result of a call, or of command lines.
func isResult(m *stream.Message) bool { return m.Role == stream.ToolRole || m.Output }

func isPrompt(m *stream.Message) bool { return m.Role == stream.User && !m.Output }

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
		if !isPrompt(m) || m.Omitted() {
			continue
		}
		prompt := len(m.Sent()) - 1
		if session.SaysRounds(m) {
			prompt--
		}
		for at, p := range m.Sent() {
			isAttached := p.Image != nil || at < prompt && heading(&p) != ""
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
