package code

import (
	"bytes"
	"context"
	"fmt"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

func definitionTool() tool {
	return tool{define("definition", "Show a definition by its name.", toolserver.ReadsOnly,
		toolserver.Parameter{Name: "path", Kind: "string", About: "source file, relative to the root", Required: true},
		toolserver.Parameter{Name: "name", Kind: "string", About: "name, such as parse, or Parser.parse where there are several", Required: true},
	), showDefinition}
}

func showDefinition(ctx context.Context, c *call, args toolserver.Arguments) (*wire.Result, error) {
	if args.Text("name") == "" {
		return nil, errNoName
	}
	source, err := c.read(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defs, err := c.outline(ctx, source.path, source.text)
	if err != nil {
		return nil, err
	}
	found := named(defs, args.Text("name"))
	if len(found) == 0 {
		return nil, fmt.Errorf("%q defines no %q; outline shows the names in it", source.path, args.Text("name"))
	}
	lines := bytes.SplitAfter(source.text, []byte("\n"))
	d := found[0]
	return toolserver.TextResult(bytes.Join(lines[d.Start-1:max(d.End, d.Line)], nil)), nil
}
