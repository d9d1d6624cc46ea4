package toolbox

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/command"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/process/cage"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/run/settings"
)

// A sandbox is the cage of commands, or of a server, from the flags to the end of the run.
type sandbox struct {
	said    config.Sandbox
	network bool
	roots   []string // what it may write beside temp, without links
	temp    string   // a private directory, in which it may write
	cage    *cage.Cage
}

// commandSandbox is the sandbox of commands that flags and config ask for; nil for none.
func commandSandbox(v *invocation.Invocation, roots []string) (*sandbox, error) {
	said := v.Settings.Shell.Sandbox
	if v.Config.Sandbox != "" {
		var err error
		if said, err = config.ParseSandbox(v.Config.Sandbox); err != nil {
			return nil, failure.Within("--sandbox", err)
		}
	}
	if !said.On {
		return nil, nil
	}
	s, err := newSandbox(v, said, roots, said.Network == "all")
	if err != nil {
		return nil, failure.Within("--sandbox", err)
	}
	return s, nil
}

// newSandbox makes a sandbox whose cage is not made yet.
func newSandbox(v *invocation.Invocation, said config.Sandbox, roots []string, network bool) (*sandbox, error) {
	probe, _, err := cage.New(cage.Spec{})
	if err != nil {
		return nil, failure.UsageError([]string{"off, or leaving it out, starts programs with all your rights"}, "%v", err)
	}
	probe.Close()
	home := v.Config.Getenv("HOME")
	for _, paths := range [][]string{said.Write, said.Show, said.Hide} {
		for i, path := range paths {
			if rest, found := strings.CutPrefix(path, "~/"); found {
				paths[i] = filepath.Join(home, rest)
			}
		}
	}
	s := &sandbox{said: said, network: network}
	for _, dir := range append(slices.Clone(roots), said.Write...) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, failure.UsageError([]string{"what is to be written must exist"}, "%q: %s", dir, failure.Cause(err))
		}
		s.roots = append(s.roots, real)
	}
	if s.temp, err = confine.PrivateTempDir("toolpipe-sandbox-"); err != nil {
		return nil, failure.Usage("%v", err)
	}
	return s, nil
}

// holdServers makes the sandboxes of servers that are commands.
func (b *Toolbox) holdServers() error {
	for _, c := range b.Conns {
		if !c.Sandbox.On || c.Local != nil {
			continue
		}
		s, err := newSandbox(b.inv, c.Sandbox, nil, c.Sandbox.Network != "none")
		if err == nil {
			err = s.make(b, cmp.Or(c.Dir, "/"), "server "+strconv.Quote(c.Name)+": ")
		}
		if err != nil {
			return failure.Within("server "+strconv.Quote(c.Name)+": sandbox", err)
		}
		c.sandbox = s
		env := s.environ()
		maps.Copy(env, c.Env)
		c.Env = env
	}
	return nil
}

// processes are those that start in the sandbox, or anywhere without one.
func (s *sandbox) processes(procs *process.Processes) *process.Processes {
	if s == nil {
		return procs
	}
	return procs.In(func() *cage.Cage { return s.cage })
}

// hold has commands start in the sandbox.
func (s *sandbox) hold(commands *command.Spec) {
	env := s.environ()
	maps.Copy(env, commands.Env)
	commands.Env, commands.Note = env, "A command runs in a sandbox: "+s.about()+"."
	commands.Processes = s.processes(commands.Processes)
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
		if !s.network {
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
	.claude .claude.json .codex .gemini .cursor .copilot .config/github-copilot .config/opencode .local/share/opencode .config/goose .config/toolpipe .local/state/toolpipe .mozilla .config/chromium .config/google-chrome`

// secretFiles are those of the system.
const secretFiles = `/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private /etc/krb5.keytab /etc/wireguard
	/etc/NetworkManager/system-connections /etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key /root/.ssh /run/secrets`

// make makes the cage, of what was said and of the rules about reading and writing, whose
// paths start from root, and warns of what it leaves open; of says whose it is.
func (s *sandbox) make(b *Toolbox, root, of string) error {
	v := b.inv
	rules := v.Gate.Closes(root)
	hide := slices.Concat(s.said.Hide, rules.Reads, v.OwnFiles(), settings.LoginFiles(v.Config), strings.Fields(secretFiles))
	for _, home := range homes(v.Config) {
		for place := range strings.FieldsSeq(secretPlaces) {
			hide = append(hide, filepath.Join(home, place))
		}
	}
	hide = slices.DeleteFunc(hide, func(path string) bool {
		return slices.ContainsFunc(s.said.Show, func(shown string) bool { return confine.IsBelow(path, shown) })
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
	made, open, err := cage.New(cage.Spec{Write: write, Hide: hide, Network: s.network})
	if err != nil {
		return failure.Usage("%v", err)
	}
	s.cage = made
	asked := slices.Concat(s.said.Hide, rules.Reads)
	var shown []string // what may be written below a root can be read, too
	for _, path := range open.Paths {
		if _, err := os.Lstat(path); err == nil || slices.Contains(asked, path) {
			shown = append(shown, strconv.Quote(path))
		}
	}
	if shown != nil {
		partial = append(partial, fewOf(shown)+" can be read and written: a directory that may be written holds them")
	}
	for _, what := range append(partial, open.Words...) {
		v.Warn("sandbox_partial", "", of+"the sandbox does not hold everything: "+what)
	}
	return nil
}

// homes are the home directories whose secrets are hidden: that of the user, and for root,
// who may read all of them, those of others.
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

// fewOf lists names, but of many only the first.
func fewOf(names []string) string {
	const most = 3
	if n := len(names) - most; n > 0 {
		names = append(slices.Clone(names[:most]), strconv.Itoa(n)+" more")
	}
	return config.JoinWords(names)
}

// close ends the sandbox, if there is one. What runs in it goes on in it.
func (s *sandbox) close() error {
	if s == nil {
		return nil
	}
	if s.cage != nil {
		s.cage.Close()
	}
	return os.RemoveAll(s.temp)
}

// Sandbox says what holds commands; "" for nothing.
func (b *Toolbox) Sandbox() string {
	return b.sandbox.says()
}

// says is about for events; "" for no sandbox.
func (s *sandbox) says() string {
	if s == nil {
		return ""
	}
	return "Landlock and seccomp: " + s.about()
}

// Held says what holds the program of the server; "" for nothing.
func (c *Connection) Held() string { return c.sandbox.says() }

// about says what a program in the sandbox may do.
func (s *sandbox) about() string {
	text := "it writes only below " + config.JoinWords(append(slices.Clone(s.roots), "$TMPDIR"))
	if !s.network {
		text += ", and has no network"
	}
	return text
}
