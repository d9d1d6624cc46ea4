package run

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"toolpipe/stream/goroutine"
)

// fileKind says what a file may be that a flag or a key of the config names.
type fileKind uint8

const (
	plainFile fileKind = iota // its content grants nothing: whatever can be read
	keyFile                   // a pipe, or a file that not everybody can write to
	ruleFile                  // it names what may run: as keyFile, but no pipe
)

// readFile reads a file that may make us wait: a FIFO without a writer, a
// pipe that does not end. Neither --timeout nor a signal waits for that; the
// read is then left behind.
func readFile(ctx context.Context, what, path string, limit int64, kind fileKind) ([]byte, error) {
	return waitFor(ctx, func() ([]byte, error) { return kind.read(what, path, limit, nil) })
}

// waitFor is f's result, or ctx's cause while f is left behind.
func waitFor[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	goroutine.Start(func() {
		value, err := f()
		done <- result{value, err}
	})
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// read reads the file at path once, through the descriptor that was judged;
// what, the flag or key that names it, begins the error. That somebody else
// could change what may run, warn is told.
func (k fileKind) read(what, path string, limit int64, warn warner) ([]byte, error) {
	mode := os.O_RDONLY
	if k != plainFile {
		mode |= openNonblock // a FIFO without a writer is refused, not waited for
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, openError(what, path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, openError(what, path, err)
	}
	if err := k.judge(what, path, info.Mode()); err != nil {
		return nil, err
	}
	if uid, other := otherOwner(info); other && k == ruleFile {
		warn("file_owner", "", what+": "+strconv.Quote(path)+" belongs to "+userName(uid)+", who can change it")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, openError(what, path, err)
	case int64(len(data)) > limit:
		return nil, usage("%s: %q is larger than %d MiB", what, path, limit>>20)
	}
	return data, nil
}

// judge refuses a file of another kind.
func (k fileKind) judge(what, path string, mode os.FileMode) error {
	switch {
	case mode.IsDir():
		return usage("%s: %q is a directory", what, path)
	case k == ruleFile && !mode.IsRegular():
		return usage("%s: %q is not a regular file", what, path)
	case k != plainFile && mode.IsRegular() && mode&0o002 != 0:
		return usageError([]string{"chmod o-w " + shellQuote(path)}, "%s: %q: everybody can write to this file", what, path)
	}
	return nil
}

// openError is err of opening the file that a flag or key names.
func openError(what, path string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	e := usage("%s: %q: %s", what, path, cause(err))
	if errors.Is(err, os.ErrNotExist) {
		e = usage("%s: %q does not exist", what, path)
		if dir := filepath.Dir(path); dir != "." && !exists(dir) {
			e = usage("%s: %q: the directory %q does not exist", what, path, dir)
		}
	}
	if errors.Is(err, syscall.ENXIO) {
		e = usage("%s: %q: nobody reads from this pipe", what, path)
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
