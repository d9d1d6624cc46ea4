package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream/disk"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// fileKind says which checks a file must pass that a flag or a config key names.
type fileKind uint8

const (
	PlainFile      fileKind = iota // any file: its content grants nothing
	WrittenFile                    // any file that a run writes
	KeyFile                        // a pipe, or a file that not everybody can write to
	ProgramFile                    // a program, or a file that it reads: also, nobody else can replace it
	RuleFile                       // a regular file with the same checks: it decides what may run
	PipeOrRuleFile                 // a pipe such as <(jq …), or a RuleFile
)

const MaxRuleFile = 16 << 20 // bytes

// ReadAttachment reads a file that may block, as ReadFile does. The result begins with head.
func ReadAttachment(ctx context.Context, head, what, path string, limit int64) ([]byte, error) {
	return goroutine.AwaitResult(ctx, func() ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, OpenError(what, path, err)
		}
		defer f.Close()
		if err := PlainFile.Check(nil, f, what, path, nil); err != nil {
			return nil, err
		}
		return ReadBehind(head, f, what+": "+strconv.Quote(path), limit)
	})
}

// ReadFile reads a file that may block: a FIFO without a writer, or a pipe that does not end. When
// ctx ends it returns, and the read goes on in a goroutine.
func ReadFile(ctx context.Context, what, path string, limit int64, kind fileKind, warn Warner) ([]byte, error) {
	return goroutine.AwaitResult(ctx, func() ([]byte, error) { return kind.Read(nil, what, path, limit, warn) })
}

// Read reads the file at path once, through the descriptor that was checked. Errors begin with
// what, the flag or key that names the file. A file of another user causes a warning, unless it is
// a PlainFile. c is nil for a PlainFile or a KeyFile.
func (k fileKind) Read(c *Config, what, path string, limit int64, warn Warner) ([]byte, error) {
	mode := os.O_RDONLY
	if k != PlainFile {
		mode |= stdio.OpenNonblock // a FIFO without a writer is refused, not waited for
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, OpenError(what, path, err)
	}
	defer f.Close()
	return k.ReadFrom(c, f, what, path, limit, warn)
}

// ReadFrom is Read for a file that is open as f.
func (k fileKind) ReadFrom(c *Config, f *os.File, what, path string, limit int64, warn Warner) ([]byte, error) {
	if err := k.Check(c, f, what, path, warn); err != nil {
		return nil, err
	}
	return ReadBehind("", f, what+": "+strconv.Quote(path), limit)
}

// Check checks the file that is open as f.
func (k fileKind) Check(c *Config, f *os.File, what, path string, warn Warner) error {
	info, err := f.Stat()
	if err != nil {
		return OpenError(what, path, err)
	}
	return k.check(c, what, path, info, warn)
}

// CheckPath checks the file at path, if there is one.
func (k fileKind) CheckPath(c *Config, what, path string, warn Warner) error {
	info, err := os.Stat(path)
	if err != nil { // nobody can change a missing file
		return nil
	}
	return k.check(c, what, path, info, warn)
}

// check refuses a file that does not pass the checks of its kind.
func (k fileKind) check(c *Config, what, path string, info os.FileInfo, warn Warner) error {
	mode := info.Mode()
	switch {
	case mode.IsDir():
		return failure.Usage("%s: %q is a directory", what, path)
	case k == PipeOrRuleFile && mode&(os.ModeNamedPipe|os.ModeSocket) != 0:
		return nil
	case k >= RuleFile && !mode.IsRegular():
		return failure.Usage("%s: %q is not a regular file", what, path)
	case k > WrittenFile && mode.IsRegular() && mode&0o002 != 0:
		return failure.UsageError([]string{"chmod o-w " + ShellQuote(path)}, "%s: %q: everybody can write to this file", what, path)
	case k == PlainFile || !mode.IsRegular():
		return nil
	}
	if disk.Foreign(info) {
		warn("file_owner", "", fmt.Sprintf("%s: %q belongs to user %d, who can change it", what, path, disk.Uid(info)))
	}
	if k < ProgramFile {
		return nil
	}
	return c.checkDirectories(what, path, info, warn)
}

