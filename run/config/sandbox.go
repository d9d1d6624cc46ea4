package config

import (
	"path/filepath"
	"strings"
	"time"

	"toolpipe/run/document"
	"toolpipe/run/failure"
)

// A Sandbox is the value of --sandbox, --mcp-sandbox or a config key sandbox. The zero value is no
// sandbox.
type Sandbox struct {
	On                bool
	Write, Show, Hide []string // in addition to the defaults; absolute, or from ~/
	Cache             string   // a directory for caches that later runs use, likewise; "": none
	Network           string   // none, loopback, all; "": not said
	OnlyWarn          bool     // changes to protected files do not end the run
}

// sandboxForms are the values of the flags, for an error.
const sandboxForms = "on, off, or a list of write=DIR, cache=DIR, read=DIR, hide=PATH, net=none|loopback|all and protected=warn"

// ParseSandbox reads the value of a flag. Relative paths start from the working directory.
func ParseSandbox(value string) (s Sandbox, err error) {
	if value == "off" {
		return s, nil
	}
	s.On = true
	if value == "on" {
		return s, nil
	}
	for word := range strings.SplitSeq(value, ",") {
		key, argument, found := strings.Cut(strings.TrimSpace(word), "=")
		if !found || argument == "" {
			return s, failure.Usage("%q is not one of: %s", word, sandboxForms)
		}
		if err := s.add(key, argument); err != nil {
			return s, err
		}
	}
	return s, nil
}

// add adds one KEY=ARGUMENT of a list.
func (s *Sandbox) add(key, argument string) error {
	switch {
	case key == "net" && (argument == "none" || argument == "loopback" || argument == "all"):
		s.Network = argument
		return nil
	case key == "protected" && argument == "warn":
		s.OnlyWarn = true
		return nil
	}
	path := argument
	if !strings.HasPrefix(path, "~/") {
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return failure.Usage("%s", failure.Cause(err))
		}
	}
	switch key {
	case "write":
		s.Write = append(s.Write, path)
	case "cache":
		if s.Cache != "" {
			return failure.Usage("cache=%s: there is already cache=%s", argument, s.Cache)
		}
		s.Cache = path
	case "read":
		s.Show = append(s.Show, path)
	case "hide":
		s.Hide = append(s.Hide, path)
	default:
		return failure.Usage("%q is not one of: %s", key+"="+argument, sandboxForms)
	}
	return nil
}

// ReadKey reads a key sandbox: true, false, a word or list as in a flag, or an object with the keys
// of a list.
func (s *Sandbox) ReadKey(m document.Member) (err error) {
	switch m.Kind() {
	case 't', 'f':
		s.On = m.Kind() == 't'
	case '"':
		*s, err = ParseSandbox(m.Text())
	case '{':
		s.On = true
		return m.ReadKeys(document.Keys("write read hide", s.readPaths, "cache", s.readCache, "net", func(m document.Member) (err error) {
			s.Network, err = m.OneOf("none", "loopback", "all")
			return err
		}, "protected", func(m document.Member) error {
			_, err := m.OneOf("warn")
			s.OnlyWarn = true
			return err
		}))
	default:
		return m.Errorf("sandbox is %s, or an object with the same keys", sandboxForms)
	}
	if err != nil {
		return m.At.Within(err)
	}
	return nil
}

func (s *Sandbox) readPaths(m document.Member) error {
	words, err := m.Words()
	for _, word := range words {
		if err := s.add(m.Key, word); err != nil {
			return m.At.Within(err)
		}
	}
	return err
}

func (s *Sandbox) readCache(m document.Member) error {
	path, err := m.Str()
	if err == nil {
		err = s.add(m.Key, path)
	}
	if err != nil {
		return m.At.Within(err)
	}
	return nil
}

// Shell says how commands start: the section shell of the config file.
type Shell struct {
	Env         map[string]string // their variables are expanded if the run has --shell
	PathPrepend []string          // likewise
	Timeout     time.Duration
	Sandbox     Sandbox
}
