package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"toolpipe/run/failure"
	"toolpipe/run/stdio"
)

// fileKind says which demands are made on a file that a flag or a key of the
// config names.
type fileKind uint8

const (
	PlainFile      fileKind = iota // any file: its content grants nothing
	keyFile                        // a pipe, or a file that not everybody can write to
	RuleFile                       // a regular file that not everybody can write to: it says what may run
	pipeOrRuleFile                 // a pipe such as <(jq …), or a RuleFile
)

const MaxRuleFile = 16 << 20 // bytes

// ReadFile reads a file that may block: a FIFO without a writer, or a pipe that
// does not end. When ctx ends it returns, and the read is left behind.
func ReadFile(ctx context.Context, what, path string, limit int64, kind fileKind) ([]byte, error) {
	return stdio.Await(ctx, func() ([]byte, error) { return kind.Read(what, path, limit, nil) })
}

// Read reads the file at path once, through the same descriptor whose mode was
// checked. what is the flag or the key that names the file; errors begin with
// it. A rule file that belongs to another user is a warning.
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
	return k.ReadFrom(f, what, path, limit, warn)
}

// ReadFrom is Read for the file that is open as f.
func (k fileKind) ReadFrom(f *os.File, what, path string, limit int64, warn Warner) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, OpenError(what, path, err)
	}
	if err := k.check(what, path, info.Mode()); err != nil {
		return nil, err
	}
	if uid, other := stdio.OtherOwner(info); other && k >= RuleFile {
		warn("file_owner", "", what+": "+strconv.Quote(path)+" belongs to user "+uid+", who can change it")
	}
	return ReadLimited(f, what+": "+strconv.Quote(path), limit)
}

// check refuses a file that does not meet the demands.
func (k fileKind) check(what, path string, mode os.FileMode) error {
	switch {
	case mode.IsDir():
		return failure.Usage("%s: %q is a directory", what, path)
	case k == pipeOrRuleFile && mode&(os.ModeNamedPipe|os.ModeSocket) != 0:
	case k >= RuleFile && !mode.IsRegular():
		return failure.Usage("%s: %q is not a regular file", what, path)
	case k != PlainFile && mode.IsRegular() && mode&0o002 != 0:
		return failure.UsageError([]string{"chmod o-w " + ShellQuote(path)}, "%s: %q: everybody can write to this file", what, path)
	}
	return nil
}

// OpenError words err, which came from opening or writing the file at path; what is the
// flag or the key that names the file. Where there is no room for the file, the status is
// that of an output which cannot be written.
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
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		e.Status = failure.StatusOutput
	}
	e.Cause = err
	return e
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
