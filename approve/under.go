package approve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"toolpipe/stream/jsontext"
)

const (
	maxLinks = 40   // how many symbolic links one path may go through
	maxPath  = 4096 // bytes of a path whose place is looked for: no system opens a longer one
)

var errUndecidable = errors.New("a path whose place cannot be told")

// under reports whether path is dir or inside it, both taken from the call's
// root when relative. Links and .. are resolved element by element, as opening
// the file would; a path with .. must be inside by its text, too, since some
// programs shorten it first. Whatever cannot be decided is the answer wide.
// So that nobody widens a rule by putting a link in the place of its
// directory, an allow speaks of where dir was at first, and a deny of where it
// is now as well.
func (e *evaluation) under(dir, path string, wide bool) bool {
	bases, err := e.bases(dir)
	if err != nil {
		return wide
	}
	if !wide {
		bases = bases[:1]
	}
	inside := 0
	spellings := []string{path}
	if strings.Contains(path, "..") {
		spellings = append(spellings, filepath.Clean(path))
	}
	for _, p := range spellings {
		resolved, err := e.resolve(p)
		switch {
		case err != nil && wide, err == nil && slices.ContainsFunc(bases, func(base string) bool { return contains(base, resolved, wide, e.lexical) }):
			inside++
		}
	}
	if wide {
		return inside > 0
	}
	return inside == len(spellings)
}

// bases are where the directory of a rule was when it was first looked up, and
// where it is now if that is another place.
func (e *evaluation) bases(dir string) ([]string, error) {
	now, err := e.resolve(dir)
	if err != nil {
		return nil, err
	}
	key := e.call.Root + "\x00" + dir
	first, known := e.first[key]
	switch {
	case !known && e.first == nil:
		e.first = map[string]string{key: now}
	case !known:
		e.first[key] = now
	case first != now:
		return []string{first, now}, nil
	}
	return []string{now}, nil
}

// resolve is where path leads from the call's root. Within one evaluation a
// path is looked up once, so that all tests speak of the same file though
// somebody moves links meanwhile; the verdict keeps what was found.
func (e *evaluation) resolve(path string) (string, error) {
	if real, looked := e.places[path]; looked && real != "" {
		return real, nil
	} else if looked {
		return "", errUndecidable
	}
	root := e.call.Root
	if e.lexical {
		root = "/"
	}
	real, err := resolveFrom(root, path, e.lexical)
	if e.places == nil {
		e.places = make(map[string]string)
	}
	e.places[path] = real
	return real, err
}

// resolveFrom makes path absolute and free of links. What another program may
// read as something else than a plain path is undecidable.
func resolveFrom(root, path string, lexical bool) (string, error) {
	switch {
	case path == "", len(path) > maxPath, strings.ContainsRune(path, 0), path[0] == '~', strings.Contains(path, "://"),
		len(path) >= 5 && strings.EqualFold(path[:5], "file:"), strings.Contains(path, `\`):
		return "", errUndecidable
	case !filepath.IsAbs(path) && root == "":
		return "", errUndecidable
	case !filepath.IsAbs(path):
		path = root + string(filepath.Separator) + path
	}
	if !filepath.IsAbs(path) {
		return "", errUndecidable
	}
	return resolve(path, lexical)
}

// resolve walks an absolute path. Elements that do not exist are taken as they
// are written. Nothing is said of paths through /proc, whose links mean
// something else to every process.
func resolve(path string, lexical bool) (string, error) {
	volume := filepath.VolumeName(path)
	top := volume + string(filepath.Separator)
	at := top
	rest := strings.Split(filepath.ToSlash(path[len(volume):]), "/")
	for links := 0; len(rest) > 0; {
		element := rest[0]
		rest = rest[1:]
		switch element {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, element)
		if next == "/proc" {
			return "", errUndecidable
		}
		if lexical {
			at = next
			continue
		}
		target, isLink, err := readLink(next)
		switch {
		case err != nil:
			return "", err
		case !isLink:
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", errUndecidable
		}
		if filepath.IsAbs(target) {
			at = top
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	return at, nil
}

// readLink returns the target of path if it is a link. That nothing is there
// is no error.
func readLink(path string) (target string, isLink bool, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", false, nil
	case err != nil:
		return "", false, err
	case info.Mode().Type() != fs.ModeSymlink:
		return "", false, nil
	}
	target, err = os.Readlink(path)
	return target, true, err
}

// contains reports whether the resolved path is dir or inside it. Wide, a name
// in another case counts, and so does a directory that is the same file: on
// systems where neither case nor form of a name matters the same directory has
// many names. Narrow, the text alone counts: what a name stands for may change
// before the file is opened, and only the text is held to.
func contains(dir, path string, wide, lexical bool) bool {
	if dir == path {
		return true
	}
	prefix := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	if strings.HasPrefix(path, prefix) {
		return true
	}
	if !wide {
		return false
	}
	if len(path) >= len(prefix)-1 && strings.HasPrefix(foldString(path)+string(filepath.Separator), foldString(prefix)) {
		return true
	}
	if lexical {
		return false
	}
	want, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for {
		if info, err := os.Stat(path); err == nil && os.SameFile(want, info) {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

// foldString returns the form of s in which strings that are equal under
// simple case folding are the same.
func foldString(s string) string { return strings.Map(jsontext.FoldRune, s) }
