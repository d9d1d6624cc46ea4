//go:build unix

package mcpdouble

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"

	"github.com/tidwall/gjson"
)

// skills are the skills of a server (SEP-2640), read from a file: an array of objects with uri,
// frontmatter and files, an object of URIs and texts. Sizes and digests come from the files, unless
// the object has resources. Of what is wrong with a skill, served has texts that are sent instead
// of files, hidden says that the list has no entry, and answers is a further URI in skills/get.
type skills struct{ all []gjson.Result }

func (k *skills) read(path string) error {
	text, err := os.ReadFile(path)
	k.all = gjson.ParseBytes(text).Array()
	return err
}

// extension is the capability.
func (k *skills) extension() string {
	if k.all == nil {
		return ""
	}
	return `,"extensions":{"io.modelcontextprotocol/skills":{}}`
}

func (k *skills) entry(skill gjson.Result) string {
	var files []string
	for uri, text := range skill.Get("files").Map() {
		files = append(files, fmt.Sprintf(`{"uri":%s,"digest":"sha256:%x","size":%d}`, quote(uri), sha256.Sum256([]byte(text.String())), len(text.String())))
	}
	resources := "[" + strings.Join(files, ",") + "]"
	if given := skill.Get("resources"); given.Exists() {
		resources = given.Raw
	}
	return `{"uri":` + skill.Get("uri").Raw + `,"frontmatter":` + skill.Get("frontmatter").Raw + `,"resources":` + resources + `}`
}

// list is the answer to skills/list, without braces. Each page has one skill.
func (k *skills) list(m message) string {
	var at int
	fmt.Sscan(m.Get("params.cursor").String(), &at)
	skills, next := "", ""
	if at < len(k.all) && !k.all[at].Get("hidden").Bool() {
		skills = k.entry(k.all[at])
	}
	if at+1 < len(k.all) {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, at+1)
	}
	return `"skills":[` + skills + `]` + next
}

// get is the answer to skills/get, without braces; "" if there is no such skill.
func (k *skills) get(uri string) string {
	for _, skill := range k.all {
		if skill.Get("uri").String() == uri || skill.Get("answers").String() == uri {
			return `"skill":` + k.entry(skill)
		}
	}
	return ""
}

// contents is the content of a file; "" if there is no such file.
func (k *skills) contents(uri string) string {
	for _, skill := range k.all {
		for _, texts := range []string{"served", "files"} {
			if text, ok := skill.Get(texts).Map()[uri]; ok {
				return `{"uri":` + quote(uri) + `,"mimeType":"text/markdown","text":` + text.Raw + `}`
			}
		}
	}
	return ""
}
