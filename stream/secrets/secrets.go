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
	mu                     sync.Mutex
	content, message, wire words
}

// words are what one kind of text is searched for.
type words struct {
	all    []string
	finder atomic.Pointer[Finder]
}

func (w *words) add(value string) {
	if !slices.Contains(w.all, value) {
		w.all = append(w.all, value)
		w.finder.Store(newFinder(w.all))
	}
}

// reach says where a word is hidden.
type reach uint8

const (
	onWire reach = iota
	inMessages
	everywhere
)

func (s *Set) add(value string, r reach) {
	value = strings.TrimSpace(value)
	if len(value) < minMessage {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wire.add(value)
	if r >= inMessages {
		s.message.add(value)
	}
	if r == everywhere && len(value) >= minContent {
		s.content.add(value)
	}
}

// Content finds what must not show in what a model or a server says: nil for
// nothing.
func (s *Set) Content() *Finder {
	if s == nil {
		return nil
	}
	return s.content.finder.Load()
}

// Message finds what must not show in diagnostics.
func (s *Set) Message() *Finder {
	if s == nil {
		return nil
	}
	return s.message.finder.Load()
}

// Wire finds what must not show in the wire log.
func (s *Set) Wire() *Finder {
	if s == nil {
		return nil
	}
	return s.wire.finder.Load()
}

// Add makes value a secret, and the password in it if it is a URL.
func (s *Set) Add(value string) {
	s.add(value, everywhere)
	if u, err := url.Parse(value); err == nil && u.User != nil {
		password, _ := u.User.Password()
		s.add(password, everywhere)
		s.add(u.User.Username()+":"+password, everywhere) // as it is sent, in base64
	}
}

// AddHeader makes a secret of a header's value, and of what follows its scheme.
func (s *Set) AddHeader(name, value string) {
	_, token, _ := strings.Cut(value, " ") // Bearer, Basic, …
	for _, v := range []string{value, token} {
		if Named(name) {
			s.Add(v)
		} else {
			s.add(v, inMessages)
		}
	}
}

// AddNamed makes a secret of the value of a variable that a server gets, if
// its name says so. Any other stays out of the wire log.
func (s *Set) AddNamed(name, value string) {
	if u, err := url.Parse(value); Named(name) && !ordinary(value) || err == nil && u.User != nil {
		s.Add(value)
	} else {
		s.add(value, onWire)
	}
}

// ordinary tells whether value is nothing but words, as in AUTH_TYPE=password,
// a path or an address, which have to stay in what a model says.
func ordinary(value string) bool {
	return strings.HasPrefix(value, "/") || strings.Contains(value, "://") ||
		!strings.ContainsFunc(value, func(r rune) bool { return (r < 'a' || r > 'z') && !strings.ContainsRune("-_. ", r) })
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
	s.add(address, everywhere)
	info := rest[:at]
	for _, word := range []string{info, unescaped(info)} {
		user, password, _ := strings.Cut(word, ":")
		s.add(word, everywhere)
		s.add(user, inMessages)
		s.add(password, everywhere)
		s.add(base64.StdEncoding.EncodeToString([]byte(word)), everywhere) // as it is sent
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
