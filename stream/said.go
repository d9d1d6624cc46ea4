package stream

import "hash/maphash"

// said is what was passed on of one text. Endpoints send a text in pieces, as a
// whole, or both; with what was passed on known, a whole adds only what is
// missing. The text itself is not kept: it may be long.
type said struct {
	size  int
	sum   maphash.Hash
	of    *said // the longer text that this one is a part of
	aside bool  // it is commentary, not the answer
}

func (s *said) note(b []byte) {
	for ; s != nil; s = s.of {
		s.size += len(b)
		s.sum.Write(b)
	}
}

// begins reports whether whole begins with what was passed on.
func (s *said) begins(whole []byte) bool {
	return len(whole) >= s.size && maphash.Bytes(s.sum.Seed(), whole[:s.size]) == s.sum.Sum64()
}

// voice is one of the texts that a reply makes, put together of one or several
// said. It passes UTF-8 on to emit.
type voice struct {
	joiner
	whole said  // for a dialect whose reply has only one text of the kind
	last  *said // that the last piece belongs to
	emit  func(of *said, delta []byte)
}

// say is add for a dialect whose reply has only one text of the kind.
func (v *voice) say(piece []byte) { v.add(&v.whole, piece) }

// add takes a piece in WTF-8.
func (v *voice) add(to *said, piece []byte) {
	if len(piece) == 0 {
		return
	}
	if v.last != to {
		v.end()
		v.last = to
	}
	piece = v.next(piece)
	to.note(piece)
	v.emit(to, piece)
}

// complete takes the whole text, in WTF-8, and passes on what is missing. Text
// cannot be taken back, so a whole that does not begin with what was passed on
// adds nothing.
func (v *voice) complete(of *said, whole []byte) {
	if whole = utf8Of(whole); len(whole) == of.size || !of.begins(whole) {
		return
	}
	if v.last == of {
		v.high = 0 // the whole says what follows it
	}
	v.add(of, whole[of.size:])
}

// utf8Of returns a whole text in WTF-8 as UTF-8.
func utf8Of(whole []byte) []byte {
	var j joiner
	joined := j.next(whole)
	return append(joined[:len(joined):len(joined)], j.end()...)
}

// end passes on what replaces a surrogate that is held back.
func (v *voice) end() {
	if lone := v.joiner.end(); len(lone) > 0 {
		v.last.note(lone)
		v.emit(v.last, lone)
	}
}

// span is a range of a text.
type span struct{ from, to int }

// addSpan adds a range behind the others.
func addSpan(list []span, s span) []span {
	if n := len(list); n > 0 && list[n-1].to == s.from {
		list[n-1].to = s.to
		return list
	}
	return append(list, s)
}

// outside returns what of a text of that size is not in the ranges, which are in
// order.
func outside(ranges []span, size int) (rest []span) {
	at := 0
	for _, r := range ranges {
		rest = append(rest, span{at, r.from})
		at = r.to
	}
	return append(rest, span{at, size})
}

// pair finds for each of n wholes which of m known things it is the whole of,
// one to one, -1 for none. A rule that comes first is stronger: it is tried for
// all wholes before the next one.
func pair(n, m int, rules ...func(whole, known int) bool) []int {
	found, taken := make([]int, n), make([]bool, m)
	for i := range found {
		found[i] = -1
	}
	for _, fits := range rules {
		for i := range found {
			for k := 0; k < m && found[i] < 0; k++ {
				if !taken[k] && fits(i, k) {
					found[i], taken[k] = k, true
				}
			}
		}
	}
	return found
}
