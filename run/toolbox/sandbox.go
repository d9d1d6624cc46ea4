package toolbox

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"toolpipe/run/builtin"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
)

// AddBuiltins adds to the invocation its built-in servers.
func (b *Toolbox) AddBuiltins() error {
	v := b.inv
	spec := builtin.Spec{Config: v.Config, Shell: v.Settings.Shell.Shell, OwnFiles: v.OwnFiles(), Warn: v.Warn, Holder: b.holder}
	servers, err := spec.Servers()
	v.Servers = append(v.Servers, servers...)
	b.sandbox = spec.Sandbox
	return err
}

// makeSandbox makes the cage of a sandbox. Paths in rules are relative to root. Warnings begin
// with of, which names the sandbox.
func (b *Toolbox) makeSandbox(s *builtin.Sandbox, root, of string) error {
	v := b.inv
	return s.Make(v.Gate.Closes(root), append(v.OwnFiles(), invocation.LoginFiles(v.Config)...), func(what string) {
		v.Warn("sandbox_partial", "", of+"the sandbox does not enforce everything: "+what)
	})
}

// holdServers makes the sandboxes of servers that are commands.
func (b *Toolbox) holdServers() error {
	for _, c := range b.Conns {
		if !c.Sandbox.On || c.Local != nil {
			continue
		}
		s, err := builtin.ServerSandbox(b.inv.Config, c.Name, c.Sandbox, b.holder)
		if c.sandbox = s; err == nil { // closed with the others, even after an error
			err = b.makeSandbox(s, cmp.Or(c.Dir, "/"), "server "+strconv.Quote(c.Name)+": ")
		}
		if err != nil {
			return failure.Within("server "+strconv.Quote(c.Name)+": sandbox", err)
		}
		env := s.Environ()
		maps.Copy(env, c.Env)
		c.Env = env
	}
	return nil
}

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
	return b.sandboxOf(c).Look(b.inv.Config.AutoApprove, emit)
}

// LookLast is Look at the end of the run. It first ends background commands, so that it sees all
// their changes.
func (b *Toolbox) LookLast(emit func(event.Event) error) error {
	if b.sandbox == nil {
		return nil
	}
	for _, c := range b.Conns {
		if b.sandboxOf(c) == b.sandbox && c.Session != nil {
			c.Session.Close()
		}
	}
	return b.sandbox.Look(b.inv.Config.AutoApprove, emit)
}

// Changed are the protected files that sandboxed programs changed in this run.
func (b *Toolbox) Changed() []string {
	all := slices.Clone(b.sandbox.Changed())
	for _, c := range b.Conns {
		all = append(all, c.sandbox.Changed()...)
	}
	return all
}

// Sandbox describes the sandbox of commands, and its protection of files that other programs run;
// "" for none.
func (b *Toolbox) Sandbox() string { return b.sandbox.Holds() }

// Held describes the sandbox of the server's program; "" for none.
func (c *Connection) Held() string { return c.sandbox.Says() }
