package turn

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/stream/text/jsontext"
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

// add writes a file with the text of a JSON string literal, given without its quotes, unless the file
// is there already. Programs cannot write to it.
func (f *resultFiles) add(path string, inner []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriter(file)
	text, structured := structuredIn(inner)
	jsontext.WriteText(w, text)
	w.Write(structured)
	if err := w.Flush(); err != nil {
		os.Remove(path)
		return err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	f.kept = append(f.kept, keptFile{path, size})
	f.bytes += size
	f.makeRoom(keptResults)
	return err
}

// structuredIn splits off structured content, which is indented then. It is the last line of a text,
// and the longest part.
func structuredIn(inner []byte) (text, structured []byte) {
	at := bytes.LastIndex(inner, []byte(`\n`)) + 2
	if at < 2 {
		at = 0
	}
	kind := jsontext.Kind(inner[at:])
	if kind != '{' && kind != '[' || at > len(inner)/2 || at > 2 && inner[at-3] == '\\' {
		return inner, nil
	}
	var out bytes.Buffer
	if json.Indent(&out, jsontext.Unescape(inner[at:]), "", "  ") != nil {
		return inner, nil
	}
	return inner[:at], out.Bytes()
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
