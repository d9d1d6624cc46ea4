package stream

import "strconv"

// UniqueIDs gives a new id to each call with the id of a call in an earlier message, and to its
// results. Some servers number the calls of each reply from 0, and endpoints refuse a
// conversation with a duplicate id.
func UniqueIDs(messages []Message) {
	used, renamed := map[string]bool{}, map[string]string(nil)
	for i := range messages {
		m := &messages[i]
		if id, ok := renamed[m.CallID]; ok && m.Role == ToolRole {
			m.CallID = id
		}
		if m.Role == Assistant {
			renamed = newIDs(m.Calls, i, used)
		}
	}
}

// usedIDs returns the ids of the calls of a conversation.
func usedIDs(messages []Message) map[string]bool {
	used := map[string]bool{}
	for i := range messages {
		for _, call := range messages[i].Calls {
			used[call.ID] = true
		}
	}
	return used
}

// newIDs gives a new id to each call of the n-th message that has none, or a used one, and
// marks all ids as used. It returns the new ids by the old ones. They have 9 characters, which
// Mistral demands, and are the same in a replay.
func newIDs(calls []Call, n int, used map[string]bool) (renamed map[string]string) {
	var again []*Call
	for i := range calls {
		c := &calls[i]
		if c.ID == "" || used[c.ID] {
			again = append(again, c)
		}
		used[c.ID] = true
	}
	if again == nil {
		return nil
	}
	renamed = map[string]string{}
	for _, c := range again {
		id := ""
		for ; id == "" || used[id]; n++ {
			digits := strconv.Itoa(n)
			id = "call00000"[:max(9-len(digits), 0)] + digits
		}
		used[id], renamed[c.ID], c.ID = true, id, id
	}
	return renamed
}
