package confine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Known is what a conversation knows about files: content that was attached, or that a
// built-in tool showed or wrote. Changes reports later changes by others. It is in the bounds
// of the conversation's calls.
type Known struct {
	mu    sync.Mutex
	files map[string]*knownFile // by their absolute paths without links
	kept  int                   // bytes of the texts
}

const (
	maxCompared = 1 << 20  // bytes of a file; a change of a larger one is not shown as a diff
	maxKept     = 64 << 20 // bytes of all texts that are kept for a diff
	maxDigested = 64 << 20 // bytes of a file that are compared; after them only the size counts
	maxDiff     = 16 << 10 // bytes of the diff of a file
	maxChanges  = 64 << 10 // bytes of diffs; further changed files are only named
	maxUntold   = 4 << 10  // bytes of those names
)

type knownFile struct {
	name     string // the name that the model knows
	rel      string // from the root of area
	area     *Area
	attached bool     // area has only this file, and is opened again for each read
	bounds   Bounds   // of the call that found it
	last     content  // the content that the model knows
	away     string   // why the file cannot be read now, as reported to the model; "" if it can be
	missed   string   // changes by others before a write of the model that are not reported yet
	shownBy  []string // the calls with results that show it, and attachedBy; "" is a call that wrote the whole content, which is never left out
}

// A content is a file's content at one time.
type content struct {
	sum  [sha256.Size]byte
	size int64
	text string
	diff bool // text has the content
}

// Attach adds a file that was attached to the conversation under that name. A file that file
// tools would not read is not added, because it cannot be checked later.
func (k *Known) Attach(name string, data []byte, spec Spec) {
	spec.Root = name
	area, err := Open(spec)
	if err != nil {
		return
	}
	area.Root.Close()
	f := &knownFile{name: name, rel: area.Only, area: area, attached: true}
	if _, away := f.look(); away != "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	f, _ = k.file(f)
	f.shown(attachedBy(name))
	k.keep(f, contentOf(data))
}

// attachedBy is the entry in shownBy for an attachment under that name.
func attachedBy(name string) string { return "attached as " + name }

// shown records that the result of a call shows the file.
func (f *knownFile) shown(call string) {
	if !slices.Contains(f.shownBy, call) {
		f.shownBy = append(f.shownBy, call)
	}
}

// Forget forgets the files that nothing shows any more, because a call's result or an
// attachment is left out of the conversation. For an attachment call is "", and line, its
// replacement, begins with its name and a colon.
func (k *Known) Forget(call, line string) {
	if k == nil {
		return
	}
	if call == "" {
		name, _, isText := strings.Cut(line, ":\n\n")
		if !isText {
			return // a picture; its changes are not reported anyway
		}
		call = attachedBy(name)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for path, f := range k.files {
		n := len(f.shownBy)
		f.shownBy = slices.DeleteFunc(f.shownBy, func(by string) bool { return by == call })
		if n > 0 && len(f.shownBy) == 0 {
			k.kept -= len(f.last.text)
			delete(k.files, path)
		}
	}
}

// Look records the content of the open file f at a location before a tool reads it, so that a
// change during the read is reported twice rather than never. The tool calls shown when the
// model gets what it read, the whole file or a part. After a part, Changes still reports
// changes in the rest of the file.
func (l *Location) Look(f io.ReaderAt, size int64) (shown func(whole bool)) {
	k, nothing := l.Access.Bounds.Known, func(bool) {}
	if _, staged := l.staged(); k == nil || staged {
		return nothing
	}
	content, err := readContent(f, size)
	if err != nil {
		return nothing
	}
	file := l.knownFile()
	path := filepath.Join(file.area.Real, file.rel)
	return func(whole bool) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if f, isNew := k.file(file); isNew || whole {
			f.away, f.missed = "", ""
			k.keep(f, content)
		}
		k.files[path].shown(l.Access.Bounds.Call)
	}
}

// wrote records that the model wrote the file at a location. before is the content that was
// edited, or nil if the model gave the whole content.
func (k *Known) wrote(l *Location, before, after []byte) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	f, isNew := k.file(l.knownFile())
	if was := contentOf(before); !isNew && before != nil && was.sum != f.last.sum {
		f.missed += f.change(was, "")
	}
	if f.away = ""; isNew || before == nil {
		f.shown("") // the call stays in the conversation and has the content
	}
	k.keep(f, contentOf(after))
}

