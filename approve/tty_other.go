//go:build !linux && !darwin && !freebsd

package approve

import (
	"context"
	"errors"
	"time"
)

// tty does not exist here: nobody can be asked.
type tty struct{}

var errNoTTY = errors.New("no terminal on this system")

func openTTY(string) (*tty, error)                          { return nil, errNoTTY }
func (*tty) close()                                         {}
func (*tty) foreground() bool                               { return false }
func (*tty) lock() bool                                     { return true }
func (*tty) gone() bool                                     { return true }
func (*tty) size() (int, int)                               { return 80, 24 }
func (*tty) flushInput() error                              { return errNoTTY }
func (*tty) write(context.Context, string, time.Time) error { return errNoTTY }
func (*tty) note(string)                                    {}
func (*tty) read(*[]byte, time.Duration) (int, error)       { return 0, errNoTTY }
