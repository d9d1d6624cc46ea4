package servers

import (
	"strings"
	"testing"

	"toolpipe/mcp"
)

// Names that the files of other hosts have are made legal, each in one way.
func TestGiveNames(t *testing.T) {
	spelled := []string{"a b", "io.github.upstash/context7", "-", "___", "fs__x", "files", "ä", strings.Repeat("long-", 8), strings.Repeat("long-", 7) + "x"}
	give := func(order []string) map[string]string {
		all := []Server{{Spec: mcp.Spec{Name: "a-b"}}}
		for _, s := range order {
			all = append(all, Server{Spec: mcp.Spec{Name: s}, Spelling: s, origin: s})
		}
		giveNames(all)
		names, seen := map[string]string{}, map[string]bool{}
		for _, s := range all[1:] {
			if err := CheckName(s.Name, ""); err != nil || seen[s.Name] || s.Name == "a-b" || s.Name == "files" {
				t.Errorf("%q is called %q, %v", s.origin, s.Name, err)
			}
			seen[s.Name] = true
			names[s.origin] = s.Name
			if s.Spelling != "" && (s.Spelling == "files" || s.Spelling == "fs__x") {
				t.Errorf("rules for another server can name %q", s.origin)
			}
		}
		return names
	}
	names := give(spelled)
	if names["io.github.upstash/context7"] != "io-github-upstash-context7" {
		t.Errorf("names: %q", names)
	}
	for _, s := range []string{"a b", "files", "ä"} {
		if got := give([]string{s})[s]; got != names[s] {
			t.Errorf("alone %q is called %q, among others %q", s, got, names[s])
		}
	}
}

func TestMayOffer(t *testing.T) {
	s := &Server{Spec: mcp.Spec{Name: "fs"}, Spelling: "f s"}
	for globs, want := range map[string]bool{"fs__*": true, "fs__read": true, "*": true, "gh__*,f?__x": true, "f*": true, "f s__x": true, "fs": false, "fs_": false, "gh__*": false, "fsx__*": false} {
		if got := s.MayOffer([]string{globs}); got != want {
			t.Errorf("%s: %v", globs, got)
		}
	}
}

func TestRelativePaths(t *testing.T) {
	for w, want := range map[string]string{
		".": "$D", "..": "$D/..", "./a/b": "$D/a/b", "../x": "$D/../x", "--root=./a": "--root=$D/a", "dir=.": "dir=$D", "./": "$D",
		"-x": "", "a/b": "", "...": "", ".env": "", "a.": "", "https://x/./y": "", "a=b=./c": "", "": "",
	} {
		if got := isRelativePath(w); got != (want != "") {
			t.Errorf("%q is a relative path: %v", w, got)
		} else if got && fromHere(w, "$D") != want {
			t.Errorf("%q: %q, want %q", w, fromHere(w, "$D"), want)
		}
	}
}
