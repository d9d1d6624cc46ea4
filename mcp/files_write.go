package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const maxEdited = 32 << 20 // bytes of a file that is edited as a whole

func (v *view) writeFile(ctx context.Context, args arguments) (*Result, error) {
	v.writing.Lock()
	defer v.writing.Unlock()
	path, content := args.text("path"), args.text("content")
	p, made, err := v.findNew(path)
	if err != nil {
		v.unmake(path, made)
		return nil, err
	}
	defer p.close()
	verb := "created"
	if p.info != nil {
		verb = "replaced"
	}
	if err := p.replace(ctx, []byte(content)); err != nil {
		v.unmake(path, made)
		return nil, err
	}
	return textResult(fmt.Sprintf("%s %s: %s, %s\n", verb, shownName(p.rel), counted(int64(len(content)), "byte"), counted(countLines([]byte(content)), "line"))), nil
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// madeDirectory is a directory that was made for a file to be written.
type madeDirectory struct {
	names []string // from the root
	info  fs.FileInfo
}

// findNew is find for a file to be written: directories that are missing on
// the way are made, unless the file would not be written in them. The caller
// unmakes them when it does not get there.
func (v *view) findNew(path string) (p *place, made []madeDirectory, err error) {
	p, err = v.find(path)
	if _, absent := errors.AsType[*noFile](err); !absent {
		return p, nil, err
	}
	names, splitErr := v.split(path)
	if splitErr != nil {
		return nil, nil, splitErr
	}
	if names[len(names)-1] == "." || slices.Contains(names, "..") {
		return nil, nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" || name == "." })
	for n := 1; n < len(names); n++ {
		info, err := v.makeDirectory(path, names[:n], names[n:])
		if err != nil {
			return nil, made, err
		}
		if info != nil {
			made = append(made, madeDirectory{names[:n], info})
		}
	}
	p, err = v.approved(v.lookup(path, names))
	return p, made, err
}

// makeDirectory makes a directory, in which the names below will follow. The
// info is nil when it was there.
func (v *view) makeDirectory(asked string, names, below []string) (fs.FileInfo, error) {
	p, err := v.lookup(asked, names)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if p.info != nil {
		return nil, nil
	}
	file := p.rel + "/" + strings.Join(below, "/")
	if err := v.bounds.check(asked, v.absolute(file)); err != nil {
		return nil, err
	}
	if err := v.mayWrite(asked, file); err != nil {
		return nil, err
	}
	err = p.dir.Mkdir(p.name, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", asked, reason(err))
	}
	info, err := p.dir.Lstat(p.name)
	return info, reason(err)
}

// unmake removes directories that were made and are still empty.
func (v *view) unmake(asked string, made []madeDirectory) {
	for _, m := range slices.Backward(made) {
		p, err := v.lookup(asked, m.names)
		if err != nil {
			return
		}
		if p.info != nil && p.info.IsDir() && os.SameFile(p.info, m.info) {
			p.dir.Remove(p.name)
		}
		p.close()
	}
}

// mayWrite refuses to write at a path from the root. The root's own path
// counts: who names a protected directory as the root means it to be read.
func (v *view) mayWrite(asked, rel string) error {
	if why := secretPath(rel); why != "" {
		return v.refusal(asked, why)
	}
	if dir := v.makesGit(rel); dir != "" {
		return fmt.Errorf("%q is protected: with it, %q would be a git directory; file tools make none; the allowed root is %q", asked, dir, v.path)
	}
	if v.sealed.why != "" {
		return fmt.Errorf("%q is protected because of %q in the root's path: %s; file tools do not write it; the allowed root is %q", asked, v.sealed.name, v.sealed.why, v.path)
	}
	if why := unwritable(filepath.Base(v.real), rel); why != "" {
		return fmt.Errorf("%q is protected: %s; file tools do not write it; the allowed root is %q", asked, why, v.path)
	}
	return nil
}

// replace puts a new file in the place of what is there, or of nothing. The
// mode is kept.
func (p *place) replace(ctx context.Context, content []byte) error {
	if err := p.v.mayWrite(p.asked, p.rel); err != nil {
		return err
	}
	if p.info != nil {
		if err := p.regular(); err != nil {
			return err
		}
	}
	r := replacement{dir: p.dir, name: p.name, old: p.info, mode: 0o666}
	err := r.write(content, func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return p.unchanged()
	})
	switch {
	case errors.Is(err, errOvertaken):
		return fmt.Errorf("%q: %w", p.asked, err)
	case err != nil:
		return fmt.Errorf("%q is as it was: %w", p.asked, reason(err))
	}
	return nil
}

// unchanged says whether what is to be replaced is still what was found.
func (p *place) unchanged() error {
	now, err := p.dir.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && p.info == nil:
		return nil
	case err != nil:
		return err
	case p.info == nil || !os.SameFile(now, p.info) || now.Size() != p.info.Size() || !now.ModTime().Equal(p.info.ModTime()):
		return errors.New("somebody else changed it meanwhile; read it again")
	}
	return nil
}

// change is an edit of a whole file: it reads, edits, and replaces.
func (v *view) change(ctx context.Context, path string, edit func(content []byte) ([]byte, string, error)) (*Result, error) {
	v.writing.Lock()
	defer v.writing.Unlock()
	p, err := v.find(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if p.info != nil {
		if err := v.mayWrite(path, p.rel); err != nil {
			return nil, err
		}
	}
	f, info, err := p.open()
	if err != nil {
		return nil, err
	}
	content, err := readWhole(f, info.Size())
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	p.info = info
	edited, said, err := edit(content)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	if err := p.replace(ctx, edited); err != nil {
		return nil, err
	}
	return textResult(said), nil
}

func readWhole(f *os.File, size int64) ([]byte, error) {
	if size > maxEdited {
		return nil, fmt.Errorf("it has %d bytes; files of more than %d are not edited", size, maxEdited)
	}
	content := make([]byte, 0, size+1)
	content, err := appendAll(content, io.LimitReader(f, maxEdited+1))
	if err == nil && len(content) > maxEdited {
		err = fmt.Errorf("it is growing beyond %d bytes", maxEdited)
	}
	return content, reason(err)
}

func appendAll(b []byte, r io.Reader) ([]byte, error) {
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b)+1)
		}
	}
}

func (v *view) editFile(ctx context.Context, args arguments) (*Result, error) {
	return v.change(ctx, args.text("path"), func(content []byte) ([]byte, string, error) {
		edited, n, lines, err := replaceText(content, args.text("old_string"), args.text("new_string"), args.flag("replace_all"))
		if err != nil {
			return nil, "", err
		}
		places := "line"
		if n > 1 {
			places = fmt.Sprintf("%d places, lines", n)
		}
		return edited, fmt.Sprintf("edited %s: %s %s\n", shownName(args.text("path")), places, joinLines(lines, n > len(lines))), nil
	})
}

func (v *view) setFileSlice(ctx context.Context, args arguments) (*Result, error) {
	first, last := args.integer("start_line", 0), args.integer("end_line", 0)
	return v.change(ctx, args.text("path"), func(content []byte) ([]byte, string, error) {
		edited, err := replaceLines(content, first, last, args.text("new_content"))
		if err != nil {
			return nil, "", err
		}
		was, is := countLines(content), countLines(edited)
		return edited, fmt.Sprintf("edited %s: it had %s and has %d\n", shownName(args.text("path")), counted(was, "line"), is), nil
	})
}
