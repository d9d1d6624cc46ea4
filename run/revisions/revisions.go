// Package revisions remembers which revision of the Model Context Protocol each tool
// server spoke. A server that is not asked for what it does not speak need not be
// started twice.
//
// A memory is a file of lines "KEY REVISION DAY": the key is a hash of the command line
// or the URL of a server, the day is when the server last spoke another revision, in
// days since 1970. Nothing else about a server is in it. What it says is only a guess: a
// wrong line costs the server one more start, and is then replaced.
package revisions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/stream/ownership"
)

const (
	maxLines = 500 // of the file; those of the earliest days go first
	maxBytes = 64 << 10
	maxDays  = 30 // of age: the server may have learned a newer revision since
)

// Memory is the file at a path. Its methods may be called concurrently.
type Memory struct {
	Path string           // "": nothing is remembered
	Now  func() time.Time // nil: time.Now

	mu    sync.Mutex
	lines []line // as they were read first; nil before
}

type line struct {
	key, revision string
	day           int64
}

// Key is that of a server by its URL, or by its command and working directory.
func Key(url string, command []string, dir string) string {
	hash := sha256.New()
	for _, word := range append([]string{url, dir}, command...) {
		io.WriteString(hash, strconv.Quote(word)+"\n")
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// Known is the revision that the server of a key spoke; "" where none is remembered. A
// file that another user can write is not read.
func (m *Memory) Known(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines == nil {
		m.lines = m.read()
	}
	for _, l := range m.lines {
		if l.key == key {
			return l.revision
		}
	}
	return ""
}

// Learn remembers the revision of the server of a key; "" forgets it. The error is that
// the file cannot be written, after which nothing has changed. Of two processes that
// learn at the same time one may forget what the other learned.
func (m *Memory) Learn(ctx context.Context, key, revision string) error {
	if m.Path == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := slices.DeleteFunc(m.read(), func(l line) bool { return l.key == key })
	if revision != "" {
		lines = append(lines, line{key, revision, m.today()})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.day - b.day) })
	lines = lines[max(0, len(lines)-maxLines):]
	var text []byte
	for _, l := range lines {
		text = append(text, l.key+" "+l.revision+" "+strconv.FormatInt(l.day, 10)+"\n"...)
	}
	m.lines = lines
	return m.write(ctx, text)
}

func (m *Memory) write(ctx context.Context, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(m.Path), 0o700); err != nil {
		return err
	}
	if f, err := os.OpenFile(m.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil { // whose mode is kept
		f.Close()
	}
	old, err := os.Lstat(m.Path)
	if err != nil {
		return err
	}
	return confine.ReplaceFile(ctx, m.Path, old, text)
}

// read is the lines of the file that are whole and not too old.
func (m *Memory) read() []line {
	all := []line{}
	info, err := os.Lstat(m.Path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || info.Size() > maxBytes || ownership.Foreign(info) {
		return all
	}
	if confine.SafeDirectory(filepath.Dir(m.Path)) != nil {
		return all
	}
	text, err := os.ReadFile(m.Path)
	if err != nil {
		return all
	}
	for row := range bytes.Lines(text) {
		words := strings.Fields(string(row))
		if len(words) != 3 {
			continue
		}
		day, err := strconv.ParseInt(words[2], 10, 32)
		if age := m.today() - day; err == nil && age >= 0 && age <= maxDays {
			all = append(all, line{words[0], words[1], day})
		}
	}
	return all
}

func (m *Memory) today() int64 {
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	return now().Unix() / (24 * 60 * 60)
}
