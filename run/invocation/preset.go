package invocation

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/stream/text/escape"
)

// A preset is an entry of presets. Its words are not checked before it is used, as only package
// flags knows the flags.
type preset struct {
	at     document.Value // its name in the file
	args   []document.Value
	words  []string
	prompt string
}

func (p *preset) keys() []document.Key {
	return document.Keys("args", p.parseArgs, "prompt", &p.prompt)
}

func (s *Settings) parsePreset(m document.Member) error {
	p := preset{at: m.At}
	err := m.ReadKeys(p.keys())
	if s.presets == nil {
		s.presets = map[string]preset{}
	}
	s.presets[m.Key] = p
	return err
}

func (p *preset) parseArgs(m document.Member) (err error) {
	if m.Kind() != '[' {
		return m.Errorf(`%s is not a list of words, such as ["--files", "."]`, m.Short())
	}
	p.args = m.Elements()
	p.words, err = m.Words()
	return err
}

func (s *Settings) PresetNames() []string { return slices.Sorted(maps.Keys(s.presets)) }

// Preset is the preset of that name.
func (s *Settings) Preset(name string) (config.Preset, error) {
	if p, ok := s.presets[name]; ok {
		return config.Preset{Name: name, Words: p.words, Prompt: p.prompt, From: p.at.Origin()}, nil
	}
	names := s.PresetNames()
	hints := []string{`"presets" in the config holds them: {"presets": {"review": {"args": ["-s", "You review diffs."], "prompt": "Review this diff."}}}`}
	if names != nil {
		hints = config.DidYouMean("--preset ", config.Nearest(name, names), "presets: "+config.JoinWords(names))
	}
	return config.Preset{}, failure.UsageError(hints, "--preset: no preset is named %q", name)
}

// WrongWord is err, which is about the word i of a preset, with the file and the line of this word.
func (s *Settings) WrongWord(preset string, i int, err error) error {
	word := s.presets[preset].args[i]
	column, shown := escape.Caret(word.Doc.Data(), word.From)
	e := failure.Within(word.Origin()+":"+strconv.Itoa(column), err)
	e.Message += shown
	if words := strings.Fields(word.Text()); len(words) > 1 && words[0][0] == '-' {
		e.Hints = []string{"each word is a string of its own: " + `"` + strings.Join(words, `", "`) + `"`}
	}
	return e
}
