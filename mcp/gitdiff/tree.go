package gitdiff

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strings"
	"syscall"

	"toolpipe/mcp/confine"
)

const (
	maxCompared = 32 << 20 // bytes of a file; a larger one is left out, or for git is binary
	leastCopied = 32 << 10 // bytes that a copy counts for at least: copies are bounded in number too
)

var maxCopied int64 = 128 << 20 // bytes of the working tree that are copied

// directory opens the directory at a path from the root. It is open until the next
// call.
func (r *repository) directory(at string) (dir *os.Root, err error) {
	if r.near != nil && at == r.nearAt {
		return r.near, nil
	}
	if dir, err = r.openBelow(at, false); err == nil {
		if r.near != nil {
			r.near.Close()
		}
		r.near, r.nearAt = dir, at
	}
	return dir, err
}

// compare looks at each file in the index, and has git make a new index. The
// files known to be the same are marked there as assumed to be unchanged, which
// is what core.ignoreStat does, and git compares the others with their copies.
func (r *repository) compare(ctx context.Context) error {
	list, err := r.git(ctx, nil, maxListed, "ls-files", "-s", "-v", "-z", "--debug")
	if err == nil {
		err = r.readIndex(ctx, list)
	}
	if err != nil {
		return err
	}
	if err := r.to.RemoveAll("git/index"); err != nil {
		return confine.Reason(err)
	}
	if _, err := r.git(ctx, r.same.Bytes(), 0, "-c", "core.ignoreStat=true", "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	_, err = r.git(ctx, r.open.Bytes(), 0, "update-index", "-z", "--index-info")
	return err
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

// readIndex reads the output of git ls-files -s -v -z --debug, and adds its entries.
func (r *repository) readIndex(ctx context.Context, list []byte) error {
	if len(list) > maxListed {
		return errListed
	}
	for len(list) > 0 && ctx.Err() == nil {
		line, rest, whole := bytes.Cut(list, []byte{0})
		head, name, _ := strings.Cut(string(line), "\t")
		words := strings.Split(head, " ") // "H 100644 ID 0"
		if !whole || len(words) != 4 {
			return errors.New("the output of git has an unknown form")
		}
		var debug []byte // lines such as "  ctime: 1700000000:5"
		for list = rest; bytes.HasPrefix(list, []byte("  ")); {
			line, list, _ = bytes.Cut(list, []byte("\n"))
			debug = append(append(debug, line...), ' ')
		}
		e := &entry{name: name, mode: words[1], id: words[2], stage: words[3], settled: words[0] != "H" && words[0] != "M"}
		if n := strings.FieldsFunc(string(debug), func(r rune) bool { return r < '0' || r > '9' }); len(n) > 8 {
			e.stat = strings.Join(append(n[:4], n[8]), " ")
		}
		r.add(e)
	}
	return context.Cause(ctx)
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
func (r *repository) add(e *entry) {
	if !localName(e.name) {
		r.leave(e.name, "its name leads out of the root")
		return
	}
	asked := below(e.name, r.path)
	if !asked && path.Base(e.name) != ".gitattributes" {
		return // git takes very long to find out that it is not asked for
	}
	list := &r.same
	if isFile := e.mode == modeFile || e.mode == modeExecutable || e.mode == modeLink; isFile && asked && !e.settled && !r.hidden[e.name] {
		differs, why := r.look(e)
		if why != "" {
			r.leave(e.name, why)
		} else if differs {
			list = &r.open
		}
	}
	fmt.Fprintf(list, "%s %s %s\t%s\x00", e.mode, e.id, e.stage, e.name)
}

// below says whether a name is that of a path or of something in it.
func below(name, path string) bool {
	return path == "." || name == path || len(name) > len(path) && name[len(path)] == '/' && name[:len(path)] == path
}

// leave leaves a file out of the diff, and says why in a note.
func (r *repository) leave(name, why string) {
	if !r.hidden[name] {
		r.hidden[name] = true
		r.notes = append(r.notes, fmt.Sprintf("[toolpipe] %q is left out: %s\n", name, why))
	}
}

// protected says whether the file of that name is never shown.
func (r *repository) protected(name string) bool {
	return confine.SecretPath(name) != "" || r.access.Withholds(".", name)
}

// look says whether a file may differ from its entry. If it may, and exists, look makes
// a copy of it. why says why the file cannot be compared.
func (r *repository) look(e *entry) (differs bool, why string) {
	dir, err := r.directory(path.Dir(e.name))
	name := path.Base(e.name)
	var info fs.FileInfo
	if err == nil {
		info, err = dir.Lstat(name)
	}
	switch {
	case r.protected(e.name) || err == nil && r.access.Refuses(info):
		r.hidden[e.name] = true
		r.unshown = r.unshown || err != nil || e.stat != statOf(info)
		return false, ""
	case err != nil && isAbsent(err), err == nil && info.IsDir(), r.copied == e.name:
		return true, "" // deleted, or another side of a conflict
	case err == nil && info.Mode().IsRegular() && sameMode(e, info) && e.stat == statOf(info) && info.ModTime().Before(r.indexed):
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
		content, info, err = r.readPlain(dir, name, maxCompared)
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
	case e.mode == modeLink && !r.noLinks:
		e.mode = modeFile
	}
	r.copied = e.name
	return true, r.copy(e.name, content, info.Mode())
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
func (r *repository) copy(name string, content []byte, mode fs.FileMode) (why string) {
	size := max(int64(len(content)), leastCopied)
	if size > r.treeRoom {
		return "too much has changed; a path shows less of it"
	}
	r.treeRoom -= size
	if err := r.write("tree/"+name, content, mode); err != nil {
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
func (r *repository) copyAttributes(names []string) {
	seen := map[string]bool{}
	for _, name := range names {
		for name != "." {
			if name = path.Dir(name); seen[name] {
				break
			}
			seen[name] = true
			dir, err := r.directory(name)
			if err != nil {
				continue
			}
			if content, info, err := r.readPlain(dir, ".gitattributes", maxCompared); err == nil {
				r.copy(path.Join(name, ".gitattributes"), content, info.Mode())
			}
		}
	}
}
