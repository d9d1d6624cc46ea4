package toolbox

import (
	"toolpipe/approve"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/stream/text/jsontext"
)

// A toolpipe that listens at a socket describes its servers in _meta. So their tools have the same
// names, locks and rules in a run at the other end as without the socket.

// Members of _meta: for the server, and for each tool.
const (
	farServersKey = "toolpipe/servers"
	farToolKey    = "toolpipe/tool"
)

const outcomeKey = "toolpipe/outcome"

// OutcomeMeta is the _meta of the answer to a call that has no result of the tool.
func OutcomeMeta(status event.ResultStatus) []byte {
	return append(jsontext.AppendMember([]byte{'{'}, outcomeKey, jsontext.Quoted(string(status))), '}')
}

// A FarRefusal is the error for a call that a remote toolpipe has not made, or that failed there.
type FarRefusal struct {
	Status event.ResultStatus
	Text   string
}

func (e *FarRefusal) Error() string { return e.Text }

// Lost is the error for a call if the answer of a remote toolpipe is no result of the tool; nil for
// any other answer.
func (t *Tool) Lost(r *wire.Result) error {
	status := event.ResultStatus(jsontext.Text(jsontext.Member(r.Meta, outcomeKey)))
	if t.far == nil || !r.IsError || status == "" || len(r.Content) == 0 {
		return nil
	}
	text := jsontext.Unquote(r.Content[0].Text)
	if status == event.ResultUnknown {
		return &wire.NoReplyError{Sent: true, Message: "at the socket: " + text}
	}
	return &FarRefusal{status, text}
}

// FarServers describes the servers for a run at the other end of a socket or a door.
func (b *Toolbox) FarServers() (all []FarServer) {
	for _, c := range b.Conns {
		if c.Err == nil {
			all = append(all, FarServer{Name: c.Name, Root: c.Root, Instructions: b.inv.Secrets.Message().HideString(c.InstructionText())})
		}
	}
	return all
}

// Listing is a list of tools for a client. With far the client is a toolpipe at a socket or a door.
func (b *Toolbox) Listing(tools []*Tool, far bool) (all []wire.Tool) {
	for _, t := range tools {
		listed := t.Tool
		listed.Name, listed.Description = t.ModelName, t.Description+b.inCommands(t)
		if far {
			far := &FarTool{Server: t.Conn.Name, Name: t.Name, Traits: t.Traits, Scripts: t.Scripts()}
			if b.inv.Config.OpensDoors() {
				far.Standing = b.Standing(t)
			}
			listed.Meta = far.Meta(t.Meta)
		}
		all = append(all, listed)
	}
	return all
}

type FarServer struct {
	Name         string
	Root         string // directory for relative paths in its tools' arguments
	Instructions string
}

// AppendFarServers appends the member that lists servers, without the braces of its object.
func AppendFarServers(b []byte, all []FarServer) []byte {
	b = append(b, `"`+farServersKey+`":[`...)
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsontext.AppendMember(append(b, '{'), "name", jsontext.Quoted(s.Name))
		b = jsontext.AppendMember(b, "root", jsontext.Quoted(s.Root))
		b = append(jsontext.AppendMember(b, "instructions", jsontext.Quoted(s.Instructions)), '}')
	}
	return append(b, ']')
}

// farServers reads the list. listed is false if the server is not a toolpipe at a socket.
func farServers(meta []byte) (all []FarServer, listed bool) {
	list := jsontext.Member(meta, farServersKey)
	for s := range jsontext.Elements(list) {
		text := func(key string) string { return jsontext.Text(jsontext.Member(s, key)) }
		all = append(all, FarServer{text("name"), text("root"), text("instructions")})
	}
	return all, jsontext.Kind(list) == '['
}

// A FarTool names the server of a remote tool and its name there, and describes its effects.
type FarTool struct {
	Server, Name string
	Traits       approve.Traits
	Scripts      []string       // arguments that a shell runs
	Standing     event.Standing // for a program in a command
}

