package protected

const agentReason = "it is an agent's configuration"

// obeyed are the names of files and directories that are read but never written,
// because other programs run or obey them without being asked. A write to one would turn an
// approved write into a command that nobody approved, run by the next person or machine that
// opens the directory.
//
// Files below a directory with such a name are not written either. So directories that
// usually contain whole checkouts are not in the list. A sandbox watches all of them.
var obeyed = table{kinds: []kind{
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
	{why: "a shell runs it or follows its settings in that directory", names: `.direnv .direnvrc .config/direnv .tool-versions .mise mise/config*.toml mise*.toml .mise*.toml .config/mise .rtx.toml .asdfrc .rvmrc .autoenv .autoenv.zsh .sdkmanrc`},
	{why: "a package manager or build tool runs commands from it or follows its settings", names: `.yarnrc .yarnrc.yml .yarn .pnpmfile.cjs .pnpmfile.mjs bunfig.toml .bundle/config .gemrc pip.conf .pip .condarc
		.cargo/config .cargo/config.toml .mvn gradle/wrapper .bazelrc .bazeliskrc .buckconfig nuget.config .sbtopts .jvmopts ansible.cfg .ansible.cfg
		.terraformrc .terraform .docker .pylintrc`},
	{why: "other programs run commands from it", names: `.curlrc .wgetrc .screenrc .tmux.conf .mailcap .muttrc .procmailrc .forward .xbindkeysrc launchagents launchdaemons desktop.ini autorun.inf .config/systemd
		.config/autostart .config/environment.d .config/gh .local/bin`},
	{why: "it contains settings that name commands", names: ".npmrc .envrc .ssh"},
	{why: "it is a file that toolpipe is writing", names: ".toolpipe-*.tmp"},
}}
