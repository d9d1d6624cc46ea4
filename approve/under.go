package approve

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"toolpipe/stream/text/jsontext"
)

const (
	maxLinks = 40   // symbolic links in the resolution of one path
	maxPath  = 4096 // bytes of a path: no system opens a longer one
)

var errUndecidable = errors.New("the target of the path is not known")

// under reports whether path is dir or inside it; a relative path starts from the call's root.
// Links and ".." are resolved element by element, as the system does when it opens the file. A
// path with ".." must also be inside by its text, since some programs shorten a path before
// they open it. An undecidable path passes wide and fails narrow.
//
// Replacing the directory of a rule by a link must not make the rule weaker. So a rule that
// allows is about the first location of dir, and a rule that denies also about the current one.
func (e *evaluation) under(dir, path string, wide bool) bool {
	directories, err := e.ruleDirectories(dir)
	if err != nil {
		return wide
	}
	if !wide {
		directories = directories[:1]
	}
	inside := 0
	spellings := []string{path}
	if strings.Contains(path, "..") {
		spellings = append(spellings, filepath.Clean(path))
	}
	for _, p := range spellings {
		resolved, err := e.resolve(p)
		if err != nil && wide || err == nil && slices.ContainsFunc(directories, func(d string) bool { return contains(d, resolved, wide, e.lexical) }) {
			inside++
		}
	}
	if wide {
		return inside > 0
	}
	return inside == len(spellings)
}

// ruleDirectories returns the first known location of a rule's directory, and the current one
// if it differs.
func (e *evaluation) ruleDirectories(dir string) ([]string, error) {
	now, err := e.resolve(dir)
	if err != nil {
		return nil, err
	}
	key := e.call.Root + "\x00" + dir
	if e.directories == nil {
		e.directories = new(sync.Map)
	}
	if first, _ := e.directories.LoadOrStore(key, now); first != now {
		return []string{first.(string), now}, nil
	}
	return []string{now}, nil
}

// rememberDirectories makes all later evaluations share where the directories of rules were at
// their first lookup. It comes before the first decision.
func (g *Gate) rememberDirectories() {
	if g.evaluation.directories == nil {
		g.evaluation.directories = new(sync.Map)
	}
}

// resolve returns the target of path from the call's root. Within one evaluation a path is
// looked up once, so that all tests are about the same file even if somebody moves links
// meanwhile. The verdict names the target.
func (e *evaluation) resolve(path string) (string, error) {
	if place, found := e.places[path]; found && place != "" {
		return place, nil
	} else if found {
		return "", errUndecidable
	}
	root := e.call.Root
	if e.lexical {
		root = "/"
	}
	place, err := resolvePath(root, path, e.lexical)
	if e.places == nil {
		e.places = make(map[string]string)
	}
	e.places[path] = place
	return place, err
}

// PlacesOf maps the declared paths of a call that reads or writes files, and the other paths,
// to their targets: absolute and free of links; "" if unknown.
func (c *Call) PlacesOf(others ...string) map[string]string {
	e := &evaluation{budget: newBudget(context.Background())}
	e.call = c
	d, paths := e.arguments(), others
	for _, path := range slices.Concat(c.Reads.Paths, c.Writes.Paths) {
		e.all(path.segments, 0, true, func(at int) bool {
			for j := at; j < d.nodes[at].next; j++ {
				if d.nodes[j].kind == '"' {
					paths = append(paths, string(d.str(j)))
				}
			}
			return true
		})
	}
	places := map[string]string{}
	for _, path := range paths {
		places[path], _ = resolvePath(c.Root, path, false)
	}
	return places
}

// resolvePath makes path absolute and free of links. It refuses a path that
// another program may read as something else, such as a URL.
func resolvePath(root, path string, lexical bool) (string, error) {
	switch {
	case path == "", len(path) > maxPath, strings.ContainsRune(path, 0), path[0] == '~', strings.Contains(path, "://"),
		len(path) >= 5 && strings.EqualFold(path[:5], "file:"), strings.Contains(path, `\`):
		return "", errUndecidable
	case filepath.IsAbs(path):
		return resolveAbsolute(path, lexical)
	case filepath.IsAbs(root):
		return resolveAbsolute(root+"/"+path, lexical)
	}
	return "", errUndecidable
}

// resolveAbsolute walks an absolute path. Elements that do not exist stay as written. It
// refuses paths through /proc, where a link leads each process to another target.
func resolveAbsolute(path string, lexical bool) (string, error) {
	at := "/"
	rest := strings.Split(path, "/")
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
		target, err := os.Readlink(next)
		switch {
		case errors.Is(err, syscall.EINVAL), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // not a link
			at = next
			continue
		case err != nil:
			return "", err
		}
		if links++; links > maxLinks {
			return "", errUndecidable
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// contains reports whether the resolved path is dir or inside it. Wide, a name in another case
// counts, and so does a directory that is the same file: some file systems ignore case, or the
// Unicode normal form, of names. Narrow, the text of the path must match: a name may lead to
// another file when the call runs, and the call is bound to the text only.
func contains(dir, path string, wide, lexical bool) bool {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	if strings.HasPrefix(path+"/", prefix) {
		return true
	}
	if !wide {
		return false
	}
	if len(path) >= len(prefix)-1 && strings.HasPrefix(foldString(path)+"/", foldString(prefix)) {
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

// foldString maps strings that are equal under simple case folding to the same string.
func foldString(s string) string { return strings.Map(jsontext.FoldRune, s) }
