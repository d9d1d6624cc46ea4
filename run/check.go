package run

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp/builtin/code"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/session"
	"toolpipe/stream"
)

// A checkup is --check: it goes through everything that a run would use, and says
// of each whether it is in order.
type checkup struct {
	*connector
	// first is the error that a run with the same flags would end with before its first
	// request: usage errors come before any server starts, and servers start before the
	// model is asked.
	first error
}

// run returns first.
func (k *checkup) run(ctx context.Context) error {
	err := k.configure(ctx)
	if err != nil {
		return k.failed("config", err)
	}
	k.ok("config", cmp.Or(k.settings.Path, "none"))
	for _, path := range k.cfg.ServerConfigs {
		k.ok("mcp-config", path)
	}
	if k.cfg.Log != "" {
		k.ok("log", k.cfg.Log)
	}
	if k.cfg.Session != "" {
		opened, err := session.Open(k.cfg, k.warn)
		if err != nil {
			return k.failed("session", err)
		}
		defer opened.Close()
		k.ok("session", k.cfg.Session)
	}
	if err := k.resolve(ctx); err != nil {
		return k.failed("rules", err)
	}
	rules := strconv.Itoa(len(k.gate.Rules)) + " of flags, config and policy files"
	if files := slices.Concat(k.settings.Policies, k.cfg.Policies); len(files) > 0 {
		rules += ": " + config.JoinWords(files)
	}
	k.ok("rules", rules)
	k.model(ctx)
	if ctx.Err() == nil {
		k.servers(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	k.terminal()
	k.programs(ctx)
	return k.first
}

func (k *checkup) say(subject, status, message string, hints ...string) {
	k.Emit(&event.Check{Subject: subject, Status: status, Message: message, Hint: strings.Join(hints, "; ")})
}

func (k *checkup) ok(subject, message string) { k.say(subject, "ok", message) }

// failed reports a failure, and returns the first.
func (k *checkup) failed(subject string, err error) error {
	e := failure.Of(err)
	order := map[failure.Status]int{failure.StatusUsage: -2, failure.StatusServer: -1} // what else can fail comes later in a run
	if k.first == nil || order[e.Status] < order[failure.Of(k.first).Status] {
		k.first = err
	}
	k.say(subject, "failure", e.Message, e.Hints...)
	return k.first
}

func (k *checkup) model(ctx context.Context) {
	if err := k.resolveModel(ctx); err != nil {
		k.failed("model", err)
		return
	}
	k.modelAt(ctx, "", k.endpoint, k.client)
	if err := k.resolveAgents(ctx); err != nil {
		k.failed("agents", err)
		return
	}
	for _, a := range k.agents {
		k.modelAt(ctx, "agent "+a.name+": ", a.endpoint, a.client)
	}
}

// modelAt checks one endpoint. of is what the subjects of its lines begin with: "" or
// the name of an agent.
func (k *checkup) modelAt(ctx context.Context, of string, e *config.Endpoint, client *stream.Client) {
	if e.Replay != "" {
		k.ok(of+"model", "the recording "+e.Replay)
		return
	}
	if e.KeyFrom != "" {
		k.ok(of+"key", "from "+e.KeyFrom)
	} else {
		k.ok(of+"key", "none is sent")
	}
	asked, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	names, err := client.Models(asked)
	refused, answered := errors.AsType[*stream.Error](err)
	at := e.BaseURL + " (" + e.API + ", from " + e.URLFrom + ")"
	switch {
	case err == nil:
		if server := client.Server(); server != "" {
			at += ", server " + server
		}
		k.ok(of+"endpoint", "reached: "+at)
	case answered && (refused.Kind == stream.Malformed || refused.Status != 0 && refused.Status != 401 && refused.Status != 403):
		k.say(of+"endpoint", "warning", "reached, but it lists no models: "+refused.Message)
		k.ok(of+"model", e.Model)
		return
	default:
		if asked.Err() != nil && ctx.Err() == nil {
			err = &stream.Error{Kind: stream.Unreachable, Message: e.BaseURL + " did not answer within 15 s"}
		}
		if e := failure.Of(err); of != "" { // a run goes on without its agent
			k.say(of+"endpoint", "warning", e.Message, e.Hints...)
		} else {
			k.failed("endpoint", err)
		}
		return
	}
	if slices.Contains(names, e.Model) {
		k.ok(of+"model", e.Model+" is listed")
		return
	}
	hints := config.DidYouMean("-m ", config.NearestPart(e.Model, names), "--list-models shows them")
	k.say(of+"model", "warning", e.Model+" is not among the "+strconv.Itoa(len(names))+" models that the endpoint lists", hints...)
}

// servers starts the servers and checks the lock against their tools.
func (k *checkup) servers(ctx context.Context) {
	if _, err := k.connectAndRead(ctx); err != nil {
		k.failed("servers", err)
		return
	}
	whole := true
	for _, c := range k.box.conns {
		subject := "server " + c.Name
		switch {
		case c.err == nil:
			k.ok(subject, c.session.Transport()+", "+c.session.Protocol()+", "+strconv.Itoa(len(c.tools))+" tools, started in "+strconv.FormatInt(c.took.Milliseconds(), 10)+" ms")
		case c.Optional:
			k.say(subject, "warning", "optional: "+c.failure().Message, c.failure().Hints...)
		default:
			k.failed(subject, c.failure())
			whole = false
		}
	}
	if whole {
		if err := k.useServers(); err != nil {
			k.failed("tools", err)
		} else if k.cfg.ToolsLock != "" {
			k.ok("lock", k.cfg.ToolsLock+" holds for the tools offered")
		}
	}
}

func (k *checkup) terminal() {
	switch t := k.gate.Terminal; {
	case t.Disabled != "":
		k.ok("terminal", "nobody is asked: "+t.Disabled)
	case t.Reachable():
		k.ok("terminal", "calls that no rule decides are asked about")
	default:
		k.ok("terminal", "there is none to ask on: a call that no rule allows ends the run with status 5")
	}
}

func (k *checkup) programs(ctx context.Context) {
	if len(k.cfg.FileRoots) == 0 {
		return
	}
	if k.cfg.Code {
		path, version, err := code.Version(ctx, code.Spec{Environ: k.cfg.Environ, Processes: k.cfg.Processes})
		if err != nil {
			k.failed("ctags", failure.Usage("--code: %v", err))
		} else {
			k.ok("ctags", path+", version "+version)
		}
	}
	if path, err := exec.LookPath("git"); err == nil {
		k.ok("git", path)
	} else {
		k.say("git", "warning", "not found, which get_git_diff needs")
	}
}
