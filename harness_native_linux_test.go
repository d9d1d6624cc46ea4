//go:build !portable

package main

// native says that the program has its Linux files: what has left its session
// is found, and dies with it.
const native = true

// buildTags are those of a program that is built as this one.
const buildTags = ""
