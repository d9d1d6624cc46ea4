// Package notes is the built-in server of shared notes: named texts in one file, which
// several runs may read and change at the same time. Nothing is lost: changes are made under
// a lock between processes, and only a caller that names the present revision can replace or
// delete a note.
package notes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/readable"
)

// A Spec configures the notes.
type Spec struct {
	Path    string        // of the file, which need not exist
	Limit   time.Duration // the longest wait of a change for other processes, at most 30 s; 0: 30 s
	Version string
}

const (
	lockTime  = 30 * time.Second
	maxReason = 1000
)

// New makes a server of the notes in a file. Errors are about the file, which is not changed.
func New(spec Spec) (*toolserver.Server, error) {
	store, err := openStore(spec.Path, min(lockTime, cmp.Or(spec.Limit, lockTime)))
	if err != nil {
		return nil, err
	}
	n := &server{store}
	s := toolserver.New("notes", spec.Version)
	for _, t := range n.tools() {
		s.AddBuiltin(t.Builtin, func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
			if args.Has("name") {
				if err := checkName(args.Text("name")); err != nil {
					return nil, err
				}
			}
			answer, err := t.run(ctx, args)
			if err != nil {
				return nil, err
			}
			return toolserver.TextResult(answer), nil
		})
	}
	s.AddBuiltin(toolserver.Define("notify", "Notify the user that a person is needed, or that the task is done. The user does not answer here.", toolserver.Adds, toolserver.Effects{None: true},
		toolserver.Parameter{Name: "reason", Kind: "string", About: fmt.Sprintf("a short sentence, at most %d bytes", maxReason), Required: true},
	), attention)
	return s, nil
}

type server struct {
	store *store
}

type tool struct {
	*toolserver.Builtin
	run func(ctx context.Context, args toolserver.Arguments) (string, error)
}

func (n *server) tools() []tool {
	name := toolserver.Parameter{Name: "name", Kind: "string", About: "name of the note", Required: true}
	brings, none := toolserver.Effects{Private: true, Untrusted: true}, toolserver.Effects{None: true} // an earlier run may have written data from any source there
	return []tool{
		{toolserver.Define("list", "List the notes with their revisions and sizes. Notes are kept after the run, and other runs may change them at any time.", toolserver.ReadsOnly, brings), n.list},
		{toolserver.Define("read", "Read a note and its revision.", toolserver.ReadsOnly, brings, name,
			toolserver.Parameter{Name: "offset", Kind: "integer", About: "byte to begin at, from 0"},
			toolserver.Parameter{Name: "max_bytes", Kind: "integer", About: fmt.Sprintf("maximum number of bytes to read; %d when absent", toolserver.MaxText)},
		), n.read},
		{toolserver.Define("write", "Create a note, or replace all of its content.", toolserver.Destroys, none, name,
			toolserver.Parameter{Name: "content", Kind: "string", About: "the complete new content", Required: true},
			toolserver.Parameter{Name: "expected_revision", Kind: "integer", About: "to replace a note: the revision that was read; absent for a new note"},
		), n.write},
		{toolserver.Define("append", "Add text to the end of a note. The note is created if it is missing.", toolserver.Adds, none, name,
			toolserver.Parameter{Name: "content", Kind: "string", About: "the text, added unchanged; a line needs its newline", Required: true},
		), n.append},
		{toolserver.Define("delete", "Delete a note.", toolserver.Destroys, none, name,
			toolserver.Parameter{Name: "expected_revision", Kind: "integer", About: "the revision that was read or listed", Required: true},
		), n.delete},
	}
}

// checkName refuses names that cannot be shown unchanged.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name of the note is empty")
	case len(name) > maxName:
		return fmt.Errorf("the name of the note has %d bytes, at most %d are allowed", len(name), maxName)
	case confine.ShownName(name) != name:
		return fmt.Errorf("the name of the note, %q, begins or ends with a blank, begins with a quotation mark, or has a character that does not show", name)
	}
	return nil
}

func (n *server) list(context.Context, toolserver.Arguments) (string, error) {
	d, err := n.store.read()
	if err != nil {
		return "", fileError(err)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.notes)) {
		fmt.Fprintf(&b, "%s: %s\n", name, d.notes[name].about())
	}
	if b.Len() == 0 {
		return "[toolpipe] there are no notes yet\n", nil
	}
	return b.String(), nil
}

func (n note) about() string {
	unit := "bytes"
	if len(n.content) == 1 {
		unit = "byte"
	}
	return fmt.Sprintf("revision %d, %d %s", n.revision, len(n.content), unit)
}

