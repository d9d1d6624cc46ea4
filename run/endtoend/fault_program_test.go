//go:build unix

package endtoend

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// faultyProgram builds toolpipe once with the faults of TestFaultPanic and of
// TestFaultSessionWrite, which variables of its environment choose.
var faultyProgram = sync.OnceValues(func() (path string, err error) {
	o, err := newOverlay()
	if err == nil {
		err = errors.Join(injectPanics(o), injectSessionFaults(o))
	}
	if err != nil {
		return "", err
	}
	return o.build("faulty")
})

// newFaulty prepares a script as newFault does, with another program as toolpipe.
func newFaulty(t *testing.T, program, archive string) *script {
	t.Helper()
	s := newFault(t, archive)
	path := filepath.Join(s.root, "bin", "toolpipe")
	if err := errors.Join(os.Remove(path), os.Symlink(program, path)); err != nil {
		t.Fatal(err)
	}
	return s
}

// An overlay is the source of the program with changes. The files themselves are not
// changed: the build reads others in their place.
type overlay struct {
	texts   map[string]string // all files of the program and new ones, by their path from the top
	changed map[string]bool
}

func newOverlay() (*overlay, error) {
	o := &overlay{texts: map[string]string{}, changed: map[string]bool{}}
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == "testdata" {
			return cmp.Or(err, filepath.SkipDir)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(top, path)
		o.texts[name] = string(text)
		return err
	})
	return o, err
}

// replace changes code that is in the sources once, and returns its file.
func (o *overlay) replace(code, by string) (file string, err error) {
	found := 0
	for name, text := range o.texts {
		if n := strings.Count(text, code); n > 0 {
			file, found = name, found+n
		}
	}
	if found != 1 {
		return "", fmt.Errorf("%q is %d times in the sources", code, found)
	}
	o.put(file, strings.Replace(o.texts[file], code, by, 1))
	return file, nil
}

// put adds or changes a file.
func (o *overlay) put(file, text string) { o.texts[file], o.changed[file] = text, true }

// build builds the program from the overlay.
func (o *overlay) build(name string) (path string, err error) {
	dir, root := filepath.Join(programs, "overlay"), ""
	if root, err = filepath.Abs(top); err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file := range o.changed {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(o.texts[file]), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = to
	}
	text, _ := json.Marshal(map[string]any{"Replace": replace})
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		return "", err
	}
	return build(name, ".", "-overlay="+list)
}
