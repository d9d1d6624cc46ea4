package confine

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of one reading, whatever is in the directories. The time of the making is shorter, so
// that what was read then can be read again later. A small amount is read also on a machine that
// has no time for this program.
const (
	makingTime, lookTime = time.Second, 2 * time.Second
	maxRead, smallRead   = 128 << 20, 8 << 20 // bytes
	entryCost            = 256                // bytes for an entry of a directory
)

// A reading is what is left of the limits of one look.
type reading struct {
	until time.Time
	bytes int
}

func newReading(limit time.Duration) reading { return reading{time.Now().Add(limit), maxRead} }

var errTooMuch = errors.New("more than is read")

// spend reports whether so many bytes may be read.
func (r *reading) spend(n int) bool {
	r.bytes -= n
	return r.bytes >= maxRead-smallRead || r.bytes >= 0 && time.Now().Before(r.until)
}

// Write counts bytes that were read.
func (r *reading) Write(b []byte) (int, error) {
	if !r.spend(len(b)) {
		return 0, errTooMuch
	}
	return len(b), nil
}

// list reads the entries of a directory; none if it does not exist. After errTooMuch there are more.
func (r *reading) list(dir string) (entries []fs.DirEntry, err error) {
	f, err := os.OpenFile(dir, OpenFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for err == nil {
		var some []fs.DirEntry
		some, err = f.ReadDir(1000)
		if entries = append(entries, some...); !r.spend(entryCost * len(some)) {
			return entries, errTooMuch
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if err == io.EOF {
		err = nil
	}
	return entries, err
}

// sum reads a regular file.
func (r *reading) sum(path string) (sum [sha256.Size]byte, err error) {
	f, err := os.OpenFile(path, OpenFlags, 0) // a FIFO may have replaced it
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err = io.CopyBuffer(io.MultiWriter(r, h), struct{ io.Reader }{f}, make([]byte, 256<<10)); err == nil {
		h.Sum(sum[:0])
	}
	return sum, err
}

// A note is the state of a file.
type note struct {
	info   fs.FileInfo // nil: it does not exist
	target string      // of a symbolic link, with what it leads to
	sum    [sha256.Size]byte
	unread bool // there is no sum
	recent bool // it had changed so shortly before that a further change may have the same times
}

// noteOf records the present state of a file, a link or a directory, without reading it.
func noteOf(path string) (n note) {
	info, err := os.Lstat(path)
	if err != nil {
		return n
	}
	n.info, n.unread = info, info.Mode().IsRegular()
	const tick = 50 * time.Millisecond // more than any step of a file system's clock
	changed, known := changeTime(info)
	n.recent = !known || time.Since(changed) < tick
	if info.Mode().Type() == fs.ModeSymlink {
		n.target, _ = os.Readlink(path)
		real, _ := filepath.EvalSymlinks(path)
		n.target += "\x00" + real
		n.recent = true // what is on the way to its target may change
	}
	return n
}

func (n *note) size() int64 {
	if n.info == nil {
		return 0
	}
	return n.info.Size()
}

// smallFirst sorts paths of the list in the order in which they are read.
func (w *Watch) smallFirst(paths iter.Seq[string]) []string {
	size := func(path string) int64 { n := w.files[path]; return n.size() }
	return slices.SortedFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(size(a), size(b)), strings.Compare(a, b))
	})
}

// same reports whether the state of a file is unchanged. A file that was never read can only be
// judged by its state. This is honest as long as the file system changes the times at each
// write: the state is from before the first sandboxed program, no program can set ctime, and the
// start event says that the file was not read.
func (n *note) same(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || n.info == nil {
		return err != nil && n.info == nil
	}
	then, _ := changeTime(n.info)
	now, _ := changeTime(info)
	return (n.unread || !n.recent) && then.Equal(now) && os.SameFile(n.info, info) && info.Mode() == n.info.Mode() && info.Size() == n.info.Size() && info.ModTime().Equal(n.info.ModTime())
}

// equal reports whether a file has the same content as before, and sets the sum of now. It does
// not read a file of another size, so it reads no more than the making of the list.
func (w *Watch) equal(path string, was, now *note) bool {
	if was.info == nil || now.info == nil {
		return was.info == nil && now.info == nil
	}
	if was.info.Mode() != now.info.Mode() || was.target != now.target || was.unread {
		return false
	}
	if !now.unread {
		return true
	}
	if was.size() != now.size() {
		return false
	}
	sum, err := w.sum(path)
	if err != nil {
		return false
	}
	now.sum, now.unread = sum, false
	return sum == was.sum
}

// readAll reads the files of the list, small ones first.
func (w *Watch) readAll() {
	unread := 0
	for _, path := range w.smallFirst(maps.Keys(w.files)) {
		n := w.files[path]
		if !n.unread {
			continue
		}
		if sum, err := w.sum(path); err == nil {
			n.sum, n.unread = sum, false
			w.files[path] = n
		} else {
			unread++
		}
	}
	if unread > 0 {
		w.lacks(strconv.Itoa(unread) + " files that other programs run cannot be read, or are too large; a change of them is seen only by size and times")
	}
}
