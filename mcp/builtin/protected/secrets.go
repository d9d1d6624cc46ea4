package protected

// secrets are files and directories that are neither read, written nor shown, whatever was
// approved. File tools hide them in any directory, a sandbox in home directories. A directory is
// listed as a whole if programs need nothing else in it.
//
// Start-up files of shells, .gitconfig, nix.conf, .yarnrc of Yarn 1 and NuGet.Config are not in
// the table: programs fail without them, and secrets have other places.
var secrets = table{kinds: []kind{
	{why: "it belongs to git", toolsOnly: true, names: `.git git~1`},
	{why: "it contains keys", names: `.ssh .gnupg .password-store .netrc _netrc .git-credentials .htpasswd .vault-token .config/op .local/share/keyrings
		.local/share/kwalletd .config/sops .config/age .subversion/auth .config/git/credentials .cache/git/credential .git-credential-cache .gitcookies .config/gopass
		.local/share/gopass .config/keepassxc .config/Bitwarden* .config/1Password .config/rbw .local/share/rbw .config/lpass .local/share/lpass .lpass .config/Yubico
		.pki .putty .config/putty .sigstore .Xauthority .smbcredentials .davfs2/secrets id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk id_xmss`},
	{why: "it contains keys", onlyFiles: true, names: `*.pem *.key *.p12 *.pfx *.p8 *.jks *.keystore *.keytab *.kdbx *.ppk id_*.bak krb5cc_*`},
	{why: "it contains keys", inHome: true, names: `.age .1password .minisign .signify .step .tsh .dropbear .vnc .config/tigervnc .android/adbkey .secrets
		.credentials .passwd* .vault_pass* .vault-pass* .ansible/*vault* .ansible/*pass* .kde*/share/apps/kwallet .ollama/id_ed25519 Library/Keychains
		.config/credstore* .cert .k5keytab .authinfo* .config/enpass .local/share/Enpass .config/KeePass .keepass* .config/proton-pass* .config/Proton*
		.local/share/mkcert/rootCA-key.pem .aspnet .microsoft/usersecrets .dotnet/corefx/cryptography`},
	{why: "it contains the secrets of an environment", names: `.env .envrc .env.*`},
	{why: "it contains the secrets of an environment", onlyFiles: true, names: `.env* *.env .flaskenv`},
	{why: "it contains the keys of a cloud account", names: `.aws .azure .kube .oci .config/gcloud .config/rclone .config/doctl .config/hcloud .config/scw
		.config/linode-cli .config/ngrok .config/cloudflared .config/stripe .config/.wrangler .config/netlify .local/share/com.vercel.cli .pulumi/credentials.json
		.terraform.d/credentials.tfrc.json .terraformrc .aliyun .bluemix .cloudflared .ngrok2 .s3ql`},
	{why: "it contains the keys of a cloud account", onlyFiles: true, names: `credentials.json application_default_credentials.json service-account*.json
		service_account*.json client_secret*.json credentials.tfrc.json .boto .s3cfg .passwd-s3fs rclone.conf kubeconfig *.kubeconfig .databrickscfg kaggle.json
		.huggingface/token .cache/huggingface/token .cache/huggingface/stored_tokens huggingface/token huggingface/stored_tokens .sentryclirc`},
	{why: "it contains the keys of a cloud account", inHome: true, names: `.fly .config/fly .wrangler .netlify .vercel .config/vercel .railway .config/railway
		.render .config/render .pulumi .supabase .config/supabase .config/turso .config/neonctl .planetscale .config/planetscale .config/configstore/firebase-tools.json
		.config/configstore/snyk.json .config/firebase .config/heroku .local/share/heroku .config/linode .vultr-cli* .config/vultr-cli .config/exoscale .ovh.conf
		.config/civo .tccli .config/openstack .openstack .config/upcloud .config/scalingo .config/clever-cloud .cf .config/cf .aws-sso .saml2aws .infisical
		.config/infisical .doppler .config/doppler .edgerc .config/digitalocean .digitalocean .modal.toml .config/wandb .kaggle .config/kaggle .hcloud* .rancher .talos
		.minikube .config/helm .config/argocd .argocd .databricks .config/databricks .mc .mcli .config/s3cmd .bigqueryrc .ngrok .boundary .chef
		.puppetlabs/etc/puppet/ssl .config/dropbox .dropbox .expo .config/sentry .sentry .twilio-cli`},
	{why: "it contains the login of a package registry", onlyFiles: true, names: `.npmrc .pypirc .docker/config.json .dockercfg containers/auth.json
		.cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties
		.pip/pip.conf .config/pip/pip.conf .config/pypoetry/auth.toml .hex/hex.config .sbt/.credentials .ivy2/.credentials .pub-cache/credentials.json`},
	{why: "it contains the login of a package registry", inHome: true, names: `.docker .config/containers/auth.json .pip .config/pip .yarnrc.yml .bunfig.toml
		.config/composer/auth.json .local/share/gem/credentials .local/share/uv/credentials .bundle/config .config/dart/pub-*.json .sbt/credentials
		.config/coursier/credentials* .continuum .config/anaconda* .anaconda .luarocks/upload_config.lua .config/nix/netrc .config/nix/access-tokens* .config/cachix
		.config/attic .config/oras .regctl .regclient .jfrog .config/jfrog .config/vsce .vsce .config/skopeo .local/share/containers/auth.json .rebar3/hex.config
		.config/rebar3/hex.config`},
	{why: "it contains the login of a database", onlyFiles: true, names: `.my.cnf .mylogin.cnf .pgpass`},
	{why: "it contains the login of a database", inHome: true, names: `.snowflake .snowsql .config/snowflake .dbt .pg_service.conf .mongodb .mongorc* .mongosh*
		.myclirc .config/pgcli .cqlshrc .cassandra .clickhouse-client .config/clickhouse* .influxdbv2 .neo4j* .odbc.ini .redisclirc .config/dbeaver* .dbeaver*
		.local/share/DBeaverData .config/DataGrip* .config/beekeeper-studio .config/MongoDB* .config/TablePlus .tableplus .config/Postman .postman .config/Insomnia
		.config/insomnia`},
	{why: "it contains the login of a code host, CI or tracker", onlyFiles: true, names: `gh/hosts.yml glab-cli/config.yml .config/hub`},
	{why: "it contains the login of a code host, CI or tracker", inHome: true, names: `.config/gh .config/glab-cli .config/tea .config/berg .config/fj
		.local/share/forgejo-cli .config/gitlab .python-gitlab.cfg .config/lab .config/bitbucket .config/gcm .jira.d .config/.jira .config/jira .config/GitHub*
		.circleci/cli.yml .travis .bk.yaml .config/gitea .config/forgejo .snyk .config/snyk .semgrep .config/semgrep .actrc .config/act .teamcity .azure-devops
		.config/azuredevops .arcrc .config/todoist .slack .launchpadlib .config/osc .oscrc .appstoreconnect .config/sourcehut .config/hut .radicle/keys`},
	{why: "it contains the state of Terraform, with passwords", onlyFiles: true, names: `*.tfstate *.tfvars *.tfvars.json`},
	{why: "it contains logins", names: `.mcp-auth .credentials.json`}, // of mcp-remote and of coding agents
	{why: "it contains logins", onlyFiles: true, names: `mcp-oauth-tokens* .codex/auth.json opencode/auth.json oauth_creds.json amp/secrets.json goose/secrets.yaml`},
	{why: "it belongs to toolpipe", inHome: true, mayBeRoot: true, names: `.config/toolpipe .local/state/toolpipe`},
	{why: "it contains logins and conversations of an agent", inHome: true, mayBeRoot: true, names: `.claude .claude.json* .config/Claude* .config/claude* .codex
		.config/codex .gemini .config/gemini* .cursor .config/cursor .copilot .config/github-copilot .config/opencode .local/share/opencode .local/state/opencode
		.config/goose .local/share/goose .local/state/goose .aider* .continue .qwen .amp .config/amp .local/share/amp .crush .config/crush .local/share/crush
		.codeium .windsurf .kiro .amazonq .config/amazonq .local/share/amazon-q .augment .factory .droid .pi .grok .kimi .config/kimi .vibe .openclaw .clawdbot
		.letta .openhands .qoder .trae .rovodev .kilocode .roo .cline .config/cline .cody .tabnine .warp .local/state/warp-terminal .config/anthropic .anthropic
		.openai .config/openai .config/io.datasette.llm .config/llm .config/aichat .config/shell_gpt .config/litellm .config/zed .local/share/zed .config/chatgpt*
		.config/ChatGPT* .config/LM?Studio .lmstudio/credentials .config/huggingface`},
	{why: "it contains the profile of a browser", inHome: true, names: `.mozilla .config/mozilla .librewolf .waterfox .floorp .zen .icecat .tor-browser*
		.local/share/torbrowser .config/chromium* .config/google-chrome* .config/BraveSoftware .config/microsoft-edge* .config/vivaldi* .config/opera*
		.config/yandex-browser* .opera .config/falkon .local/share/falkon .config/qutebrowser .local/share/qutebrowser .config/epiphany .local/share/epiphany .w3m
		.lynx_cookies .elinks .config/elinks .cache/mozilla .cache/chromium* .cache/google-chrome* .cache/BraveSoftware .cache/microsoft-edge* cookies.txt
		.config/*/Cookies .config/*/Local?Storage .config/*/Local?State .config/*/Login?Data .local/share/*/Cookies .local/share/*/cookies* .var/app snap/*/*
		Library/Cookies Library/Safari Library/Group?Containers Library/HTTPStorages Library/Application?Support/Google Library/Application?Support/Chromium
		Library/Application?Support/BraveSoftware Library/Application?Support/Firefox Library/Application?Support/Thunderbird
		Library/Application?Support/Microsoft?Edge* Library/Application?Support/Arc Library/Application?Support/Vivaldi Library/Application?Support/Slack
		Library/Application?Support/discord Library/Application?Support/Signal Library/Application?Support/Bitwarden* Library/Application?Support/1Password
		Library/Application?Support/Claude Library/Application?Support/Code* Library/Application?Support/Cursor Library/Application?Support/Windsurf
		Library/Application?Support/Telegram* Library/Application?Support/JetBrains Library/Containers/com.*.Safari Library/Containers/com.apple.mail`},
	{why: "it contains mail", inHome: true, names: `.thunderbird .icedove .betterbird .cache/thunderbird .msmtprc .config/msmtp .mbsyncrc .config/mbsync*
		.config/isync* .fetchmailrc .getmail .config/getmail .offlineimaprc .config/offlineimap .offlineimap .imapfilter .config/imapfilter .muttrc .mutt .config/mutt
		.neomutt* .config/neomutt .mailrc .config/aerc .config/himalaya .alpine* .pinerc .pine* .config/evolution .local/share/evolution .config/geary
		.local/share/geary .local/share/kmail2 .local/share/local-mail .local/share/akonadi .claws-mail .config/Mailspring .config/protonmail .local/share/protonmail
		.config/vdirsyncer .vdirsyncer .mail .Mail Mail Maildir .maildir mbox Library/Mail`},
	{why: "it contains the login of a chat", inHome: true, names: `.config/Slack .config/discord* .config/Discord* .config/Signal* .config/Element*
		.config/Microsoft .config/teams* .config/Teams* .config/Skype .config/WhatsApp* .config/whatsapp* .local/share/TelegramDesktop .TelegramDesktop .telegram*
		.config/Mattermost .config/Zulip .zuliprc .zoom .config/zoom* .config/Rocket.Chat .config/keybase .config/Keybase .local/share/keybase .weechat .config/weechat
		.local/share/weechat .irssi .config/irssi .config/hexchat .purple .config/gajim .local/share/gajim .config/dino .local/share/dino .config/fractal
		.local/share/fractal .config/gomuks .local/share/gomuks .config/iamb .local/share/iamb .config/nheko .local/share/nheko .config/signal* .signal*
		.local/share/signal* .config/Session .config/Wire .config/Caprine .config/Ferdium .config/vesktop .ViberPC Library/Messages`},
	{why: "it contains a wallet", names: `wallet.dat`},
	{why: "it contains a wallet", inHome: true, names: `.electrum* .bitcoin .litecoin .dogecoin .dashcore .zcash .monero .bitmonero .shared-ringdb .ethereum
		.config/solana .local/share/solana .foundry/keystores .brownie/accounts .lnd .lightning .config/Exodus .exodus .config/atomic .config/Ledger* .config/@trezor
		.config/electron-cash .electron-cash .armory .config/Bitcoin .sparrow .walletwasabi .near-credentials .aptos .sui .cardano .polkadot .avalanche-cli .avalanchego
		.algorand .bisq .local/share/Bisq .local/share/feather .config/feather .Monero .local/share/monero*`},
	{why: "it contains the storage and the local history of an editor", inHome: true, names: `.config/Code* .config/VSCodium* .config/Cursor* .config/Windsurf*
		.config/Trae* .config/Kiro* .config/Antigravity* .config/Void* .config/JetBrains .config/sublime-text* .vscode-server/data .cursor-server/data
		.windsurf-server/data .vscodium-server/data .vscode-oss .viminfo .local/state/nvim/shada .local/state/vim .local/share/nvim/shada .local/share/code-server
		.config/code-server .local/share/jupyter/runtime .jupyter/*config*.json .jupyter/migrated`},
	{why: "it contains typed commands, with passwords", onlyFiles: true, names: `.*_history fish_history .zhistory .histfile`},
	{why: "it contains typed or copied text, with passwords", inHome: true, names: `.lesshst .local/state/lesshst .local/share/atuin .config/atuin
		.local/share/mcfly .histdb .local/share/fish/fish_history* .config/fish/fish_variables .local/share/powershell/PSReadLine .config/nushell/history* .zsh_sessions
		.bash_sessions .*-history .*_hist .Rhistory .*history .dbshell .ghc/ghci_history .ipython/profile_*/history* .julia/logs .cache/erlang-history .lftp
		.local/share/lftp .config/lftp .local/state/*/history .local/state/*/*history* .local/state/*history* .local/share/*/history .local/share/*/*_history
		.config/*/.*_history .config/*/.histfile .config/*/*_history .config/*/history .local/share/klipper .cache/cliphist
		.local/share/clipman* .config/copyq .local/share/copyq .local/share/gpaste .cache/clipboard-indicator*`},
	{why: "it contains logins of networks, remote storage or backups", inHome: true, names: `.config/openvpn .openvpn .openvpn3 .config/wireguard .wireguard .cisco
		.anyconnect .config/protonvpn .pvpn-cli .config/mullvad .config/nordvpn .local/share/networkmanagement .config/tailscale .local/share/tailscale .config/netbird
		.netbird .zerotier* .fortivpn* .config/remmina .local/share/remmina .config/freerdp .rdesktop .config/filezilla .filezilla .config/FileZilla .config/gftp .gftp
		.ncftp .davfs2 .smb .cifs* .config/syncthing .local/state/syncthing .config/Nextcloud .config/ownCloud .config/onedrive .megaCmd .config/gdrive* .gdrive*
		.config/sshuttle .config/termius .config/Termius .config/borg .config/borgmatic .borgmatic .config/restic .restic* .config/rustic .config/resticprofile
		.duplicity .config/Duplicati .config/duplicati .config/kopia .config/vorta .local/share/Vorta .tarsnap* tarsnap.key .config/backintime .config/deja-dup
		.config/autorestic .autorestic.y* .b2_account_info .config/b2`},
	{why: "it is a secret of the system", names: `/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/security/opasswd /etc/sudoers /etc/sudoers.d
		/etc/ssl/private /etc/pki/tls/private /etc/letsencrypt /etc/krb5.keytab /etc/*.keytab /etc/ssh/ssh_host_*_key /etc/wireguard /etc/openvpn /etc/ipsec.secrets
		/etc/ipsec.d/private /etc/swanctl/private /etc/ppp/*-secrets /etc/wpa_supplicant /etc/NetworkManager/system-connections /etc/credstore /etc/credstore.encrypted
		/etc/sssd /etc/kubernetes /etc/mysql/debian.cnf /etc/postfix/sasl_passwd* /etc/exim4/passwd.client /etc/msmtprc /etc/boto.cfg /etc/davfs2/secrets
		/etc/cifs-credentials* /etc/rndc.key /etc/bind/rndc.key /etc/samba/*pass* /etc/samba/private /etc/gitlab-runner /run/secrets /run/credentials /run/credstore
		/run/user/*/containers /run/user/*/keyring /run/user/*/krb5cc* /tmp/krb5cc* /var/lib/samba/private /var/lib/sss/secrets /var/lib/kubelet /var/lib/NetworkManager
		/var/mail /var/spool/mail`},
}}
