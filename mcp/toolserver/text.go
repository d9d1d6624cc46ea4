package toolserver

import "bytes"

var ByteOrderMark = []byte("\xEF\xBB\xBF")

const (
	// MaxText is the longest text that a tool answers, in bytes: a little less than a model
	// is shown uncut.
	MaxText   = 240 << 10
	MaxListed = 5000 // entries in a listing
)

// LooksBinary reports whether a file with this beginning is not text.
func LooksBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 32<<10)], 0) >= 0 }

const (
	ReadChunk  = 64 << 10  // bytes that a tool reads from a file at once
	MaxCounted = 256 << 20 // bytes in which lines are counted, so that a huge file does not delay a call
)
