package config

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"toolpipe/run/failure"
	"toolpipe/run/stdio"
)

// fileKind says what a file may be that a flag or a key of the config names.
type fileKind uint8

const (
	PlainFile fileKind = iota // its content grants nothing: whatever can be read
	keyFile                   // a pipe, or a file that not everybody can write to
	RuleFile                  // it names what may run: as KeyFile, but no pipe
)

// ReadFile reads a file that may make us wait: a FIFO without a writer, a
// pipe that does not end. Neither --timeout nor a signal waits for that; the
// read is then left behind.
func ReadFile(ctx context.Context, what, path string, limit int64, kind fileKind) ([]byte, error) {
	return stdio.Await(ctx, func() ([]byte, error) { return kind.Read(what, path, limit, nil) })
}

// Read reads the file at path once, through the descriptor that was judged;
// what, the flag or key that names it, begins the error. That somebody else
// could change what may run, warn is told.
func (k fileKind) Read(what, path string, limit int64, warn Warner) ([]byte, error) {
	mode := os.O_RDONLY
	if k != PlainFile {
		mode |= stdio.OpenNonblock // a FIFO without a writer is refused, not waited for
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, OpenError(what, path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, OpenError(what, path, err)
	}
	if err := k.judge(what, path, info.Mode()); err != nil {
		return nil, err
	}
	if uid, other := stdio.OtherOwner(info); other && k == RuleFile {
		warn("file_owner", "", what+": "+strconv.Quote(path)+" belongs to "+userName(uid)+", who can change it")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, OpenError(what, path, err)
	case int64(len(data)) > limit:
		return nil, failure.Usage("%s: %q is larger than %d MiB", what, path, limit>>20)
	}
	return data, nil
}

// judge refuses a file of another kind.
func (k fileKind) judge(what, path string, mode os.FileMode) error {
	switch {
	case mode.IsDir():
		return failure.Usage("%s: %q is a directory", what, path)
	case k == RuleFile && !mode.IsRegular():
		return failure.Usage("%s: %q is not a regular file", what, path)
	case k != PlainFile && mode.IsRegular() && mode&0o002 != 0:
		return failure.UsageError([]string{"chmod o-w " + ShellQuote(path)}, "%s: %q: everybody can write to this file", what, path)
	}
	return nil
}

// OpenError is err of opening the file that a flag or key names.
func OpenError(what, path string, err error) error {
	if _, ok := errors.AsType[*failure.Error](err); ok {
		return err
	}
	e := failure.Usage("%s: %q: %s", what, path, failure.Cause(err))
	if errors.Is(err, os.ErrNotExist) {
		e = failure.Usage("%s: %q does not exist", what, path)
		if dir := filepath.Dir(path); dir != "." && !exists(dir) {
			e = failure.Usage("%s: %q: the directory %q does not exist", what, path, dir)
		}
	}
	if errors.Is(err, syscall.ENXIO) {
		e = failure.Usage("%s: %q: nobody reads from this pipe", what, path)
	}
	e.Cause = err
	return e
}

// userName names the user with that number, in quotes if it has a name.
func userName(uid string) string {
	if u, err := user.LookupId(uid); err == nil {
		return strconv.Quote(u.Username)
	}
	return "user " + uid
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
