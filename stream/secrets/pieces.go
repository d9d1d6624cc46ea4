package secrets

import (
	"bytes"
)

// leak is how much of a secret's beginning may be passed on before it is known
// for one: holding back every letter that some spelling begins with would make
// most pieces wait for the next.
const leak = 3

// Pieces takes secrets out of a text that comes in pieces, also where one is
// in two of them. It is for one goroutine.
type Pieces struct {
	Replaced bool // something was taken out

	text   []byte // what may be the beginning of a secret
	passed int    // so much of it was passed on
	out    []byte
}

// Next returns what can be passed on after the next piece; it is valid until
// the next call.
func (s *Pieces) Next(f *Finder, piece []byte) []byte {
	if f == nil {
		return piece
	}
	if len(s.text) == 0 && len(piece) < f.shortest && f.begun(piece) == len(piece) {
		return piece // as most are
	}
	return s.next(f, piece, false)
}

// Rest returns what was held back, when nothing follows it.
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
		begun = f.begun(text)
	}
	s.out = s.out[:0]
	at := s.passed
	for _, p := range f.find(text) {
		if p.from >= begun {
			break // a longer one may be on its way
		}
		s.out = append(append(s.out, text[min(at, p.from):p.from]...), Mark...)
		s.Replaced = true
		at = p.to
		begun = max(begun, at)
	}
	end := len(text) // of what is passed on
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
