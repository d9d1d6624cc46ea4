package confine

import (
	"path"
	"strings"
)

const (
	agents = "it is an agent's configuration"
	runs   = "other programs run what it says"
)

// unwritten are the names of what may be read but is never written: what other
// programs run or obey without being asked, each kind with its reason. Such a
// file turns a write that was approved into a command that was not, by a
// person who opens the directory, or by a machine that does.
//
// Names are folded and parted by blanks; * is any text. DIR/NAME is a name in a
// directory of that name, wherever that is. What is in a directory that is
// named here is not written either. Where people keep whole checkouts is
// not named: a root in such a directory could not be written.
var unwritten = []struct{ why, names string }{
	{"it is a CI definition", `.github/workflows .github/actions .github/dependabot.yml .github/dependabot.yaml .gitlab .gitlab-ci.yml .gitlab-ci.yaml .gitlab-ci.*.yml
		.gitea .forgejo .circleci .buildkite .woodpecker .woodpecker.yml .woodpecker.yaml .drone.yml .drone.yaml .drone.star .zuul.yaml .zuul.yml .zuul.d zuul.yaml zuul.d
		.taskcluster.yml .travis.yml .appveyor.yml appveyor.yml .cirrus.yml .cirrus.star .semaphore .teamcity .builds .build.yml azure-pipelines*.yml azure-pipelines*.yaml
		.azure-pipelines bitbucket-pipelines.yml jenkinsfile jenkinsfile.* *.jenkinsfile .tekton cloudbuild.yaml cloudbuild.yml buildspec.yml .wercker.yml wercker.yml
		codeship-*.yml .screwdriver screwdriver.yaml .vela.yml .packit.yaml .copr bitrise.yml codemagic.yaml .harness .mergify.yml .renovaterc* renovate.json* .readthedocs.yml
		.readthedocs.yaml`},
	{"it is another version control system's", `.hg .hgrc .hgsub .jj .sl .svn .bzr .pijul _darcs .fslckout _fossil_ .repo`},
	{"git runs or obeys what it says", `.gitconfig .gitmodules .gitattributes .githooks .config/git`},
	{"it defines hooks that git runs", `.husky .huskyrc* .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml lefthook.* lefthook-local.* .lefthook .lefthook.* .lefthook-local.*
		.config/lefthook.* .overcommit.yml .simple-git-hooks.* simple-git-hooks.* .lintstagedrc* lint-staged.config.*`},
	{"it is an editor's configuration", `.vscode .vscode-server .vs .idea .fleet .zed .editorconfig .vimrc .nvimrc .gvimrc .exrc _vimrc .nvim.lua .vim .nvim .lvimrc .lazy.lua .ideavimrc .nanorc
		.helix .kakrc .lapce .nova .emacs .emacs.d .dir-locals.el .dir-locals-2.el .projectile .config/nvim .config/helix *.code-workspace *.sublime-project *.sublime-workspace
		.externaltoolbuilders`},
	{"it sets up a development machine", `.devcontainer .devcontainer.json devcontainer.json .gitpod.yml .gitpod.yaml .gitpod.dockerfile .replit replit.nix .devfile.yaml devfile.yaml .codesandbox
		.stackblitzrc .idx`},
	{"it is a debugger's start-up file", `.gdbinit .gdbearlyinit .lldbinit .lldbinit-* .pdbrc .pdbrc.py .perldb .dbxrc`},
	{"it is an interpreter's start-up file", `.rprofile .renviron .pryrc .irbrc .pythonrc .pythonrc.py .pythonstartup .ipython .jupyter sitecustomize.py usercustomize.py site-packages/*.pth
		dist-packages/*.pth .ghci .ocamlinit .sbclrc .iex.exs .erlang .octaverc .tclshrc .wishrc .psqlrc .sqliterc .my.cnf .gnuplot .latexmkrc latexmkrc .guile .julia/config`},
	{agents, `.mcp.json mcp.json .claude .claude.json .claude-plugin claude.md claude.local.md agents.md agents.override.md agent.md gemini.md gemini-extension.json .cursor .cursorrules
		.cursorignore .codex .gemini .opencode opencode.json opencode.jsonc .windsurf .windsurfrules .codeium .clinerules .cline .roo .roorules .roomodes .continue .aider* .kiro
		.amazonq .junie .goosehints .goose .agents .agent .augment .augment-guidelines .copilot .crush .crush.json crush.json .qwen qwen.md .trae .kilocode .kilocodemodes .rules
		.openhands .warp warp.md .antigravity .toolpipe .config/toolpipe .github/copilot-instructions.md .github/instructions .github/agents .github/prompts .github/chatmodes
		.github/hooks .github/skills`},
	{"it is a shell's start-up file", `.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .login .logout .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc
		.inputrc .xprofile .xinitrc .xsession .xsessionrc .pam_environment .config/fish .config/powershell *profile.ps1`},
	{"a shell runs it or obeys it in that directory", `.direnv .direnvrc .config/direnv .tool-versions .mise mise/config*.toml mise*.toml .mise*.toml .config/mise .rtx.toml .asdfrc .rvmrc .autoenv .autoenv.zsh .sdkmanrc`},
	{"a package manager or build tool runs or obeys what it says", `.npmrc .yarnrc .yarnrc.yml .yarn .pnpmfile.cjs .pnpmfile.mjs bunfig.toml .bundle/config .gemrc pip.conf .pip .condarc
		.cargo/config .cargo/config.toml .cargo/credentials .cargo/credentials.toml .mvn gradle/wrapper .bazelrc .bazeliskrc .buckconfig nuget.config .sbtopts .jvmopts ansible.cfg .ansible.cfg
		.terraformrc .terraform .docker .pylintrc`},
	{runs, `.curlrc .wgetrc .screenrc .tmux.conf .mailcap .muttrc .procmailrc .forward .xbindkeysrc launchagents launchdaemons desktop.ini autorun.inf .config/systemd
		.config/autostart .config/environment.d .config/gcloud .config/gh .local/bin`},
	{"it is a file that toolpipe is writing", TemporaryStart + "*" + TemporaryEnd},
}

// governs says why a folded name in a directory of the folded name outer is
// read but not written; "" when it may be written.
func governs(outer, name string) string {
	for _, kind := range unwritten {
		for rule := range strings.FieldsSeq(kind.names) {
			if dir, inner, in := strings.Cut(rule, "/"); in && dir == outer {
				rule = inner
			} else if in {
				continue
			}
			if rule == name || strings.Contains(rule, "*") && Fits(rule, name) {
				return kind.why
			}
		}
	}
	return ""
}

func Fits(pattern, name string) bool {
	switch {
	case pattern == "*" || pattern == "**":
		return true
	case len(pattern) > 1 && pattern[0] == '*' && !strings.ContainsAny(pattern[1:], `*?[\`):
		return strings.HasSuffix(name, pattern[1:]) // as *.go is, nearly always
	}
	ok, _ := path.Match(pattern, name)
	return ok
}

const TemporaryStart, TemporaryEnd = ".toolpipe-", ".tmp"
