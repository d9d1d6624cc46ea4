package gitdiff

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strings"
	"syscall"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
)

const (
	maxCompared = 32 << 20  // bytes of a file; a larger one is left out, or for git is binary
	maxIndexed  = 1_000_000 // files in an index
	leastCopied = 32 << 10  // bytes that a copy counts for at least: copies are bounded in number too
)

var maxCopied int64 = 128 << 20 // bytes of the working tree that are copied

// tree is the working tree that git sees: a directory with copies of the files
// that may differ from the index, and an index which says of all others that
// they are unchanged. Git never runs in the real working tree, where the names
// in an index may lead anywhere.
type tree struct {
	near   *os.Root // directory of the file last looked at, often also of the next
	nearAt string   // its path
	path   string   // what is to be shown; "." for all
	count  int      // entries of the index
	lists  struct{ same, open bytes.Buffer }
	room   int64           // bytes that may still be copied
	copied string          // the name of the last copy
	hidden map[string]bool // names that are not shown
	left   []string        // notes about those that could not be compared
	passed bool            // a file that is not shown may differ
}

// directory opens the directory at a path from the root. It is
// open until the next call.
func (t *repository) directory(at string) (dir *os.Root, err error) {
	if t.near != nil && at == t.nearAt {
		return t.near, nil
	}
	if dir, err = openBelow(t.v, at, t.v.OpenDirectory); err == nil {
		if t.near != nil {
			t.near.Close()
		}
		t.near, t.nearAt = dir, at
	}
	return dir, err
}

// compare looks at each file in the index, and has git make a new index. The
// files known to be the same are marked there as assumed to be unchanged, which
// is what core.ignoreStat does, and git compares the others with their copies.
func (t *repository) compare(ctx context.Context) error {
	err := t.run(ctx, nil, func(r io.Reader) error {
		return readIndex(r, func(e *entry) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return t.add(e)
		})
	}, "ls-files", "-s", "-v", "-z", "--debug")
	if err != nil {
		return confine.Reason(err)
	}
	if err := t.to.Remove("git/index"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return confine.Reason(err)
	}
	discard := func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	if err := t.run(ctx, t.lists.same.Bytes(), discard, "-c", "core.ignoreStat=true", "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	return t.run(ctx, t.lists.open.Bytes(), discard, "update-index", "-z", "--index-info")
}

// entry is a file in the index.
type entry struct {
	name, id, mode string
	stage          string // "0", or a side of a conflict
	stat           string // of the file when it was added, as statOf gives it
	settled        bool   // the user told git to assume that it is unchanged
}

// The modes of files in an index.
const (
	modeFile       = "100644"
	modeExecutable = "100755"
	modeLink       = "120000"
)

// readIndex reads the output of git ls-files -s -v -z --debug.
func readIndex(r io.Reader, each func(*entry) error) error {
	in := bufio.NewReaderSize(r, toolserver.ReadChunk)
	for {
		line, err := in.ReadString(0)
		if err == io.EOF && line == "" {
			return nil
		}
		head, name, _ := strings.Cut(strings.TrimSuffix(line, "\x00"), "\t")
		words := strings.Split(head, " ") // "H 100644 ID 0"
		if err != nil || len(words) != 4 {
			return errors.Join(errors.New("the output of git has an unknown form"), err)
		}
		e := &entry{name: name, mode: words[1], id: words[2], stage: words[3], settled: words[0] != "H" && words[0] != "M"}
		var debug []byte // lines such as "  ctime: 1700000000:5"
		for next, _ := in.Peek(2); string(next) == "  "; next, _ = in.Peek(2) {
			line, _ := in.ReadSlice('\n')
			debug = append(debug, line...)
		}
		if n := strings.FieldsFunc(string(debug), func(r rune) bool { return r < '0' || r > '9' }); len(n) > 8 {
			e.stat = strings.Join(append(n[:4], n[8]), " ")
		}
		if err := each(e); err != nil {
			return err
		}
	}
}

// statOf is what an index keeps of a file's state: both times and the size. A
// file whose state has another form in the index is compared by its content.
func statOf(info fs.FileInfo) string {
	seconds, nanoseconds := changeTime(info)
	modified := info.ModTime()
	return fmt.Sprintf("%d %d %d %d %d", uint32(seconds), nanoseconds, uint32(modified.Unix()), modified.Nanosecond(), uint32(info.Size()))
}

// changeTime is when a file was last changed in any way: it differs after the file
// was replaced or written, whatever was done to its modification time. The field
// that holds it has one of two names, as the system has it.
func changeTime(info fs.FileInfo) (seconds, nanoseconds int64) {
	stat := reflect.ValueOf(info.Sys()).Elem()
	field := stat.FieldByName("Ctim")
	if !field.IsValid() {
		field = stat.FieldByName("Ctimespec")
	}
	changed := field.Interface().(syscall.Timespec)
	return changed.Unix()
}

