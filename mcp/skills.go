package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// skillsExtension is the capability of a server that has skills, and of a client that can use
// them (SEP-2640).
const skillsExtension = "io.modelcontextprotocol/skills"

var Skills = List{"skills/list", "skills", "uri", skillsExtension}

// The limits of one skill, which every client must accept (SEP-2640).
const (
	maxSkillFiles = 512
	maxSkillBytes = 16 << 20
)

// A Skill is a server's entry for instructions to a model and their further files. The entry has
// the size and the digest of each file. Nothing is read before it is needed.
type Skill struct {
	URI         string // of the instructions, a file SKILL.md
	Name        string
	Frontmatter []byte      // the fields at the beginning of the instructions, an object
	Files       []SkillFile // all files, the instructions too, sorted by URI
}

type SkillFile struct {
	URI    string
	Digest string // "sha256:" and the digest of the content in hexadecimal
	Size   int64  // of the content, in bytes
}

// Skill returns the server's entry for a skill. reference is the skill's name, or its URI: a
// server need not list all of its skills.
func (s *Session) Skill(ctx context.Context, reference string) (*Skill, error) {
	k, err := s.skill(ctx, reference)
	if err != nil {
		return nil, s.failed(fmt.Sprintf("skill %q", reference), err)
	}
	return k, nil
}

func (s *Session) skill(ctx context.Context, reference string) (*Skill, error) {
	if !s.has(skillsExtension) {
		return nil, errors.New("the server does not declare that it has skills")
	}
	if strings.Contains(reference, ":") {
		result, err := s.Request(ctx, &Named{Method: "skills/get", Params: append(jsontext.AppendQuoted([]byte(`{"uri":`), reference), '}')})
		if err != nil {
			return nil, err
		}
		k, err := readSkill(jsontext.Member(result, "skill"))
		if err == nil && k.URI != reference {
			err = fmt.Errorf("the server answered with the skill %q", k.URI)
		}
		return k, err
	}
	var found [][]byte
	var uris []string
	ctx, _, stop := s.watch(ctx)
	defer stop()
	err := s.allPages(ctx, Skills, func(item []byte) {
		if jsontext.Text(jsontext.Member(item, "frontmatter", "name")) == reference {
			found = append(found, slices.Clone(item))
			uris = append(uris, jsontext.Text(jsontext.Member(item, "uri")))
		}
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, errors.New("the server lists no skill of this name; --list skills shows the names, and a skill that is not listed is found by its URI")
	case len(found) > 1:
		return nil, fmt.Errorf("%d skills have this name, choose one by its URI: %s", len(found), strings.Join(uris, ", "))
	}
	return readSkill(found[0])
}

func readSkill(entry []byte) (*Skill, error) {
	k := &Skill{URI: jsontext.Text(jsontext.Member(entry, "uri")), Frontmatter: jsontext.Member(entry, "frontmatter")}
	k.Name = jsontext.Text(jsontext.Member(k.Frontmatter, "name"))
	files := jsontext.Member(entry, "resources")
	switch {
	case k.Name == "" || !strings.HasSuffix(k.URI, "/"+k.Name+"/"+skillFile):
		return nil, fmt.Errorf("its URI %q does not end with its name %q and %s", k.URI, k.Name, skillFile)
	case jsontext.Text(files) == "dynamic":
		return nil, errors.New("the server generates its files, so they cannot be checked")
	}
	known, size := map[string]bool{}, int64(0)
	for v := range jsontext.Elements(files) {
		f := SkillFile{URI: jsontext.Text(jsontext.Member(v, "uri")), Digest: jsontext.Text(jsontext.Member(v, "digest"))}
		n, isSize := jsontext.Integer(jsontext.Member(v, "size"))
		f.Size = n
		if known[f.URI] || !k.Contains(f.URI) || !isSize || n < 0 {
			return nil, fmt.Errorf("its file %q is listed twice, is outside of the skill, or has no size", f.URI)
		}
		known[f.URI] = true
		k.Files = append(k.Files, f)
		if size += min(n, maxSkillBytes+1); size > maxSkillBytes || len(k.Files) > maxSkillFiles {
			return nil, fmt.Errorf("it has more than %d files or %d MiB", maxSkillFiles, maxSkillBytes>>20)
		}
	}
	if !known[k.URI] {
		return nil, fmt.Errorf("its list of files does not contain %s", skillFile)
	}
	slices.SortFunc(k.Files, func(a, b SkillFile) int { return strings.Compare(a.URI, b.URI) })
	return k, nil
}

const skillFile = "SKILL.md"

// Contains reports whether a URI is in the directory of the skill.
func (k *Skill) Contains(uri string) bool {
	return strings.HasPrefix(uri, strings.TrimSuffix(k.URI, skillFile))
}

func (k *Skill) index(uri string) int {
	return slices.IndexFunc(k.Files, func(f SkillFile) bool { return f.URI == uri })
}

func (k *Skill) notListed(uri string) error {
	return fmt.Errorf("%q is not listed as a file of the skill %q", uri, k.Name)
}

// Content is the content of a file that was read. It is an error if the skill does not list the
// file, or if size or digest are different in the skill's entry.
func (k *Skill) Content(uri string, parts []Contents) ([]byte, error) {
	i := k.index(uri)
	switch {
	case i < 0:
		return nil, k.notListed(uri)
	case len(parts) != 1:
		return nil, fmt.Errorf("%q has %d parts, and a file of a skill has one", uri, len(parts))
	}
	content := []byte(jsontext.Text(parts[0].Text))
	if parts[0].Text == nil {
		var err error
		if content, err = base64.StdEncoding.DecodeString(string(parts[0].Blob)); err != nil {
			return nil, err
		}
	}
	sum, f := sha256.Sum256(content), k.Files[i]
	if int64(len(content)) != f.Size || "sha256:"+hex.EncodeToString(sum[:]) != f.Digest {
		return nil, fmt.Errorf("%q does not have the size and the digest in the server's entry of the skill: it has changed, or the server is faulty", uri)
	}
	return content, nil
}

// SkillText reads the instructions of a skill and checks them against its entry.
func (s *Session) SkillText(ctx context.Context, k *Skill) (string, error) {
	parts, err := s.ReadResource(ctx, k.URI)
	if err != nil {
		return "", err
	}
	content, err := k.Content(k.URI, parts)
	switch {
	case err != nil:
	case !utf8.Valid(content):
		err = errors.New("the instructions are not UTF-8")
	default:
		err = compareFrontmatter(string(content), k.Frontmatter)
	}
	if err != nil {
		return "", s.failed(fmt.Sprintf("skill %q is not used", k.URI), err)
	}
	return string(content), nil
}
