package confine

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// Secret files are neither read, written nor shown, whatever was approved. Names
// are compared folded, on every system: the file system may fold them too.

// secretNames are the names of these files and directories, written as readOnlyNames are.
// Those of onlyFiles do not count for a directory that the user has named as a root:
// .envs or proj.key may be any directory.
var secretNames = nameTable{kinds: []nameKind{
	{why: "it belongs to git", names: `.git git~1`},
	{why: "it holds keys", names: `.ssh .gnupg .aws .azure .kube .oci .config/gcloud .config/op .password-store .subversion/auth .netrc _netrc .pgpass .pypirc .git-credentials .htpasswd
		id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk id_xmss`},
	{why: "it holds keys", onlyFiles: true, names: `*.pem *.key *.p12 *.pfx *.p8 *.jks *.keystore *.kdbx *.ppk id_*.bak`},
	{why: "it holds an environment's secrets", names: `.env .envrc .env.*`},
	{why: "it holds an environment's secrets", onlyFiles: true, names: `.env* *.env .flaskenv`},
	{why: "it holds logins", names: `.mcp-auth .credentials.json`}, // of mcp-remote and of coding agents
	{why: "it holds logins", onlyFiles: true, names: `mcp-oauth-tokens* .codex/auth.json opencode/auth.json oauth_creds.json .vault-token kubeconfig *.kubeconfig gh/hosts.yml glab-cli/config.yml
		.config/hub .databrickscfg .huggingface/token huggingface/token kaggle.json credentials.tfrc.json`},
	{why: "it holds the keys of an account in a cloud", onlyFiles: true, names: `credentials.json application_default_credentials.json service-account*.json service_account*.json client_secret*.json
		.boto .s3cfg rclone.conf`},
	{why: "it holds the login of a package registry", onlyFiles: true, names: `.npmrc .docker/config.json .dockercfg .cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json
		.m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties`},
	{why: "it holds the login of a database", onlyFiles: true, names: `.my.cnf .mylogin.cnf`},
	{why: "it holds what Terraform knows, with passwords", onlyFiles: true, names: `*.tfstate *.tfvars *.tfvars.json`},
	{why: "it holds commands that were typed, with passwords", onlyFiles: true, names: `.*_history fish_history .zhistory .histfile`},
}}

// secretName says why a file or directory of this name is secret, in a directory whose
// name is parent; "" when it is not.
func secretName(parent, name string) string { return secretReason(parent, name, false) }

// secretReason is secretName, or says why the directory is no root.
func secretReason(parent, name string, root bool) string {
	return reasonOf(name, func(n string) string {
		return cmp.Or(secretNames.reason(parent, n, root), secretNames.reason(parent, withoutBackup(n), root))
	})
}

// withoutBackup is the name of the file that a file of the folded name n was copied
// from by an editor or a person: a copy of a secret file is as secret.
func withoutBackup(n string) string {
	for _, suffix := range [...]string{"~", ".bak", ".backup", ".old", ".orig", ".save"} {
		if original, is := strings.CutSuffix(n, suffix); is && original != "" {
			return original
		}
	}
	return n
}

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
func SecretPath(parent, path string) string { return pathReason(parent, path, secretName) }

// pathReason is the first reason for a name of a path, in a directory whose name is parent.
func pathReason(parent, path string, reason func(parent, name string) string) string {
	for name := range strings.SplitSeq(path, "/") {
		if why := reason(parent, name); why != "" {
			return why
		}
		parent = name
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
