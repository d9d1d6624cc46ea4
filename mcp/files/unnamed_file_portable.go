//go:build unix && (!linux || portable)

package files

import (
	"errors"
	"io/fs"
	"os"
)

// openUnnamed fails: only Linux has files without a name.
func openUnnamed(*os.File, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func linkUnnamed(*os.File, *os.File, string) error { return errors.ErrUnsupported }
