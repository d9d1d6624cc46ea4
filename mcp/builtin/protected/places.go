package protected

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Places are the paths with secrets of the system and of home directories that a sandbox must
// hide: the existing ones and, for each directory without any, one that can be made in it. With
// Landlock nothing that is made later in a directory with a hidden path can be read, and
// bubblewrap cannot hide a missing file. Other systems hide paths, so they get all.
func Places(homes []string) []string {
	secrets.once.Do(secrets.fill)
	system := search{base: "/", system: true}
	system.look("/", "/")
	found := system.found
	for _, home := range homes {
		s := search{base: home}
		s.look(home, "")
		found = append(found, s.found...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// A search finds the secrets below a home directory, or the system's secrets.
type search struct {
	base   string
	system bool
	found  []string
}

// use is about a file or a directory.
func (s *search) use(isDir bool) use {
	return use{
		func(of scope, top string) bool { return top == s.base && (of == inSystem) == s.system },
		func(k *kind) bool { return !k.toolsOnly && !(k.onlyFiles && isDir) },
	}
}

// look finds the secrets in a directory on the way to some, and in those below it. It reports
// whether one of them is not a link: a hidden link is hidden where it leads to.
func (s *search) look(dir, way string) (found bool) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return false
	}
	for _, entry := range entries {
		path, isDir, isLink := filepath.Join(dir, entry.Name()), entry.IsDir(), entry.Type() == fs.ModeSymlink
		if isLink {
			info, err := os.Stat(path)
			isDir = err == nil && info.IsDir()
		}
		if secretReason(dir, entry.Name(), s.use(isDir)) != "" {
			s.found = append(s.found, path)
			found = found || !isLink
		} else if inner := filepath.Join(way, Fold(entry.Name())); isDir && secrets.leads(inner) {
			found = s.look(path, inner) && !isLink || found
		}
	}
	for _, r := range secrets.literal[way] {
		if found && runtime.GOOS == "linux" {
			break
		}
		if !r.toolsOnly {
			s.found = append(s.found, filepath.Join(s.base, r.text))
			found = true
		}
	}
	return found
}

// Hides reports whether a sandbox hides a path, or will if it is made.
func Hides(home, path string) bool {
	use := use{inTools(home), func(k *kind) bool { return !k.toolsOnly }}
	return pathReason("/", path, func(dir, name string) string { return secretReason(dir, name, use) }) != ""
}

// Text lists the secrets for the manual, a paragraph for each reason. A name that counts only in a
// home directory begins with ~/.
func Text() string {
	secrets.once.Do(secrets.fill)
	var reasons []string
	names := map[string][]string{}
	for _, r := range secrets.rules {
		if names[r.why] == nil {
			reasons = append(reasons, r.why)
		}
		name := r.text
		if r.inHome {
			name = "~/" + name
		}
		names[r.why] = append(names[r.why], name)
	}
	const width = 80
	var text strings.Builder
	for _, why := range reasons {
		line := "\n  " + strings.ToUpper(why[:1]) + why[1:] + ":"
		for _, name := range names[why] {
			if len(line)+len(name) > width { // the line end counts as the blank
				text.WriteString(line)
				line = "\n "
			}
			line += " " + name
		}
		text.WriteString(line + "\n")
	}
	return strings.TrimPrefix(text.String(), "\n")
}
