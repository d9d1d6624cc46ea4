// Package invocation holds one invocation of the program: its settings, its outputs, the gate that
// decides about calls, and the client of its model. It reads the user's config file, and resolves
// the endpoint, the model and the key from it, the flags and the environment. It starts nothing,
// so usage errors come early and cost nothing.
package invocation

import (
	"cmp"
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

// An Invocation is the result of flags, environment, config and policy. Configure, MakeGate and
// ResolveModel fill it, in this order.
type Invocation struct {
	*Outputs
	Config   *config.Config
	Settings *Settings
	Servers  []servers.Server // used in this run, including the built-in ones once they are added
	Unused   []servers.Server // excluded by flags, profile or files
	Logins   *oauth.Store     // stored logins at servers
	Gate     *approve.Gate
	Policy   string         // SHA-256 over all policy files
	Ignored  []approve.Rule // rules of the config, if CI is set and no flag names the config
	Model    *Model         // nil if the mode needs none
}

// A Model is an endpoint, the parts common to all its requests, and its client.
type Model struct {
	Endpoint *Endpoint
	Request  *stream.Request
	Client   *stream.Client // nil until it is made
	Schema   *schema.Schema // the answer must match it; nil: none
	Next     *Model         // used after this one has failed; nil: none
}

func (v *Invocation) Configure(ctx context.Context) (err error) {
	c := v.Config
	if v.Settings, err = LoadSettings(c, v.Warn); err != nil {
		return err
	}
	if p := c.Preset; p.Name != "" {
		v.Face.VerboseLine("preset " + p.String())
	}
	note := func(code, server, message string) {
		if code == "server_renamed" || code == "server_described" { // only with -v
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

// ResolveModel finds the model that the invocation names, or a list of models. Each model of a list
// is asked after those before it have failed.
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
		if c.Replay != "" { // the recording knows only the API of its next request
			c.API = cmp.Or(v.Settings.profiles[name].API, "chat")
		}
		var first *stream.Client // contains the recording for all models
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
	for _, note := range []string{m.Endpoint.Unused, m.Endpoint.Note} {
		if note != "" {
			v.Face.VerboseLine(note)
		}
	}
	if m.Endpoint.Replay != "" { // the recording determines the API
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

// Tape has the answers of tools in the recording that the run writes, or takes them from; nil for
// neither.
func (v *Invocation) Tape() *stream.Tape {
	if v.Model == nil || v.Model.Client == nil || v.Config.Replay != "" && !v.Config.ReplayTools {
		return nil
	}
	return v.Model.Client.Tape()
}

// checkEndpointTools checks for tools of the endpoint itself. No rule here covers them: a web
// search, for example, may send the content of the conversation.
func (v *Invocation) checkEndpointTools(r *stream.Request) error {
	types, err := r.EndpointTools()
	switch {
	case err != nil:
		return failure.Usage("param %v", err)
	case len(types) == 0 || v.Gate.Egress == approve.EgressOff:
	case v.Gate.Egress == approve.EgressWarn:
		v.Warn("egress_unknown", "", "the endpoint's own tools are not limited by --egress and may send data of the conversation: "+config.JoinFew(types))
	default:
		return failure.UsageError([]string{"--egress off or warn lets them be used"}, "param tools: no question is possible about the endpoint's own tools (%s), as --egress requires", config.JoinFew(types))
	}
	return nil
}

// OwnFiles are the files with the configuration or the records of this run. Built-in tools neither
// read nor write them, whatever is approved.
func (v *Invocation) OwnFiles() []string {
	c := v.Config
	files := slices.Concat([]string{v.Settings.Path, c.ToolsLock, c.Session, c.Plan(), c.Log, c.Record, c.Replay, c.KeyFile, c.Notes},
		c.Policies, v.Settings.Policies, approverFiles(c), c.ServerConfigs)
	if real, err := filepath.EvalSymlinks(c.Notes); c.Notes != "" && err == nil {
		files = append(files, real) // other runs replace the file, so its inode does not identify it
	}
	for i := range v.Servers {
		files = append(files, v.Servers[i].KeyFiles...)
	}
	for _, p := range v.Settings.profiles {
		files = append(files, p.certificate.KeyFile())
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
