package files

import (
	"context"
	"fmt"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

func writeFile(ctx context.Context, a *confine.Access, args toolserver.Arguments) (*wire.Result, error) {
	confine.Writing.Lock()
	defer confine.Writing.Unlock()
	path, content := args.Text("path"), args.Text("content")
	find := a.FindNew
	if confine.PreviewOf(ctx) != nil {
		find = a.Find
	}
	p, err := find(path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	verb := "created"
	if p.Info != nil {
		verb = "replaced"
	}
	if err := p.Replace(ctx, []byte(content)); err != nil {
		return nil, err
	}
	return toolserver.TextResult(fmt.Sprintf("%s %s: %s, %s\n", verb, confine.ShownName(p.Rel), counted(int64(len(content)), "byte"), counted(countLines([]byte(content)), "line"))), nil
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// change edits a file. edit also returns what the tool answers.
func change(ctx context.Context, a *confine.Access, path string, edit func(content []byte) (edited []byte, answer string, err error)) (*wire.Result, error) {
	answer := ""
	err := a.Change(ctx, path, func(content []byte) (edited []byte, err error) {
		if edited, answer, err = edit(content); err != nil {
			err = fmt.Errorf("%q: %w", path, err)
		}
		return edited, err
	})
	if err != nil {
		return nil, err
	}
	return toolserver.TextResult(answer), nil
}

func editFile(ctx context.Context, a *confine.Access, args toolserver.Arguments) (*wire.Result, error) {
	return change(ctx, a, args.Text("path"), func(content []byte) ([]byte, string, error) {
		edited, n, lines, err := replaceText(content, args.Text("old_string"), args.Text("new_string"), args.Flag("replace_all"))
		if err != nil {
			return nil, "", err
		}
		places := "line"
		if n > 1 {
			places = fmt.Sprintf("%d places, lines", n)
		}
		return edited, fmt.Sprintf("edited %s: %s %s\n", confine.ShownName(args.Text("path")), places, joinLines(lines, n > len(lines))), nil
	})
}

func setFileSlice(ctx context.Context, a *confine.Access, args toolserver.Arguments) (*wire.Result, error) {
	first, last := args.Integer("start_line", 0), args.Integer("end_line", 0)
	return change(ctx, a, args.Text("path"), func(content []byte) ([]byte, string, error) {
		edited, err := replaceLines(content, first, last, args.Text("new_content"))
		if err != nil {
			return nil, "", err
		}
		was, is := countLines(content), countLines(edited)
		return edited, fmt.Sprintf("edited %s: it had %s and has %d\n", confine.ShownName(args.Text("path")), counted(was, "line"), is), nil
	})
}
