package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Spec says what a tree is of; its fields are those of FilesSpec.
type Spec struct {
	Root      string
	Anyway    bool
	Home      string
	Protected []string
}

func Open(spec Spec) (*Tree, error) {
	path, err := filepath.Abs(spec.Root)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Root, Reason(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Root, Reason(err))
	}
	t := &Tree{spec: spec, Path: path, Real: real}
	switch {
	case info.Mode().IsRegular():
		t.Only = filepath.Base(real)
		t.Path, t.Real = filepath.Dir(path), filepath.Dir(real)
		if filepath.Base(path) != t.Only {
			t.Path = t.Real
		}
	case !info.IsDir():
		return nil, fmt.Errorf("%q is a %s, not a directory or file", spec.Root, KindOf(info.Mode()))
	}
	if err := t.checkRoot(path, real); err != nil {
		return nil, err
	}
	t.Sealed.Name, t.Sealed.Why = sealed(filepath.ToSlash(t.Real))
	if t.Root, err = os.OpenRoot(t.Real); err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Root, Reason(err))
	}
	if t.Info, err = t.Root.Stat("."); err == nil && pseudo(t.Root) {
		err = errPseudo
	}
	if err != nil {
		t.Root.Close()
		return nil, fmt.Errorf("%q: %w", spec.Root, Reason(err))
	}
	return t, nil
}

// checkRoot refuses roots that offer more than anybody means to: named by
// path, which leads to real.
func (t *Tree) checkRoot(path, real string) error {
	if Kernels(real) {
		return fmt.Errorf("%q: %w", t.spec.Root, errPseudo)
	}
	for _, way := range [...]string{path, real} {
		names := strings.Split(filepath.ToSlash(way), "/")
		for i, name := range names {
			judge := secretDirectory
			if t.Only != "" && i == len(names)-1 {
				judge = Secret
			}
			if why := judge(name); why != "" {
				return fmt.Errorf("%q is protected because of %q: %s; file tools neither read nor write it", t.spec.Root, name, why)
			}
		}
	}
	switch dir := aroundGit(t.Real); dir {
	case "":
	case t.Real:
		return fmt.Errorf("%q is %w", t.spec.Root, errGitDirectory)
	default:
		return fmt.Errorf("%q is in %q, which is %w", t.spec.Root, dir, errGitDirectory)
	}
	if what := wide(t.Real, t.spec.Home); what != "" && t.Only == "" && !t.spec.Anyway {
		return fmt.Errorf("%q is %s; name a directory in it, or add --files-anyway", t.spec.Root, what)
	}
	return nil
}

// wide says what a directory is that holds a user's whole life.
func wide(dir, home string) string {
	if dir == filepath.Dir(dir) {
		return "the whole file system"
	}
	if home != "" {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		if dir == filepath.Clean(home) {
			return "your home directory"
		}
		if strings.HasPrefix(filepath.Clean(home), dir+string(filepath.Separator)) {
			return "above your home directory"
		}
	}
	switch parent := filepath.Dir(dir); {
	case dir == "/root", parent == "/home", parent == "/Users":
		return "a home directory"
	case dir == "/home", dir == "/Users":
		return "above the home directories"
	}
	return ""
}
