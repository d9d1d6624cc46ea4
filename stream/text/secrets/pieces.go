package secrets

import (
	"bytes"
)

// leak is how many of a secret's first bytes may be passed on before the rest shows that it is
// a secret. Otherwise most pieces would have to wait for the next one: nearly every piece ends
// with a letter that begins some spelling.
const leak = 3

// Pieces hides the secrets in a text that comes in pieces, even a secret that is split over
// several pieces. It is for one goroutine.
type Pieces struct {
	Replaced bool // a secret was hidden

	text   []byte // may be the beginning of a secret
	passed int    // how many bytes of text were passed on
	out    []byte
}

// Next returns the text that can be passed on after the next piece. It is valid until the next
// call.
func (s *Pieces) Next(f *Finder, piece []byte) []byte {
	if f == nil {
		return piece
	}
	if len(s.text) == 0 && len(piece) < f.least && f.partial(piece) == len(piece) {
		return piece
	}
	return s.next(f, piece, false)
}

// Rest returns the text that was held back, at the end of the text.
func (s *Pieces) Rest(f *Finder) []byte {
	if len(s.text) == s.passed {
		s.text, s.passed = nil, 0
		return nil
	}
	return s.next(f, nil, true)
}

func (s *Pieces) next(f *Finder, piece []byte, last bool) []byte {
	text := piece
	if len(s.text) > 0 {
		text = append(s.text, piece...)
	}
	begun := len(text)
	if !last {
		begun = f.partial(text)
	}
	s.out = s.out[:0]
	at := s.passed
	for _, p := range f.find(text) {
		if p.from >= begun {
			break // it may be the beginning of a longer secret
		}
		s.out = append(append(s.out, text[min(at, p.from):p.from]...), Mark...)
		s.Replaced = true
		at = p.to
		begun = max(begun, at)
	}
	end := len(text) // of the text that is passed on
	if end-begun > leak {
		end = max(begun, at)
	}
	result := text[at:end]
	if len(s.out) > 0 {
		s.out = append(s.out, result...)
		result = s.out
	}
	s.text, s.passed = nil, 0
	if begun < len(text) {
		s.text, s.passed = bytes.Clone(text[begun:]), end-begun
	}
	return result
}
