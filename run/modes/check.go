package modes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/code"
	"toolpipe/mcp/local"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/session"
	"toolpipe/run/stage"
	"toolpipe/run/toolbox"
	"toolpipe/run/turn"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// A checkup is --check: it checks everything that a run would use, and reports the state of each.
type checkup struct {
	plan *turn.Plan
	inv  *invocation.Invocation
	// first is the error with which a run with the same flags would end before its first request.
	// Usage errors come before servers start, and servers start before the model is asked.
	first error
}

// Check performs --check. The plan p must be neither resolved nor configured.
func Check(ctx context.Context, p *turn.Plan) error { return (&checkup{plan: p, inv: p.Inv}).run(ctx) }

func (k *checkup) run(ctx context.Context) error {
	err := k.inv.Configure(ctx)
	if err != nil {
		return k.failed("config", err)
	}
	k.ok("config", cmp.Or(k.inv.Settings.Path, "none"))
	if p := k.inv.Config.Preset; p.Name != "" {
		k.ok("preset", p.String())
	}
	for _, path := range k.inv.Config.ServerConfigs {
		k.ok("mcp-config", path)
	}
	if k.inv.Config.Log != "" {
		k.ok("log", k.inv.Config.Log)
	}
	k.listens(ctx)
	if k.inv.Config.Session != "" {
		opened, err := session.Open(k.inv.Config, k.inv.Warn)
		if err != nil {
			return k.failed("session", err)
		}
		defer opened.Close()
		k.ok("session", k.inv.Config.Session)
	}
	if err := k.schema(ctx); err != nil {
		return err
	}
	if path := k.inv.Config.Stage; path != "" {
		plan, err := stage.Open(k.inv.Config, "--stage", path, true, k.inv.Config.Session != "", k.inv.Warn)
		if err != nil {
			return k.failed("stage", err)
		}
		defer plan.Close()
		k.ok("stage", path)
	}
	if err := k.plan.Resolve(ctx); err != nil {
		return k.failed("rules", err)
	}
	k.ok("rules", k.rules())
	if len(k.inv.Ignored) > 0 {
		k.say("rules", "warning", k.inv.IgnoredNote())
	}
	k.model(ctx)
	if ctx.Err() == nil {
		k.servers(ctx)
		k.trim()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	k.terminal()
	if sandbox := k.plan.Box.Sandbox(); sandbox != "" {
		k.ok("sandbox", sandbox)
	}
	if c := k.inv.Config; c.OpensDoors() {
		k.ok("shell-tools", fmt.Sprintf("%s; tools for commands: %d, in the request: %d", c.ShellTools, len(k.plan.Box.ForCommands()), len(k.plan.Box.Direct())))
	}
	k.programs(ctx)
	return k.first
}

// listens checks the address of --listen. It creates nothing.
func (k *checkup) listens(ctx context.Context) {
	at := k.inv.Config.Listen
	if at == "" {
		return
	}
	path, _ := local.Path(at)
	if err := listenError(at, local.Check(ctx, path)); err != nil {
		k.failed("listen", err)
	} else {
		k.ok("listen", at)
	}
}

// schema reports the JSON Schema of --schema. The setting is replaced by it, because a pipe can be read
// only once.
func (k *checkup) schema(ctx context.Context) error {
	text, err := invocation.ReadSchema(ctx, k.inv.Config)
	if err != nil {
		return k.failed("schema", err)
	}
	if text != nil {
		text = jsontext.AppendCompact(nil, text)
		k.ok("schema", string(text))
		k.inv.Config.Schema = string(text)
	}
	return nil
}

// trim warns if the tool definitions alone are about as long as the limit of --trim for a request.
func (k *checkup) trim() {
	limit, err := strconv.Atoi(k.inv.Config.Trim)
	if err != nil {
		return // auto, off, or not given
	}
	tokens := 0
	for _, t := range k.plan.Box.All() {
		if !t.Withheld {
			tokens += toolbox.DefinitionSize(t.ForModel()) / 4 // about four bytes per token
		}
	}
	message := fmt.Sprintf("requests of at most %d tokens, about %d of them for the definitions of tools", limit, tokens)
	if tokens > limit/2 {
		k.say("trim", "warning", message, "--tools GLOBS offers fewer tools, and --find-tools auto offers them when the model searches for them")
		return
	}
	k.ok("trim", message)
}

func (k *checkup) say(subject, status, message string, hints ...string) {
	k.inv.Emit(&event.Check{Subject: subject, Status: status, Message: message, Hint: strings.Join(hints, "; ")})
}

func (k *checkup) ok(subject, message string) { k.say(subject, "ok", message) }

// failed reports a failure, and returns the first.
func (k *checkup) failed(subject string, err error) error {
	e := failure.Of(err)
	order := map[failure.Status]int{failure.StatusUsage: -2, failure.StatusServer: -1} // other failures come later in a run
	if k.first == nil || order[e.Status] < order[failure.Of(k.first).Status] {
		k.first = err
	}
	k.say(subject, "failure", e.Message, e.Hints...)
	return k.first
}

func (k *checkup) model(ctx context.Context) {
	if err := k.inv.ResolveModel(ctx); err != nil {
		k.failed("model", err)
		return
	}
	k.modelAt(ctx, "", k.inv.Model.Endpoint, k.inv.Model.Client)
	for m := k.inv.Model.Next; m != nil; m = m.Next {
		k.modelAt(ctx, "then "+m.Endpoint.Model+": ", m.Endpoint, m.Client)
	}
	if err := k.plan.ResolveAgents(ctx); err != nil {
		k.failed("agents", err)
		return
	}
	for _, a := range k.plan.Agents {
		k.modelAt(ctx, "agent "+a.Name+": ", a.Endpoint, a.Client)
	}
}

// modelAt checks one endpoint. of is the prefix of its subjects: "" or the name of an agent.
func (k *checkup) modelAt(ctx context.Context, of string, e *invocation.Endpoint, client *stream.Client) {
	if e.Replay != "" {
		k.ok(of+"model", "the recording "+e.Replay)
		return
	}
	if e.Unused != "" {
		k.ok(of+"endpoint", e.Unused)
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
	case answered && (refused.Kind == stream.Malformed || refused.Status != 0 && refused.Kind != stream.KeyRefused):
		k.say(of+"endpoint", "warning", "reached, but it lists no models: "+refused.Message)
		k.ok(of+"model", e.Model)
		return
	default:
		if asked.Err() != nil && ctx.Err() == nil {
			err = &stream.Error{Kind: stream.Unreachable, Message: e.BaseURL + " did not answer within 15 s"}
		}
		if e := failure.Of(err); of != "" { // a run continues without its agent
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
	hints := config.DidYouMean("-m ", config.NearestPart(e.Model, names), "--list models shows them")
	k.say(of+"model", "warning", e.Model+" is not among the "+strconv.Itoa(len(names))+" models that the endpoint lists", hints...)
}

// servers starts the servers and checks the lock against their tools.
func (k *checkup) servers(ctx context.Context) {
	if _, err := k.plan.Box.ConnectAndRead(ctx); err != nil {
		k.failed("servers", err)
		return
	}
	whole := true
	for _, c := range k.plan.Box.Conns {
		subject := "server " + c.Name
		switch {
		case c.Err == nil:
			in := ""
			if held := c.Held(); held != "" {
				in = ", in a sandbox: " + held
			}
			if c.Spec.Protocol.Known == c.Session.Protocol() {
				in += ", its revision known from " + k.inv.Config.ToolsLock
			}
			k.ok(subject, c.Session.Transport()+", "+c.Session.Protocol()+", "+strconv.Itoa(len(c.Listed))+" tools, started in "+strconv.FormatInt(c.Took.Milliseconds(), 10)+" ms"+in)
		case c.Optional:
			k.say(subject, "warning", "optional: "+c.Failure().Message, c.Failure().Hints...)
		default:
			k.failed(subject, c.Failure())
			whole = false
		}
	}
	if whole {
		if err := k.plan.Box.UseServers(); err != nil {
			k.failed("tools", err)
			return
		}
		k.judged()
		if _, err := k.plan.Box.FindSkills(ctx); err != nil {
			k.failed("skills", err)
			return
		}
		if k.inv.Config.ToolsLock != "" {
			k.ok("lock", k.inv.Config.ToolsLock+" matches the tools offered")
		}
	}
}

func (k *checkup) rules() string {
	from := slices.Concat(k.inv.Settings.Policies, k.inv.Config.Policies) // and then flags, in their order
	count := map[string]int{}
	for _, r := range k.inv.Gate.Rules {
		source, _, _ := strings.Cut(r.Origin, " ")
		if i := strings.LastIndexByte(r.Origin, ':'); r.By != "flag" && i > 0 {
			source = r.Origin[:i]
		}
		if !slices.Contains(from, source) {
			from = append(from, source)
		}
		count[source]++
	}
	text := strconv.Itoa(len(k.inv.Gate.Rules))
	for i, source := range from {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + strconv.Itoa(count[source]) + " of " + source
	}
	return text
}

// judged reports rules that can never match, and the effect of --egress on the tools.
func (k *checkup) judged() {
	idle, why, fires := k.plan.Box.Judged()
	if len(idle) > 0 {
		k.say("rules", "warning", "can never match: "+strings.Join(idle, ", "), "--explain NAME ARGUMENTS says why a rule does not match a call")
	}
	egress := k.inv.Gate.Egress.String()
	switch {
	case k.inv.Gate.Egress == approve.EgressOff:
		k.ok("egress", egress)
	case fires:
		k.ok("egress", egress+": "+why)
	case k.inv.Gate.EgressOrigin == "": // nobody asked for it
		k.ok("egress", egress+": no call can match it: "+why)
	default:
		k.say("egress", "warning", egress+" never applies to a call: "+why)
	}
}

func (k *checkup) terminal() {
	if ask := k.inv.Config.AskHost; ask == "calls" || ask == "all" {
		k.ok("host", "with --serve its user is asked about calls ("+ask+"), if it declares elicitation")
	}
	switch t := k.inv.Gate.Terminal; {
	case t.Disabled != "":
		k.ok("terminal", "nobody is asked: "+t.Disabled)
	case t.Reachable():
		k.ok("terminal", "calls that no rule decides are asked about")
	default:
		k.ok("terminal", "there is no terminal for questions: a call that no rule allows ends the run with status 5")
	}
}

func (k *checkup) programs(ctx context.Context) {
	if len(k.inv.Config.FileRoots) == 0 || k.inv.Config.ReplayTools {
		return
	}
	if k.inv.Config.Code {
		path, version, err := code.Version(ctx, code.Spec{Environ: k.inv.Config.Environ, Processes: k.inv.Config.Processes})
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
