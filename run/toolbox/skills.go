package toolbox

import (
	"context"
	"fmt"
	"strconv"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
)

// A Skill is a skill that --skill attaches, and its server. Two servers can have skills with the
// same URI, so the URI alone names none.
type Skill struct {
	*mcp.Skill
	Conn *Connection
}

// FindSkills asks the servers for the skills of --skill, and compares them with the lock. It reads
// no file of a skill.
func (b *Toolbox) FindSkills(ctx context.Context) ([]Skill, error) {
	was, is := map[string]LockItem{}, []LockItem(nil)
	for _, value := range b.inv.Config.Skills {
		c, session, reference, err := b.ServerOf(ctx, "--skill", "SKILL", value)
		if err != nil {
			return nil, err
		}
		found, err := session.Skill(ctx, reference)
		if err != nil {
			return nil, RequestError(c, err)
		}
		k := Skill{found, c}
		item := k.Locked()
		if l, known := b.locked.items[item.Title()]; known {
			was[item.Title()] = l
		}
		b.skills, is = append(b.skills, k), append(is, item)
	}
	if b.locked.items == nil {
		return b.skills, nil
	}
	return b.skills, b.lockError("the skills", lockDiff(was, is))
}

// Locked is the lock item of the skill: all that a person can review before a file is read.
func (k *Skill) Locked() LockItem {
	files := []byte{'['}
	for i, f := range k.Files {
		if i > 0 {
			files = append(files, ',')
		}
		files = jsontext.AppendMember(append(files, '{'), "uri", event.AppendString(nil, f.URI))
		files = jsontext.AppendMember(files, "digest", event.AppendString(nil, f.Digest))
		files = append(jsontext.AppendMember(files, "size", strconv.AppendInt(nil, f.Size, 10)), '}')
	}
	body := appendText([]byte{'{'}, "server", k.Conn.Name)
	body = appendJSON(body, "frontmatter", k.Frontmatter)
	body = appendJSON(body, "resources", append(files, ']'))
	return LockItem{"skills", k.Conn.Name + ":" + k.URI, append(body, '}')}
}

// SkillText reads the instructions of a skill, and returns them with their origin for the model.
func (b *Toolbox) SkillText(ctx context.Context, k *Skill) (string, error) {
	session, err := k.Conn.Use(ctx)
	if err != nil {
		return "", err
	}
	text, err := session.SkillText(ctx, k.Skill)
	if err != nil {
		return "", RequestError(k.Conn, err)
	}
	text = fmt.Sprintf("Skill %q of the tool server %q (%s):\n\n%s", k.Name, k.Conn.Name, k.URI, text)
	reader := b.reader(k.Conn)
	if reader == nil || len(k.Files) == 1 || b.Denies(reader) {
		return text, nil
	}
	text += "\n\n" + reader.ModelName + " reads the files of this skill:\n"
	uris := []byte(nil)
	for _, f := range k.Files {
		if f.URI != k.URI {
			text += f.URI + "\n"
		}
		uris = append(append(uris, ','), jsontext.Quoted(f.URI)...)
	}
	return text, b.allowFiles(k.Conn, uris[1:])
}

// allowFiles allows the model to read these files, URIs in JSON, without a question: the flag is the
// consent to the skill.
func (b *Toolbox) allowFiles(c *Connection, uris []byte) error {
	policy, err := approve.ParsePolicy("--skill", fmt.Appendf(nil,
		`{"version":1,"rules":[{"decision":"allow","server":%q,"tool":%q,"arguments":{"uri":{"one_of":[%s]}}}]}`, c.Name, ReaderTool, uris))
	if err != nil {
		return failure.Usage("%v", err)
	}
	for _, r := range policy.Rules {
		r.By, r.Origin = "flag", "--skill"
		b.inv.Gate.Rules = append(b.inv.Gate.Rules, r)
	}
	return nil
}

func (b *Toolbox) Held(c *Connection) (held []*mcp.Skill) {
	for _, k := range b.skills {
		if k.Conn == c {
			held = append(held, k.Skill)
		}
	}
	return held
}
