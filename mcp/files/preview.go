package files

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/unified"
)

// maxPreview is how many bytes a file that is shown as a diff may have.
const maxPreview = 4 << 20

// preview takes what a call would write, in place of the file.
type preview struct{ diff string }

type previewKey struct{}

func previewOf(ctx context.Context) *preview {
	p, _ := ctx.Value(previewKey{}).(*preview)
	return p
}

// Preview returns the unified diff of what a call of the server would change in a
// file, and the arguments of which the diff tells. The diff is "" for a tool that
// edits no file, a new file, a file that is no text or too large, and a call that
// would fail. Nothing is written.
func Preview(ctx context.Context, server *toolserver.Server, tool string, args json.RawMessage) (diff string, told []string) {
	switch tool {
	case "write_file":
		told = []string{"content"}
	case "set_file_slice":
		told = []string{"start_line", "end_line", "new_content"}
	case "edit_file":
		told = []string{"old_string", "new_string", "replace_all"}
	default:
		return "", nil
	}
	var p preview
	_, _ = server.Call(context.WithValue(ctx, previewKey{}, &p), tool, args)
	return p.diff, told
}

// show keeps the diff to the content that would be written at a location.
func (v *preview) show(p *confine.Location, content []byte) error {
	if p.Info == nil || p.Info.Size() > maxPreview || len(content) > maxPreview {
		return nil
	}
	f, info, err := p.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := readWhole(f, info.Size())
	if err == nil && utf8.Valid(before) && utf8.Valid(content) {
		v.diff = unified.Diff(string(before), string(content))
	}
	return err
}