// checkDirectories refuses a file that everybody can replace. With CI set this is only a warning
// for a file of the user: runners in containers check out with mode 0777, and have no other user.
func (c *Config) checkDirectories(what, path string, info os.FileInfo, warn Warner) error {
	err := disk.CheckDirectories(path)
	open, isOpen := errors.AsType[*disk.OpenDirectoryError](err)
	switch {
	case err == nil:
	case !isOpen:
		return OpenError(what, path, err)
	case c.InCI() && !disk.Foreign(info):
		warn("directory_writable", "", fmt.Sprintf("%s: %q: %v", what, path, err))
	default:
		return failure.UsageError([]string{"chmod o-w " + ShellQuote(open.Directory)}, "%s: %q: %v", what, path, err)
	}
	return nil
}

// WarnReadable warns of the file of a key that others can read.
func WarnReadable(path string, warn Warner) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o044 != 0 {
		warn("key_readable", "", "the key file "+strconv.Quote(path)+" can be read by others: chmod 600 "+ShellQuote(path))
	}
}

// OpenError is a usage error for err, which came from opening or writing the file at path, or an output
// error if the disk is full. It begins with what, the flag or key that names the file.
func OpenError(what, path string, err error) error {
	if _, ok := errors.AsType[*failure.Error](err); ok {
		return err
	}
	cause := err
	if p, ok := errors.AsType[*os.PathError](err); ok {
		cause = p.Err
	}
	e := failure.Usage("%s: %q: %s", what, path, failure.Cause(cause))
	if errors.Is(err, os.ErrNotExist) {
		e = failure.Usage("%s: %q does not exist", what, path)
		if dir := filepath.Dir(path); dir != "." && !Exists(dir) {
			e = failure.Usage("%s: %q: the directory %q does not exist", what, path, dir)
		}
	}
	if errors.Is(err, syscall.ENXIO) {
		e = failure.Usage("%s: %q: no process reads from this pipe", what, path)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		e.Status = failure.StatusOutput
	}
	e.Cause = err
	return e
}

// Exists reports whether path exists.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadDocument reads a file that decides what may run. Errors begin with what, the flag or key that
// names it.
func (c *Config) ReadDocument(what, path string, o jsontext.Options, warn Warner) (document.Value, error) {
	data, err := RuleFile.Read(c, what, path, MaxRuleFile, warn)
	if err != nil {
		return document.Value{}, err
	}
	v, err := document.ParseAs(path, data, o)
	if err != nil {
		failure.Of(err).Hints = document.CommentHint(data)
	}
	return v, err
}

// ErrTooLarge is the cause if ReadBehind refuses a text for its size.
var ErrTooLarge = errors.New("too large")

// ReadBehind reads r to its end, at most limit bytes. Errors begin with name. The result begins with
// head, so that a long text that follows another one is in memory only once.
func ReadBehind(head string, r io.Reader, name string, limit int64) ([]byte, error) {
	most := int64(len(head)) + limit
	data := append(make([]byte, 0, len(head)+sizeOf(r, limit)), head...)
	for {
		if len(data) == cap(data) {
			grown := make([]byte, len(data), len(data)+growth(len(data), most)) // append would write to all of it
			copy(grown, data)
			data = grown
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > most:
			e := failure.Usage("%s is larger than %d MiB", name, limit>>20)
			e.Cause = ErrTooLarge
			return nil, e
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, failure.Usage("%s: %s", name, failure.Cause(err))
		}
	}
}

const (
	leastRead = 512     // bytes for a text of an unknown length
	longRead  = 1 << 20 // bytes of a text that may be very long
)

// sizeOf is how many bytes to read from r: the size of a regular file plus one for its end. For a
// file beyond the limit, one byte more than the limit is enough.
func sizeOf(r io.Reader, limit int64) int {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return int(min(info.Size(), limit)) + 1
		}
	}
	return leastRead
}

// growth is how many bytes to add to a buffer of this size. A long text gets room for the maximum
// at once: the system takes memory only for bytes that are written, and nothing is copied again.
func growth(size int, most int64) int {
	if size < longRead {
		return max(size, leastRead)
	}
	return max(int(most)+1-size, leastRead)
}

// MaxInput bounds standard input and each attached file, in bytes.
const MaxInput = 64 << 20
