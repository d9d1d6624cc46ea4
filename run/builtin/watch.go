package builtin

import (
	"strconv"

	"toolpipe/run/event"
	"toolpipe/run/failure"
)

// Look finds protected files that a program in the sandbox, if there is one, changed since the last
// call, and emits a warning about them. If nobody is asked (unwatched), its error ends the run:
// nobody checks the changes, and the next program that runs such a file is in no sandbox.
func (s *Sandbox) Look(unwatched bool, emit func(event.Event) error) error {
	if s == nil || s.watch == nil {
		return nil
	}
	s.looking.Lock()
	defer s.looking.Unlock()
	changed := s.watch.Changed()
	if changed == nil {
		return nil
	}
	s.changed = append(s.changed, changed...)
	var quoted []string
	for _, path := range changed {
		quoted = append(quoted, strconv.Quote(path))
	}
	message := fewOf(quoted) + " changed in the sandbox, and other programs run such files or follow their settings"
	ends := unwatched && !s.said.OnlyWarn
	if err := emit(&event.Warning{Code: "protected_changed", Message: message, Repeated: ends}); err != nil || !ends {
		return err
	}
	return &failure.Error{Status: failure.StatusUnapproved, Message: message, Hints: []string{
		"check the change before a program runs it; protected=warn in the sandbox's list only warns, and write=PATH allows changes",
	}}
}

// Changed lists the protected files that changed in the sandbox, if there is one.
func (s *Sandbox) Changed() []string {
	if s == nil {
		return nil
	}
	s.looking.Lock()
	defer s.looking.Unlock()
	return s.changed
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

// Holds is Says plus the protection of files that other programs run.
func (s *Sandbox) Holds() string {
	switch {
	case s == nil:
		return ""
	case s.spec.Holder.Below:
		return s.Says() + "; files that other programs run, such as .git/hooks, are read-only, except links"
	}
	return s.Says() + "; files that other programs run, such as .git/hooks, can be changed, and are checked after each command, because bubblewrap is not used: " + s.spec.Holder.Without
}