// add adds an entry to one of the lists of which git makes an index.
func (t *repository) add(e *entry) error {
	if !localName(e.name) {
		t.leave(e.name, "its name leads out of the root")
		return nil
	}
	asked := below(e.name, t.path)
	if !asked && path.Base(e.name) != ".gitattributes" {
		return nil // git takes very long to find out that it is not asked for
	}
	if t.count++; t.count > maxIndexed {
		return fmt.Errorf("more than %d files are in the index", maxIndexed)
	}
	list := &t.lists.same
	if isFile := e.mode == modeFile || e.mode == modeExecutable || e.mode == modeLink; isFile && asked && !e.settled && !t.hidden[e.name] {
		differs, why := t.look(e)
		if why != "" {
			t.leave(e.name, why)
		} else if differs {
			list = &t.lists.open
		}
	}
	fmt.Fprintf(list, "%s %s %s\t%s\x00", e.mode, e.id, e.stage, e.name)
	return nil
}

// below says whether a name is that of a path or of something in it.
func below(name, path string) bool {
	return path == "." || name == path || len(name) > len(path) && name[len(path)] == '/' && name[:len(path)] == path
}

// leave leaves a file out of the diff, and notes why.
func (t *repository) leave(name, why string) {
	if !t.hidden[name] {
		t.hidden[name] = true
		t.left = append(t.left, fmt.Sprintf("[toolpipe] %q is left out: %s\n", name, why))
	}
}

// protected says whether the file of that name is never shown.
func (t *repository) protected(name string) bool {
	return confine.SecretPath(name) != "" || t.v.Withholds(".", name)
}

// look says whether a file may differ from its entry. If it exists then, a copy
// of it is made. why says why a file cannot be compared.
func (t *repository) look(e *entry) (differs bool, why string) {
	dir, err := t.directory(path.Dir(e.name))
	name := path.Base(e.name)
	var info fs.FileInfo
	if err == nil {
		info, err = dir.Lstat(name)
	}
	switch {
	case t.protected(e.name) || err == nil && t.v.Refuses(info):
		t.hidden[e.name] = true
		t.passed = t.passed || err != nil || e.stat != statOf(info)
		return false, ""
	case err != nil && isAbsent(err), err == nil && info.IsDir(), t.copied == e.name:
		return true, "" // deleted, or another side of a conflict
	case err == nil && info.Mode().IsRegular() && sameMode(e, info) && e.stat == statOf(info) && info.ModTime().Before(t.indexed):
		// What was added just before the index was written may have changed since
		// without a trace (git calls that racy).
		return false, ""
	}
	var content []byte
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		var target string
		target, err = dir.Readlink(name)
		content = []byte(target)
	} else if err == nil {
		content, info, err = readPlain(t.v, dir, name, maxCompared)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, ""
	case err != nil:
		return false, confine.Reason(err).Error()
	case sameMode(e, info) && blobID(len(e.id), content) == e.id:
		return false, ""
	case info.Mode()&fs.ModeSymlink != 0:
		e.mode = modeLink
	case e.mode == modeLink && !t.noLinks:
		e.mode = modeFile
	}
	t.copied = e.name
	return true, t.copy(e.name, content, info.Mode())
}

// sameMode says whether a file has the mode of an entry that is in no conflict.
func sameMode(e *entry, info fs.FileInfo) bool {
	mode := modeFile
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		mode = modeLink
	case info.Mode()&0o100 != 0:
		mode = modeExecutable
	}
	return e.stage == "0" && e.mode == mode
}

// copy makes a copy of a file, or a file with the target of a link.
func (t *repository) copy(name string, content []byte, mode fs.FileMode) (why string) {
	size := max(int64(len(content)), leastCopied)
	if size > t.tree.room {
		return "too much has changed; a path shows less of it"
	}
	t.tree.room -= size
	if err := t.write("tree/"+name, content, mode); err != nil {
		return err.Error()
	}
	return ""
}

// blobID is the id, of so many digits, that git gives to a file's content.
func blobID(digits int, content []byte) string {
	var h hash.Hash = sha1.New()
	if digits == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// copyAttributes copies the files .gitattributes that hold for names. One that
// cannot be read git takes from the index.
func (t *repository) copyAttributes(names []string) {
	seen := map[string]bool{}
	for _, name := range names {
		for name != "." {
			if name = path.Dir(name); seen[name] {
				break
			}
			seen[name] = true
			dir, err := t.directory(name)
			if err != nil {
				continue
			}
			if content, info, err := readPlain(t.v, dir, ".gitattributes", maxCompared); err == nil {
				t.copy(path.Join(name, ".gitattributes"), content, info.Mode())
			}
		}
	}
}
