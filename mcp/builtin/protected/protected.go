// Package protected is the table of protected files: files with secrets, which file tools and
// sandboxed programs do not read, and files that other programs run or obey, which file tools
// do not write and a sandbox watches. A row is a name or a path; all readers use the same rows.
package protected

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// Secret is the reason why a path in a directory is secret; "" if it is not. Everything below a
// secret directory is secret. home is the user's home directory; "" when unknown. Names are
// compared folded on every system, because the file system may fold them too.
func Secret(home, dir, path string) string {
	use := use{inTools(home), func(*kind) bool { return true }}
	return pathReason(dir, path, func(dir, name string) string { return secretReason(dir, name, use) })
}

// SecretRoot is Secret for a directory of that name on the path of a root.
func SecretRoot(home, dir, name string) string {
	return secretReason(dir, name, use{inTools(home), func(k *kind) bool { return !k.onlyFiles && !k.mayBeRoot }})
}

// inTools decides about scopes for file tools.
func inTools(home string) func(s scope, top string) bool {
	return func(s scope, top string) bool {
		switch s {
		case inSystem:
			return top == "/"
		case inHome:
			parent := path.Dir(top)
			return top == home || top == "/root" || parent == "/home" || parent == "/Users"
		}
		return true
	}
}

func secretReason(dir, name string, use use) string {
	return reasonOf(name, func(n string) string {
		why := secrets.reason(dir, n, use)
		if original := withoutBackup(n); why == "" && original != n {
			why = secrets.reason(dir, original, use)
		}
		return why
	})
}

// withoutBackup removes a backup suffix such as .bak or ~ from the folded name n, because a
// copy of a secret file is as secret.
func withoutBackup(n string) string {
	for _, suffix := range [...]string{"~", ".bak", ".backup", ".old", ".orig", ".save"} {
		if original, is := strings.CutSuffix(n, suffix); is && original != "" {
			return original
		}
	}
	return n
}

// reasonOf is the first reason for a folded name, or for the part before any of its colons.
// On some file systems the text after a colon names a stream of the file, on others it
// belongs to the name, so all forms are compared.
func reasonOf(name string, reason func(form string) string) (why string) {
	for n := Fold(name); n != "" && why == ""; n = trimEnd(n[:max(0, strings.LastIndexByte(n, ':'))]) {
		why = reason(n)
	}
	return why
}

// pathReason is the first reason for a name in a path, which begins in dir.
func pathReason(dir, names string, reason func(dir, name string) string) string {
	for name := range strings.SplitSeq(names, "/") {
		if why := reason(dir, name); why != "" {
			return why
		}
		dir = path.Join(dir, name)
	}
	return ""
}

// Fold returns a name as the most tolerant file system sees it: in lower case by
// Unicode's simple folding, without invisible code points, and without the final dots and
// blanks that Windows drops.
func Fold(name string) string {
	ascii := true
	for i := range len(name) {
		ascii = ascii && name[i] < utf8.RuneSelf
	}
	if ascii { // cheaper
		return trimEnd(strings.ToLower(name))
	}
	return trimEnd(strings.Map(foldRune, name))
}

// trimEnd cuts the dots and blanks at the end of a name, unless the name has nothing else.
func trimEnd(name string) string {
	return cmp.Or(strings.TrimRight(name, ". "), name)
}

// foldRune returns the first of the characters that differ from r only by case, or an ASCII
// letter in lower case. It is -1 for a character that file systems may drop: default
// ignorable code points of Unicode, and bytes that are not UTF-8.
func foldRune(r rune) rune {
	if r == utf8.RuneError || r >= utf8.RuneSelf && unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return -1
	}
	if r = jsontext.FoldRune(r); r < utf8.RuneSelf {
		r = unicode.ToLower(r)
	}
	return r
}

// ReadOnly is the reason why a path in a directory is not written; "" if it may be written.
func ReadOnly(dir, path string) string { return pathReason(dir, path, obeyedReason) }

func obeyedReason(dir, name string) string {
	return reasonOf(name, func(n string) string {
		return obeyed.reason(dir, n, use{func(scope, string) bool { return true }, func(*kind) bool { return true }})
	})
}

// HoldsReadOnly reports whether some names are protected only in a directory of this name,
// such as workflows in .github.
func HoldsReadOnly(dir string) bool { return obeyed.leads(Fold(dir)) }

// ReadOnlyRoot names the part of a root's absolute path that makes everything below it
// read-only. Agents keep whole checkouts in their own directory "worktrees"; such a checkout
// can be a writable root.
func ReadOnlyRoot(root string) string {
	dir := "/"
	names := strings.Split(root, "/")
	for i, name := range names {
		why := obeyedReason(dir, name)
		worktree := obeyedReason("/", name) == agentReason && i+1 < len(names) && names[i+1] == "worktrees"
		if why != "" && !worktree {
			return fmt.Sprintf("%q in the root's path: %s", name, why)
		}
		dir = path.Join(dir, name)
	}
	return ""
}