// Meta is the _meta of the tool for the remote run: the tool's _meta with t added.
func (t *FarTool) Meta(own []byte) []byte {
	meta := withoutFarTool(own)
	b := jsontext.AppendMember([]byte{'{'}, "server", jsontext.Quoted(t.Server))
	b = jsontext.AppendMember(b, "name", jsontext.Quoted(t.Name))
	b = jsontext.AppendMember(b, "labels", quotedList((t.Traits.Labels &^ t.Traits.Assumed).Words()))
	b = jsontext.AppendMember(b, "assumed", quotedList(t.Traits.Assumed.Words()))
	b = jsontext.AppendMember(b, "scripts", quotedList(t.Scripts))
	for _, p := range traitPlaces(&t.Traits) {
		if p.at.Known {
			var paths []string
			for _, path := range p.at.Paths {
				paths = append(paths, path.String())
			}
			b = jsontext.AppendMember(b, p.key, quotedList(paths))
			b = jsontext.AppendMember(b, p.key+"_absent", jsontext.Quoted(p.at.Absent))
		}
	}
	for _, m := range standingMembers(&t.Standing) {
		if *m.value != "" {
			b = jsontext.AppendMember(b, m.key, jsontext.Quoted(*m.value))
		}
	}
	return append(jsontext.AppendMember(meta, farToolKey, append(b, '}')), '}')
}

// readFarTool reads the description of a tool from its _meta. own is the rest of _meta; nil if it is
// empty. said is false if _meta has no description.
func readFarTool(meta []byte) (t FarTool, own []byte, said bool) {
	m := jsontext.Member(meta, farToolKey)
	if jsontext.Kind(m) != '{' {
		return t, meta, false
	}
	text := func(key string) string { return jsontext.Text(jsontext.Member(m, key)) }
	t.Server, t.Name = text("server"), text("name")
	t.Scripts = jsontext.Strings(jsontext.Member(m, "scripts"))
	t.Traits.By = "the toolpipe at the socket"
	t.Traits.Labels = knownLabels(jsontext.Strings(jsontext.Member(m, "labels")))
	t.Traits.Assumed = knownLabels(jsontext.Strings(jsontext.Member(m, "assumed")))
	for _, p := range traitPlaces(&t.Traits) {
		if list := jsontext.Member(m, p.key); jsontext.Kind(list) == '[' && t.Traits.Declare(p.effect, jsontext.Strings(list)) == nil {
			p.at.Absent = text(p.key + "_absent")
		}
	}
	for _, m := range standingMembers(&t.Standing) {
		*m.value = text(m.key)
	}
	if own = withoutFarTool(meta); len(own) > 1 {
		return t, append(own, '}'), true
	}
	return t, nil, true
}

// standingMember is a member of the description with a word about the verdict.
type standingMember struct {
	key   string
	value *string
}

func standingMembers(s *event.Standing) []standingMember {
	return []standingMember{{"verdict", &s.Verdict}, {"rule", &s.Rule}, {"except", &s.Except}, {"otherwise", &s.Otherwise}}
}

// knownLabels converts words to labels. It ignores unknown words, which a newer toolpipe may send.
func knownLabels(words []string) (labels approve.Labels) {
	for _, word := range words {
		if l, err := approve.ParseLabels([]string{word}, approve.Exposed|approve.AllEffects); err == nil {
			labels |= l
		}
	}
	return labels
}

// traitPlace is an effect with the arguments that contain its paths or destinations.
type traitPlace struct {
	key    string
	effect approve.Labels
	at     *approve.Places
}

func traitPlaces(t *approve.Traits) []traitPlace {
	return []traitPlace{{"reads", approve.Reads, &t.Reads}, {"writes", approve.Writes, &t.Writes}, {"sends", approve.Sends, &t.Sends}}
}

// withoutFarTool is an object without the toolKey member and without the closing brace.
func withoutFarTool(own []byte) []byte {
	b := []byte{'{'}
	if jsontext.Kind(own) == '{' {
		for key, value := range jsontext.Members(own) {
			if !jsontext.Is(key, farToolKey) {
				b = jsontext.AppendMember(b, jsontext.Unquote(key), value)
			}
		}
	}
	return b
}

func quotedList(words []string) []byte {
	b := []byte{'['}
	for i, word := range words {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, jsontext.Quoted(word)...)
	}
	return append(b, ']')
}
