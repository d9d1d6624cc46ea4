package confine

import (
	"cmp"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolpipe/stream/jsontext"
)

// Secret files are neither read, written nor shown, whatever was approved. Names
// are compared folded, on every system: the file system may fold them too.

// secretName says why a file or directory of this name is secret, wherever it
// is; "" when it is not.
func secretName(name string) string { return reasonOf(name, secretReason) }

// reasonOf is the first reason of a name folded, or of that form cut at one of its
// colons. On some file systems what follows a colon names a stream of the file, on
// others it belongs to the name; so all forms are compared.
func reasonOf(name string, reason func(form string) string) (why string) {
	for n := foldName(name); n != "" && why == ""; n = trimEnd(n[:max(0, strings.LastIndexByte(n, ':'))]) {
		why = reason(n)
	}
	return why
}

// SecretPath is secretName for a path with slashes: what is below a secret
// directory is secret.
func SecretPath(path string) string {
	for name := range strings.SplitSeq(path, "/") {
		if why := secretName(name); why != "" {
			return why
		}
	}
	return ""
}

// secretReason is secretName for a folded name.
func secretReason(n string) string {
	if why := secretDirectoryReason(n); why != "" {
		return why
	}
	switch {
	case strings.HasPrefix(n, "mcp-oauth-tokens"): // of coding agents
		return "it holds logins"
	case strings.HasPrefix(n, ".env"):
		return "it holds an environment's secrets"
	}
	switch path.Ext(n) {
	case ".pem", ".key", ".p12", ".pfx", ".p8", ".jks", ".keystore", ".kdbx", ".ppk":
		return "it holds keys"
	}
	return ""
}

// secretDirectoryReason is secretReason for a directory that the user has named. The
// names that only files have do not count: .envs or proj.key may be any directory.
func secretDirectoryReason(n string) string {
	switch n {
	case ".git", "git~1":
		return "it belongs to git"
	case ".ssh", ".gnupg", ".aws", ".kube", ".password-store", ".netrc", "_netrc", ".pgpass", ".pypirc", ".git-credentials", ".htpasswd",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss":
		return "it holds keys"
	case ".mcp-auth", ".credentials.json": // of mcp-remote and of coding agents
		return "it holds logins"
	}
	if n == ".env" || n == ".envrc" || strings.HasPrefix(n, ".env.") {
		return "it holds an environment's secrets"
	}
	return ""
}

// foldName returns a name as the most forgiving file system sees it: in lower
// case by Unicode's simple folding, without invisible code points, and without
// the final dots and blanks that Windows drops.
func foldName(name string) string { return trimEnd(strings.Map(foldRune, name)) }

// trimEnd cuts the dots and blanks at the end of a name that has anything else.
func trimEnd(name string) string {
	return cmp.Or(strings.TrimRight(name, ". "), name)
}

// foldRune returns the first of the characters that differ from r by case only, a
// letter of ASCII in lower case, or -1 for a character that file systems may drop:
// what Unicode calls default ignorable, and bytes that are no UTF-8.
func foldRune(r rune) rune {
	if r == utf8.RuneError || r >= utf8.RuneSelf && unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return -1
	}
	if r = jsontext.FoldRune(r); r < utf8.RuneSelf {
		r = unicode.ToLower(r)
	}
	return r
}
