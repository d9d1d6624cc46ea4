package stream

import "hash/maphash"

// passedText describes the part of one text that was passed on to the sink. Endpoints send a
// text in pieces, as a whole, or both. A whole adds only the part that was not passed on. The
// text itself is not kept: it may be long.
type passedText struct {
	size  int
	sum   maphash.Hash // of its first maxCompared bytes
	of    *passedText  // the longer text that this one is a part of
	aside bool         // it is commentary, not the answer
}

// maxCompared is how many bytes of a text are compared with a whole: two texts of one reply
// that begin with the same MiB are the same. Hashing all of a long text would take a tenth of
// the time of its transfer.
const maxCompared = 1 << 20

func (s *passedText) note(b []byte) {
	for ; s != nil; s = s.of {
		if s.size < maxCompared {
			s.sum.Write(b[:min(len(b), maxCompared-s.size)])
		}
		s.size += len(b)
	}
}

func (s *passedText) begins(whole []byte) bool {
	return len(whole) >= s.size && maphash.Bytes(s.sum.Seed(), whole[:min(s.size, maxCompared)]) == s.sum.Sum64()
}

// replyText is one of the texts of a reply: the answer, the reasoning or a refusal. An endpoint
// may send it as several texts, one after the other. emit takes it in UTF-8.
type replyText struct {
	joiner
	whole passedText  // for a dialect in which it is one text
	last  *passedText // the text that the last piece belongs to
	emit  func(of *passedText, delta []byte)
}

// add takes a piece, in WTF-8, in a dialect with one text.
func (t *replyText) add(piece []byte) { t.addTo(&t.whole, piece) }

// addTo takes a piece of one of the texts, in WTF-8.
func (t *replyText) addTo(to *passedText, piece []byte) {
	if len(piece) == 0 {
		return
	}
	if t.last != to {
		t.end()
		t.last = to
	}
	piece = t.next(piece)
	to.note(piece)
	t.emit(to, piece)
}

// complete takes the whole text, in WTF-8, and passes on the missing part. Text cannot be taken
// back, so a whole that does not begin with the passed text adds nothing.
func (t *replyText) complete(of *passedText, whole []byte) {
	if whole = utf8Of(whole); len(whole) == of.size || !of.begins(whole) {
		return
	}
	if t.last == of {
		t.high = 0 // the whole contains the text after it
	}
	t.addTo(of, whole[of.size:])
}

// utf8Of returns a whole text in WTF-8 as UTF-8.
func utf8Of(whole []byte) []byte {
	var j joiner
	joined := j.next(whole)
	return append(joined[:len(joined):len(joined)], j.end()...)
}

// end passes on the replacement of a surrogate that is held back.
func (t *replyText) end() {
	if lone := t.joiner.end(); len(lone) > 0 {
		t.last.note(lone)
		t.emit(t.last, lone)
	}
}
