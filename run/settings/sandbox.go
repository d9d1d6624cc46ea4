package settings

import (
	"path/filepath"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
)

// A Sandbox is what --sandbox or the key sandbox says. The zero value has none.
type Sandbox struct {
	On                bool
	Write, Read, Hide []string // beside what it has anyway; absolute
	Network           bool
}

// sandboxForms are the forms of the flag, for an error.
const sandboxForms = "on, off, or a list of write=DIR, read=DIR, hide=PATH, net=none and net=all"

// ParseSandbox reads the value of the flag. Relative paths start from this directory.
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
			return s, failure.Usage("--sandbox: %q is none of: %s", word, sandboxForms)
		}
		path, err := filepath.Abs(argument)
		if err != nil {
			return s, failure.Usage("--sandbox: %s", failure.Cause(err))
		}
		if err := s.add(key, argument, path); err != nil {
			return s, failure.Within("--sandbox", err)
		}
	}
	return s, nil
}

// add adds a word of a list.
func (s *Sandbox) add(key, argument, path string) error {
	switch {
	case key == "write":
		s.Write = append(s.Write, path)
	case key == "read":
		s.Read = append(s.Read, path)
	case key == "hide":
		s.Hide = append(s.Hide, path)
	case key == "net" && argument == "none":
		s.Network = false
	case key == "net" && argument == "all":
		s.Network = true
	case key == "net" && argument == "loopback":
		return failure.UsageError([]string{"net=none and net=all do not need one"}, "net=loopback needs a network of its own, which Landlock cannot give")
	default:
		return failure.Usage("%q is none of: %s", key+"="+argument, sandboxForms)
	}
	return nil
}

// readSandbox reads the key sandbox of the section shell: true, false, a word or list as
// the flag has it, or an object with the keys of a list.
func (s *shellSettings) readSandbox(m document.Member) (err error) {
	switch m.Kind() {
	case 't', 'f':
		s.Sandbox.On = m.Kind() == 't'
	case '"':
		s.Sandbox, err = ParseSandbox(m.Text())
	case '{':
		s.Sandbox.On = true
		paths := func(key string) document.Key {
			return document.Keys(key, func(m document.Member) error {
				words, err := m.Words()
				for _, word := range words {
					path, err := filepath.Abs(word)
					if err != nil {
						return m.Errorf("%s", failure.Cause(err))
					}
					if err := s.Sandbox.add(key, word, path); err != nil {
						return m.At.Within(err)
					}
				}
				return err
			})[0]
		}
		net := document.Keys("net", func(m document.Member) error {
			word, err := m.OneOf("none", "loopback", "all")
			if err != nil {
				return err
			}
			return s.Sandbox.add("net", word, "")
		})[0]
		return m.ReadKeys([]document.Key{paths("write"), paths("read"), paths("hide"), net})
	default:
		return m.Errorf("sandbox is %s, or an object with the same keys", sandboxForms)
	}
	if err != nil {
		return m.At.Within(err)
	}
	return nil
}

// SandboxOf is the sandbox of commands: that of the flag, else that of the config.
func SandboxOf(c *config.Config, s *Settings) (Sandbox, error) {
	if c.Sandbox == "" {
		return s.Shell.Sandbox, nil
	}
	return ParseSandbox(c.Sandbox)
}
