//go:build !unix

package mcp

import (
	"io/fs"
	"os"
)

const openFlags = os.O_RDONLY

func device(fs.FileInfo) uint64 { return 0 }

func aliased(fs.FileInfo) bool { return true }

func foreign(fs.FileInfo) bool { return false }

func keepOwner(*os.File, fs.FileInfo) {}

func syncDir(*os.File) error { return nil }
