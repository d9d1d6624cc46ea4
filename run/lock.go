package run

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream/jsontext"
)

// A lock pins the definition of every offered tool, and the instructions of servers
// that go into the system message, so that they cannot change after a person has
// reviewed them; such a change is known as a rug pull. The file is JSON, one item a
// line in a fixed order, so that git shows what changed. servers is absent where no
// instructions are used:
//
//	{"version":1,"servers":[
//	{"name":"fs","sha256":"…","instructions":"…"}
//	],"tools":[
//	{"name":"fs__read","sha256":"…","server":"fs","tool":"read","description":"…","schema":{…}},
//	…
//	]}
//
// The digest is over the rest of the line.
type lockedItem struct {
	list    string // of the file: "servers" or "tools"
	name    string
	digest  string
	members []lockedMember
}

// lockedMember is one part of a definition, as JSON.
type lockedMember struct {
	key  string
	json []byte
}

// locked is the definition of t as the lock has it.
func (t *tool) locked() lockedItem {
	if t.pinned != nil {
		return *t.pinned
	}
	l := lockedItem{list: "tools", name: t.name}
	l.addText("server", t.conn.Name)
	l.addText("tool", t.Name)
	l.addText("title", t.Title)
	l.addText("description", t.Description)
	l.addJSON("schema", t.InputSchema)
	l.addJSON("output_schema", t.OutputSchema)
	l.addJSON("annotations", t.Annotations)
	l.addJSON("meta", t.Meta)
	l.digest = l.sum()
	return l
}

// locked is the instructions of c as the lock has them.
func (c *connection) locked() lockedItem {
	l := lockedItem{list: "servers", name: c.Name}
	l.addText("instructions", c.instructionText())
	l.digest = l.sum()
	return l
}

func (l *lockedItem) addText(key, text string) {
	if text != "" {
		l.members = append(l.members, lockedMember{key, event.AppendString(nil, text)})
	}
}

func (l *lockedItem) addJSON(key string, raw []byte) {
	if raw != nil {
		l.members = append(l.members, lockedMember{key, event.AppendJSON(nil, jsontext.AppendCompact(nil, raw))})
	}
}

// body is the line without name and digest.
func (l *lockedItem) body() []byte {
	b := []byte{'{'}
	for _, m := range l.members {
		b = jsontext.AppendMember(b, m.key, m.json)
	}
	return append(b, '}')
}

func (l *lockedItem) sum() string {
	sum := sha256.Sum256(l.body())
	return hex.EncodeToString(sum[:])
}

// locks are the items that a lock of these servers has, in the order of the file. A
// tool that the rules of this run deny is left out, unless it is in the lock known.
func (b *toolbox) locks(known map[string]lockedItem) []lockedItem {
	var all []lockedItem
	for _, c := range b.conns {
		if l := c.locked(); len(l.members) > 0 {
			all = append(all, l)
		}
	}
	for _, t := range b.all {
		if _, is := known[t.name]; is || !t.withheld {
			all = append(all, t.locked())
		}
	}
	slices.SortFunc(all, func(a, b lockedItem) int {
		return cmp.Or(strings.Compare(a.list, b.list), strings.Compare(a.name, b.name))
	})
	return all
}

// writeLock writes the lock file, whole or not at all, and tells how many items of
// each list it has.
func writeLock(ctx context.Context, path string, locks []lockedItem) (counts map[string]int, err error) {
	out := []byte(`{"version":1`)
	counts = map[string]int{}
	for _, list := range []string{"servers", "tools"} {
		var lines [][]byte
		for _, l := range locks {
			if l.list == list {
				line := event.AppendString([]byte("\n{\"name\":"), l.name)
				line = append(line, `,"sha256":"`+l.digest+`",`...)
				lines = append(lines, append(line, l.body()[1:]...))
			}
		}
		if counts[list] = len(lines); len(lines) > 0 {
			out = append(append(out, `,"`+list+`":[`...), bytes.Join(lines, []byte(","))...)
			out = append(out, "\n]"...)
		} else if list == "tools" {
			out = append(out, `,"tools":[]`...)
		}
	}
	old, _ := os.Lstat(path)
	if err := confine.ReplaceFile(ctx, path, old, append(out, "}\n"...)); err != nil {
		return nil, config.OpenError("--tools-lock", path, err)
	}
	return counts, nil
}

