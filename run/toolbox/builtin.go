package toolbox

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/code"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/fetch"
	"toolpipe/mcp/builtin/files"
	"toolpipe/mcp/builtin/notes"
	"toolpipe/mcp/builtin/processes"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/toolserver"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/run/settings"
)

// AddBuiltins adds the built-in servers to the invocation.
func (b *Toolbox) AddBuiltins() error {
	servers, err := b.builtinServers(b.inv.Config, b.inv.Settings, b.inv.OwnFiles(), b.inv.Outputs)
	b.inv.Servers = append(b.inv.Servers, servers...)
	return err
}

// builtinServers are the servers in this process that flags ask for: files, code, shell, processes,
// fetch and notes. They are trusted. The last four get --tool-timeout: they answer a call that
// takes longer themselves, so its outcome is known.
func (b *Toolbox) builtinServers(c *config.Config, s *settings.Settings, protected []string, o *invocation.Outputs) ([]servers.Server, error) {
	var all []servers.Server
	filesRoot := ""
	var areas []*confine.Area
	for _, f := range c.FileRoots {
		srv, area, err := filesServer(c, f, protected, o.Warn)
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
	if err := b.addSandbox(c, filesRoot, areas); err != nil {
		return nil, err
	}
	if c.Code {
		local, err := code.New(code.Spec{Areas: areas, Environ: c.Environ, Processes: b.sandbox.Processes(c.Processes), Version: c.Version})
		if err != nil {
			return nil, failure.UsageError([]string{"install it: apt install universal-ctags, or brew install universal-ctags"}, "--code: %v", err)
		}
		all = append(all, Builtin(local, filesRoot))
	}
	if c.Shell {
		servers, err := b.commandServers(c, s, filesRoot)
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
		all = append(all, Builtin(local, ""))
	}
	if c.Notes != "" {
		local, err := notes.New(notes.Spec{Path: c.Notes, Limit: c.ToolTimeout, Version: c.Version})
		if errors.Is(err, notes.ErrWritable) {
			return nil, failure.UsageError([]string{"chmod o-w " + config.ShellQuote(c.Notes)}, "--notes: %q: %v", c.Notes, err)
		}
		if err != nil {
			return nil, config.OpenError("--notes", c.Notes, err)
		}
		if err := config.WrittenFile.CheckPath(c, "--notes", c.Notes, o.Warn); err != nil {
			return nil, err
		}
		all = append(all, Builtin(local, ""))
	}
	return all, nil
}

// addSandbox makes the sandbox of commands, and of programs that other built-in tools start, if one
// is requested.
func (b *Toolbox) addSandbox(c *config.Config, filesRoot string, areas []*confine.Area) (err error) {
	if !c.Shell && !c.Code {
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
	b.sandbox, err = b.commandSandbox(roots)
	return err
}

// commandServers are the servers that start commands: shell, and processes if it is requested. Both
// use the same directory.
func (b *Toolbox) commandServers(c *config.Config, s *settings.Settings, filesRoot string) ([]servers.Server, error) {
	dir, err := filepath.Abs(filesRoot) // "" is the current directory
	if err != nil {
		return nil, failure.Usage("--shell: %s", failure.Cause(err))
	}
	commands := shell.CommandSpec{
		Dir: dir, Confined: filesRoot != "", Environ: c.Environ, Env: s.Shell.Env, PathPrepend: s.Shell.PathPrepend, Processes: c.Processes,
	}
	if b.sandbox != nil {
		b.sandbox.Hold(&commands)
	}
	local, err := shell.New(shell.Spec{Commands: commands, Timeout: s.Shell.Timeout, Limit: c.ToolTimeout, Version: c.Version})
	if err != nil {
		return nil, failure.Usage("--shell: %v", err)
	}
	servers := []servers.Server{Builtin(local, dir)}
	if c.Background {
		if local, err = processes.New(processes.Spec{Commands: commands, Limit: c.ToolTimeout, Version: c.Version}); err != nil {
			return nil, failure.Usage("--shell-background: %v", err)
		}
		servers = append(servers, Builtin(local, dir))
	}
	return servers, nil
}

// Builtin wraps a server in this process as a trusted server of the invocation. root is the
// directory for relative paths in its tools' arguments; "" for none.
func Builtin(local *toolserver.Server, root string) servers.Server {
	return servers.Server{Spec: mcp.Spec{Name: local.Name(), Local: local.Pipe}, Trusted: true, Root: root, Own: local}
}

// The name of the built-in tool that finds tools, and of its server.
const (
	FinderServer = "tools"
	FinderTool   = "find_tools"
)

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
		return servers.Server{}, nil, failure.UsageError([]string{"--files-anyway offers such a directory all the same"}, "--files: %v", err)
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
	return Builtin(local, dir), area, nil
}
