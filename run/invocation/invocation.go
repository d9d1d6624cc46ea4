// Package invocation is what one invocation of the program is: its settings, its outputs,
// the gate that decides about calls, and the client of its model. It reads the user's config
// file, and resolves the endpoint, the model and the key from it, the flags and the
// environment. It starts nothing, so that every usage error is cheap.
package invocation

import (
	"context"
	"path/filepath"
	"slices"

	"toolpipe/approve"
	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/schema"
	"toolpipe/run/servers"
	"toolpipe/stream"
)

// An Invocation is what flags, environment, config and policy come to. New makes it;
// its parts come with Configure, MakeGate and ResolveModel, in this order.
type Invocation struct {
	*Outputs
	Config   *config.Config
	Settings *Settings
	Servers  []servers.Server // those of this run, the built-in ones included when these are added
	Unused   []servers.Server // those that flags, profile or files leave out
	Logins   *oauth.Store     // where the logins at servers are kept
	Gate     *approve.Gate
	Policy   string         // SHA-256 over all policy files
	Ignored  []approve.Rule // those of the config, where CI is set and no flag names the config
	Model    *Model         // nil where the mode needs none
}

// A Model is an endpoint, what every request to it has, and its client.
type Model struct {
	Endpoint *Endpoint
	Request  *stream.Request
	Client   *stream.Client // nil while it is being made
	Schema   *schema.Schema // that the answer must fit; nil: none
	Next     *Model         // is asked when this one has failed; nil: none
}

// Configure reads what is configured: the settings, the servers and where their
// logins are.
func (v *Invocation) Configure(ctx context.Context) (err error) {
	c := v.Config
	if v.Settings, err = LoadSettings(c, v.Warn); err != nil {
		return err
	}
	note := func(code, server, message string) {
		if code == "server_renamed" || code == "server_described" { // which are only of interest to a user who wants to know more
			v.Face.VerboseLine(message)
		} else {
			v.Warn(code, server, message)
		}
	}
	if v.Servers, v.Unused, err = v.Settings.Servers(ctx, c, v.Streams.In, note); err != nil {
		return err
	}
	addSecrets(c, v.Secrets, v.Settings, v.Servers)
	v.Logins, err = loginStore(c, v.Settings, v.Secrets, func(code, url, message string) {
		name := ""
		if i := slices.IndexFunc(v.Servers, func(s servers.Server) bool { return s.URL == url && url != "" }); i >= 0 {
			name = v.Servers[i].Name
		}
		v.Warn(code, name, message)
	})
	for i := range v.Servers {
		if v.Servers[i].URL != "" {
			v.Servers[i].Logins = v.Logins
		}
	}
	return err
}

// ResolveModel finds the model that the invocation names, or several of which each is asked when
// those before it have failed.
func (v *Invocation) ResolveModel(ctx context.Context) error {
	names, err := v.Settings.ModelList(v.Config)
	if err != nil {
		return err
	}
	if names == nil {
		return v.resolveModel(ctx, v.Config, &v.Model, nil)
	}
	last := &v.Model
	for _, name := range names {
		c := *v.Config
		c.Model = name
		if c.Replay != "" { // the recording tells only the API of its next request
			c.API = v.Settings.ProfileAPI(name)
		}
		var first *stream.Client // which has the recording of all
		if v.Model != nil {
			first = v.Model.Client
		}
		if err := v.resolveModel(ctx, &c, last, first); err != nil {
			return err
		}
		last = &(*last).Next
	}
	return nil
}

func (v *Invocation) resolveModel(ctx context.Context, c *config.Config, to **Model, first *stream.Client) (err error) {
	m := &Model{}
	if m.Endpoint, err = ResolveModel(ctx, c, v.Settings, v.Warn); err != nil {
		return err
	}
	if m.Endpoint.Beside = first; first != nil {
		m.Endpoint.Record = ""
	}
	*to = m
	if m.Endpoint.Note != "" {
		v.Face.VerboseLine(m.Endpoint.Note)
	}
	if m.Endpoint.Replay != "" { // the recording tells its dialect
		if m.Client, err = v.NewClient(ctx, m.Endpoint); err != nil {
			return err
		}
		m.Endpoint.API = m.Client.API()
	}
	if m.Request, err = RequestOf(ctx, c, m.Endpoint); err != nil {
		return err
	}
	if len(v.Servers) > 0 {
		if err := v.checkEndpointTools(m.Request); err != nil {
			return err
		}
	}
	if m.Schema, err = AnswerSchema("--schema", m.Request.Schema, v.Warn); err != nil {
		return err
	}
	if m.Client == nil {
		m.Client, err = v.NewClient(ctx, m.Endpoint)
	}
	return err
}

// checkEndpointTools looks at tools of the endpoint itself beside those of servers. What such a
// tool does is decided by nobody here: a search may send what the conversation holds.
func (v *Invocation) checkEndpointTools(r *stream.Request) error {
	types, err := r.EndpointTools()
	switch {
	case err != nil:
		return failure.Usage("param %v", err)
	case len(types) == 0 || v.Gate.Egress == approve.EgressOff:
	case v.Gate.Egress == approve.EgressWarn:
		v.Warn("egress_unknown", "", "the endpoint's own tools are not bound by --egress and may send what the conversation holds: "+config.JoinFew(types))
	default:
		return failure.UsageError([]string{"--egress off or warn lets them be used"}, "param tools: the endpoint's own tools (%s) cannot be asked about, as --egress wants", config.JoinFew(types))
	}
	return nil
}

// OwnFiles are the files that this run is configured by or recorded in. The
// built-in tools neither read nor write them, whatever is approved.
func (v *Invocation) OwnFiles() []string {
	c := v.Config
	files := slices.Concat([]string{v.Settings.Path, c.ToolsLock, c.Session, c.Plan(), c.Log, c.Record, c.Replay, c.KeyFile, c.Notes},
		c.Policies, v.Settings.Policies, approverFiles(c), c.ServerConfigs)
	if real, err := filepath.EvalSymlinks(c.Notes); c.Notes != "" && err == nil {
		files = append(files, real) // other runs replace it, so that its inode does not tell which file it is
	}
	for i := range v.Servers {
		files = append(files, v.Servers[i].KeyFile)
	}
	if len(c.FileRoots) > 0 {
		files = append(files, LoginFiles(c)...)
	}
	files = slices.DeleteFunc(files, func(path string) bool { return path == "" })
	for i, path := range files {
		if abs, err := filepath.Abs(path); err == nil {
			files[i] = abs
		}
	}
	return files
}
