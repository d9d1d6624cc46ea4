package sandbox

import (
	"os"
	"path/filepath"

	"toolpipe/run/config"
)

// secretPlaces are files and directories below a home directory that contain keys, logins or typed
// text.
const secretPlaces = `.ssh .gnupg .aws .azure .kube .oci .docker .config/gcloud .config/op .config/gh .config/glab-cli .config/hub .config/rclone
	.password-store .local/share/keyrings .subversion/auth .netrc .pgpass .my.cnf .mylogin.cnf .pypirc .npmrc .git-credentials .config/git/credentials .vault-token .boto .s3cfg
	.terraform.d/credentials.tfrc.json .cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json .m2/settings.xml .m2/settings-security.xml
	.gradle/gradle.properties .huggingface/token .cache/huggingface/token .databrickscfg .kaggle .mcp-auth
	.bash_history .zsh_history .sh_history .histfile .python_history .node_repl_history .psql_history .mysql_history .sqlite_history .local/share/fish/fish_history
	.claude .claude.json .codex .gemini .cursor .copilot .config/github-copilot .config/opencode .local/share/opencode .config/goose .config/toolpipe .local/state/toolpipe .mozilla .config/chromium .config/google-chrome`

// secretFiles are secret files of the system.
const secretFiles = `/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private /etc/krb5.keytab /etc/wireguard
	/etc/NetworkManager/system-connections /etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key /root/.ssh /run/secrets`

// homes are the home directories with secrets to hide: the user's home, and for root also the homes
// of other users, which root can read.
func homes(c *config.Config) (all []string) {
	if home := c.Getenv("HOME"); filepath.IsAbs(home) {
		all = append(all, home)
	}
	if os.Getuid() == 0 {
		all = append(all, "/root")
		entries, _ := os.ReadDir("/home")
		for _, entry := range entries {
			all = append(all, filepath.Join("/home", entry.Name()))
		}
	}
	return all
}
