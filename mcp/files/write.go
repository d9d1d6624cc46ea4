package files

import (
	"context"
	"fmt"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
)

func writeFile(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
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
	return fmt.Appendf(nil, "%s %s: %s, %s\n", verb, confine.ShownName(p.Rel), counted(int64(len(content)), "byte"), counted(countLines([]byte(content)), "line")), nil
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// change edits a file. edit also returns what the tool answers.
func change(ctx context.Context, a *confine.Access, path string, edit func(content []byte) (edited, answer []byte, err error)) (answer []byte, err error) {
	err = a.Change(ctx, path, func(content []byte) (edited []byte, err error) {
		if edited, answer, err = edit(content); err != nil {
			err = fmt.Errorf("%q: %w", path, err)
		}
		return edited, err
	})
	return answer, err
}

func editFile(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
	path := args.Text("path")
	return change(ctx, a, path, func(content []byte) (edited, answer []byte, err error) {
		edited, n, lines, err := replaceText(content, args.Text("old_string"), args.Text("new_string"), args.Flag("replace_all"))
		places := "line"
		if n > 1 {
			places = fmt.Sprintf("%d places, lines", n)
		}
		return edited, fmt.Appendf(nil, "edited %s: %s %s\n", confine.ShownName(path), places, joinLines(lines, n > len(lines))), err
	})
}

func setFileSlice(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
	path, first, last := args.Text("path"), args.Integer("start_line", 0), args.Integer("end_line", 0)
	return change(ctx, a, path, func(content []byte) (edited, answer []byte, err error) {
		edited, err = replaceLines(content, first, last, args.Text("new_content"))
		was, is := countLines(content), countLines(edited)
		return edited, fmt.Appendf(nil, "edited %s: it had %s and has %d\n", confine.ShownName(path), counted(was, "line"), is), err
	})
}
