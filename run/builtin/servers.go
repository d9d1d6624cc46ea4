package builtin

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"toolpipe/mcp/builtin/code"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/fetch"
	"toolpipe/mcp/builtin/files"
	"toolpipe/mcp/builtin/notes"
	"toolpipe/mcp/builtin/processes"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/process/cage"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
)

// A Spec says what the built-in servers are made of.
type Spec struct {
	Config   *config.Config
	Shell    config.Shell
	OwnFiles []string // the tools neither read nor write them
	Warn     config.Warner
	Holder   Holder

	Sandbox *Sandbox // of commands, which Servers makes, also before an error; nil: there is none
	Path    string   // the directory with the program toolpipe for commands, which Servers makes; "": there is none
}

// Servers are the servers in this process that flags ask for: files, code, shell, processes,
// fetch and notes. They are trusted. The last four get --tool-timeout: they answer a call that
// takes longer themselves, so its outcome is known.
func (b *Spec) Servers() ([]servers.Server, error) {
	c := b.Config
	var all []servers.Server
	filesRoot := ""
	var areas []*confine.Area
	for _, f := range c.FileRoots {
		srv, area, err := filesServer(c, f, b.OwnFiles, b.Warn)
		if err != nil {
			return nil, err
		}
		if servers.Find(all, srv.Name) != nil {
			return nil, failure.UsageError([]string{"--files NAME=DIR gives another root a different name"}, "--files: two roots are named %q", srv.Name)
		}
		filesRoot = cmp.Or(filesRoot, srv.Root)
		all = append(all, srv)
		areas = append(areas, area)
	}
	if err := b.addSandbox(filesRoot, areas); err != nil {
		return nil, err
	}
	if c.Code {
		local, err := code.New(code.Spec{Areas: areas, Environ: c.Environ, Processes: b.Sandbox.Processes(c.Processes), Version: c.Version, Idle: c.ReplayTools})
		if err != nil {
			return nil, failure.UsageError([]string{"install it: apt install universal-ctags, or brew install universal-ctags"}, "--code: %v", err)
		}
		all = append(all, servers.Builtin(local, filesRoot))
	}
	if c.Shell {
		servers, err := b.commandServers(filesRoot)
		if err != nil {
			return nil, err
		}
		all = append(all, servers...)
	}
	if c.Fetch {
		local, err := fetch.New(fetch.Spec{AllowFlag: "--fetch-allow", AllowPrivate: c.FetchAllow, Limit: c.ToolTimeout, Version: c.Version})
		if err != nil {
			return nil, failure.Usage("--fetch-allow: %v", err)
		}
		all = append(all, servers.Builtin(local, ""))
	}
	if c.Notes != "" {
		local, err := notes.New(notes.Spec{Path: c.Notes, Limit: c.ToolTimeout, Version: c.Version})
		if errors.Is(err, notes.ErrWritable) {
			return nil, failure.UsageError([]string{"chmod o-w " + config.ShellQuote(c.Notes)}, "--notes: %q: %v", c.Notes, err)
		}
		if err != nil {
			return nil, config.OpenError("--notes", c.Notes, err)
		}
		if err := config.WrittenFile.CheckPath(c, "--notes", c.Notes, b.Warn); err != nil {
			return nil, err
		}
		all = append(all, servers.Builtin(local, ""))
	}
	return all, nil
}

// Results configures ResultsServer.
type Results = files.Results

// ResultsName is the name of ResultsServer.
const ResultsName = files.ResultsName

// ResultsServer is the server that reads the results that a model does not have whole.
func ResultsServer(r Results, version string) servers.Server {
	return servers.Builtin(files.NewResults(r, version), "")
}

// addSandbox makes the sandbox of commands, and of programs that other built-in tools start, if one
// is requested.
func (b *Spec) addSandbox(filesRoot string, areas []*confine.Area) (err error) {
	if !b.Config.Shell && !b.Config.Code {
		return nil
	}
	var roots []string
	for _, area := range areas {
		roots = append(roots, area.Real)
	}
	if len(roots) == 0 {
		dir, err := filepath.Abs(filesRoot)
		if err != nil {
			return failure.Usage("--shell: %s", failure.Cause(err))
		}
		roots = []string{dir}
	}
	b.Sandbox, err = b.commandSandbox(roots)
	return err
}

