package confine

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// Secret files are neither read, written nor shown, whatever was approved. Names are compared
// folded on every system, because the file system may fold them too.

// secretNames are the names of these files and directories, in the form of readOnlyNames.
// Those with onlyFiles do not count for a directory that the user named as a root: .envs or
// proj.key may be any directory.
var secretNames = nameTable{kinds: []nameKind{
	{why: "it belongs to git", names: `.git git~1`},
	{why: "it contains keys", names: `.ssh .gnupg .aws .azure .kube .oci .config/gcloud .config/op .password-store .subversion/auth .netrc _netrc .pgpass .pypirc .git-credentials .htpasswd
		id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk id_xmss`},
	{why: "it contains keys", onlyFiles: true, names: `*.pem *.key *.p12 *.pfx *.p8 *.jks *.keystore *.kdbx *.ppk id_*.bak`},
	{why: "it contains the secrets of an environment", names: `.env .envrc .env.*`},
	{why: "it contains the secrets of an environment", onlyFiles: true, names: `.env* *.env .flaskenv`},
	{why: "it contains logins", names: `.mcp-auth .credentials.json`}, // of mcp-remote and of coding agents
	{why: "it contains logins", onlyFiles: true, names: `mcp-oauth-tokens* .codex/auth.json opencode/auth.json oauth_creds.json .vault-token kubeconfig *.kubeconfig gh/hosts.yml glab-cli/config.yml
		.config/hub .databrickscfg .huggingface/token huggingface/token kaggle.json credentials.tfrc.json`},
	{why: "it contains the keys of a cloud account", onlyFiles: true, names: `credentials.json application_default_credentials.json service-account*.json service_account*.json client_secret*.json
		.boto .s3cfg rclone.conf`},
	{why: "it contains the login of a package registry", onlyFiles: true, names: `.npmrc .docker/config.json .dockercfg .cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json
		.m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties`},
	{why: "it contains the login of a database", onlyFiles: true, names: `.my.cnf .mylogin.cnf`},
	{why: "it contains the state of Terraform, with passwords", onlyFiles: true, names: `*.tfstate *.tfvars *.tfvars.json`},
	{why: "it contains typed commands, with passwords", onlyFiles: true, names: `.*_history fish_history .zhistory .histfile`},
}}

// secretName is the reason why a file or directory of this name is secret, in a directory
// named parent; "" if it is not.
func secretName(parent, name string) string { return secretReason(parent, name, false) }

