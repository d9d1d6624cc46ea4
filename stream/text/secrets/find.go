package secrets

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// Finder finds a fixed set of secrets in text. A nil Finder finds none.
type Finder struct {
	spellings []string
	byFirst   [256][]string // spellings by their first byte
	shortest  int           // length of the shortest spelling
	least     int           // length of the shortest text that can hold a match
	longest   int
	shift     [4096]uint8 // by a pair of bytes, how many bytes search skips; see index
	fragments fragments
}

type span struct{ from, to int }

// Hide returns text with Mark in place of each secret, or text itself if there is none.
func (f *Finder) Hide(text []byte) []byte {
	if f == nil {
		return text
	}
	var whole Pieces
	return whole.next(f, text, true)
}

// HideString is Hide for a string.
func (f *Finder) HideString(text string) string { return string(f.Hide([]byte(text))) }

// HideJSON is Hide for a valid JSON text, and keeps it valid: it searches the unquoted text of
// each string, including names. A number that is a secret becomes a string.
func (f *Finder) HideJSON(text []byte) []byte {
	if f == nil || len(text) == 0 || len(f.find(text)) == 0 {
		return text
	}
	var hidden []byte
	for i := 0; i < len(text); {
		c := text[i]
		if c != '"' && c != '-' && (c < '0' || c > '9') {
			hidden = append(hidden, c)
			i++
			continue
		}
		end := jsontext.ValueEnd(text, i)
		value := text[i:end]
		meaning := value
		if c == '"' {
			meaning = []byte(jsontext.Unquote(value))
		}
		if len(f.find(meaning)) > 0 {
			value = jsontext.AppendQuoted(nil, f.Hide(meaning))
		}
		hidden = append(hidden, value...)
		i = end
	}
	return hidden
}

func newFinder(words []string) *Finder {
	f := &Finder{}
	percent := strings.NewReplacer(" ", "%")
	for _, w := range words {
		f.add(w, string(jsontext.AppendInner(nil, w)))
		f.fragments.add(w)
		if len(w) < minContent {
			continue
		}
		reversed := []byte(w)
		slices.Reverse(reversed)
		f.add(string(reversed), strings.Trim(strconv.QuoteToASCII(w), `"`), url.QueryEscape(w), url.PathEscape(w),
			fmt.Sprintf("%x", w), fmt.Sprintf("%X", w), percent.Replace(fmt.Sprintf(" % x", w)), percent.Replace(fmt.Sprintf(" % X", w)))
		for offset := range 3 {
			f.add(inner64(base64.RawStdEncoding, offset, w), inner64(base64.RawURLEncoding, offset, w))
		}
	}
	f.index()
	return f
}

func (f *Finder) add(spellings ...string) {
	for _, s := range spellings {
		if !slices.Contains(f.spellings, s) {
			f.spellings = append(f.spellings, s)
		}
	}
}

// inner64 returns w in base64 as it appears after offset other bytes, without the characters
// that hold bits of other bytes.
func inner64(e *base64.Encoding, offset int, w string) string {
	text := e.EncodeToString(append(make([]byte, offset), w...))
	return text[(offset*8+5)/6 : (offset+len(w))*8/6]
}

// index prepares the search of Wu and Manber ("A fast algorithm for multi-pattern searching",
// 1994). A window is as long as the shortest spelling. Its last two bytes give the distance to
// the next offset where a spelling can begin.
func (f *Finder) index() {
	f.shortest = len(f.spellings[0])
	for _, p := range f.spellings {
		f.shortest = min(f.shortest, len(p))
		f.longest = max(f.longest, len(p))
	}
	if f.least = f.shortest; len(f.fragments.bodies) > 0 {
		f.least = min(f.shortest, minFragment)
	}
	for i := range f.shift {
		f.shift[i] = uint8(min(f.shortest-1, 255))
	}
	for _, p := range f.spellings {
		f.byFirst[p[0]] = append(f.byFirst[p[0]], p)
		for i := 0; i+2 <= f.shortest; i++ {
			pair := &f.shift[pairOf(p[i], p[i+1])]
			*pair = min(*pair, uint8(min(f.shortest-2-i, 255)))
		}
	}
}

func pairOf(a, b byte) int { return int(a)<<4&0xff0 ^ int(b)&0xfff }

// find returns the ranges of text that hold a secret, in order and without overlaps.
func (f *Finder) find(text []byte) []span {
	if len(text) < f.least {
		return nil
	}
	found := append(f.findPlain(text), f.findEscaped(text)...)
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	apart := found[:0]
	for _, s := range found {
		if n := len(apart); n > 0 && s.from < apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, s.to)
		} else {
			apart = append(apart, s)
		}
	}
	return apart
}

// findPlain returns the ranges of text that hold a spelling, or a part of a secret, unescaped.
func (f *Finder) findPlain(text []byte) []span {
	return append(f.search(text), f.fragments.search(text)...)
}

// search returns the ranges of text that hold a spelling unescaped.
func (f *Finder) search(text []byte) (found []span) {
	for i := 0; i+f.shortest <= len(text); {
		end := i + f.shortest
		if s := f.shift[pairOf(text[end-2], text[end-1])]; s > 0 {
			i += int(s)
			continue
		}
		length := 0
		for _, p := range f.byFirst[text[i]] {
			if len(p) > length && len(p) <= len(text)-i && string(text[i:i+len(p)]) == p {
				length = len(p)
			}
		}
		if length > 0 {
			found = append(found, span{i, i + length})
		}
		i += max(length, 1)
	}
	return found
}

// partial returns the start of the longest end of text that is a beginning of a spelling or
// part of a secret, also with escapes; len(text) for none.
func (f *Finder) partial(text []byte) int {
	begun := f.partialPlain(text)
	before := max(len(text)-f.longestEscaped(), 0)
	if tail := text[before:]; bytes.IndexByte(tail, '%') >= 0 || bytes.IndexByte(tail, '\\') >= 0 {
		for plain, at := range layers(tail, true) {
			begun = min(begun, before+at[f.partialPlain(plain)])
		}
	}
	return begun
}

func (f *Finder) partialPlain(text []byte) int {
	for i := max(len(text)-f.longest+1, 0); i < len(text); i++ {
		size, last := len(text)-i, text[len(text)-1]
		for _, p := range f.byFirst[text[i]] {
			if len(p) > size && p[size-1] == last && p[:size] == string(text[i:]) {
				return min(i, f.fragments.begun(text))
			}
		}
	}
	return f.fragments.begun(text)
}
