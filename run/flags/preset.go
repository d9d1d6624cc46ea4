package flags

import (
	"cmp"
	"slices"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
)

// A Given is a flag among the words of a command line, with its value.
type Given struct {
	Flag  *Flag
	Value string
}

// A Reader finds the flags of a table among words, in their order, and the words that are neither
// a flag nor the value of one.
type Reader = func(t *Table, words []string) (given []Given, others []string, err error)

// Take sets the flags that are given, in their order. A preset is its words, where it is given.
func (t *Table) Take(given []Given, read Reader) error {
	for _, g := range given {
		if err := g.Flag.Set(g.Value); err != nil {
			return failure.UsageError([]string{seeAll}, "%v", err)
		}
		if g.Flag.Setting == &t.settings.Preset.Name && !slices.ContainsFunc(given, asksAbout) {
			if err := t.takePreset(g.Flag, given, read); err != nil {
				return err
			}
		}
	}
	return nil
}

// asksAbout reports whether a flag only asks about the program. Then a preset has no effect.
func asksAbout(g Given) bool {
	return slices.Contains([]string{"help", "version", "completion"}, g.Flag.Name)
}

func (t *Table) takePreset(f *Flag, given []Given, read Reader) error {
	c := t.settings
	if err := f.check(); err != nil {
		return err
	}
	if c.Preset.From != "" {
		return f.refuse("only one preset can be given")
	}
	for _, g := range given { // also the config that is named after the preset
		if g.Flag.Setting == &c.ConfigFile || g.Flag.Setting == &c.NoConfig {
			g.Flag.Set(g.Value)
		}
	}
	settings, err := invocation.LoadSettings(c, func(code, server, message string) {}) // the run warns when it reads it
	if err != nil {
		return err
	}
	p, err := settings.Preset(f.last)
	if err != nil {
		return err
	}
	for i := 0; i < len(p.Words); {
		n, err := checkFirst(p.Words[i:], read)
		if err != nil {
			return settings.WrongWord(p.Name, i+n-1, err)
		}
		i += n
	}
	words, _, err := read(t, p.Words)
	if err != nil {
		return err
	}
	c.Preset = p
	return t.Take(words, read)
}

// checkFirst checks the first flag of a preset by itself. n is the number of its words; an error is
// about the last of them.
func checkFirst(words []string, read Reader) (n int, err error) {
	c := new(config.Config)
	t := New(c)
	n = 1
	given, _, err := read(t, words[:1])
	if err != nil && len(words) > 1 { // it may need a value
		if more, others, failed := read(t, words[:2]); failed == nil && len(others) == 0 {
			n, given, err = 2, more, nil
		}
	}
	if err != nil {
		return 1, err
	}
	if len(given) == 0 {
		return 1, failure.UsageError([]string{`"prompt" has the words for the model`}, "%q is neither a flag nor the value of one", words[0])
	}
	for _, g := range given {
		if _, acts := g.Flag.Setting.(config.Mode); acts || asksAbout(g) || slices.Contains([]string{"config", "no-config", "preset"}, g.Flag.Name) {
			return 1, failure.UsageError([]string{"give it beside --preset"}, "--%s: a preset cannot have this flag", g.Flag.Name)
		}
		if err := cmp.Or(g.Flag.Set(g.Value), g.Flag.check()); err != nil {
			return n, err
		}
	}
	return n, c.ValidateValues()
}
