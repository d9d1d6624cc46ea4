package modes

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/toolbox"
	"toolpipe/run/turn"
	"toolpipe/stream/text/jsontext"
)

// callArguments returns the arguments of --call and --explain: one JSON object, from the prompt
// argument or, for "-", from standard input; or words; or {} without any.
func (m *mode) callArguments(ctx context.Context, t *toolbox.Tool, data []byte) ([]byte, error) {
	words, flag := m.cfg.Args, "--call"
	if m.cfg.Mode == config.Explain {
		flag = "--explain"
	}
	given := strings.TrimSpace(strings.Join(words, " "))
	text, isObject := []byte(given), strings.HasPrefix(given, "{")
	switch {
	case given == "-" && data == nil:
		return nil, failure.Usage("%s -: standard input is not read", flag)
	case given == "-":
		text = data
	case isObject && len(words) > 1:
		return nil, failure.UsageError([]string{"quote the JSON: toolpipe --call NAME '{\"path\":\"a b\"}'"}, "%s: more than one argument", flag)
	case given != "" && !isObject:
		var err error
		if text, err = wordsObject(ctx, t, flag, words); err != nil {
			return nil, err
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	args, err := approve.Canonical(text)
	if err != nil {
		return nil, failure.UsageError([]string{flag + ` NAME '{"path":"notes.txt"}'`}, "%s: the arguments are not one JSON object: %v", flag, err)
	}
	return args, nil
}

func (m *mode) explain(ctx context.Context, t *toolbox.Tool, args []byte) error {
	asked := t.Call(args)
	asked.Seen.Secret, _ = m.inv.Secrets.Held(args)
	x, err := m.inv.Gate.Explain(ctx, asked)
	if err != nil {
		return err
	}
	v := x.Verdict
	shown := func(x approve.Explanation) event.Approval {
		e := *turn.ApprovalEvent("", x.Verdict)
		if x.Ask {
			e.Decision = "ask"
		}
		return e
	}
	e := &event.Explanation{Name: t.ModelName, Arguments: args, Approval: shown(x), Approver: x.Approver}
	asked.Seen.Labels = approve.Exposed
	exposed, err := m.inv.Gate.Explain(ctx, asked)
	if err != nil {
		return err
	}
	if other := shown(exposed); other.Decision != e.Decision || other.Rule != e.Rule {
		e.Exposed = other
	}
	for _, r := range x.Matched {
		e.Rules = append(e.Rules, event.ExplainedRule{Decision: r.Decision.String(), Rule: r.Origin, Reason: r.Reason})
	}
	for _, r := range x.Others {
		e.Others = append(e.Others, event.ExplainedRule{Decision: r.Decision.String(), Rule: r.Origin, Why: r.Why})
	}
	m.inv.Emit(e)
	if v.Outcome == approve.Allowed {
		return nil
	}
	f := &failure.Error{Status: failure.StatusUnapproved, Message: "this call would not run"}
	if x.Ask {
		f.Message = "this call would need an approval"
	}
	if v.Outcome == approve.Unapproved {
		f.Hints = []string{turn.ApprovalHint(t.ModelName, v)}
	}
	return f
}

// callOnce makes one call as a model would, including approval. The result is the text of the end
// event, even if the run fails because of what the call changed.
func (m *mode) callOnce(ctx context.Context, t *toolbox.Tool, args []byte) error {
	o, err := m.makeCall(ctx, t, args)
	if answered(&o) {
		m.tally.Text = event.Pieces{o.Text()}
	}
	return err
}

func answered(o *turn.Outcome) bool {
	return o.Status == event.ResultOK || o.Status == event.ResultError || o.Status == event.ResultStaged
}

// makeCall makes one call. The error is about a call that did not end well.
func (m *mode) makeCall(ctx context.Context, t *toolbox.Tool, args []byte) (turn.Outcome, error) {
	o, counts, err := m.plan.CallOnce(ctx, t, args)
	m.tally.Add(counts)
	switch {
	case err != nil:
		return o, err
	case !answered(&o) && ctx.Err() != nil:
		return o, context.Cause(ctx)
	}
	return o, m.failureOf(t, &o)
}

func (m *mode) failureOf(t *toolbox.Tool, o *turn.Outcome) error {
	text := o.Text()
	f := &failure.Error{Status: failure.StatusTool, Message: strings.TrimPrefix(text, turn.Prefix)}
	switch o.Status {
	case event.ResultOK, event.ResultStaged:
		return nil
	case event.ResultError:
		f.Message, f.Hints = t.ModelName+": the tool reported an error", m.stdinHint()
	case event.ResultDenied:
		if o.Denial != "" { // otherwise the run at the other end has said it
			f.Message = "tool call denied: " + o.Denial
		}
	case event.ResultUnknown:
		f.Status = failure.StatusUnknown
	case event.ResultFailed, event.ResultInvalid:
		if why := t.Conn.NotUsed(); why != nil {
			return why
		}
		f.Hints = m.stdinHint()
	}
	return f
}

// stdinHint is for a call that failed without arguments while standard input is a pipe or a file:
// --call reads it only with the argument -.
func (m *mode) stdinHint() []string {
	if len(m.cfg.Args) > 0 || !m.inv.Streams.InPipe && !m.inv.Streams.InFile {
		return nil
	}
	return []string{"the call had no arguments; - reads them from standard input: --call " + config.ShellQuote(m.cfg.Target) + " -"}
}

// wordsObject builds the arguments of a call from words: key=value, key:=JSON and key=@FILE. The
// tool's schema decides the type of a value.
func wordsObject(ctx context.Context, t *toolbox.Tool, flag string, words []string) ([]byte, error) {
	object := []byte{'{'}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		key, isJSON := strings.CutSuffix(key, ":")
		if !ok || key == "" {
			return nil, failure.UsageError([]string{flag + ` NAME path=notes.txt lines:=3, or NAME '{"path":"notes.txt","lines":3}'`},
				"%s: %q is not of the form key=value or key:=JSON, and no JSON object", flag, word)
		}
		if err := checkKey(t, flag, key); err != nil {
			return nil, err
		}
		var literal []byte
		switch path, isFile := strings.CutPrefix(value, "@"); {
		case isJSON:
			literal = []byte(value)
			if err := jsontext.Check(literal, jsontext.Options{}); err != nil {
				return nil, failure.Usage("%s: %s:= is not JSON: %v", flag, key, err)
			}
		case isFile:
			text, err := config.ReadFile(ctx, flag+" "+key, path, config.MaxInput, config.PlainFile, nil)
			if err == nil && !utf8.Valid(text) {
				err = failure.Usage("%s: %s: %q is not UTF-8 text", flag, key, path)
			}
			if err != nil {
				return nil, err
			}
			literal = jsontext.Quoted(string(text))
		default:
			var fault string
			if literal, fault = typed(t, key, value); fault != "" {
				return nil, failure.UsageError([]string{key + ":=JSON gives a value of any type"}, "%s: %q does not fit the schema of the tool: %s", flag, word, fault)
			}
		}
		object = jsontext.AppendMember(object, key, literal)
	}
	return append(object, '}'), nil
}

// checkKey refuses a key that is not in the tool's schema, unless the schema describes additional
// properties or no properties.
func checkKey(t *toolbox.Tool, flag, key string) error {
	var known []string
	for name := range jsontext.Members(jsontext.Member(t.InputSchema, "properties")) {
		known = append(known, jsontext.Unquote(name))
	}
	more := jsontext.Member(t.InputSchema, "additionalProperties")
	allowsMore := jsontext.Kind(more) == '{' || jsontext.IsTrue(more) || jsontext.Member(t.InputSchema, "patternProperties") != nil
	if len(known) == 0 || allowsMore || slices.Contains(known, key) {
		return nil
	}
	hints := config.DidYouMean("", config.Nearest(key, known), "arguments: "+config.JoinWords(known))
	return failure.UsageError(hints, "%s: the tool has no argument %q", flag, key)
}

// typed converts the value of a key to JSON: a string if the schema allows a string, else the JSON
// text of value itself. fault says why it does not match the schema.
func typed(t *toolbox.Tool, key, value string) (literal []byte, fault string) {
	literal = jsontext.Quoted(value)
	fault = t.MisfitAt(key, literal)
	if own := []byte(strings.TrimSpace(value)); fault != "" && jsontext.Check(own, jsontext.Options{}) == nil {
		literal, fault = own, t.MisfitAt(key, own)
	}
	return literal, fault
}
