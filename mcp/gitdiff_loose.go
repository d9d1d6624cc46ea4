package mcp

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A repository may have thousands of loose objects, each in a file. Of those,
// git gets what any revision may lead over (commits, trees, tags) as one pack,
// and of the contents of files only those that it compares as another: to make
// and to remove a file for each takes far longer than the diff.

// loose takes the loose object at rel, a file of dir. Contents are only noted.
func (b *borrowed) loose(ctx context.Context, dir *os.Root, rel string) error {
	id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(rel, "objects/"), "/", ""))
	if err != nil || len(id) != b.ids {
		return b.lend(ctx, dir, rel) // no object of this repository
	}
	return b.gather(ctx, dir, rel, id, false)
}

// content takes the content of a file, which git is to compare, if it is loose.
func (b *borrowed) content(ctx context.Context, id []byte) error {
	if !b.contents[string(id)] {
		return nil
	}
	delete(b.contents, string(id))
	name := hex.EncodeToString(id)
	rel := "objects/" + name[:2] + "/" + name[2:]
	objects, err := b.v.openBelow(b.git, "objects", ".git/objects")
	if err == nil {
		defer objects.Close()
		var dir *os.Root
		if dir, err = b.v.openBelow(objects, name[:2], ".git/"+path.Dir(rel)); err == nil {
			defer dir.Close()
			err = b.gather(ctx, dir, rel, id, true)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return b.take(ctx, b.git, "objects", isPacked) // it was packed meanwhile
	}
	return refused(rel, err)
}

// gather adds the object at rel to the pack. What is no object is for git to
// complain of, and gets there as it is, as does what is large.
func (b *borrowed) gather(ctx context.Context, dir *os.Root, rel string, id []byte, contents bool) error {
	f, info, err := b.v.openPlain(dir, path.Base(rel))
	if err != nil {
		return err
	}
	defer f.Close()
	kind, content, ok := b.inflate.object(f, contents && info.Size() <= smallFile)
	switch {
	case kind == "blob" && !contents:
		b.contents[string(id)] = true
		return nil
	case !ok:
		return b.lend(ctx, dir, rel)
	}
	if b.room -= int64(len(content)); b.room < 0 {
		return errRoom
	}
	return b.pack.add(b, id, kind, content)
}

// inflater reads loose objects.
type inflater struct {
	in  *bufio.Reader
	z   io.ReadCloser
	buf bytes.Buffer
}

// object reads a loose object that is not large; of the content of a file no
// more than the kind unless contents are wanted.
func (r *inflater) object(f io.Reader, contents bool) (kind string, content []byte, ok bool) {
	if r.in == nil {
		r.in = bufio.NewReader(nil)
	}
	r.in.Reset(f)
	var err error
	if r.z == nil {
		r.z, err = zlib.NewReader(r.in)
	} else {
		err = r.z.(zlib.Resetter).Reset(r.in, nil)
	}
	if err != nil {
		r.z = nil
		return "", nil, false
	}
	var head [32]byte // "commit 1234567\x00"
	n, _ := io.ReadFull(r.z, head[:])
	said, begun, found := bytes.Cut(head[:n], []byte{0})
	kind, digits, _ := strings.Cut(string(said), " ")
	size, err := strconv.Atoi(digits)
	if !found || err != nil || packKinds[kind] == 0 || size < 0 || size > smallFile || kind == "blob" && !contents {
		return kind, nil, false
	}
	r.buf.Reset()
	r.buf.Write(begun)
	if _, err := io.Copy(&r.buf, io.LimitReader(r.z, int64(size)+1)); err != nil || r.buf.Len() != size {
		return "", nil, false
	}
	return kind, r.buf.Bytes(), true
}

var packKinds = map[string]byte{"commit": 1, "tree": 2, "blob": 3, "tag": 4} // gitformat-pack(5)

// packWriter makes a pack of whole objects, and its index of version 2.
type packWriter struct {
	file    *os.File
	at      int64
	objects []packedObject
	buf     bytes.Buffer
	z       *zlib.Writer
	made    int // packs
}

type packedObject struct {
	id     []byte
	crc    uint32
	offset uint32
}

const packHead = 12

func (w *packWriter) add(b *borrowed, id []byte, kind string, content []byte) (err error) {
	if w.file == nil {
		w.made++
		name := filepath.Join(b.gitDir(), "objects", "pack", fmt.Sprintf("toolpipe-%d.pack", w.made))
		if w.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
		w.at, w.objects = packHead, nil
	}
	w.buf.Reset()
	size := len(content)
	first := packKinds[kind]<<4 | byte(size&15)
	if size >>= 4; size > 0 {
		first |= 1 << 7
	}
	w.buf.WriteByte(first)
	if size > 0 {
		w.buf.Write(binary.AppendUvarint(nil, uint64(size)))
	}
	if w.z == nil {
		w.z, _ = zlib.NewWriterLevel(&w.buf, zlib.NoCompression)
	} else {
		w.z.Reset(&w.buf)
	}
	w.z.Write(content)
	w.z.Close()
	w.objects = append(w.objects, packedObject{id, crc32.ChecksumIEEE(w.buf.Bytes()), uint32(w.at)})
	n, err := w.file.WriteAt(w.buf.Bytes(), w.at)
	w.at += int64(n)
	return err
}

// finish has git see what was added.
func (b *borrowed) finish() error {
	w := &b.pack
	if w.file == nil {
		return nil
	}
	f := w.file
	defer f.Close()
	w.file = nil
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(w.objects)))
	if _, err := f.WriteAt(head, 0); err != nil {
		return reason(err)
	}
	sum := newHash(b.ids)
	if _, err := io.Copy(sum, f); err != nil {
		return reason(err)
	}
	trailer := sum.Sum(nil)
	if _, err := f.Write(trailer); err != nil {
		return reason(err)
	}
	return reason(os.WriteFile(strings.TrimSuffix(f.Name(), ".pack")+".idx", packIndex(w.objects, trailer), 0o600))
}

func packIndex(objects []packedObject, pack []byte) []byte {
	slices.SortFunc(objects, func(a, b packedObject) int { return bytes.Compare(a.id, b.id) })
	out := []byte("\xfftOc\x00\x00\x00\x02")
	n := 0
	for first := range 256 {
		for n < len(objects) && int(objects[n].id[0]) <= first {
			n++
		}
		out = binary.BigEndian.AppendUint32(out, uint32(n))
	}
	for _, o := range objects {
		out = append(out, o.id...)
	}
	for _, o := range objects {
		out = binary.BigEndian.AppendUint32(out, o.crc)
	}
	for _, o := range objects {
		out = binary.BigEndian.AppendUint32(out, o.offset)
	}
	out = append(out, pack...)
	sum := newHash(len(pack))
	sum.Write(out)
	return sum.Sum(out)
}
