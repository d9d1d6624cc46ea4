package invocation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"time"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/stdio"
	"toolpipe/stream/disk"
)

func (o *Outputs) OpenLog(ctx context.Context, path string) error {
	f, err := disk.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|stdio.OpenNonblock, 0o600)
	if err != nil {
		return config.OpenError("--log", path, err)
	}
	o.log = f
	info, err := f.Stat()
	w := stdio.Bounded(ctx, stdio.Blocking(f), &o.Readers)
	if err == nil {
		err = config.WrittenFile.Check(nil, f, "--log", path, o.Warn)
	}
	if err == nil && info.Mode().IsRegular() {
		w, err = newSharedLog(ctx, f, path, w)
	}
	if err != nil {
		return config.OpenError("--log", path, err)
	}
	var run [6]byte
	rand.Read(run[:])
	o.Run = hex.EncodeToString(run[:])
	o.add(&event.NDJSONOutput{Writer: event.NewWriter(w, "--log "+config.ShellQuote(path)), Began: o.Began, Run: o.Run})
	return nil
}

// sharedLog is a log file to which other runs may append at the same time.
//
// Each write consists of complete lines, in one system call, and the file is open with O_APPEND.
// The file is locked for each write, and no longer. Without the lock, a run could mistake a line
// that another run is writing for a half one, because the size of a file may grow during a write.
// Under the lock, a half line at the end comes from a killed run or from a failed write; it is
// ended before the next line. A line that is too long for the buffer may take several writes. The
// lock is then held until its end.
type sharedLog struct {
	ctx    context.Context // of the run
	file   *os.File
	end    *os.File // the same file, open for reading; nil: no permission, so its end is unknown
	out    io.Writer
	within bool // the last write ended inside a line
}

const (
	lockWait = 30 * time.Second // for the lock, while others write to a slow disk
	lastWait = 2 * time.Second  // the same after the end of the run
)

// newSharedLog returns an error if the file cannot be locked, before anything is written.
func newSharedLog(ctx context.Context, f *os.File, path string, out io.Writer) (io.Writer, error) {
	l := &sharedLog{ctx: ctx, file: f, out: out}
	if end, err := os.OpenFile(path, os.O_RDONLY|stdio.OpenNonblock, 0); err == nil {
		opened, _ := f.Stat()
		named, err := end.Stat()
		if err == nil && os.SameFile(opened, named) {
			l.end = end
		} else {
			end.Close()
		}
	}
	if err := l.lock(); err != nil {
		return nil, err
	}
	return l, disk.Unlock(f)
}

func (l *sharedLog) Write(p []byte) (n int, err error) {
	if !l.within {
		if err := l.lock(); err != nil {
			return 0, err
		}
		err = l.endLine()
	}
	if err == nil {
		n, err = l.out.Write(p)
	}
	if l.within = err == nil && len(p) > 0 && p[len(p)-1] != '\n'; !l.within {
		disk.Unlock(l.file)
	}
	return n, err
}

func (l *sharedLog) lock() error {
	err := disk.Lock(l.ctx, l.file, lockWait)
	if l.ctx.Err() != nil {
		err = disk.Lock(context.WithoutCancel(l.ctx), l.file, lastWait)
	}
	return err
}

func (l *sharedLog) endLine() error {
	if l.end == nil {
		return nil
	}
	info, err := l.end.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	var last [1]byte
	_, err = l.end.ReadAt(last[:], info.Size()-1)
	switch {
	case err == io.EOF: // another process has emptied it
		return nil
	case err == nil && last[0] != '\n':
		_, err = l.out.Write([]byte{'\n'})
	}
	return err
}
