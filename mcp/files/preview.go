package files

import (
	"context"
	"encoding/json"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
)

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
	ctx, preview := confine.WithPreview(ctx)
	_, _ = server.Call(ctx, tool, args)
	return preview.Diff, told
}
