package gitdiff

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp/toolserver"
)

// indexEntry is a file in the index.
type indexEntry struct {
	name, id, mode, stage string
	settled               bool // git is not to look at the working tree
	stat                  indexStat
}

// The modes of files in an index.
const (
	gitFile       = "100644"
	gitExecutable = "100755"
	gitLink       = "120000"
)

// indexStat is what the index says of a file as it was when it was added.
type indexStat struct {
	changed, modified stamp
	size              uint32
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

// is says whether a file looks as it did when it was added.
func (s *indexStat) is(info fs.FileInfo) bool {
	if !s.known || s.size != uint32(info.Size()) || !s.modified.is(info.ModTime()) {
		return false
	}
	changed, ok := changeTime(info)
	return !ok || s.changed.is(changed)
}

var errIndex = errors.New("git says what toolpipe does not understand")

// readIndex reads what git ls-files -s -v -z --debug says.
func readIndex(r io.Reader, each func(*indexEntry) error) error {
	in := bufio.NewReaderSize(r, toolserver.ReadChunk)
	var last *indexEntry
	for {
		piece, err := in.ReadBytes(0)
		var debug []byte // the lines after an entry's name
		for bytes.HasPrefix(piece, []byte("  ")) {
			line, rest, _ := bytes.Cut(piece, []byte("\n"))
			debug, piece = append(append(debug, line...), '\n'), rest
		}
		if last != nil {
			last.stat = readStat(string(debug))
			if err := each(last); err != nil {
				return err
			}
		}
		if err == io.EOF && len(piece) == 0 {
			return nil
		}
		head, name, _ := strings.Cut(strings.TrimSuffix(string(piece), "\x00"), "\t")
		words := strings.Split(head, " ") // "H 100644 ID 0"
		if err != nil || len(words) != 4 || len(words[0]) != 1 || !isID(words[2]) {
			return errors.Join(errIndex, err)
		}
		tag := words[0][0]
		last = &indexEntry{name: name, mode: words[1], id: words[2], stage: words[3], settled: tag >= 'a' && tag <= 'z' || tag == 'S'}
	}
}

// readStat reads what --debug adds. That may be different some day: files are
// then compared by content alone.
func readStat(debug string) (s indexStat) {
	words := strings.FieldsFunc(debug, func(r rune) bool { return r < '0' || r > '9' })
	if !strings.HasPrefix(debug, "  ctime: ") || !strings.Contains(debug, "\n  size: ") || len(words) < 9 {
		return s
	}
	var n [9]uint32
	for i := range n {
		u, err := strconv.ParseUint(words[i], 10, 32)
		if err != nil {
			return s
		}
		n[i] = uint32(u)
	}
	return indexStat{changed: stamp{n[0], n[1]}, modified: stamp{n[2], n[3]}, size: n[8], known: true}
}
