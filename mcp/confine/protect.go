package confine

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What file tools never write is the protected set, and part of it they never
// read nor show either, whatever was approved (security.md R8, issue 6).
// Names are compared folded, on every system: a file system may fold them too.

// Secret says why a file or directory of this name is neither read nor
// written nor shown, wherever it is; "" when it may be.
func Secret(name string) string {
	for n := range forms(name) {
		if why := keeps(n); why != "" {
			return why
		}
	}
	return ""
}

// secretDirectory is secret for a directory that a root is or is in, which its
// user has named: what only files are called so is no reason there, and .envs
// or proj.key are directories of anything.
func secretDirectory(name string) string {
	for n := range forms(name) {
		if why := keepsWhole(n); why != "" {
			return why
		}
	}
	return ""
}

// keeps is secret for a folded name.
func keeps(n string) string {
	if why := keepsWhole(n); why != "" {
		return why
	}
	if strings.HasPrefix(n, ".env") {
		return "it holds an environment's secrets"
	}
	if dot := strings.LastIndexByte(n, '.'); dot >= 0 {
		switch n[dot:] {
		case ".pem", ".key", ".p12", ".pfx", ".p8", ".jks", ".keystore", ".kdbx", ".ppk":
			return "it holds keys"
		}
	}
	return ""
}

// keepsWhole is secretDirectory for a folded name.
func keepsWhole(n string) string {
	switch n {
	case ".git", "git~1":
		return "it belongs to git"
	case ".ssh", ".gnupg", ".aws", ".kube", ".password-store", ".netrc", "_netrc", ".pgpass", ".pypirc", ".git-credentials", ".htpasswd",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss":
		return "it holds keys"
	}
	if n == ".env" || n == ".envrc" || strings.HasPrefix(n, ".env.") {
		return "it holds an environment's secrets"
	}
	return ""
}

// SecretPath is secret for a path with slashes: what follows such a directory
// is like it.
func SecretPath(path string) string {
	for name := range strings.SplitSeq(path, "/") {
		if why := Secret(name); why != "" {
			return why
		}
	}
	return ""
}

// Unwritable says why a path with slashes that may be read, in a directory of
// the name outer, is not written; "" when it may be. What follows a protected
// directory is protected.
func Unwritable(outer, path string) string {
	for name := range strings.SplitSeq(path, "/") {
		if why := ruled(outer, name); why != "" {
			return why
		}
		outer = name
	}
	return ""
}

// Sealed says which name in the absolute path of a root makes all below it
// unwritable, and why; "" when none does. Agents keep whole checkouts in the
// worktrees of their directories: such a one is written when it is the root.
func sealed(path string) (name, why string) {
	outer := ""
	names := strings.Split(path, "/")
	for i, name := range names {
		worktree := governs("", foldName(name)) == agents && i+1 < len(names) && names[i+1] == "worktrees"
		if why := ruled(outer, name); why != "" && !worktree {
			return name, why
		}
		outer = name
	}
	return "", ""
}

// ruled says why a name in a directory of the name outer is read but not
// written.
func ruled(outer, name string) string {
	for n := range forms(name) {
		if why := governs("", n); why != "" {
			return why
		}
		for o := range forms(outer) {
			if why := governs(o, n); why != "" {
				return why
			}
		}
	}
	return ""
}

// foldName is a name as the most forgiving file system sees it: in lower
// case by Unicode's simple folding, without code points that nobody sees,
// without the ends that Windows drops.
func foldName(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			name = strings.Map(foldRune, name)
			break
		}
	}
	return trimEnd(name)
}

// trimEnd is a name without the dots and blanks at its end, unless it is
// nothing else.
func trimEnd(name string) string {
	if n := len(name); n > 0 && (name[n-1] == '.' || name[n-1] == ' ') {
		if cut := strings.TrimRight(name, ". "); cut != "" {
			return cut
		}
	}
	return name
}

// forms are a name folded, and that cut at each of its colons. What follows a
// colon may name a stream of the file, or belong to the name: that is for the
// file system to say, so all of them are looked at.
func forms(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := foldName(name); n != "" && yield(n); {
			n = trimEnd(n[:max(0, strings.LastIndexByte(n, ':'))])
		}
	}
}

// foldRune is the first of the characters that r is equal to, or -1.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	if ignorable(r) {
		return -1
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if least < utf8.RuneSelf {
		return unicode.ToLower(least)
	}
	return least
}

// ignorable are the code points that Unicode calls default ignorable, and
// those that file systems are known to drop.
func ignorable(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	}
	return r == utf8.RuneError
}

// ownFiles are toolpipe's own files: config, policy, log, recordings. They
// are known by place and by device and inode, so that no link leads to them.
// Places are looked up anew for every call: a log may come into being later.
type ownFiles struct {
	places []string // Absolute, links in the directory resolved
	Infos  []fs.FileInfo
}

func findOwn(paths []string) ownFiles {
	var own ownFiles
	for _, p := range paths {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			p = filepath.Join(dir, filepath.Base(p))
		}
		own.places = append(own.places, p)
		if info, err := os.Stat(p); err == nil {
			own.Infos = append(own.Infos, info)
		}
	}
	return own
}

func (o *ownFiles) Has(info fs.FileInfo) bool {
	for _, own := range o.Infos {
		if os.SameFile(own, info) {
			return true
		}
	}
	return false
}

// at is the place of those that an absolute path is at or below; "" for none.
func (o *ownFiles) at(path string) string {
	for _, p := range o.places {
		dir := strings.TrimSuffix(p, string(filepath.Separator))
		if n := len(dir); len(path) >= n && strings.EqualFold(dir, path[:n]) && (len(path) == n || os.IsPathSeparator(path[n])) {
			return p
		}
	}
	return ""
}
