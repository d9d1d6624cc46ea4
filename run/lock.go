package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A lock pins the definition of every offered tool, so that none can change
// its story after a person reviewed it (security.md S2, "rug pull"). The file
// is JSON, one tool a line in a fixed order, so that git shows what changed:
//
//	{"version":1,"tools":[
//	{"name":"fs__read","sha256":"…","server":"fs","tool":"read","description":"…","schema":{…}},
//	…]}
//
// The digest is over the rest of the line.
type lockedTool struct {
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
func (t *tool) locked() lockedTool {
	l := lockedTool{name: t.name}
	add := func(key string, raw []byte) {
		if raw != nil {
			l.members = append(l.members, lockedMember{key, raw})
		}
	}
	add("server", appendString(nil, t.conn.Name))
	add("tool", appendString(nil, t.Name))
	add("title", optionalString(t.Title))
	add("description", optionalString(t.Description))
	add("schema", compact(t.InputSchema))
	add("output_schema", compact(t.OutputSchema))
	add("annotations", compact(t.Annotations))
	l.digest = l.sum()
	return l
}

func optionalString(s string) []byte {
	if s == "" {
		return nil
	}
	return appendString(nil, s)
}

func compact(raw json.RawMessage) []byte {
	if raw == nil {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return appendSafe(nil, b.Bytes(), false)
}

// body is the line without name and digest.
func (l *lockedTool) body() []byte {
	o := beginObject(nil)
	for _, m := range l.members {
		o.name(m.key)
		o.b = append(o.b, m.json...)
	}
	return o.end()
}

func (l *lockedTool) sum() string {
	sum := sha256.Sum256(l.body())
	return hex.EncodeToString(sum[:])
}

// offeredLocks are those of all tools that the model would get.
func (b *toolbox) offeredLocks() []lockedTool {
	var all []lockedTool
	for _, t := range b.all {
		if !t.withheld {
			all = append(all, t.locked())
		}
	}
	return all
}

// writeLock writes the lock file, whole or not at all.
func (r *runner) writeLock() error {
	out := []byte(`{"version":1,"tools":[` + "\n")
	locks := r.box.offeredLocks()
	sortLocks(locks)
	for i, l := range locks {
		o := beginObject(out)
		o.str("name", l.name)
		o.str("sha256", l.digest)
		out = append(append(o.b, ','), l.body()[1:]...)
		if i < len(locks)-1 {
			out = append(out, ',')
		}
		out = append(out, '\n')
	}
	path := r.cfg.ToolsLock
	if err := writeAtomically(path, append(out, "]}\n"...)); err != nil {
		return openError("--tools-lock", path, err)
	}
	r.face.notef("%s: %d tools locked", path, len(locks))
	return nil
}

func sortLocks(all []lockedTool) {
	slices.SortFunc(all, func(a, b lockedTool) int { return strings.Compare(a.name, b.name) })
}

func writeAtomically(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".toolpipe-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// readLock reads a lock file; its digests must fit what it says.
func readLock(path string) (map[string]lockedTool, error) {
	doc, err := readDocument("--tools-lock", path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, usageError([]string{"--tools-lock-update writes it"}, "--tools-lock: %q does not exist", path)
		}
		return nil, err
	}
	if v, ok := doc.get("version"); !ok || string(v.raw()) != "1" {
		return nil, doc.errorf("not a lock file of version 1")
	}
	tools, ok := doc.get("tools")
	if !ok || tools.kind() != '[' {
		return nil, doc.errorf("a lock file without tools")
	}
	all := map[string]lockedTool{}
	for _, e := range tools.elements() {
		l := lockedTool{}
		for _, m := range e.members() {
			switch m.key {
			case "name":
				l.name = m.text()
			case "sha256":
				l.digest = m.text()
			default:
				l.members = append(l.members, lockedMember{m.key, m.raw()})
			}
		}
		if l.digest != l.sum() {
			return nil, e.errorf("the digest of %q does not fit its definition", l.name)
		}
		all[l.name] = l
	}
	return all, nil
}

// checkLock compares what the servers offer with the lock, before the first
// model request.
func (r *runner) checkLock(locked map[string]lockedTool) error {
	diff := ""
	seen := map[string]bool{}
	for _, l := range r.box.offeredLocks() {
		seen[l.name] = true
		was, ok := locked[l.name]
		switch {
		case !ok:
			diff += "\n+ " + l.name + " is new: " + shortJSON(l.member("description"))
		case was.digest != l.digest:
			diff += changedMembers(was, l)
		}
	}
	var gone []lockedTool
	for _, l := range locked {
		if !seen[l.name] {
			gone = append(gone, l)
		}
	}
	sortLocks(gone)
	for _, l := range gone {
		diff += "\n- " + l.name + " is gone"
	}
	if diff == "" {
		return nil
	}
	return &Error{Status: StatusServer, Message: "the tools are not those of " + strconv.Quote(r.cfg.ToolsLock) + ":" + diff,
		Hints: []string{"--tools-lock-update writes the lock anew, once the change was reviewed"}}
}

func changedMembers(was, is lockedTool) string {
	diff := ""
	for _, key := range []string{"server", "tool", "title", "description", "schema", "output_schema", "annotations"} {
		if a, b := was.member(key), is.member(key); !bytes.Equal(a, b) {
			diff += "\n- " + is.name + " " + key + ": " + shortJSON(a) + "\n+ " + is.name + " " + key + ": " + shortJSON(b)
		}
	}
	return diff
}

func (l *lockedTool) member(key string) []byte {
	for _, m := range l.members {
		if m.key == key {
			return m.json
		}
	}
	return nil
}

func shortJSON(raw []byte) string {
	if raw == nil {
		return "(none)"
	}
	if len(raw) > 400 {
		raw = append(bytes.ToValidUTF8(raw[:400:400], nil), "…"...)
	}
	return string(raw)
}
