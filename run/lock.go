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

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
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
	list string // of the file: "servers" or "tools"
	name string
	body []byte // the line without name and digest: an object, empty where there is nothing to lock
}

// locked is the definition of t as the lock has it.
func (t *tool) locked() lockedItem {
	if t.pinned != nil {
		return *t.pinned
	}
	b := appendText([]byte{'{'}, "server", t.conn.Name)
	b = appendText(b, "tool", t.Name)
	b = appendText(b, "title", t.Title)
	b = appendText(b, "description", t.Description)
	b = appendJSON(b, "schema", t.InputSchema)
	b = appendJSON(b, "output_schema", t.OutputSchema)
	b = appendJSON(b, "annotations", t.Annotations)
	b = appendJSON(b, "meta", t.Meta)
	return lockedItem{"tools", t.name, append(b, '}')}
}

// locked is the instructions of c as the lock has them.
func (c *connection) locked() lockedItem {
	return lockedItem{"servers", c.Name, append(appendText([]byte{'{'}, "instructions", c.instructionText()), '}')}
}

func appendText(object []byte, key, text string) []byte {
	if text == "" {
		return object
	}
	return jsontext.AppendMember(object, key, event.AppendString(nil, text))
}

func appendJSON(object []byte, key string, raw []byte) []byte {
	if raw == nil {
		return object
	}
	return jsontext.AppendMember(object, key, event.AppendJSON(nil, jsontext.AppendCompact(nil, raw)))
}

func (l lockedItem) isEmpty() bool { return len(l.body) == len("{}") }

func (l lockedItem) digest() string {
	sum := sha256.Sum256(l.body)
	return hex.EncodeToString(sum[:])
}

// locks are the items that a lock of these servers has, in the order of the file. A
// tool that the rules of this run deny is left out, unless it is in the lock known.
func (b *toolbox) locks(known map[string]lockedItem) []lockedItem {
	var all []lockedItem
	for _, c := range b.conns {
		if l := c.locked(); !l.isEmpty() {
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

// writeLock writes the lock file, whole or not at all, and gives the lines of each list.
func writeLock(ctx context.Context, path string, locks []lockedItem) (lines map[string][][]byte, err error) {
	lines = map[string][][]byte{"tools": nil}
	for _, l := range locks {
		line := event.AppendString([]byte("\n{\"name\":"), l.name)
		line = append(line, `,"sha256":"`+l.digest()+`",`...)
		lines[l.list] = append(lines[l.list], append(line, l.body[1:]...))
	}
	out := []byte(`{"version":1`)
	for _, list := range slices.Sorted(maps.Keys(lines)) {
		out = append(append(out, `,"`+list+`":[`...), bytes.Join(lines[list], []byte(","))...)
		if len(lines[list]) > 0 {
			out = append(out, '\n')
		}
		out = append(out, ']')
	}
	if out = append(out, "}\n"...); len(out) > config.MaxRuleFile {
		return nil, failure.UsageError([]string{"--tools and --exclude-tools offer fewer tools"},
			"--tools-lock: %q is not written: it would be larger than the %d MiB that are read", path, config.MaxRuleFile>>20)
	}
	old, _ := os.Lstat(path)
	if err := confine.ReplaceFile(ctx, path, old, out); err != nil {
		return nil, config.OpenError("--tools-lock", path, err)
	}
	return lines, nil
}

// readLock reads a lock file. A digest that does not fit its item is an error.
func readLock(c *config.Config, path string, warn config.Warner) (map[string]lockedItem, error) {
	// Half of a surrogate pair or a key that stands twice is in the lock as the server sent it.
	doc, err := c.ReadDocument("--tools-lock", path, jsontext.Peer, warn)
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
	l, digest := lockedItem{list: list, body: append(make([]byte, 0, len(e.Raw())), '{')}, ""
	for _, m := range e.Members() {
		switch m.Key {
		case "name":
			l.name = m.Text()
		case "sha256":
			digest = m.Text()
		default:
			l.body = jsontext.AppendMember(l.body, m.Key, m.Raw())
		}
	}
	l.body = append(l.body, '}')
	if digest != l.digest() {
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
		if !ok && is.list == "tools" {
			diff += "\n+ " + is.title() + " is new: " + shortFrom(0, []byte(cmp.Or(string(is.member("description")), "(no description)")))
			continue
		}
		diff += changedMembers(was, is)
	}
	for _, name := range slices.Sorted(maps.Keys(locked)) {
		if was := locked[name]; was.list == "servers" {
			diff += changedMembers(was, lockedItem{list: was.list, name: was.name})
			continue
		}
		diff += "\n- " + name + " is gone"
	}
	return diff
}

// title names an item in messages.
func (l lockedItem) title() string {
	if l.list == "servers" {
		return "server " + l.name
	}
	return l.name
}

// changedMembers shows every member that differs, from shortly before the difference.
func changedMembers(was, is lockedItem) (diff string) {
	if bytes.Equal(was.body, is.body) {
		return ""
	}
	var keys []string
	for _, body := range [][]byte{was.body, is.body} {
		for literal := range jsontext.Members(body) {
			keys = append(keys, jsontext.Unquote(literal))
		}
	}
	for i, key := range keys {
		a, b := was.member(key), is.member(key)
		if slices.Contains(keys[:i], key) || bytes.Equal(a, b) {
			continue
		}
		from := 0
		for from < min(len(a), len(b)) && a[from] == b[from] {
			from++
		}
		from = max(from-60, 0)
		diff += "\n- " + is.title() + " " + key + ": " + shortFrom(from, a) + "\n+ " + is.title() + " " + key + ": " + shortFrom(from, b)
	}
	return diff
}

func (l lockedItem) member(key string) []byte { return jsontext.Member(l.body, key) }

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
