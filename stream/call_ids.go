package stream

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

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

// idRule describes the ids that the endpoints of a dialect accept in calls of other endpoints.
type idRule struct {
	longest int  // characters
	plain   bool // only letters, digits, _ and -
}

// sent returns the id of a call as it is sent. own says that the endpoint issued the id itself: it
// accepts the id unless it has refused one. Any other id is replaced by a hash.
func (rule idRule) sent(id string, own bool, o *options) string {
	fits := own && !o.mapsIDs || len(id) <= rule.longest && (hasOnly(id, "_-") || !rule.plain && !o.mapsIDs)
	if o.nineIDs {
		fits = isNine(id)
	}
	if fits {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	if o.nineIDs {
		return strconv.FormatUint(binary.BigEndian.Uint64(sum[:])|1<<63, 36)[4:]
	}
	return hex.EncodeToString(sum[:16])
}

func isNine(id string) bool { return len(id) == 9 && hasOnly(id, "") }

// hasOnly reports whether id has only letters, digits and the other characters.
func hasOnly(id, others string) bool {
	return !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(others, r)
	})
}

// withIDs returns m with its ids of calls as sent returns them, also in the endpoint's state.
func (m *Message) withIDs(sent func(id string) string) *Message {
	renamed := *m
	if m.Role == ToolRole {
		renamed.CallID = sent(m.CallID)
		return &renamed
	}
	if !slices.ContainsFunc(m.Calls, func(c Call) bool { return sent(c.ID) != c.ID }) {
		return m
	}
	renamed.Calls = slices.Clone(m.Calls)
	for i := range renamed.Calls {
		renamed.Calls[i].ID = sent(m.Calls[i].ID)
	}
	if m.Opaque.api == chatDialect.name {
		return &renamed
	}
	var items [][]byte
	for _, item := range gjson.ParseBytes(m.Opaque.state()).Array() {
		name, raw := "call_id", []byte(item.Raw)
		if item.Get("type").Str == "tool_use" {
			name = "id"
		}
		if id := stringOrNumber(item.Get(name)); id != "" {
			raw = withMembers(item, gjson.ParseBytes(formed(`{"`+name+`":?}`, sent(id))))
		}
		items = append(items, raw)
	}
	renamed.Opaque.json = bytes.Join(items, []byte(","))
	return &renamed
}
