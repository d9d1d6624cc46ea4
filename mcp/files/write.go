package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

const maxEdited = 32 << 20 // bytes of a file that is edited as a whole

func writeFile(ctx context.Context, a *confine.Access, args toolserver.Arguments) (*wire.Result, error) {
	a.Writing.Lock()
	defer a.Writing.Unlock()
	path, content := args.Text("path"), args.Text("content")
	p, made, err := findNew(a, path, previewOf(ctx) == nil)
	if err != nil {
		removeMade(a, path, made)
		return nil, err
	}
	defer p.Close()
	verb := "created"
	if p.Info != nil {
		verb = "replaced"
	}
	if err := replace(ctx, p, []byte(content)); err != nil {
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
	if err := checkWritable(a, asked, file); err != nil {
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

// checkWritable returns an error when a path from the root is not to be written.
// The names in the root's own path count too: a user who offers a read-only
// directory as the root means it to be read.
func checkWritable(a *confine.Access, asked, rel string) error {
	if why := confine.SecretPath(rel); why != "" {
		return a.ProtectedError(asked, why)
	}
	if dir := a.GitDirectoryMadeBy(rel); dir != "" {
		return fmt.Errorf("%q is protected: with it, %q would be a git directory; file tools make none; the allowed root is %q", asked, dir, a.Path)
	}
	if a.ReadOnly.Why != "" {
		return fmt.Errorf("%q is protected because of %q in the root's path: %s; file tools do not write it; the allowed root is %q", asked, a.ReadOnly.Name, a.ReadOnly.Why, a.Path)
	}
	if why := confine.ReadOnlyPath(filepath.Base(a.Real), rel); why != "" {
		return fmt.Errorf("%q is protected: %s; file tools do not write it; the allowed root is %q", asked, why, a.Path)
	}
	return nil
}

// replace writes a whole file at a location. The mode of an old file is kept.
func replace(ctx context.Context, p *confine.Location, content []byte) error {
	if err := checkWritable(p.Access, p.Asked, p.Rel); err != nil {
		return err
	}
	if p.Info != nil {
		if err := p.CheckRegular(); err != nil {
			return err
		}
	}
	if v := previewOf(ctx); v != nil {
		return v.show(p, content)
	}
	r := replacement{dir: p.Dir, name: p.Name, old: p.Info, mode: 0o666}
	err := r.write(content, func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return checkUnchanged(p)
	})
	switch {
	case errors.Is(err, errOvertaken):
		return fmt.Errorf("%q: %w", p.Asked, err)
	case err != nil:
		return fmt.Errorf("%q is as it was: %w", p.Asked, confine.Reason(err))
	}
	return nil
}

// checkUnchanged returns an error when the file at a location is another one than
// was found there.
func checkUnchanged(p *confine.Location) error {
	now, err := p.Dir.Lstat(p.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && p.Info == nil:
		return nil
	case err != nil:
		return err
	case p.Info == nil || !os.SameFile(now, p.Info) || now.Size() != p.Info.Size() || !now.ModTime().Equal(p.Info.ModTime()):
		return errors.New("somebody else changed it meanwhile; read it again")
	}
	return nil
}

// change reads a file, edits its content, and replaces it. edit also returns what
// the tool answers.
func change(ctx context.Context, a *confine.Access, path string, edit func(content []byte) (edited []byte, answer string, err error)) (*wire.Result, error) {
	a.Writing.Lock()
	defer a.Writing.Unlock()
	p, err := a.Find(path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if p.Info != nil {
		if err := checkWritable(a, path, p.Rel); err != nil {
			return nil, err
		}
	}
	f, info, err := p.Open()
	if err != nil {
		return nil, err
	}
	content, err := readWhole(f, info.Size())
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	p.Info = info
	edited, answer, err := edit(content)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	if err := replace(ctx, p, edited); err != nil {
		return nil, err
	}
	return toolserver.TextResult(answer), nil
}

func readWhole(f *os.File, size int64) ([]byte, error) {
	if size > maxEdited {
		return nil, fmt.Errorf("it has %d bytes; files of more than %d are not edited", size, maxEdited)
	}
	var content bytes.Buffer
	content.Grow(int(size) + bytes.MinRead)
	_, err := content.ReadFrom(io.LimitReader(f, maxEdited+1))
	if err == nil && content.Len() > maxEdited {
		err = fmt.Errorf("it is growing beyond %d bytes", maxEdited)
	}
	return content.Bytes(), confine.Reason(err)
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
