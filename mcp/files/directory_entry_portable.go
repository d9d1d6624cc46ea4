//go:build unix && (!linux || portable)

package files

import (
	"io"
	"os"
)

// readDirectory calls visit with some entries after the other of f, which is dir
// open as a file.
func readDirectory(_ *os.Root, f *os.File, visit func([]entry) error) error {
	for {
		all, err := f.ReadDir(1024)
		list := make([]entry, len(all))
		for i, e := range all {
			list[i] = entry{e.Name(), e.Type()}
		}
		if len(list) > 0 {
			if err := visit(list); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
