package run

import (
	"os"
	"path/filepath"
	"strings"

	"toolpipe/mcp"
)

// builtinServers are the servers in this process that flags ask for: files,
// shell and fetch. They are trusted: their annotations are ours. --tool-timeout
// bounds what shell and fetch do themselves, so that the answer to a call that
// takes longer is theirs and its outcome is known.
func (c *Config) builtinServers(s *settings, protected []string, warn warner) ([]server, error) {
	var all []server
	filesRoot := ""
	for _, f := range c.FileRoots {
		srv, err := c.filesServer(f, protected, warn)
		if err != nil {
			return nil, err
		}
		if findServer(all, srv.Name) != nil {
			return nil, usageError([]string{"--files NAME=DIR gives another root a name of its own"}, "--files: two roots are named %q", srv.Name)
		}
		if filesRoot == "" {
			filesRoot = srv.root
		}
		all = append(all, srv)
	}
	if c.Shell {
		dir := filesRoot
		if dir == "" {
			wd, err := os.Getwd()
			if err != nil {
				return nil, usage("--shell: %s", cause(err))
			}
			dir = wd
		}
		local, err := mcp.Shell(mcp.ShellSpec{
			Dir: dir, Confined: filesRoot != "", Environ: c.Environ, Env: s.shell.env, PathPrepend: s.shell.pathPrepend,
			Timeout: s.shell.timeout, Limit: c.ToolTimeout, Processes: c.Processes, Version: c.Version,
		})
		if err != nil {
			return nil, usage("--shell: %v", err)
		}
		all = append(all, builtin("shell", local, dir))
	}
	if c.Fetch {
		local, err := mcp.Fetch(mcp.FetchSpec{AllowPrivate: c.FetchAllow, Limit: c.ToolTimeout, Version: c.Version})
		if err != nil {
			return nil, usage("--fetch-allow: %v", err)
		}
		all = append(all, builtin("fetch", local, ""))
	}
	return all, nil
}

func builtin(name string, local *mcp.Server, root string) server {
	return server{Spec: mcp.Spec{Name: name, Local: local.Pipe}, trusted: true, root: root}
}

// filesServer is the server of one --files [NAME=]DIR.
func (c *Config) filesServer(value string, protected []string, warn warner) (server, error) {
	name, root, named := strings.Cut(value, "=")
	if !named || strings.ContainsAny(name, "/.: \t'\"") {
		name, root, named = "files", value, false
	}
	if named {
		if err := checkServerName(name); err != nil {
			return server{}, within("--files", err)
		}
		if name == "shell" || name == "fetch" {
			return server{}, usage("--files: the name %q is reserved for a built-in server", name)
		}
	}
	if root == "" {
		return server{}, usageError([]string{"--files . offers the current directory"}, "--files: no directory is named")
	}
	dir, err := filepath.Abs(root)
	if err != nil {
		return server{}, usage("--files: %v", err)
	}
	local, err := mcp.Files(mcp.FilesSpec{
		Name: name, Root: dir, Anyway: c.FilesAnyway, Home: c.getenv("HOME"), Protected: protected,
		Environ: c.Environ, Processes: c.Processes, Version: c.Version,
		Warn: func(code, message string) { warn(code, name, message) },
	})
	if err != nil {
		return server{}, usage("--files: %v", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		if info, err := os.Stat(real); err == nil && !info.IsDir() {
			dir = filepath.Dir(real) // where the one file is that the server offers
		}
	}
	return builtin(name, local, dir), nil
}

// ownFiles are the files that govern this run or record it: no tool of ours
// reads or writes them, whatever the approvals.
func (c *Config) ownFiles(s *settings, servers []server) []string {
	var files []string
	add := func(paths ...string) {
		for _, p := range paths {
			if p == "" {
				continue
			}
			if abs, err := filepath.Abs(p); err == nil {
				files = append(files, abs)
			}
		}
	}
	add(s.path, c.ToolsLock, c.Log, c.Record, c.Replay, c.KeyFile)
	add(c.Policies...)
	add(s.policies...)
	add(c.approverFiles()...)
	add(c.ServerConfigs...)
	for i := range servers {
		add(servers[i].keyFile)
	}
	return files
}
