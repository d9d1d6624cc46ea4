package mcp

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// view is a tree as one call sees it.
type view struct {
	*tree
	bounds Bounds
	own    ownFiles        // toolpipe's, and what the bounds deny
	left   map[string]bool // denied places that were left out of what is shown
}

func (t *tree) view(bounds Bounds) *view {
	own := findOwn(t.spec.Protected)
	for _, path := range bounds.Denied { // as it was decided: not looked up again
		own.places = append(own.places, path)
		if info, err := os.Lstat(path); err == nil {
			own.infos = append(own.infos, info)
		}
	}
	return &view{tree: t, bounds: bounds, own: own}
}

// absolute is where a path from the root is.
func (v *view) absolute(rel string) string { return filepath.Join(v.real, filepath.FromSlash(rel)) }

// conceals says whether a name in a directory is left out of what is shown
// because it is toolpipe's own, or denied, which the answer then tells.
func (v *view) conceals(at, name string) bool {
	if len(v.own.places) == 0 {
		return false
	}
	place := v.own.at(filepath.Join(v.real, filepath.FromSlash(at), filepath.FromSlash(name)))
	if slices.Contains(v.bounds.Denied, place) {
		if v.left == nil {
			v.left = map[string]bool{}
		}
		v.left[place] = true
	}
	return place != ""
}

// leftText says which denied paths were left out.
func (v *view) leftText() (text string) {
	for _, place := range slices.Sorted(maps.Keys(v.left)) {
		if rel, err := filepath.Rel(v.real, place); err == nil {
			place = rel
		}
		text += fmt.Sprintf("[toolpipe] %q is left out: a rule denies it\n", filepath.ToSlash(place))
	}
	return text
}

// approved passes on a place that is the one that was approved.
func (v *view) approved(p *place, err error) (*place, error) {
	if err == nil {
		if err = v.bounds.check(p.asked, v.absolute(p.rel)); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, err
}

var errDenied = errors.New("a rule denies it")

// checkOwn refuses toolpipe's own files, and what the bounds deny.
func (v *view) checkOwn(p *place) error {
	place := v.own.at(v.absolute(p.rel))
	switch {
	case slices.Contains(v.bounds.Denied, place):
		return fmt.Errorf("%q: %w", p.asked, errDenied)
	case place != "", p.info != nil && v.own.has(p.info):
		return v.refusal(p.asked, "it belongs to toolpipe")
	}
	return nil
}

func (v *view) refusal(path, why string) error {
	return fmt.Errorf("%q is protected: %s; file tools neither read nor write it; the allowed root is %q", path, why, v.path)
}

// hides says whether a name in a directory is left out of what is shown.
func (v *view) hides(at, name string) bool {
	return secret(name) != "" || v.conceals(at, name)
}