// commandServers are the servers that start commands: shell, and processes if it is requested. Both
// use the same directory.
func (b *Spec) commandServers(filesRoot string) ([]servers.Server, error) {
	c := b.Config
	dir, err := filepath.Abs(filesRoot) // "" is the current directory
	if err != nil {
		return nil, failure.Usage("--shell: %s", failure.Cause(err))
	}
	commands := shell.CommandSpec{
		Dir: dir, Confined: filesRoot != "", Environ: c.Environ, Env: b.Shell.Env, PathPrepend: b.Shell.PathPrepend, Processes: c.Processes,
		Whole: c.Mode != config.Serve, // a host cannot read the rest of a result by its name
	}
	if b.Sandbox != nil {
		b.Sandbox.Hold(&commands)
	}
	if c.OpensDoors() {
		if err := b.addProgram(); err != nil {
			return nil, failure.Usage("--shell-tools: %v", err)
		}
		commands.PathPrepend = append([]string{b.Path}, commands.PathPrepend...)
	}
	local, err := shell.New(shell.Spec{Commands: commands, Timeout: b.Shell.Timeout, Limit: c.ToolTimeout, Version: c.Version})
	if err != nil {
		return nil, failure.Usage("--shell: %v", err)
	}
	all := []servers.Server{servers.Builtin(local, dir)}
	if c.Background {
		if local, err = processes.New(processes.Spec{Commands: commands, Limit: c.ToolTimeout, Version: c.Version}); err != nil {
			return nil, failure.Usage("--shell-background: %v", err)
		}
		all = append(all, servers.Builtin(local, dir))
	}
	return all, nil
}

// addProgram makes the directory in which commands find this program as toolpipe. They cannot
// change it in a sandbox, because it is below no root.
func (b *Spec) addProgram() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if b.Path, err = confine.PrivateTempDir("toolpipe-commands-"); err != nil {
		return err
	}
	return os.Symlink(self, filepath.Join(b.Path, "toolpipe"))
}

// filesServer is the server for one --files [NAME=]DIR, and the area that it may use.
func filesServer(c *config.Config, value string, protected []string, warn config.Warner) (servers.Server, *confine.Area, error) {
	name, root, named := strings.Cut(value, "=")
	if !named || strings.ContainsAny(name, "/.: \t'\"") {
		name, root = "files", value
	}
	if err := servers.CheckName(name, "files"); err != nil {
		return servers.Server{}, nil, failure.Within("--files", err)
	}
	if root == "" {
		return servers.Server{}, nil, failure.UsageError([]string{"--files . offers the current directory"}, "--files: no directory is named")
	}
	dir, err := filepath.Abs(root)
	if err != nil {
		return servers.Server{}, nil, failure.Usage("--files: %v", err)
	}
	area, err := confine.Open(confine.Spec{Root: dir, Anyway: c.FilesAnyway, Home: c.Getenv("HOME"), Protected: protected})
	if errors.Is(err, confine.ErrBroadRoot) {
		return servers.Server{}, nil, failure.UsageError([]string{"--files-anyway allows such a directory all the same"}, "--files: %v", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return servers.Server{}, nil, failure.UsageError([]string{"the path is " + config.ShellQuote(dir) + "; is it spelt right, and is this the right directory to start in?"}, "--files: %v", err)
	}
	if err != nil {
		return servers.Server{}, nil, failure.Usage("--files: %v", err)
	}
	local := files.New(area, files.Spec{
		Name: name, Environ: c.Environ, Processes: c.Processes, Version: c.Version,
		Warn: func(code, message string) { warn(code, name, message) },
	})
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		if info, err := os.Stat(real); err == nil && !info.IsDir() {
			dir = filepath.Dir(real) // --files named a single file, and the server offers only this file
		}
	}
	return servers.Builtin(local, dir), area, nil
}

// commandSandbox is the sandbox of commands that flags and config ask for; nil for none.
func (b *Spec) commandSandbox(roots []string) (*Sandbox, error) {
	said := b.Shell.Sandbox
	if b.Config.Sandbox != "" {
		var err error
		if said, err = config.ParseSandbox(b.Config.Sandbox); err != nil {
			return nil, failure.Within("--sandbox", err)
		}
	}
	if !said.On {
		return nil, nil
	}
	s, err := newSandbox(b.Config, "--sandbox ", said, roots, cage.NoNetwork, b.Holder)
	if err != nil {
		return nil, failure.Within("--sandbox", err)
	}
	return s, nil
}

// ServerSandbox makes the sandbox of the program of a server, whose cage is not made yet.
func ServerSandbox(c *config.Config, server string, said config.Sandbox, holder Holder) (*Sandbox, error) {
	return newSandbox(c, "--mcp-sandbox "+server+"=", said, nil, cage.WholeNetwork, holder)
}
