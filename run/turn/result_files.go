package turn

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"toolpipe/mcp/builtin/confine"
)

// resultFiles are the private files of a run with results. Each conversation has its own directory.
type resultFiles struct {
	mu     sync.Mutex
	root   string     // "" before the first directory
	kept   []keptFile // oldest first
	bytes  int64      // of all
	warned sync.Once  // that a result cannot be kept
}

type keptFile struct {
	path string
	size int64
}

// keptResults is how many bytes the files of a run have; the oldest ones make room.
const keptResults = 1 << 30

func (f *resultFiles) directory() (_ string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root == "" {
		if f.root, err = confine.PrivateTempDir("toolpipe-results-"); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(f.root, "")
}

// add writes a file that programs cannot write to, unless it is there already.
func (f *resultFiles) add(path string, text []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = file.Write(text)
		file.Close()
	}
	if err != nil {
		os.Remove(path)
		return err
	}
	f.kept = append(f.kept, keptFile{path, int64(len(text))})
	f.bytes += int64(len(text))
	f.makeRoom(keptResults)
	return nil
}

// makeRoom removes the oldest files until all others have at most so many bytes.
func (f *resultFiles) makeRoom(most int64) {
	for ; f.bytes > most; f.kept = f.kept[1:] {
		os.Remove(f.kept[0].path)
		f.bytes -= f.kept[0].size
	}
}

// CloseResults removes the files with results.
func (p *Plan) CloseResults() {
	if p.files.root != "" {
		confine.RemoveTree(p.files.root)
	}
}
