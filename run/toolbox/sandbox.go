package toolbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/command"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process/cage"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/run/settings"
)

// A sandbox is the cage of commands, from the flags to the end of the run.
type sandbox struct {
	said  settings.Sandbox
	roots []string // of --files, or where commands start; without links
	temp  string   // a private directory, in which it may write
	cage  *cage.Cage
}

// newSandbox makes the sandbox that flags and config ask for; nil for none. Its cage is made
// when the rules are known.
func newSandbox(v *invocation.Invocation, roots []string) (*sandbox, error) {
	said, err := settings.SandboxOf(v.Config, v.Settings)
	if err != nil || !said.On {
		return nil, err
	}
	probe, _, err := cage.New(cage.Spec{})
	if err != nil {
		return nil, failure.UsageError([]string{"--sandbox off runs commands with all your rights"}, "--sandbox: %v", err)
	}
	probe.Close()
	s := &sandbox{said: said}
	for _, dir := range append(slices.Clone(roots), said.Write...) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, failure.UsageError([]string{"a directory that is to be written must exist"}, "--sandbox: %q: %s", dir, failure.Cause(err))
		}
		s.roots = append(s.roots, real)
	}
	if s.temp, err = confine.PrivateTempDir("toolpipe-sandbox-"); err != nil {
		return nil, failure.Usage("--sandbox: %v", err)
	}
	return s, nil
}

// hold has commands start in the sandbox.
func (s *sandbox) hold(commands *command.Spec) {
	env := s.environ()
	maps.Copy(env, commands.Env)
	commands.Env, commands.Note = env, s.about()
	commands.Processes = commands.Processes.In(func() *cage.Cage { return s.cage })
}

// held is a server whose commands run in the sandbox, or as it is without one. Who has no
// network sends nothing.
func (s *sandbox) held(srv servers.Server) servers.Server {
	if s == nil {
		return srv
	}
	traits := srv.Traits
	srv.Traits = func(tool string) *approve.Traits {
		t := traits(tool)
		if !t.Labels.Has(approve.Runs) {
			return t
		}
		t.By += ", in a sandbox"
		t.Caged = true
		if !s.said.Network {
			t.Labels &^= approve.Sends
			t.Held = approve.Sends
		}
		return t
	}
	return srv
}

// environ are the variables that have programs write what they keep where they may.
func (s *sandbox) environ() map[string]string {
	at := func(name string) string { return filepath.Join(s.temp, name) }
	return map[string]string{"TMPDIR": s.temp, "XDG_CACHE_HOME": at("cache"), "GOCACHE": at("go-build"), "npm_config_cache": at("npm")}
}

// secretPlaces are files and directories that hold keys, logins or what was typed, below a
// home directory.
const secretPlaces = `.ssh .gnupg .aws .azure .kube .oci .docker .config/gcloud .config/op .config/gh .config/glab-cli .config/hub .config/rclone
	.password-store .local/share/keyrings .subversion/auth .netrc .pgpass .my.cnf .mylogin.cnf .pypirc .npmrc .git-credentials .config/git/credentials .vault-token .boto .s3cfg
	.terraform.d/credentials.tfrc.json .cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json .m2/settings.xml .m2/settings-security.xml
	.gradle/gradle.properties .huggingface/token .cache/huggingface/token .databrickscfg .kaggle .mcp-auth
	.bash_history .zsh_history .sh_history .histfile .python_history .node_repl_history .psql_history .mysql_history .sqlite_history .local/share/fish/fish_history
	.claude .claude.json .codex .gemini .cursor .copilot .config/github-copilot .config/opencode .local/share/opencode .config/goose .config/toolpipe .mozilla .config/chromium .config/google-chrome`

// secretFiles are those of the system.
const secretFiles = `/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private /etc/krb5.keytab /etc/wireguard
	/etc/NetworkManager/system-connections /etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key /root/.ssh /run/secrets`

// make makes the cage, of what was said and of the rules about reading and writing, and
// warns of what it leaves open.
func (s *sandbox) make(b *Toolbox) error {
	v := b.inv
	rules := v.Gate.Closes(s.roots[0])
	hide := slices.Concat(s.said.Hide, rules.Reads, v.OwnFiles(), strings.Fields(secretFiles))
	if home := v.Config.Getenv("HOME"); filepath.IsAbs(home) {
		for place := range strings.FieldsSeq(secretPlaces) {
			hide = append(hide, filepath.Join(home, place))
		}
	}
	hide = slices.DeleteFunc(hide, func(path string) bool {
		return slices.ContainsFunc(s.said.Read, func(shown string) bool { return confine.IsBelow(path, shown) })
	})
	write, partial := []string{s.temp}, rules.Partial
	for _, root := range s.roots {
		closed := func(dir string) bool { return confine.IsBelow(root, dir) }
		if slices.ContainsFunc(rules.Writes, closed) {
			continue
		}
		write = append(write, root)
		for _, dir := range rules.Writes {
			if confine.IsBelow(dir, root) {
				partial = append(partial, strconv.Quote(dir)+" stays writable below "+strconv.Quote(root))
			}
		}
	}
	made, open, err := cage.New(cage.Spec{Write: write, Hide: hide, Network: s.said.Network})
	if err != nil {
		return failure.Usage("--sandbox: %v", err)
	}
	s.cage = made
	asked := slices.Concat(s.said.Hide, rules.Reads)
	for _, path := range open.Paths {
		if slices.Contains(asked, path) {
			partial = append(partial, strconv.Quote(path)+" stays readable, since what holds it may be written")
		}
	}
	for _, what := range append(partial, open.Words...) {
		v.Warn("sandbox_partial", "", "--sandbox does not hold everything: "+what)
	}
	return nil
}

// close ends the sandbox. What runs in it goes on in it.
func (s *sandbox) close() error {
	if s.cage != nil {
		s.cage.Close()
	}
	return os.RemoveAll(s.temp)
}

// Sandbox says what holds commands; "" for nothing.
func (b *Toolbox) Sandbox() string {
	if b.sandbox == nil {
		return ""
	}
	return "Landlock and seccomp: " + b.sandbox.about()
}

// about tells a model, and a user, what commands may do.
func (s *sandbox) about() string {
	text := "Commands run in a sandbox: they write only below " + config.JoinWords(append(slices.Clone(s.roots), "$TMPDIR"))
	if !s.said.Network {
		text += ", and have no network"
	}
	return text + "."
}
