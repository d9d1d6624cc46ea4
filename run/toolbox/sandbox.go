package toolbox

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"

	"toolpipe/run/builtin"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/stream/goroutine"
)

// AddBuiltins adds to the invocation its built-in servers.
func (b *Toolbox) AddBuiltins() error {
	v := b.inv
	spec := builtin.Spec{Config: v.Config, Shell: v.Settings.Shell.Shell, OwnFiles: v.OwnFiles(), Warn: v.Warn, Holder: b.holder}
	servers, err := spec.Servers()
	v.Servers = append(v.Servers, servers...)
	b.sandbox, b.path = spec.Sandbox, spec.Path
	return err
}

// makeSandbox makes the cage of a sandbox. Paths in rules are relative to root. Warnings begin
// with of, which names the sandbox.
func (b *Toolbox) makeSandbox(s *builtin.Sandbox, root, of string) error {
	v := b.inv
	return s.Make(v.Gate.Closes(root), append(v.OwnFiles(), invocation.LoginFiles(v.Config)...), b.watch(), func(what string) {
		v.Warn("sandbox_partial", "", of+"the sandbox does not enforce everything: "+what)
	})
}

// holdServers makes the sandboxes of servers that are commands, and begins to make the list of
// files that are watched in all sandboxes.
func (b *Toolbox) holdServers() error {
	if b.inv.Config.ReplayTools { // no program runs
		return nil
	}
	var all []*builtin.Sandbox
	if b.sandbox != nil {
		all = append(all, b.sandbox)
		b.sandbox.Limit(b.inv.Gate.Closes(b.sandbox.Root()))
	}
	for _, c := range b.Conns {
		if !c.Sandbox.On || c.Local != nil {
			continue
		}
		s, err := builtin.ServerSandbox(b.inv.Config, c.Name, c.Sandbox, b.holder)
		if err != nil {
			return failure.Within("server "+strconv.Quote(c.Name)+": sandbox", err)
		}
		c.sandbox, all = s, append(all, s)
		s.Limit(b.inv.Gate.Closes(c.sandboxRoot()))
	}
	if len(all) == 0 {
		return nil
	}
	b.watch = sync.OnceValue(func() *builtin.Watch { return builtin.NewWatch(b.inv.Config, all) })
	goroutine.Start(func() { b.watch() })
	for _, c := range b.Conns {
		if c.sandbox == nil {
			continue
		}
		if err := b.makeSandbox(c.sandbox, c.sandboxRoot(), "server "+strconv.Quote(c.Name)+": "); err != nil {
			return failure.Within("server "+strconv.Quote(c.Name)+": sandbox", err)
		}
		env := c.sandbox.Environ()
		maps.Copy(env, c.Env)
		c.Env = env
	}
	return nil
}

// sandboxRoot is the directory from which paths in rules start for a server's sandbox.
func (c *Connection) sandboxRoot() string { return cmp.Or(c.Dir, "/") }

// RunsCommands reports whether a built-in tool runs commands.
func (b *Toolbox) RunsCommands() bool {
	return slices.ContainsFunc(b.Conns, func(c *Connection) bool { return c.Own != nil && c.Own.Runs() })
}

// CommandsWrite reports whether commands in the sandbox may write below a directory.
func (b *Toolbox) CommandsWrite(dir string) bool { return b.sandbox.Writes(dir) }

// sandboxOf is the sandbox of a connection's programs; nil for none.
func (b *Toolbox) sandboxOf(c *Connection) *builtin.Sandbox {
	if c.Own != nil && c.Own.Runs() {
		return b.sandbox
	}
	return c.sandbox
}

// Refusal reads the output of a program of the connection. If the sandbox seems to have refused
// something, it returns a message with the option that would allow it; "" for nothing.
func (b *Toolbox) Refusal(c *Connection, output func() string) string {
	s := b.sandboxOf(c)
	if s == nil {
		return ""
	}
	return s.Refusal(output())
}

// Look checks, after a call of the connection, whether a program in a sandbox changed protected
// files. Its error ends the run.
func (b *Toolbox) Look(c *Connection, emit func(event.Event) error) error {
	if b.sandboxOf(c) == nil {
		return nil
	}
	return b.watch().Look(false, b.inv.Config.AutoApprove, emit)
}

// Sandboxed reports whether programs in a sandbox may write protected files.
func (b *Toolbox) Sandboxed() bool { return b.watch != nil && b.watch() != nil }

// LookLast is Look at the end of the run, after all programs have ended.
func (b *Toolbox) LookLast(emit func(event.Event) error) error {
	if !b.Sandboxed() {
		return nil
	}
	return b.watch().Look(true, b.inv.Config.AutoApprove, emit)
}

// Changed are the protected files that sandboxed programs changed in this run.
func (b *Toolbox) Changed() []string {
	if !b.Sandboxed() {
		return nil
	}
	return b.watch().Changed()
}

// Sandbox describes the sandbox of commands, and its protection of files that other programs run;
// "" for none.
func (b *Toolbox) Sandbox() string { return b.sandbox.Holds() }

// Held describes the sandbox of the server's program; "" for none.
func (c *Connection) Held() string { return c.sandbox.Says() }
