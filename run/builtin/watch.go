package builtin

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/gitdiff"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
)

// askingTime limits how long git is asked about all repositories together.
const askingTime = 2 * time.Second

// A Watch watches the protected files in all sandboxes of a run. One list serves all, because a
// program of one sandbox may write where another one reads.
type Watch struct {
	list      *confine.Watch
	sandboxes []*Sandbox

	mu      sync.Mutex
	changed []string
}

// NewWatch makes the list before the first program of a sandbox starts; nil if none may write
// anything.
func NewWatch(c *config.Config, sandboxes []*Sandbox) *Watch {
	ctx, cancel := context.WithTimeoutCause(context.Background(), askingTime, errors.New("git did not answer within "+askingTime.String()))
	defer cancel()
	var scopes []confine.Scope
	for _, s := range sandboxes {
		if len(s.scope.Roots) > 0 {
			scopes = append(scopes, s.scope)
		}
	}
	if scopes == nil {
		return nil
	}
	git := gitdiff.Program{Environ: c.Environ, Processes: c.Processes}
	below := func() bool { // secrets below a writable directory can be hidden
		return slices.ContainsFunc(sandboxes, func(s *Sandbox) bool { return s.holder().Below })
	}
	return &Watch{list: confine.NewWatch(scopes, below, gitdiff.AskGit(ctx, git)), sandboxes: sandboxes}
}

// protected are the protected files and directories, and those with secret names, that the programs
// of a sandbox could change, and what the list lacks.
func (w *Watch) protected(s *Sandbox) (protected, secret, gaps []string) {
	if w == nil || len(s.scope.Roots) == 0 {
		return nil, nil, nil
	}
	outside := func(path string) bool { return !s.scope.Holds(path) }
	return slices.DeleteFunc(w.list.Protected(), outside), slices.DeleteFunc(w.list.Secret(), outside), w.list.Gaps()
}

// Look finds protected files that programs in sandboxes changed since the last look, and emits a
// warning about them. last is for the end of the run, when no such program runs any more. If nobody
// is asked (unwatched), its error ends the run: nobody checks the changes, and the next program that
// runs such a file is in no sandbox.
func (w *Watch) Look(last, unwatched bool, emit func(event.Event) error) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := w.list.Changed(last)
	if changed == nil {
		return nil
	}
	w.changed = append(w.changed, changed...)
	var quoted []string
	for _, path := range changed {
		quoted = append(quoted, strconv.Quote(path))
	}
	message := fewOf(quoted) + " changed in the sandbox, and other programs run such files or follow their settings"
	ends := unwatched && slices.ContainsFunc(changed, w.mayEnd)
	if err := emit(&event.Warning{Code: "protected_changed", Message: message, Repeated: ends}); err != nil || !ends {
		return err
	}
	return &failure.Error{Status: failure.StatusUnapproved, Message: message, Hints: []string{
		"check the change before a program runs it; protected=warn in the sandbox's list only warns, and write=PATH allows changes",
	}}
}

// mayEnd reports whether a change of a path may end the run: protected=warn does not apply to every
// sandbox that can have changed it.
func (w *Watch) mayEnd(path string) bool {
	return slices.ContainsFunc(w.sandboxes, func(s *Sandbox) bool {
		return !s.said.OnlyWarn && s.scope.Holds(path)
	})
}

// Changed lists the protected files that changed.
func (w *Watch) Changed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Partial says in words what the sandbox does not restrict.
func (s *Sandbox) Partial() []string {
	if s == nil {
		return nil
	}
	return s.partial
}

// Root is the directory where commands start.
func (s *Sandbox) Root() string { return s.dir }

// Holds is Says plus what is hidden, and the protection of files that other programs run.
func (s *Sandbox) Holds() string {
	says, hidden := s.Says(), 0
	if says == "" {
		return ""
	}
	for _, path := range s.spec.Hide {
		if _, err := os.Lstat(path); err == nil {
			hidden++
		}
	}
	says += "; it reads none of " + strconv.Itoa(hidden) + " paths with secrets (--help=secrets)"
	if s.spec.Holder.Below {
		return says + "; files that other programs run, such as .git/hooks, are read-only, except links"
	}
	return says + "; files that other programs run, such as .git/hooks, can be changed, and are checked after each command, because bubblewrap is not used: " + s.spec.Holder.Without
}
