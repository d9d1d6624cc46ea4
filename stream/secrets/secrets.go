// Package secrets takes secrets out of what is shown, logged or recorded. What
// is sent is never changed.
//
// A secret is found as it is, in base64 at any offset, in hex, reversed, and
// with any of its bytes percent-encoded or escaped as in JSON. What else can
// be made of one, such as a cipher text or a compressed file, is not.
package secrets

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mark stands where a secret was.
const Mark = "[secret]"

// A word is hidden from this length on: a shorter one is a placeholder such
// as "none" or "ollama", and would be taken out of ordinary text.
const (
	minContent = 8 // in what a model or a server says
	minMessage = 4 // in diagnostics and the wire log
)

// Set is the secrets of one run. A nil Set has none. Its methods may be called
// concurrently.
type Set struct {
	mu      sync.Mutex
	words   []string
	minor   []string
	content atomic.Pointer[Finder]
	message atomic.Pointer[Finder]
}

// Add makes value a secret, and the password in it if it is a URL.
func (s *Set) Add(value string) {
	s.add(value, true)
	if u, err := url.Parse(value); err == nil && u.User != nil {
		password, _ := u.User.Password()
		s.add(password, true)
		s.add(u.User.Username()+":"+password, true) // as it is sent, in base64
	}
}

// AddHeader makes a secret of a header's value, and of what follows its scheme.
func (s *Set) AddHeader(name, value string) {
	s.AddNamed(name, value)
	if _, token, ok := strings.Cut(value, " "); ok { // Bearer, Basic, …
		s.AddNamed(name, token)
	}
}

// AddNamed makes a secret of what goes under that name to a server: a secret
// everywhere if the name says so, else one only in diagnostics, because it may
// as well be an ordinary word.
func (s *Set) AddNamed(name, value string) {
	u, err := url.Parse(value)
	if Named(name) || err == nil && u.User != nil {
		s.Add(value)
	} else {
		s.add(value, false)
	}
}

// AddURL makes secrets of the parameters of a URL that are named like one.
func (s *Set) AddURL(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	for name, values := range u.Query() {
		if Named(name) {
			for _, v := range values {
				s.Add(v)
			}
		}
	}
}

// AddProxy makes secrets of the user name and the password in a proxy's URL,
// which need not be a good one.
func (s *Set) AddProxy(address string) {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return
	}
	s.add(address, true)
	info := rest[:at]
	for _, word := range []string{info, unescaped(info)} {
		user, password, _ := strings.Cut(word, ":")
		s.add(word, true)
		s.add(user, false)
		s.add(password, true)
		s.add(base64.StdEncoding.EncodeToString([]byte(word)), true) // as it is sent
	}
}

func unescaped(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// Named tells whether a variable or header of that name usually holds a secret.
func Named(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range [...]string{"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTHORIZ", "COOKIE"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.Contains(strings.ReplaceAll(name, "AUTHOR", ""), "AUTH")
}

func (s *Set) add(value string, everywhere bool) {
	value = strings.TrimSpace(value)
	if len(value) < minMessage {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if everywhere && len(value) >= minContent && !slices.Contains(s.words, value) {
		s.words = append(s.words, value)
		s.content.Store(newFinder(s.words))
	}
	if !slices.Contains(s.minor, value) {
		s.minor = append(s.minor, value)
		s.message.Store(newFinder(s.minor))
	}
}

// Content finds what must not show in what a model or a server says: nil for
// nothing.
func (s *Set) Content() *Finder {
	if s == nil {
		return nil
	}
	return s.content.Load()
}

// Message finds what must not show in diagnostics.
func (s *Set) Message() *Finder {
	if s == nil {
		return nil
	}
	return s.message.Load()
}
