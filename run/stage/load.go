package stage

import (
	"encoding/hex"
	"hash"
	"time"

	"toolpipe/approve"
	"toolpipe/run/document"
)

type loader struct {
	*File
	calls map[string]*Call
	sum   hash.Hash // of the heading and the calls
}

// digest is the digest of the lines read so far.
func (l *loader) digest() string { return hex.EncodeToString(l.sum.Sum(nil)) }

func (l *loader) load(line document.Line) error {
	_, isCall := line.Get("server")
	members := line.Members()
	switch {
	case !l.begun:
		if err := l.readHead(line); err != nil {
			return err
		}
	case isCall:
		if err := l.readCall(line); err != nil {
			return err
		}
	case len(members) == 1 && (members[0].Key == "sending" || members[0].Key == "not_sent"):
		return l.readSending(members[0])
	case len(members) == 1 && members[0].Key == "result":
		return l.readResult(members[0])
	default:
		return line.Errorf("neither a call nor another line of a plan")
	}
	l.sum.Write(line.Raw())
	l.sum.Write([]byte{'\n'})
	return nil
}

func (l *loader) readHead(line document.Line) error {
	was, h := 0, &l.Head
	keys := document.Keys("stage", &was, "version", &h.Version, "policies", &h.Policies, "definitions", &h.Definitions, "dir", &h.Dir, "time", &h.Time)
	if _, ok := line.Get("stage"); !ok {
		return line.Errorf("this is not a plan: it does not begin with the line of --stage")
	}
	if err := line.ReadKeys(keys); err != nil {
		return err
	}
	if was != 1 {
		return line.Errorf("a plan of the version %d, and this program knows version %s", was, version)
	}
	l.begun = true
	return nil
}

func (l *loader) readCall(line document.Line) error {
	c := &Call{State: State{Line: line.Number}, Edit: Edit{Places: map[string]string{}}}
	var server, arguments document.Value
	value := func(to *document.Value) func(document.Member) error {
		return func(m document.Member) error {
			*to = m.Value
			return nil
		}
	}
	err := line.ReadKeys(document.Keys("id", &c.ID, "server", value(&server), "tool", &c.Tool, "name", &c.Name, "arguments", value(&arguments),
		"definition", &c.Definition, "by", &c.By, "rule", &c.Rule, "reason", &c.Reason, "labels", &c.Labels, "private", &c.Private, "untrusted", &c.Untrusted,
		"text", &c.Text, "file", &c.File, "against", &c.Against, "diff", &c.Diff, "places", c.readPlaces))
	if err == nil {
		err = server.ReadKeys(document.Keys("name", &c.Server.Name, "target", &c.Server.Target, "dir", &c.Server.Dir))
	}
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"id": c.ID, "server.name": c.Server.Name, "tool": c.Tool, "name": c.Name, "definition": c.Definition} {
		if text == "" {
			return line.Errorf("a call without %s", name)
		}
	}
	if _, err := approve.ParseLabels(c.Labels, approve.Exposed); err != nil {
		return line.Errorf(`labels is not a list of "private" and "untrusted"`)
	}
	if arguments.Doc == nil {
		return line.Errorf("a call without arguments")
	}
	if c.Arguments, err = approve.Canonical(line.Keep(arguments.Raw())); err != nil {
		return arguments.Errorf("%v", err)
	}
	if l.calls[c.ID] != nil {
		return line.Errorf("an earlier call has the id %q too", c.ID)
	}
	l.calls[c.ID], l.ids[c.ID] = c, true
	l.Calls = append(l.Calls, c)
	return nil
}

func (c *Call) readPlaces(m document.Member) error {
	for place := range m.EachMember() {
		c.Places[place.Key] = place.Text()
	}
	return nil
}

func (l *loader) readSending(m document.Member) error {
	c := l.calls[m.Text()]
	if c == nil || c.Result != nil {
		return m.Errorf("no open call before this line has the id %s", m.Short())
	}
	c.Sent = m.Key == "sending"
	return nil
}

// readResult reads a result. It is accepted only for a call that was sent, and with the digest of
// the lines before it.
func (l *loader) readResult(m document.Member) error {
	id, digest, r := "", "", &Result{}
	err := m.ReadKeys(document.Keys("call", &id, "status", document.WordOf(&r.Status, "ok", "error", "failed"), "digest", &digest, "time", &r.Time, "text", &r.Text))
	if err != nil {
		return err
	}
	c := l.calls[id]
	if c == nil || c.Result != nil || !c.Sent {
		return m.Errorf("no call that was sent before this line, and has no result, has the id %q", id)
	}
	if digest != l.digest() {
		return m.Errorf("the result of the call %q belongs to another plan: it names the digest %q, and the lines before it have the digest %s", id, digest, l.digest())
	}
	at, err := time.Parse(time.RFC3339, r.Time)
	if err != nil || r.Status == "" {
		return m.Errorf("the result of the call %q has no status, or no time", id)
	}
	r.Time = at.UTC().Format(time.RFC3339)
	c.Result = r
	return nil
}
