// Package secrets hides secrets in text that is shown, logged or recorded. It never changes
// text that is sent. Packages run, mcp and stream use it.
//
// It finds a secret as it is, in base64 at any offset, in hex, reversed, and with any of its
// bytes percent-encoded or escaped as in JSON, and a long part of a token. It does not find
// other forms, such as a compressed file.
package secrets

import (
	"cmp"
	"encoding/base64"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Mark replaces a secret.
const Mark = "[secret]"

// A secret is hidden if it has at least this length. A shorter value is a placeholder such as
// "none" or "ollama", and ordinary text would lose a word; see isOrdinary for others.
const (
	minContent = 8 // in text from a model or a server
	minMessage = 4 // in diagnostics and the wire log
)

// Set is the secrets of one run. A nil Set has none. Its methods may be called concurrently.
type Set struct {
	mu    sync.Mutex
	texts [3]struct { // by scope
		words  []string
		finder atomic.Pointer[Finder]
	}
	sources map[string]string // in words, by the values
}

// scope says in which texts a value is hidden: each scope contains the scopes before it.
type scope int

const (
	inWire scope = iota
	inMessages
	everywhere
)

func (s *Set) add(source, value string, widest scope) {
	value = strings.TrimSpace(value)
	if widest == everywhere && (len(value) < minContent || isOrdinary(value)) {
		widest = inMessages
	}
	if len(value) < minMessage {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sources == nil {
		s.sources = map[string]string{}
	}
	s.sources[value] = cmp.Or(s.sources[value], source)
	for i := range widest + 1 {
		if t := &s.texts[i]; !slices.Contains(t.words, value) {
			t.words = append(t.words, value)
			t.finder.Store(newFinder(t.words))
		}
	}
}

func (s *Set) finder(texts scope) *Finder {
	if s == nil {
		return nil
	}
	return s.texts[texts].finder.Load()
}

// Content finds the values that must not appear in text from a model or a server; nil finds
// nothing.
func (s *Set) Content() *Finder { return s.finder(everywhere) }

// Message finds the values that must not appear in diagnostics.
func (s *Set) Message() *Finder { return s.finder(inMessages) }

// Wire finds the values that must not appear in the wire log.
func (s *Set) Wire() *Finder { return s.finder(inWire) }

// Add makes value a secret, and the password in it if it is a URL.
func (s *Set) Add(value string) { s.AddFrom("", value) }

// AddFrom is Add for a secret with a known source, such as the variable that holds it.
func (s *Set) AddFrom(source, value string) {
	s.add(source, value, everywhere)
	if u, err := url.Parse(value); err == nil && u.User != nil {
		password, _ := u.User.Password()
		s.add(source, password, everywhere)
		s.add(source, u.User.Username()+":"+password, everywhere) // as it is sent, in base64
	}
}

// Held reports whether a text, which may be JSON, holds at least half of a secret that Content
// finds, and the source of the secret.
func (s *Set) Held(text []byte) (source string, held bool) {
	if f := s.Content(); f == nil || len(f.find(text)) == 0 {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, word := range s.texts[everywhere].words {
		for _, found := range newFinder([]string{word}).find(text) {
			if 2*(found.to-found.from) >= len(word) {
				return cmp.Or(s.sources[word], "a token of this run"), true
			}
		}
	}
	return "", false
}

// AddHeader makes the value of a header a secret, and also the part after its scheme.
func (s *Set) AddHeader(name, value string) {
	_, token, _ := strings.Cut(value, " ") // Bearer, Basic, …
	for _, v := range []string{value, token} {
		if Named(name) {
			s.AddFrom("the header "+name, v)
		} else {
			s.add("the header "+name, v, inMessages)
		}
	}
}

// AddNamed makes the value of an environment variable a secret if the variable's name suggests
// one. Any other value is hidden only in the wire log.
func (s *Set) AddNamed(name, value string) {
	if u, err := url.Parse(value); Named(name) && !isPlace(value) && !isWords(value) || err == nil && u.User != nil {
		s.AddFrom(name, value)
	} else {
		s.add(name, value, inWire)
	}
}

// isOrdinary reports whether a value may appear in any text without meaning the secret:
// lm-studio, sk-no-key-required, Not-Needed, ********, localhost:8080, 10.0.0.1. Such values
// must stay in text from a model.
func isOrdinary(value string) bool {
	if !strings.ContainsAny(value, "0123456789") && (value == strings.ToLower(value) || value == strings.ToUpper(value)) {
		return true
	}
	host, port, found := strings.Cut(value, ":")
	if _, err := strconv.ParseUint(port, 10, 16); found && err != nil {
		return net.ParseIP(strings.Trim(value, "[]")) != nil
	}
	_, top, dotted := strings.Cut(host, ".")
	top = top[strings.LastIndexByte(top, '.')+1:]
	isName := dotted && len(top) <= 8 && isWords(top) && host == strings.ToLower(host)
	return isName || isWords(host) || net.ParseIP(host) != nil
}

// isPlace reports whether value is a path or an address.
func isPlace(value string) bool {
	return strings.HasPrefix(value, "/") || strings.Contains(value, "://")
}

// isWords reports whether value consists of words: letters, in lower case, in upper case or
// with a capital first, separated by a hyphen, an underscore, a dot or a space.
func isWords(value string) bool {
	for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune("-_. ", r) }) {
		if strings.ContainsFunc(word, func(r rune) bool { return (r|0x20 < 'a' || r|0x20 > 'z') }) {
			return false
		}
		if rest := word[1:]; rest != strings.ToLower(rest) && word != strings.ToUpper(word) {
			return false
		}
	}
	return true
}

// AddURL makes secrets of the parameters of a URL with names that suggest a secret.
func (s *Set) AddURL(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	for name, values := range u.Query() {
		if Named(name) {
			for _, v := range values {
				s.AddFrom("the parameter "+name+" of a URL", v)
			}
		}
	}
}

// AddProxy makes secrets of the user name and the password in a proxy's URL, even in an invalid
// one.
func (s *Set) AddProxy(address string) {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return
	}
	const source = "the address of a proxy"
	s.add(source, address, everywhere)
	credentials := []string{rest[:at]}
	if plain, err := url.PathUnescape(rest[:at]); err == nil {
		credentials = append(credentials, plain)
	}
	for _, c := range credentials {
		user, password, _ := strings.Cut(c, ":")
		s.add(source, c, everywhere)
		s.add(source, user, inMessages)
		s.add(source, password, everywhere)
		s.add(source, base64.StdEncoding.EncodeToString([]byte(c)), everywhere) // as it is sent
	}
}

// Named reports whether a variable, header or parameter of this name usually holds a secret.
func Named(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range [...]string{"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTHORIZ", "COOKIE"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.Contains(strings.ReplaceAll(name, "AUTHOR", ""), "AUTH")
}