func (n *server) read(_ context.Context, args toolserver.Arguments) (string, error) {
	offset, most := args.Integer("offset", 0), args.Integer("max_bytes", toolserver.MaxText)
	if offset < 0 || most < 1 {
		return "", errors.New("offset must be at least 0, and max_bytes at least 1")
	}
	d, err := n.store.read()
	if err != nil {
		return "", fileError(err)
	}
	name := args.Text("name")
	note, ok := d.notes[name]
	if !ok {
		return "", d.missing(name)
	}
	if offset > int64(len(note.content)) {
		return "", fmt.Errorf("offset %d is after the end: the note %q has %d bytes", offset, name, len(note.content))
	}
	piece := readable.FromRune([]byte(note.content[offset:]))
	from := len(note.content) - len(piece)
	piece = readable.WholeRunes(piece[:min(int64(len(piece)), max(most, utf8.UTFMax), toolserver.MaxText)])
	b := fmt.Appendf(nil, "[toolpipe] %s\n%s", note.about(), piece)
	if end := from + len(piece); end < len(note.content) {
		b = fmt.Appendf(b, "\n[toolpipe] bytes %d to %d are shown; go on with offset %d\n", from, end, end)
	}
	return string(b), nil
}

func (d *document) missing(name string) error {
	hint := "list shows all"
	if near := readable.Nearest(name, slices.Collect(maps.Keys(d.notes))); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("there is no note %q; %s", name, hint)
}

func (n *server) write(ctx context.Context, args toolserver.Arguments) (string, error) {
	name, verb := args.Text("name"), "created"
	return n.change(ctx, name, func(d *document) (string, error) {
		old, exists := d.notes[name]
		switch {
		case exists && !args.Has("expected_revision"):
			return "", fmt.Errorf("the note %q exists, with revision %d, and was not changed; to replace it, read it and give its revision as expected_revision; append adds to it", name, old.revision)
		case exists:
			if err := old.expect(name, args); err != nil {
				return "", err
			}
			verb = "replaced"
		case args.Has("expected_revision"):
			return "", fmt.Errorf("%w; without expected_revision, write makes a new note", d.missing(name))
		}
		return verb, d.put(name, args.Text("content"))
	})
}

// expect refuses to change a note that another run has changed.
func (n note) expect(name string, args toolserver.Arguments) error {
	if expected := args.Integer("expected_revision", 0); expected != n.revision {
		return fmt.Errorf("the note %q has revision %d now, not %d, and was not changed; read it again, and give the revision that it has then", name, n.revision, expected)
	}
	return nil
}

func (n *server) append(ctx context.Context, args toolserver.Arguments) (string, error) {
	name, content := args.Text("name"), args.Text("content")
	if content == "" {
		return "", errors.New("the content is empty: nothing would be added")
	}
	return n.change(ctx, name, func(d *document) (string, error) {
		return "added to", d.put(name, d.notes[name].content+content)
	})
}

func (n *server) delete(ctx context.Context, args toolserver.Arguments) (string, error) {
	name := args.Text("name")
	return n.change(ctx, name, func(d *document) (string, error) {
		old, ok := d.notes[name]
		if !ok {
			return "", d.missing(name)
		}
		if err := old.expect(name, args); err != nil {
			return "", err
		}
		d.revision++
		delete(d.notes, name)
		return "deleted", nil
	})
}

// change makes one change. edit may be called twice; it returns the verb for the answer.
func (n *server) change(ctx context.Context, name string, edit func(*document) (string, error)) (answer string, err error) {
	refused := false
	err = n.store.change(ctx, func(d *document) error {
		verb, err := edit(d)
		refused = err != nil
		answer = verb + " " + name
		if now, ok := d.notes[name]; ok {
			answer += ": " + now.about()
		}
		return err
	})
	if err != nil && !refused && ctx.Err() == nil {
		err = fileError(err)
	}
	return answer + "\n", err
}

func fileError(err error) error { return fmt.Errorf("the notes file: %w", err) }

// attention requests the user's attention through its result.
func attention(_ context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	reason := strings.TrimSpace(args.Text("reason"))
	switch {
	case reason == "":
		return nil, errors.New("the reason is empty")
	case len(reason) > maxReason:
		return nil, fmt.Errorf("the reason has %d bytes, at most %d are allowed", len(reason), maxReason)
	}
	return toolserver.Attention(toolserver.TextResult("the user was notified\n"), reason), nil
}