// secretReason is secretName or, with root, the reason why the directory cannot be a root.
func secretReason(parent, name string, root bool) string {
	return reasonOf(name, func(n string) string {
		return cmp.Or(secretNames.reason(parent, n, root), secretNames.reason(parent, withoutBackup(n), root))
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
	for n := foldName(name); n != "" && why == ""; n = trimEnd(n[:max(0, strings.LastIndexByte(n, ':'))]) {
		why = reason(n)
	}
	return why
}

// SecretPath is secretName for a path with slashes: everything below a secret directory is
// secret.
func SecretPath(parent, path string) string { return pathReason(parent, path, secretName) }

// pathReason is the first reason for a name in a path; the path is in a directory named
// parent.
func pathReason(parent, path string, reason func(parent, name string) string) string {
	for name := range strings.SplitSeq(path, "/") {
		if why := reason(parent, name); why != "" {
			return why
		}
		parent = name
	}
	return ""
}

// foldName returns a name as the most tolerant file system sees it: in lower case by
// Unicode's simple folding, without invisible code points, and without the final dots and
// blanks that Windows drops.
func foldName(name string) string { return trimEnd(strings.Map(foldRune, name)) }

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

const agentReason = "it is an agent's configuration"

// readOnlyNames are the names of files and directories that are read but never written,
// because other programs run or obey them without being asked. A write to one would turn an
// approved write into a command that nobody approved, run by the next person or machine that
// opens the directory.
//
// Files below a directory with such a name are not written either. So directories that
// usually contain whole checkouts are not in the list.
var readOnlyNames = nameTable{kinds: []nameKind{
	{why: "it is a CI definition", names: `.github/workflows .github/actions .github/dependabot.yml .github/dependabot.yaml .gitlab .gitlab-ci.yml .gitlab-ci.yaml .gitlab-ci.*.yml
		.gitea .forgejo .circleci .buildkite .woodpecker .woodpecker.yml .woodpecker.yaml .drone.yml .drone.yaml .drone.star .zuul.yaml .zuul.yml .zuul.d zuul.yaml zuul.d
		.taskcluster.yml .travis.yml .appveyor.yml appveyor.yml .cirrus.yml .cirrus.star .semaphore .teamcity .builds .build.yml azure-pipelines*.yml azure-pipelines*.yaml
		.azure-pipelines bitbucket-pipelines.yml jenkinsfile jenkinsfile.* *.jenkinsfile .tekton cloudbuild.yaml cloudbuild.yml buildspec.yml .wercker.yml wercker.yml
		codeship-*.yml .screwdriver screwdriver.yaml .vela.yml .packit.yaml .copr bitrise.yml codemagic.yaml .harness .mergify.yml .renovaterc* renovate.json* .readthedocs.yml
		.readthedocs.yaml`},
	{why: "it belongs to another version control system", names: `.hg .hgrc .hgsub .jj .sl .svn .bzr .pijul _darcs .fslckout _fossil_ .repo`},
	{why: "git runs commands from it or follows its settings", names: `.gitconfig .gitmodules .gitattributes .githooks .config/git`},
	{why: "it defines hooks that git runs", names: `.husky .huskyrc* .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml lefthook.* lefthook-local.* .lefthook .lefthook.* .lefthook-local.*
		.config/lefthook.* .overcommit.yml .simple-git-hooks.* simple-git-hooks.* .lintstagedrc* lint-staged.config.*`},
	{why: "it is an editor's configuration", names: `.vscode .vscode-server .vs .idea .fleet .zed .editorconfig .vimrc .nvimrc .gvimrc .exrc _vimrc .nvim.lua .vim .nvim .lvimrc .lazy.lua .ideavimrc .nanorc
		.helix .kakrc .lapce .nova .emacs .emacs.d .dir-locals.el .dir-locals-2.el .projectile .config/nvim .config/helix *.code-workspace *.sublime-project *.sublime-workspace
		.externaltoolbuilders`},
	{why: "it sets up a development machine", names: `.devcontainer .devcontainer.json devcontainer.json .gitpod.yml .gitpod.yaml .gitpod.dockerfile .replit replit.nix .devfile.yaml devfile.yaml .codesandbox
		.stackblitzrc .idx`},
	{why: "it is a debugger's start-up file", names: `.gdbinit .gdbearlyinit .lldbinit .lldbinit-* .pdbrc .pdbrc.py .perldb .dbxrc`},
	{why: "it is an interpreter's start-up file", names: `.rprofile .renviron .pryrc .irbrc .pythonrc .pythonrc.py .pythonstartup .ipython .jupyter sitecustomize.py usercustomize.py site-packages/*.pth
		dist-packages/*.pth .ghci .ocamlinit .sbclrc .iex.exs .erlang .octaverc .tclshrc .wishrc .psqlrc .sqliterc .gnuplot .latexmkrc latexmkrc .guile .julia/config`},
	{why: agentReason, names: `.mcp.json mcp.json .claude .claude.json .claude-plugin claude.md claude.local.md agents.md agents.override.md agent.md gemini.md gemini-extension.json .cursor .cursorrules
		.cursorignore .codex .gemini .opencode opencode.json opencode.jsonc .windsurf .windsurfrules .codeium .clinerules .cline .roo .roorules .roomodes .continue .aider* .kiro
		.amazonq .junie .goosehints .goose .agents .agent .augment .augment-guidelines .copilot .crush .crush.json crush.json .qwen qwen.md .trae .kilocode .kilocodemodes .rules
		.openhands .warp warp.md .antigravity .toolpipe .config/toolpipe .github/copilot-instructions.md .github/instructions .github/agents .github/prompts .github/chatmodes
		.github/hooks .github/skills .amp .ampcode .config/amp .factory .droid .pi .grok .tabnine .cody .sourcegraph .void .zencoder .iflow .codebuddy .rovodev .firebender .kode
		.devin .jules .forge .aiassistant .serena .cagent .nanocoder .kimi .vibe .openclaw .letta .lingma .qoder .blackbox .pochi .plandex .mentat .neovate .commandcode .adal
		.config/goose .config/opencode .config/crush .config/zed .claude-code-router claude_desktop_config.json`},
	{why: "it is a shell's start-up file", names: `.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .login .logout .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc
		.inputrc .xprofile .xinitrc .xsession .xsessionrc .pam_environment .config/fish .config/powershell *profile.ps1`},
	{why: "a shell runs it or follows its settings in that directory", names: `.envrc .direnv .direnvrc .config/direnv .tool-versions .mise mise/config*.toml mise*.toml .mise*.toml .config/mise .rtx.toml .asdfrc .rvmrc .autoenv .autoenv.zsh .sdkmanrc`},
	{why: "a package manager or build tool runs commands from it or follows its settings", names: `.npmrc .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs .pnpmfile.mjs bunfig.toml .bundle/config .gemrc pip.conf .pip .condarc
		.cargo/config .cargo/config.toml .mvn gradle/wrapper .bazelrc .bazeliskrc .buckconfig nuget.config .sbtopts .jvmopts ansible.cfg .ansible.cfg
		.terraformrc .terraform .docker .pylintrc`},
	{why: "other programs run commands from it", names: `.curlrc .wgetrc .screenrc .tmux.conf .mailcap .muttrc .procmailrc .forward .xbindkeysrc launchagents launchdaemons desktop.ini autorun.inf .config/systemd
		.config/autostart .config/environment.d .config/gh .local/bin`},
	{why: "it is a file that toolpipe is writing", names: temporaryPrefix + "*" + temporarySuffix},
}}

// The temporary file of a write; it becomes the file when it is complete.
const temporaryPrefix, temporarySuffix = ".toolpipe-", ".tmp"

// ReadOnlyPath is the reason why a path with slashes is not written, in a directory named
// parent; "" if it may be written.
func ReadOnlyPath(parent, path string) string { return pathReason(parent, path, readOnlyName) }

// HoldsReadOnly reports whether some names are protected only in a directory of this name,
// such as workflows in .github.
func HoldsReadOnly(dir string) bool {
	readOnlyNames.once.Do(readOnlyNames.fill)
	return readOnlyNames.parents[foldName(dir)]
}

// readOnlyRoot names the part of a root's absolute path that makes everything below it
// read-only. Agents keep whole checkouts in their own directory "worktrees"; such a checkout
// can be a writable root.
func readOnlyRoot(path string) string {
	parent := ""
	names := strings.Split(path, "/")
	for i, name := range names {
		worktree := readOnlyNames.reason("", foldName(name), false) == agentReason && i+1 < len(names) && names[i+1] == "worktrees"
		if why := readOnlyName(parent, name); why != "" && !worktree {
			return fmt.Sprintf("%q in the root's path: %s", name, why)
		}
		parent = name
	}
	return ""
}

// readOnlyName is the reason why a name in a directory is not written; "" if it may be
// written.
func readOnlyName(parent, name string) string {
	return reasonOf(name, func(n string) string { return readOnlyNames.reason(parent, n, false) })
}
