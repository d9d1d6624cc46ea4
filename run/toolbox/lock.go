package toolbox

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
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// The lock is the file of --tools-lock. It pins the definition of every offered tool, the
// instructions of servers that go into the system message, and the skills of --skill, so that they
// cannot change after a person has reviewed them; such a change is known as a rug pull. The file is
// JSON, one item a line in a fixed order, so that git shows what changed. The members servers and
// skills are absent if they are empty. The member protocols pins nothing: it has the revision that
// each server spoke, so that toolpipe asks for that revision first:
//
//	{"version":1,"protocols":{
//	"fs":"2025-11-25"
//	},"servers":[
//	{"name":"fs","sha256":"…","instructions":"…"}
//	],"skills":[
//	{"name":"fs:skill://review/SKILL.md","sha256":"…","server":"fs","frontmatter":{…},"resources":[{"uri":"…","digest":"sha256:…","size":9},…]}
//	],"tools":[
//	{"name":"fs__read","sha256":"…","server":"fs","tool":"read","description":"…","schema":{…}},
//	…
//	]}
//
// The digest covers the rest of the line.

// A LockItem is one line of the file: a tool, a skill, or the instructions of a server.
type LockItem struct {
	List string // the list in the file: "servers", "skills" or "tools"
	Name string // the tool's name for the model, the value of --skill, or the server's name
	body []byte // the line without name and digest: an object, empty if there is nothing to lock
}

// LockTool is an item for a server's tool. name is its name for the model.
func LockTool(server, name string, t *wire.Tool) LockItem {
	b := appendText([]byte{'{'}, "server", server)
	b = appendText(b, "tool", t.Name)
	b = appendText(b, "title", t.Title)
	b = appendText(b, "description", t.Description)
	b = appendJSON(b, "schema", t.InputSchema)
	b = appendJSON(b, "output_schema", t.OutputSchema)
	b = appendJSON(b, "annotations", t.Annotations)
	b = appendJSON(b, "meta", t.Meta)
	return LockItem{"tools", name, append(b, '}')}
}

// Definition is the tool of an item of the list "tools".
func (l LockItem) Definition() wire.Tool {
	return wire.Tool{
		Name: l.Text("tool"), Title: l.Text("title"), Description: l.Text("description"),
		InputSchema: l.member("schema"), OutputSchema: l.member("output_schema"), Annotations: l.member("annotations"), Meta: l.member("meta"),
		ReadOnly: jsontext.IsTrue(jsontext.Member(l.member("annotations"), "readOnlyHint")),
	}
}

func lockInstructions(server, text string) LockItem {
	return LockItem{"servers", server, append(appendText([]byte{'{'}, "instructions", text), '}')}
}

func (l LockItem) Text(key string) string { return jsontext.Text(l.member(key)) }

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

// Digest is the SHA-256 of the item, in hexadecimal.
func (l LockItem) Digest() string {
	sum := sha256.Sum256(l.body)
	return hex.EncodeToString(sum[:])
}

// WriteLock writes the items, in the order of Toolbox.Locked, and the protocol revision of each
// server to the file, atomically. It returns the lines of each list.
func WriteLock(ctx context.Context, path string, items []LockItem, revisions map[string]string) (lines map[string][][]byte, err error) {
	lines = map[string][][]byte{"tools": nil}
	for _, l := range items {
		line := event.AppendString([]byte("\n{\"name\":"), l.Name)
		line = append(line, `,"sha256":"`+l.Digest()+`",`...)
		lines[l.List] = append(lines[l.List], append(line, l.body[1:]...))
	}
	out := []byte(`{"version":1`)
	for i, name := range slices.Sorted(maps.Keys(revisions)) {
		out = append(out, map[bool]string{true: ",\"protocols\":{\n", false: ",\n"}[i == 0]...)
		out = append(append(event.AppendString(out, name), ':'), jsontext.Quoted(revisions[name])...)
	}
	if len(revisions) > 0 {
		out = append(out, "\n}"...)
	}
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
	err = confine.ReplaceFile(ctx, path, old, out)
	if now, readErr := os.ReadFile(path); err != nil && readErr == nil && bytes.Equal(now, out) {
		err = nil // another run wrote the same content
	}
	if err != nil {
		return nil, config.OpenError("--tools-lock", path, err)
	}
	return lines, nil
}

