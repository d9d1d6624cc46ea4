package mcp

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// indexEntry is a file in the index.
type indexEntry struct {
	name    string
	id      []byte
	mode    uint32
	stage   int
	settled bool // git is not to look at the working tree
	stat    indexStat
}

// What an entry's mode may be.
const (
	gitFile       = 0o100644
	gitExecutable = 0o100755
	gitLink       = 0o120000
)

// indexStat is what the index says of a file as it was when it was added.
type indexStat struct {
	changed, modified stamp
	inode, size       uint32
	known             bool
}

type stamp struct{ sec, nsec uint32 }

// is says whether this is a time, as closely as the index knew it.
func (s stamp) is(t time.Time) bool {
	return s.sec == uint32(t.Unix()) && (s.nsec == 0 || s.nsec == uint32(t.Nanosecond()))
}

func (s stamp) before(t time.Time) bool {
	sec := uint32(t.Unix())
	return s.sec < sec || s.sec == sec && s.nsec != 0 && s.nsec < uint32(t.Nanosecond())
}

// is says whether a file is certainly as it was added. What was added just
// before the index was written may have changed since without a trace (git
// calls that racy).
func (s *indexStat) is(info fs.FileInfo, indexed time.Time) bool {
	if !s.known || s.size != uint32(info.Size()) || !s.modified.is(info.ModTime()) || !s.modified.before(indexed) {
		return false
	}
	inode, changed, ok := identity(info)
	return !ok || s.inode == uint32(inode) && s.changed.is(changed)
}

var errIndex = errors.New("git says what toolpipe does not understand")

// readIndex reads what git ls-files -s -v -z --debug says. What --debug adds
// may be different some day: files are then compared by content alone.
func readIndex(r io.Reader, each func(*indexEntry) error) error {
	in := bufio.NewReaderSize(r, readChunk)
	var last *indexEntry
	for {
		piece, err := in.ReadBytes(0)
		var debug []byte
		for bytes.HasPrefix(piece, []byte("  ")) {
			line, rest, _ := bytes.Cut(piece, []byte("\n"))
			debug, piece = append(append(debug, line...), '\n'), rest
		}
		if last != nil {
			last.stat = readStat(debug)
			if err := each(last); err != nil {
				return err
			}
		}
		if err == io.EOF && len(piece) == 0 {
			return nil
		}
		if err != nil {
			return errors.Join(errIndex, err)
		}
		if last, err = readEntry(string(piece[:len(piece)-1])); err != nil {
			return err
		}
	}
}

// readEntry reads "H 100644 ID 0\tNAME".
func readEntry(line string) (*indexEntry, error) {
	head, name, _ := strings.Cut(line, "\t")
	words := strings.Split(head, " ")
	if len(words) != 4 || len(words[0]) != 1 {
		return nil, errIndex
	}
	mode, err := strconv.ParseUint(words[1], 8, 32)
	id, err2 := hex.DecodeString(words[2])
	stage, err3 := strconv.ParseUint(words[3], 10, 2)
	if errors.Join(err, err2, err3) != nil || len(id) != sha1.Size && len(id) != sha256.Size {
		return nil, errIndex
	}
	tag := words[0][0]
	return &indexEntry{name: name, id: id, mode: uint32(mode), stage: int(stage), settled: tag >= 'a' && tag <= 'z' || tag == 'S'}, nil
}

func readStat(debug []byte) indexStat {
	s := indexStat{known: true}
	number := func(label string, to *uint32) []byte {
		_, rest, found := bytes.Cut(debug, []byte(label))
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		n, err := strconv.ParseUint(string(rest[:end]), 10, 32)
		*to = uint32(n)
		s.known = s.known && found && err == nil
		return rest[end:]
	}
	nanoseconds := func(rest []byte, to *uint32) {
		old := debug
		debug = rest
		number(":", to)
		debug = old
	}
	nanoseconds(number("ctime: ", &s.changed.sec), &s.changed.nsec)
	nanoseconds(number("mtime: ", &s.modified.sec), &s.modified.nsec)
	number("ino: ", &s.inode)
	number("size: ", &s.size)
	return s
}

// indexWriter makes an index of version 2 that knows nothing of any file but
// its content.
type indexWriter struct {
	bytes []byte
	count uint32
	ids   int // bytes of an id
}

func (w *indexWriter) add(e *indexEntry) {
	if w.bytes == nil {
		w.bytes = append(w.bytes, "DIRC\x00\x00\x00\x02\x00\x00\x00\x00"...)
	}
	start := len(w.bytes)
	w.bytes = append(w.bytes, make([]byte, 40)...)
	binary.BigEndian.PutUint32(w.bytes[start+24:], e.mode)
	w.bytes = append(w.bytes, e.id...)
	flags := uint16(e.stage)<<12 | uint16(min(len(e.name), 0xFFF))
	if e.settled {
		flags |= 1 << 15
	}
	w.bytes = append(binary.BigEndian.AppendUint16(w.bytes, flags), e.name...)
	w.bytes = append(w.bytes, make([]byte, 8-(len(w.bytes)-start)%8)...)
	w.count++
	w.ids = len(e.id)
}

// done is the whole index; nil when there is nothing in it.
func (w *indexWriter) done() []byte {
	if w.bytes == nil {
		return nil
	}
	binary.BigEndian.PutUint32(w.bytes[8:], w.count)
	sum := newHash(w.ids)
	sum.Write(w.bytes)
	return sum.Sum(w.bytes)
}

func newHash(size int) hash.Hash {
	if size == sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// blobHash begins the id of a file's content.
func blobHash(ids int, size int64) hash.Hash {
	h := newHash(ids)
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}
