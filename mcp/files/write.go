package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

func writeFile(ctx context.Context, a *confine.Access, args toolserver.Arguments) (*wire.Result, error) {
	confine.Writing.Lock()
	defer confine.Writing.Unlock()
	path, content := args.Text("path"), args.Text("content")
	p, made, err := findNew(a, path, confine.PreviewOf(ctx) == nil)
	if err != nil {
		removeMade(a, path, made)
		return nil, err
	}
	defer p.Close()
	verb := "created"
	if p.Info != nil {
		verb = "replaced"
	}
	if err := p.Replace(ctx, []byte(content)); err != nil {
		removeMade(a, path, made)
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

// madeDirectory is a directory that was made for a file.
type madeDirectory struct {
	names []string // from the root
	info  fs.FileInfo
}

// findNew finds a file that will be written. If mayMake, it makes the directories
// that are missing on the way, unless the file may not be written there. If the
// write fails, the caller removes them with removeMade.
func findNew(a *confine.Access, path string, mayMake bool) (p *confine.Location, made []madeDirectory, err error) {
	p, err = a.Find(path)
	if _, absent := errors.AsType[*confine.NotFoundError](err); !absent || !mayMake {
		return p, nil, err
	}
	names, splitErr := a.Split(path)
	if splitErr != nil {
		return nil, nil, splitErr
	}
	if names[len(names)-1] == "." || slices.Contains(names, "..") {
		return nil, nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" || name == "." })
	for n := 1; n < len(names); n++ {
		info, err := makeDirectory(a, path, names[:n], names[n:])
		if err != nil {
			return nil, made, err
		}
		if info != nil {
			made = append(made, madeDirectory{names[:n], info})
		}
	}
	p, err = a.FindNames(path, names)
	return p, made, err
}

// makeDirectory makes a directory for a file with the names below. The info is nil
// when the directory existed.
func makeDirectory(a *confine.Access, asked string, names, below []string) (fs.FileInfo, error) {
	p, err := a.Follow(asked, names)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if p.Info != nil {
		return nil, nil
	}
	file := p.Rel + "/" + strings.Join(below, "/")
	if err := a.Bounds.Check(asked, a.Absolute(file)); err != nil {
		return nil, err
	}
	if err := a.CheckWritable(asked, file); err != nil {
		return nil, err
	}
	err = p.Dir.Mkdir(p.Name, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", asked, confine.Reason(err))
	}
	info, err := p.Dir.Lstat(p.Name)
	return info, confine.Reason(err)
}

// removeMade removes the directories that were made, if they are still empty.
func removeMade(a *confine.Access, asked string, made []madeDirectory) {
	for _, m := range slices.Backward(made) {
		p, err := a.Follow(asked, m.names)
		if err != nil {
			return
		}
		if p.Info != nil && p.Info.IsDir() && os.SameFile(p.Info, m.info) {
			p.Dir.Remove(p.Name)
		}
		p.Close()
	}
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
