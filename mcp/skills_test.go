package mcp

import (
	"fmt"
	"strings"
	"testing"
)

// TestFrontmatter: the forms of YAML that people write have the same fields as the object that
// PyYAML or js-yaml make of them.
func TestFrontmatter(t *testing.T) {
	for _, c := range []struct{ yaml, object string }{
		{"name: x\ndescription: a b", `{"name":"x","description":"a b"}`},
		{"name: 'it''s'\ndescription: \"a\\tb\\u00e9\" # why", `{"description":"a\tbé","name":"it's"}`},
		{"a: one\n  two\n\n  three # four\nb: \"one\n  two\"", `{"a":"one two\nthree","b":"one two"}`},
		{"a: >\n  one\n  two\n\n  three\n   deep\n  end\nb: |-\n\n  x \n    y\n\nc: |+\n  z\n\n", `{"a":"one two\nthree\n deep\nend\n","b":"\nx \n  y","c":"z\n\n\n"}`},
		{"a: http://example.com/x#y\nb: Use when: x", `{"a":"http://example.com/x#y","b":"Use when: x"}`},
		{"a:\n- x\n- y: 1\n  z: true\n-\n  - 2\nb:\n  - 'c: d'", `{"a":["x",{"y":1,"z":true},[2]],"b":["c: d"]}`},
		{"a: [x, 'y, z', [1, 2.50]]\nb: {c: d e, \"f\": [], g: {}}\nc: [\n  x, # not this\n]", ``},
		{"a: [x, 'y, z', [1, 2.50]]\nb: {c: d e, \"f\": [], g: {}}\nc: [\n  x,\n  y\n]", `{"a":["x","y, z",[1,2.5]],"b":{"c":"d e","f":[],"g":{}},"c":["x","y"]}`},
		{"a:\nb: ~\nc: null\nd: no\ne: 1.0\nf: 1.0\ng: 2026-01-02\nh: 007", `{"a":null,"b":null,"c":null,"d":false,"e":"1.0","f":1,"g":"2026-01-02T00:00:00.000Z","h":7}`},
		{"metadata:\n  # a comment\n  author: me\n\n  \"a b\": c\nlicense: MIT", `{"metadata":{"author":"me","a b":"c"},"license":"MIT"}`},
		{"a: ?x", `{"a":"?x"}`}, {"a: \"\\x41\"", ``}, {"a: |2\n   1", ``},
		{"a: x\r\nb: y\r", `{"a":"x","b":"y"}`},
		{"a: '1'", ``}, {"a: x\nb: y", ``}, {"a: &x y", ``}, {"a: *x", ``}, {"a: !!str 1", ``}, {"a: x\na: 1", ``}, {"a: 1\n b: 2", ``},
		{"a: [1", ``}, {"a: \"1", ``}, {"a: {1}", ``}, {"- 1", ``}, {"a: |2\n  1", ``}, {"? a\n: 1", ``}, {"a: 1\nx", ``}, {"", ``},
	} {
		object := c.object
		if object == "" {
			object = `{"a":1}`
		}
		err := compareFrontmatter("---\n"+c.yaml+"\n---\ntext", []byte(object))
		if (err == nil) != (c.object != "") {
			t.Errorf("%q as %s: %v", c.yaml, object, err)
		}
	}
	for _, file := range []string{"", "name: x\n", "---\nname: x\n", "text\n---\nname: x\n---\n", "---\nname: x\n" + strings.Repeat("#\n", maxFrontmatter) + "---\n"} {
		if compareFrontmatter(file, []byte(`{"name":"x"}`)) == nil {
			t.Errorf("%.20q has a frontmatter", file)
		}
	}
}

func FuzzFrontmatter(f *testing.F) {
	f.Add("name: x\na: [b, {c: 'd'}]\ne: >-\n  f\n- g")
	f.Fuzz(func(t *testing.T, yaml string) {
		_ = compareFrontmatter("---\n"+yaml+"\n---\n", []byte(`{"name":"x","a":["b",{"c":"d"}]}`))
	})
}

// TestSkillLimits: a skill of 512 files and 16 MiB is read, and a larger one is not.
func TestSkillLimits(t *testing.T) {
	entry := func(files, size int) []byte {
		var all []string
		for i := range files {
			name := fmt.Sprintf("f%d", i)
			if i == 0 {
				name = skillFile
			}
			all = append(all, fmt.Sprintf(`{"uri":"x://s/%s","digest":"","size":%d}`, name, size))
		}
		return []byte(`{"uri":"x://s/SKILL.md","frontmatter":{"name":"s"},"resources":[` + strings.Join(all, ",") + `]}`)
	}
	for _, c := range []struct {
		files, size int
		ok          bool
	}{{512, 32 << 10, true}, {513, 1, false}, {512, 32<<10 + 1, false}, {1, 16 << 20, true}, {0, 0, false}, {1, -1, false}} {
		if k, err := readSkill(entry(c.files, c.size)); (err == nil) != c.ok || c.ok && len(k.Files) != c.files {
			t.Errorf("%d files of %d bytes: %v", c.files, c.size, err)
		}
	}
}