// readLock reads a lock file: its items by title, and the protocol revisions by server name. A digest
// that does not match its item is an error.
func readLock(c *config.Config, path string, warn config.Warner) (all map[string]LockItem, revisions map[string]string, err error) {
	// Half of a surrogate pair or a duplicate key is stored as the server sent it.
	doc, err := c.ReadDocument("--tools-lock", path, jsontext.Peer, warn)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil, failure.UsageError([]string{"--tools-lock-update writes it"}, "--tools-lock: %q does not exist", path)
		}
		return nil, nil, err
	}
	if v, ok := doc.Get("version"); !ok || string(v.Raw()) != "1" {
		return nil, nil, doc.Errorf("not a lock file of version 1")
	}
	if tools, ok := doc.Get("tools"); !ok || tools.Kind() != '[' {
		return nil, nil, doc.Errorf("a lock file without tools")
	}
	all, revisions = map[string]LockItem{}, map[string]string{}
	for _, m := range doc.Members() {
		switch m.Key {
		case "version":
		case "protocols":
			for _, server := range m.Members() {
				revisions[server.Key] = server.Text()
			}
		case "servers", "skills", "tools":
			for _, e := range m.Elements() {
				l, err := readLockItem(m.Key, e)
				if err != nil {
					return nil, nil, err
				}
				all[l.Title()] = l
			}
		default:
			return nil, nil, m.Unknown([]string{"version", "protocols", "servers", "skills", "tools"})
		}
	}
	return all, revisions, nil
}

func readLockItem(list string, e document.Value) (LockItem, error) {
	l, digest := LockItem{List: list, body: append(make([]byte, 0, len(e.Raw())), '{')}, ""
	for _, m := range e.Members() {
		switch m.Key {
		case "name":
			l.Name = m.Text()
		case "sha256":
			digest = m.Text()
		default:
			l.body = jsontext.AppendMember(l.body, m.Key, m.Raw())
		}
	}
	l.body = append(l.body, '}')
	if digest != l.Digest() {
		return l, e.Errorf("the digest of %q does not fit its definition", l.Name)
	}
	return l, nil
}

const lockReviewHint = "review the change, then --tools-lock-update writes a new lock"

// lockDiff shows the differences between a lock and the offered items; "" for none. It empties locked.
func lockDiff(locked map[string]LockItem, offered []LockItem) (diff string) {
	for _, is := range offered {
		was, ok := locked[is.Title()]
		delete(locked, is.Title())
		if !ok && is.List != "servers" {
			description := cmp.Or(string(is.member("description")), string(jsontext.Member(is.member("frontmatter"), "description")), "(no description)")
			diff += "\n+ " + is.Title() + " is new: " + shortLockText(0, []byte(description))
			continue
		}
		diff += changedMembers(was, is)
	}
	for _, name := range slices.Sorted(maps.Keys(locked)) {
		if was := locked[name]; was.List == "servers" {
			diff += changedMembers(was, LockItem{List: was.List, Name: was.Name})
			continue
		}
		diff += "\n- " + name + " is gone"
	}
	return diff
}

// Title names an item in messages.
func (l LockItem) Title() string {
	switch l.List {
	case "servers":
		return "server " + l.Name
	case "skills":
		return "skill " + l.Name
	}
	return l.Name
}

// changedMembers shows every member that differs, starting shortly before the difference.
func changedMembers(was, is LockItem) (diff string) {
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
		diff += "\n- " + is.Title() + " " + key + ": " + shortLockText(from, a) + "\n+ " + is.Title() + " " + key + ": " + shortLockText(from, b)
	}
	return diff
}

func (l LockItem) member(key string) []byte { return jsontext.Member(l.body, key) }

// shortLockText shows raw from that byte, in at most about 400 bytes.
func shortLockText(from int, raw []byte) string {
	if raw == nil {
		return "(none)"
	}
	text := readable.Cut(string(raw[from:]), 400, "…")
	if from > 0 {
		text = "…" + text
	}
	return strings.ToValidUTF8(text, "")
}
