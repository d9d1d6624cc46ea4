package invocation

import (
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/servers"
)

type shellSettings struct {
	config.Shell
	expander *servers.Expander // nil: nothing was expanded
}

// keys are the keys of shell. Without --shell no variable is expanded: a run without commands must
// not fail because a variable is not set.
func (s *shellSettings) keys(c *config.Config) []document.Key {
	text := document.Value.Str
	if c.Shell {
		s.expander = servers.NewExpander(c)
		text = s.expanded
	}
	return document.Keys(
		"env", document.Into(&s.Env, func(m document.Member) (map[string]string, error) { return m.Table(text) }),
		"path_prepend", document.Into(&s.PathPrepend, func(m document.Member) ([]string, error) { return m.WordsBy(text) }),
		"timeout_s", &s.Timeout,
		"sandbox", s.Sandbox.ReadKey,
	)
}

func (s *shellSettings) expanded(v document.Value) (string, error) {
	text, err := v.Str()
	if err != nil {
		return "", err
	}
	return s.expander.Expand(v, text)
}