// readLock reads a lock file. A digest that does not fit its item is an error.
func readLock(path string, warn config.Warner) (map[string]lockedItem, error) {
	doc, err := config.ReadDocument("--tools-lock", path, warn)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, failure.UsageError([]string{"--tools-lock-update writes it"}, "--tools-lock: %q does not exist", path)
		}
		return nil, err
	}
	if v, ok := doc.Get("version"); !ok || string(v.Raw()) != "1" {
		return nil, doc.Errorf("not a lock file of version 1")
	}
	if tools, ok := doc.Get("tools"); !ok || tools.Kind() != '[' {
		return nil, doc.Errorf("a lock file without tools")
	}
	all := map[string]lockedItem{}
	for _, m := range doc.Members() {
		switch m.Key {
		case "version":
		case "servers", "tools":
			for _, e := range m.Elements() {
				l, err := readLocked(m.Key, e)
				if err != nil {
					return nil, err
				}
				all[l.title()] = l
			}
		default:
			return nil, m.Unknown([]string{"version", "servers", "tools"})
		}
	}
	return all, nil
}

func readLocked(list string, e config.Value) (lockedItem, error) {
	l := lockedItem{list: list}
	for _, m := range e.Members() {
		switch m.Key {
		case "name":
			l.name = m.Text()
		case "sha256":
			l.digest = m.Text()
		default:
			l.members = append(l.members, lockedMember{m.Key, m.Raw()})
		}
	}
	if l.digest != l.sum() {
		return l, e.Errorf("the digest of %q does not fit its definition", l.name)
	}
	return l, nil
}

const reviewLock = "review the change, then --tools-lock-update writes a new lock"

// lockDiff shows what differs between a lock, which it uses up, and what is offered;
// "" for nothing.
func lockDiff(locked map[string]lockedItem, offered []lockedItem) (diff string) {
	for _, is := range offered {
		was, ok := locked[is.title()]
		delete(locked, is.title())
		if !ok {
			text := cmp.Or(string(is.member("description")), string(is.member("instructions")), "(no description)")
			diff += "\n+ " + is.title() + " is new: " + shortFrom(0, []byte(text))
			continue
		}
		diff += changedMembers(was, is)
	}
	for _, name := range slices.Sorted(maps.Keys(locked)) {
		diff += "\n- " + name + " is gone"
	}
	return diff
}

// title names an item in messages.
func (l *lockedItem) title() string {
	if l.list == "servers" {
		return "server " + l.name
	}
	return l.name
}

// changedMembers shows every member that differs, from shortly before the difference.
func changedMembers(was, is lockedItem) string {
	diff := ""
	both := slices.Clone(was.members)
	for _, m := range is.members {
		if was.member(m.key) == nil {
			both = append(both, m)
		}
	}
	for _, m := range both {
		a, b := was.member(m.key), is.member(m.key)
		if bytes.Equal(a, b) {
			continue
		}
		from := 0
		for from < min(len(a), len(b)) && a[from] == b[from] {
			from++
		}
		from = max(from-60, 0)
		diff += "\n- " + is.title() + " " + m.key + ": " + shortFrom(from, a) + "\n+ " + is.title() + " " + m.key + ": " + shortFrom(from, b)
	}
	return diff
}

func (l *lockedItem) member(key string) []byte {
	for _, m := range l.members {
		if m.key == key {
			return m.json
		}
	}
	return nil
}

// shortFrom shows raw from that byte on, in at most about 400 bytes.
func shortFrom(from int, raw []byte) string {
	if raw == nil {
		return "(none)"
	}
	text := toolserver.Cut(string(raw[from:]), 400, "…")
	if from > 0 {
		text = "…" + text
	}
	return strings.ToValidUTF8(text, "")
}
