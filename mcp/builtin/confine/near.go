package confine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"toolpipe/stream/text/readable"
)

const (
	maxNear     = 5      // paths that are named for a missing file
	maxNearSeen = 50_000 // entries that are compared with its name
)

// Near adds to the error for a path where nothing exists the paths below the root that have its
// last name, or a similar one. It returns other errors unchanged.
func (a *Access) Near(ctx context.Context, err error) error {
	missing, ok := errors.AsType[*NotFoundError](err)
	if !ok || a.Only != "" {
		return err
	}
	var paths, names, same []string
	_ = a.walk(ctx, &Walked{Dir: a.Root, At: "."}, func(w *Walked) error {
		for _, e := range w.Entries {
			paths, names = append(paths, w.Rel(e.Name())), append(names, e.Name())
			if strings.EqualFold(e.Name(), path.Base(missing.Rel)) {
				same = append(same, paths[len(paths)-1])
			}
		}
		if len(names) > maxNearSeen {
			return errors.New("enough")
		}
		return nil
	}, new(Skipped))
	if near := readable.Nearest(path.Base(missing.Rel), names); same == nil && near != "" && !strings.Contains(missing.message, "did you mean") {
		same = []string{paths[slices.Index(names, near)]}
	}
	slices.SortStableFunc(same, func(x, y string) int { return cmp.Compare(tail(y, missing.Rel), tail(x, missing.Rel)) })
	if len(same) == 0 {
		return err
	}
	return fmt.Errorf("%w; near names: %q", err, same[:min(len(same), maxNear)])
}

// tail is the number of last names that two paths have in common.
func tail(x, y string) (n int) {
	for x != "." && y != "." && strings.EqualFold(path.Base(x), path.Base(y)) {
		x, y, n = path.Dir(x), path.Dir(y), n+1
	}
	return n
}
