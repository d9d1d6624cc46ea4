package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// StagedFiles are the contents that files would have after the calls that are kept for a
// review. The files stay as they are. Tools that read or change one file see its staged
// content. Tools that walk over directories do not see it, and say so. The methods may be
// called concurrently. Nil has no contents.
type StagedFiles struct {
	mu       sync.Mutex
	contents map[string][]byte // by their absolute paths without links
	bytes    int
}

// A StagedChange is a call's change of a file, or of several files as one.
type StagedChange struct {
	Path   string // absolute, without links; the path of the first of several files
	Before string // SHA-256 of the content that it was made against, in hex; "" for a new file; for several files, of their names and sums
	Diff   string // unified; "" for a new file, and for a file that is not text or too large; with file names if there are several files
}

// A stagedEdit is the new content of one of several files that a call changes.
type stagedEdit struct {
	Path    string // absolute, without links
	Name    string // its name in a diff
	Content []byte
	Old     io.Reader // the present file on the disk; nil for a new file
}

const (
	maxStaged = 256 << 20 // bytes of all contents together
	maxDiffed = 4 << 20   // bytes of a content that is shown as a diff
	maxNamed  = 10        // files that UnseenText names
)

// Content is the staged content of a file.
func (s *StagedFiles) Content(path string) (content []byte, ok bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok = s.contents[path]
	return content, ok
}

// Put stages the content of a file. old reads the present file on the disk; nil if there is
// none.
func (s *StagedFiles) Put(path string, content []byte, old io.Reader) (c StagedChange, err error) {
	c.Path = path
	before, exists := s.Content(path)
	if exists {
		c.Before = hexSum(before)
	} else if old != nil {
		if before, c.Before, err = hashed(old); err != nil {
			return c, err
		}
		exists = before != nil
	}
	if exists && len(before) <= maxDiffed && len(content) <= maxDiffed && utf8.Valid(before) && utf8.Valid(content) {
		c.Diff = Diff(string(before), string(content))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	grown := s.bytes + len(content) - len(s.contents[path])
	if grown > maxStaged {
		return c, fmt.Errorf("all staged contents together may have at most %d MiB", maxStaged>>20)
	}
	if s.contents == nil {
		s.contents = map[string][]byte{}
	}
	s.bytes, s.contents[path] = grown, slices.Clone(content)
	return c, nil
}

// PutAll stages the contents of several files, of all or of none.
func (s *StagedFiles) PutAll(edits []stagedEdit) (all StagedChange, err error) {
	s.mu.Lock()
	contents, size := maps.Clone(s.contents), s.bytes
	s.mu.Unlock()
	sums := ""
	for i, e := range edits {
		c, err := s.Put(e.Path, e.Content, e.Old)
		if err != nil {
			s.mu.Lock()
			s.contents, s.bytes = contents, size
			s.mu.Unlock()
			return StagedChange{}, err
		}
		if i == 0 {
			all.Path = c.Path
		}
		sums += e.Name + "\x00" + c.Before + "\n"
		all.Diff += diffNames(e.Name, c.Before == "") + c.Diff
	}
	all.Before = hexSum([]byte(sums))
	return all, nil
}

func hexSum(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

// hashed is the content of a file and its digest. The content is nil if it is too large for a
// diff.
func hashed(f io.Reader) (content []byte, digest string, err error) {
	hash := sha256.New()
	content, err = io.ReadAll(io.TeeReader(io.LimitReader(f, maxDiffed), hash))
	if err != nil {
		return nil, "", err
	}
	more, err := io.Copy(hash, f)
	if more > 0 {
		content = nil
	}
	return content, hex.EncodeToString(hash.Sum(nil)), err
}

// openStaged opens a staged content as a file without a name.
func openStaged(content []byte) (*os.File, fs.FileInfo, error) {
	f, err := os.CreateTemp("", "toolpipe-staged-")
	if err != nil {
		return nil, nil, err
	}
	os.Remove(f.Name())
	_, err = f.Write(content)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	info, serr := f.Stat()
	if err = errors.Join(err, serr); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// UnseenText is a note for a call that did not see staged contents, with the names of the
// files; "" if there are none.
func (s *StagedFiles) UnseenText() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for path := range s.contents {
		names = append(names, strconv.Quote(path))
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return "[toolpipe] staged changes are not shown here, the files are unchanged: " + strings.Join(names, ", ") + "\n"
}
