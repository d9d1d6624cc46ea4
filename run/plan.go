package run

import (
	"context"
	"slices"

	"toolpipe/approve"
	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/schema"
	"toolpipe/stream"
)

// A plan is what flags, environment, config and policy come to. Nothing is started for
// it, so that every usage error is cheap.
type plan struct {
	*outputs
	cfg      *config.Config
	settings *config.Settings
	servers  []config.Server
	unused   []config.Server // those that flags, profile or files leave out
	store    *oauth.Store    // where the logins at servers are kept
	gate     *approve.Gate
	policy   string                  // SHA-256 over all policy files
	locked   map[string]lockedItem   // nil: there is no lock
	pinned   map[string][]lockedItem // the tools of the servers that start later, by the names of these
	agents   []*agent

	// Of the model, if the mode needs one.
	endpoint *config.Endpoint
	request  *stream.Request
	client   *stream.Client
	schema   *schema.Schema // the schema that the answer must fit; nil: none
}

// configure reads what is configured: the settings, the servers and where their
// logins are.
func (p *plan) configure(ctx context.Context) (err error) {
	c := p.cfg
	if p.settings, err = c.LoadSettings(p.warn); err != nil {
		return err
	}
	note := func(code, server, message string) {
		if code == "server_renamed" { // which is only of interest to a user who wants to know more
			p.face.VerboseLine(message)
		} else {
			p.warn(code, server, message)
		}
	}
	if p.servers, p.unused, err = c.ConfiguredServers(ctx, p.settings, p.streams.In, note); err != nil {
		return err
	}
	c.AddSecrets(p.secrets, p.settings, p.servers)
	p.store, err = c.LoginStore(p.settings, p.secrets, func(code, url, message string) {
		name := ""
		if i := slices.IndexFunc(p.servers, func(s config.Server) bool { return s.URL == url && url != "" }); i >= 0 {
			name = p.servers[i].Name
		}
		p.warn(code, name, message)
	})
	for i := range p.servers {
		if p.servers[i].URL != "" {
			p.servers[i].Logins = p.store
		}
	}
	return err
}

// resolve turns flags, environment, config and policy into what the run
// needs. Nothing is started yet, so that every usage error is cheap.
func (p *plan) resolve(ctx context.Context) (err error) {
	c := p.cfg
	builtins, err := builtinServers(c, p.settings, p.ownFiles(), p.outputs)
	if err != nil {
		return err
	}
	p.servers = append(p.servers, builtins...)
	if err := p.addAgents(); err != nil {
		return err
	}
	if p.gate, p.policy, err = makeGate(c, p.settings, p.servers, p.outputs); err != nil {
		return err
	}
	if c.ToolsLock != "" && c.Mode != config.UpdateLock {
		if p.locked, err = readLock(c, c.ToolsLock, p.warn); err == nil && c.StartsLater() {
			err = p.pin()
		}
		if err != nil {
			return err
		}
	}
	p.leaveOut()
	if err := p.checkUsable(); err != nil {
		return err
	}
	if c.Mode == config.Answer || c.Mode == config.ListModels {
		if err := p.resolveModel(ctx); err != nil {
			return err
		}
	}
	if !c.MakesCalls() {
		return nil
	}
	return p.resolveAgents(ctx)
}

func (p *plan) resolveModel(ctx context.Context) (err error) {
	c := p.cfg
	if p.endpoint, err = c.ResolveModel(ctx, p.settings, p.warn); err != nil {
		return err
	}
	if p.endpoint.Note != "" {
		p.face.VerboseLine(p.endpoint.Note)
	}
	if p.endpoint.Replay != "" { // the recording tells its dialect
		if p.client, err = newClient(ctx, p.endpoint, p.outputs); err != nil {
			return err
		}
		p.endpoint.API = p.client.API()
	}
	if p.request, err = c.Request(ctx, p.endpoint); err != nil {
		return err
	}
	if len(p.servers) > 0 && slices.ContainsFunc(p.request.Params, func(param stream.Param) bool { return param.Name == "tools" }) {
		return failure.Usage("param tools: it would replace the tools of the servers")
	}
	if p.schema, err = answerSchema("--schema", p.request.Schema, p.warn); err != nil {
		return err
	}
	if p.client == nil {
		p.client, err = newClient(ctx, p.endpoint, p.outputs)
	}
	return err
}
