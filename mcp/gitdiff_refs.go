package mcp

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// takeRefs takes HEAD and the references that the revisions may name, and
// those that these name; a repository may have thousands of others.
func (b *borrowed) takeRefs(ctx context.Context, revs ...string) error {
	wanted := map[string]bool{"HEAD": true}
	for _, rev := range revs {
		for _, name := range refNames(rev) {
			wanted[name] = true
		}
	}
	for range 6 { // git follows five symbolic references
		for name := range wanted {
			if strings.HasSuffix(name, "HEAD") && !strings.Contains(name, "/") {
				if err := b.take(ctx, b.git, name, anything); err != nil {
					return err
				}
			}
		}
		if err := b.take(ctx, b.git, "refs", func(rel string, mode fs.FileMode) bool {
			return wanted[rel] || mode&fs.ModeType != 0 && (!mode.IsDir() || leadsTo(rel, wanted))
		}); err != nil {
			return err
		}
		before := len(wanted)
		for name := range wanted {
			if target := b.symbolic(name); target != "" {
				wanted[target] = true
			}
		}
		if len(wanted) == before {
			break
		}
	}
	return nil
}

// refNames are the references that a revision may name (gitrevisions(7)).
func refNames(rev string) (names []string) {
	if end := strings.IndexAny(rev, "^~"); end >= 0 {
		rev = rev[:end]
	}
	rev, _, _ = strings.Cut(rev, "@{")
	if !localName(rev) {
		return nil
	}
	for _, form := range [...]string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"} {
		names = append(names, form+rev)
	}
	return append(names, "refs/remotes/"+rev+"/HEAD")
}

func leadsTo(dir string, names map[string]bool) bool {
	for name := range names {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// symbolic is the name that a reference has instead of an object; "" for none.
func (b *borrowed) symbolic(name string) string {
	at := filepath.Join(b.gitDir(), filepath.FromSlash(name))
	if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	content, err := os.ReadFile(at)
	if err != nil {
		return ""
	}
	target, ok := strings.CutPrefix(string(content), "ref:")
	if target = strings.TrimSpace(target); !ok || !localName(target) {
		return ""
	}
	return target
}
