package confine

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// View is a tree as one call sees it.
type View struct {
	*Tree
	Bounds Bounds
	Own    ownFiles        // toolpipe's, and what the bounds deny
	Left   map[string]bool // denied places that were left out of what is shown
}

func (t *Tree) View(bounds Bounds) *View {
	own := findOwn(t.spec.Protected)
	for _, path := range bounds.Denied { // as it was decided: not looked up again
		own.places = append(own.places, path)
		if info, err := os.Lstat(path); err == nil {
			own.Infos = append(own.Infos, info)
		}
	}
	return &View{Tree: t, Bounds: bounds, Own: own}
}

// Absolute is where a path from the root is.
func (v *View) Absolute(rel string) string { return filepath.Join(v.Real, filepath.FromSlash(rel)) }

// Conceals says whether a name in a directory is left out of what is shown
// because it is toolpipe's own, or denied, which the answer then tells.
func (v *View) Conceals(at, name string) bool {
	if len(v.Own.places) == 0 {
		return false
	}
	place := v.Own.at(filepath.Join(v.Real, filepath.FromSlash(at), filepath.FromSlash(name)))
	if slices.Contains(v.Bounds.Denied, place) {
		if v.Left == nil {
			v.Left = map[string]bool{}
		}
		v.Left[place] = true
	}
	return place != ""
}

// LeftText says which denied paths were left out.
func (v *View) LeftText() (text string) {
	for _, place := range slices.Sorted(maps.Keys(v.Left)) {
		if rel, err := filepath.Rel(v.Real, place); err == nil {
			place = rel
		}
		text += fmt.Sprintf("[toolpipe] %q is left out: a rule denies it\n", filepath.ToSlash(place))
	}
	return text
}

// Approved passes on a place that is the one that was approved.
func (v *View) Approved(p *Place, err error) (*Place, error) {
	if err == nil {
		if err = v.Bounds.Check(p.Asked, v.Absolute(p.Rel)); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, err
}

var ErrDenied = errors.New("a rule denies it")

// checkOwn refuses toolpipe's own files, and what the bounds deny.
func (v *View) checkOwn(p *Place) error {
	place := v.Own.at(v.Absolute(p.Rel))
	switch {
	case slices.Contains(v.Bounds.Denied, place):
		return fmt.Errorf("%q: %w", p.Asked, ErrDenied)
	case place != "", p.Info != nil && v.Own.Has(p.Info):
		return v.Refusal(p.Asked, "it belongs to toolpipe")
	}
	return nil
}

func (v *View) Refusal(path, why string) error {
	return fmt.Errorf("%q is protected: %s; file tools neither read nor write it; the allowed root is %q", path, why, v.Path)
}

// Hides says whether a name in a directory is left out of what is shown.
func (v *View) Hides(at, name string) bool {
	return Secret(name) != "" || v.Conceals(at, name)
}