// Changes reports, for the model, which files have changed since it knew them, each change
// once. It is "" for none. A file that is gone or was replaced by a link is named without
// content.
func (k *Known) Changes(ctx context.Context) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var told strings.Builder
	untold, more := "", 0
	for _, path := range slices.Sorted(maps.Keys(k.files)) { // concurrent calls read in any order
		if ctx.Err() != nil {
			break
		}
		f := k.files[path]
		now, away := f.look()
		same := away == f.away && (away != "" || now.sum == f.last.sum)
		switch {
		case same && f.missed == "":
			continue
		case told.Len() >= maxChanges:
			if len(untold) < maxUntold {
				untold += ", " + ShownName(f.name)
			} else {
				more++
			}
		default:
			told.WriteString(f.missed)
			if !same {
				told.WriteString(f.change(now, away))
			}
		}
		f.missed, f.away = "", away
		if away == "" {
			k.keep(f, now)
		}
	}
	if more > 0 {
		untold += fmt.Sprintf(" and %d more", more)
	}
	if untold != "" {
		fmt.Fprintf(&told, "[toolpipe] changed too, left out here: %s\n", untold[len(", "):])
	}
	return told.String()
}

// change is the report for the model that the file has another content now, or cannot be read
// for the reason away.
func (f *knownFile) change(now content, away string) string {
	note, diff := away, ""
	switch {
	case away != "":
	case now.sum == f.last.sum:
		note = "as it was"
	case now.diff && f.last.diff:
		diff = Diff(f.last.text, now.text)
	default:
		note = fmt.Sprintf("%d bytes; too large for a diff, or not text", now.size)
	}
	if away == "" && f.away != "" {
		note = strings.TrimSuffix("there again, "+note, ", ")
	}
	if note != "" {
		note = " (" + note + ")"
	}
	if len(diff) > maxDiff {
		cut := strings.LastIndexByte(diff[:maxDiff], '\n') + 1
		diff = diff[:cut] + fmt.Sprintf("[toolpipe] lines of this diff left out: %d; read the file again\n", strings.Count(diff[cut:], "\n"))
	}
	return "[toolpipe] changed: " + ShownName(f.name) + note + "\n" + diff
}

// look reads the file again, without following a new link on its path. away is the reason why
// the file cannot be read.
func (f *knownFile) look() (now content, away string) {
	now, err := f.read()
	_, absent := errors.AsType[*NotFoundError](err)
	switch {
	case absent || errors.Is(err, fs.ErrNotExist):
		away = "deleted"
	case err != nil:
		away = "not shown: it can no longer be read, or a link or another kind of file replaced it"
	}
	return now, away
}

func (f *knownFile) read() (now content, err error) {
	area := f.area
	if f.attached { // another directory may now have the name of the file's directory
		spec := area.spec
		spec.Root = filepath.Join(area.Real, area.Only)
		if area, err = Open(spec); err != nil {
			return now, err
		}
		defer area.Root.Close()
		if area.Real != f.area.Real || area.Only != f.area.Only {
			return now, ErrChanged // a link replaced one of them
		}
	}
	access := area.Access(f.bounds)
	access.Bounds.Places = map[string]string{f.rel: access.Absolute(f.rel)}
	l, err := access.Find(f.rel)
	if err != nil {
		return now, err
	}
	defer l.Close()
	file, info, err := l.Open()
	if err != nil {
		return now, err
	}
	defer file.Close()
	return readContent(file, info.Size())
}

// knownFile is the file at l as it is first recorded.
func (l *Location) knownFile() *knownFile {
	return &knownFile{name: l.Asked, rel: l.Rel, area: l.Access.Area, bounds: l.Access.Bounds}
}

// file is the record of a file that was found. If another file was recorded under the same
// name, this one is named by its absolute path.
func (k *Known) file(found *knownFile) (f *knownFile, isNew bool) {
	path := filepath.Join(found.area.Real, found.rel)
	if f := k.files[path]; f != nil {
		return f, false
	}
	for _, other := range k.files {
		if other.name == found.name {
			found.name = path
		}
	}
	if k.files == nil {
		k.files = map[string]*knownFile{}
	}
	k.files[path] = found
	return found, true
}

// keep records c as the known content of f. Over maxKept the text is not kept.
func (k *Known) keep(f *knownFile, c content) {
	k.kept -= len(f.last.text)
	if k.kept+len(c.text) > maxKept {
		c.text, c.diff = "", false
	}
	k.kept += len(c.text)
	f.last = c
}

func contentOf(data []byte) content {
	c, _ := readContent(bytes.NewReader(data), int64(len(data)))
	return c
}

func readContent(r io.ReaderAt, size int64) (c content, err error) {
	s := io.NewSectionReader(r, 0, maxDigested)
	head, err := io.ReadAll(io.LimitReader(s, maxCompared+1))
	if err != nil {
		return c, err
	}
	digest := sha256.New()
	digest.Write(head)
	if _, err = io.Copy(digest, s); size > maxDigested {
		fmt.Fprint(digest, size)
	}
	digest.Sum(c.sum[:0])
	c.size = size
	if len(head) <= maxCompared && utf8.Valid(head) && bytes.IndexByte(head, 0) < 0 {
		c.text, c.diff = string(head), true
	}
	return c, err
}
