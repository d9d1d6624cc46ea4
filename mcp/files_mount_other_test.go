//go:build unix && !linux

package mcp

import "errors"

func mountSmall(string) error { return errors.ErrUnsupported }

func unmount(string) {}
