//go:build unix && !linux

package files

import (
	"errors"
)

func mountSmall(string) error { return errors.ErrUnsupported }

func unmount(string) {}
