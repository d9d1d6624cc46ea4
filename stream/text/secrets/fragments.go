package secrets

import (
	"strings"
)

// A part of a secret is nearly as useful as the complete one to a person who can guess the
// rest: a key without its first characters would pass. So a part of at least minFragment bytes
// is hidden if its secret has at least minFragmented.
const (
	minFragment   = 12
	minFragmented = 24
)

const gram = 4 // bytes per lookup

// fragments finds parts of secrets. Each part that is long enough covers the bytes at one of
// the offsets that search looks up.
type fragments struct {
	bodies  []string // the secrets without their prefixes
	letters [256]bool
	pairs   [4096]bool // by pairOf
	grams   [4096]bool // by pairOf of two pairs
}

// add adds the parts of a secret. A value may hold several words, such as "Bearer x". Only
// tokens are added: URLs and JSON contain names and words that appear in any text.
func (g *fragments) add(secret string) {
	for word := range strings.FieldsSeq(secret) {
		body := word[prefixLength(word):]
		if len(word) < minFragmented || len(body) < minFragment || strings.ContainsFunc(word, notOfToken) {
			continue
		}
		g.bodies = append(g.bodies, body)
		for i := range len(body) {
			g.letters[body[i]] = true
			if i+2 <= len(body) {
				g.pairs[pairOf(body[i], body[i+1])] = true
			}
			if i+gram <= len(body) {
				g.grams[gramOf(body[i:])] = true
			}
		}
	}
}

// notOfToken reports whether r cannot be in a token (RFC 6750, section 2.1, b64token).
func notOfToken(r rune) bool {
	return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~+/=", r)
}

// prefixLength is the length of the prefix that all tokens of a kind share, so that it appears
// in any text about them: short groups that end with - or _, as in sk-ant-api03- and
// github_pat_, and all but the signature of a JSON Web Token, which begins with {"… in base64.
func prefixLength(token string) (length int) {
	if strings.HasPrefix(token, "eyJ") {
		return strings.LastIndexByte(token, '.') + 1
	}
	const longest, group = 20, 7
	for {
		rest := token[length:]
		end := strings.IndexAny(rest[:min(group, len(rest))], "-_") + 1
		if end == 0 || length+end > longest || rest[:end] != strings.ToLower(rest[:end]) {
			return length
		}
		length += end
	}
}

// gramOf returns the index in grams of the first bytes of b.
func gramOf[T string | []byte](b T) int {
	return pairOf(b[0], b[1]) ^ pairOf(b[2], b[3])<<5&0xfff ^ int(b[3])
}

// search returns the ranges of text that hold parts of secrets, each as long as possible.
func (g *fragments) search(text []byte) (found []span) {
	if len(g.bodies) == 0 {
		return nil
	}
	for i := 0; i+gram <= len(text); i += minFragment - gram + 1 {
		if !g.grams[gramOf(text[i:])] {
			continue
		}
		for _, body := range g.bodies {
			for at := range places(body, text[i:i+gram]) {
				s := span{i - commonEnd(text[:i], body[:at]), i + commonStart(text[i:], body[at:])}
				if s.to-s.from >= minFragment && !isOrdinary(string(text[s.from:s.to])) {
					found = append(found, s)
				}
			}
		}
	}
	return found
}

// begun returns the start of the longest end of text that is in a secret, and so may be the
// beginning of a part of it; len(text) for none.
func (g *fragments) begun(text []byte) int {
	n := len(text)
	longest := 0
	if n > 0 && g.letters[text[n-1]] {
		longest = 1
		if n > 1 && g.pairs[pairOf(text[n-2], text[n-1])] {
			longest = 2
			for _, body := range g.bodies {
				for at := range places(body, text[n-2:]) {
					longest = max(longest, 2+commonEnd(text[:n-2], body[:at]))
				}
			}
		}
	}
	return n - longest
}

// places yields the offsets of what in body.
func places(body string, what []byte) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for from := 0; ; {
			at := strings.Index(body[from:], string(what))
			if at < 0 || !yield(from+at) {
				return
			}
			from += at + 1
		}
	}
}

func commonStart(text []byte, body string) (n int) {
	for n < min(len(text), len(body)) && text[n] == body[n] {
		n++
	}
	return n
}

func commonEnd(text []byte, body string) (n int) {
	for n < min(len(text), len(body)) && text[len(text)-1-n] == body[len(body)-1-n] {
		n++
	}
	return n
}
