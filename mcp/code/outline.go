package code

import (
	"context"
	"fmt"
	"strings"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

func outlineTool() tool {
	return tool{define("outline", "List the definitions of a source file with their kinds and lines.", toolserver.ReadsOnly,
		toolserver.Parameter{Name: "path", Kind: "string", About: "source file, relative to the root", Required: true},
	), outlineFile}
}

func outlineFile(ctx context.Context, c *call, args toolserver.Arguments) (*wire.Result, error) {
	source, err := c.read(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defs, err := c.outline(ctx, source.path, source.text)
	if err != nil {
		return nil, err
	}
	var b []byte
	for i := range defs {
		d := &defs[i]
		indent := 0
		if d.Scope != "" {
			indent = 1 + strings.Count(d.Scope, ".")
		}
		b = fmt.Appendf(b, "%s%s %s%s  %d-%d\n", strings.Repeat("  ", indent), d.Kind, d.Name, d.Signature, d.Start, d.End)
	}
	return toolserver.TextResult(b), nil
}
