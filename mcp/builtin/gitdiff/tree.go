package gitdiff

import (
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
	"path/filepath"
	"reflect"
	"strings"
	"syscall"

	"toolpipe/mcp/builtin/confine"
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
	list, err := r.git(ctx, nil, maxRepository, "ls-files", "-s", "-v", "-z", "--debug")
	if err == nil {
		err = r.readIndex(ctx, string(list))
	}
	if err == nil {
		err = confine.Reason(os.RemoveAll(filepath.Join(r.dir, "git/index")))
	}
	if err == nil {
		_, err = r.git(ctx, r.same.Bytes(), 0, "-c", "core.ignoreStat=true", "update-index", "-z", "--index-info")
	}
	if err == nil {
		_, err = r.git(ctx, r.open.Bytes(), 0, "update-index", "-z", "--index-info")
	}
	return err
}

type entry struct {
	name, id, mode string
	stage          string // "0", or a side of a conflict
	stat           string // of the file when it was added, as statOf gives it
	settled        bool   // the user told git to assume that it is unchanged
}

const (
	modeFile       = "100644"
	modeExecutable = "100755"
	modeLink       = "120000"
)

// readIndex reads the output of git ls-files -s -v -z --debug, and adds its entries.
func (r *repository) readIndex(ctx context.Context, list string) error {
	if len(list) > maxRepository {
		return errListed
	}
	for list != "" && ctx.Err() == nil {
		line, rest, _ := strings.Cut(list, "\x00")
		head, name, _ := strings.Cut(line, "\t")
		words := strings.Split(head, " ")      // "H 100644 ID 0"
		debug := strings.SplitN(rest, "\n", 6) // five lines such as "  ctime: 1700000000:5", and the next entry
		if len(words) != 4 || len(debug) != 6 {
			return errors.New("the output of git has an unknown form")
		}
		list = debug[5]
		size, _, _ := strings.Cut(debug[4], "\t")
		r.add(&entry{name: name, mode: words[1], id: words[2], stage: words[3], stat: debug[0] + debug[1] + size, settled: words[0] != "H" && words[0] != "M"})
	}
	return context.Cause(ctx)
}

// statOf is what an index keeps of a file's state, as git lists it: both times and the
// size. A file whose state has another form in the index is compared by its content.
// The time of the last change of any kind differs after the file was replaced or
// written, whatever was done to its modification time.
func statOf(info fs.FileInfo) string {
	stat := reflect.ValueOf(info.Sys()).Elem()
	field := stat.FieldByName("Ctim")
	if !field.IsValid() {
		field = stat.FieldByName("Ctimespec") // its name on other systems
	}
	changed, modified := field.Interface().(syscall.Timespec), info.ModTime()
	seconds, nanoseconds := changed.Unix()
	return fmt.Sprintf("  ctime: %d:%d  mtime: %d:%d  size: %d", uint32(seconds), nanoseconds, uint32(modified.Unix()), modified.Nanosecond(), uint32(info.Size()))
}

// add adds an entry to one of the lists of which git makes an index.
func (r *repository) add(e *entry) {
	if !localName(e.name) {
		r.leave(e.name, errors.New("its name leads out of the root"))
		return
	}
	asked := below(e.name, r.path)
	if !asked && path.Base(e.name) != ".gitattributes" {
		return // git takes very long to find out that it is not asked for
	}
	list := &r.same
	if isFile := e.mode == modeFile || e.mode == modeExecutable || e.mode == modeLink; isFile && asked && !e.settled && !r.left[e.name] {
		differs, err := r.look(e)
		if err != nil {
			r.leave(e.name, err)
		} else if differs {
			list = &r.open
		}
	}
	fmt.Fprintf(list, "%s %s %s\t%s\x00", e.mode, e.id, e.stage, e.name)
}

// below reports whether a name is that of a path or of something in it.
func below(name, path string) bool {
	return path == "." || name == path || len(name) > len(path) && name[len(path)] == '/' && name[:len(path)] == path
}

// leave leaves a file out of the diff, and says why in a note.
func (r *repository) leave(name string, why error) {
	if !r.left[name] {
		r.left[name] = true
		r.notes = append(r.notes, fmt.Sprintf("[toolpipe] %q is left out: %v\n", name, why))
	}
}

// protected reports whether the file of that name is never shown; info is nil when it
// does not exist.
func (r *repository) protected(name string, info fs.FileInfo) bool {
	return confine.SecretPath(filepath.Base(r.access.Real), name) != "" || r.access.Withholds(".", name) || info != nil && r.access.Refuses(info)
}

// look reports whether a file may differ from its entry. If it may, and exists, look makes
// a copy of it. The error says why the file cannot be compared.
func (r *repository) look(e *entry) (differs bool, err error) {
	dir, err := r.directory(path.Dir(e.name))
	name := path.Base(e.name)
	var info fs.FileInfo
	if err == nil {
		info, err = dir.Lstat(name)
	}
	_, isBelowFile := errors.AsType[*confine.WrongKindError](err) // for git it does not exist then
	switch unchanged := err == nil && e.stat == statOf(info); {
	case r.protected(e.name, info):
		r.unshown = r.unshown || !unchanged
		return false, nil
	case isBelowFile, errors.Is(err, fs.ErrNotExist), err == nil && info.IsDir(), r.copied == e.name:
		return true, nil // deleted, or another side of a conflict
	case unchanged && sameMode(e, info) && info.ModTime().Before(r.indexed):
		// What was added just before the index was written may have changed since
		// without a trace (git calls that racy).
		return false, nil
	}
	var content []byte
	if err == nil && isLink(info) {
		var target string
		target, err = dir.Readlink(name)
		content = []byte(target)
	} else if err == nil {
		content, info, err = r.readPlain(dir, name, maxCompared)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, confine.Reason(err)
	case sameMode(e, info) && blobID(len(e.id), content) == e.id:
		return false, nil
	case isLink(info):
		e.mode = modeLink
	case e.mode == modeLink && !r.noLinks:
		e.mode = modeFile
	}
	r.copied = e.name
	return true, r.copy(e.name, content, info.Mode())
}

func isLink(info fs.FileInfo) bool { return info.Mode()&fs.ModeSymlink != 0 }

// sameMode reports whether a file has the mode of an entry that is in no conflict.
func sameMode(e *entry, info fs.FileInfo) bool {
	mode := modeFile
	switch {
	case isLink(info):
		mode = modeLink
	case info.Mode()&0o100 != 0:
		mode = modeExecutable
	}
	return e.stage == "0" && e.mode == mode
}

// copy makes a copy of a file, or a file with the target of a link.
func (r *repository) copy(name string, content []byte, mode fs.FileMode) error {
	size := max(int64(len(content)), leastCopied)
	if size > r.treeRoom {
		return errors.New("too much has changed; a path shows less of it")
	}
	r.treeRoom -= size
	return r.write("tree/"+name, content, mode)
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
		for at := path.Dir(name); !seen[at]; at = path.Dir(at) {
			seen[at] = true
			dir, err := r.directory(at)
			if err != nil {
				continue
			}
			if content, info, err := r.readPlain(dir, ".gitattributes", maxCompared); err == nil {
				r.copy(path.Join(at, ".gitattributes"), content, info.Mode())
			}
		}
	}
}
