package stream

import (
	"slices"
	"strings"
)

// withoutToolRole returns a conversation with calls and their results as text,
// for chat templates without tools. Many of them demand that the roles alternate.
func withoutToolRole(messages []Message) (list []Message) {
	for i := range messages {
		m := *messages[i].asSent()
		if isSilent(&m) {
			continue
		}
		switch m.Role {
		case Assistant:
			m = callsAsText(m)
		case ToolRole:
			text := Part{Text: "[tool: " + m.Name + "]\n" + plainText(m.Parts)}
			m = Message{Role: User, Parts: append([]Part{text}, otherParts(m.Parts)...)}
		}
		if last := len(list) - 1; last >= 0 && m.Role == User && list[last].Role == User {
			between := []Part{{}} // an empty line, where both are text
			list[last] = Message{Role: User, Parts: slices.Concat(list[last].Parts, between, m.Parts)}
		} else {
			list = append(list, m)
		}
	}
	return list
}

func callsAsText(m Message) Message {
	var texts []string
	if hasText(m.Parts) {
		texts = append(texts, plainText(m.Parts))
	}
	for _, c := range m.Calls {
		texts = append(texts, "[call: "+c.Name+"]\n"+string(sentArguments(c.Arguments)))
	}
	m.Parts = append([]Part{{Text: strings.Join(texts, "\n\n")}}, otherParts(m.Parts)...)
	m.Calls, m.Opaque.content = nil, nil
	if m.Opaque.api != chatDialect.name {
		m.Opaque = Opaque{}
	}
	return m
}
