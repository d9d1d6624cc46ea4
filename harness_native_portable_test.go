//go:build unix && (!linux || portable)

package main

// native says that the program does what every Unix can do, and no more.
const native = false

// buildTags are those of a program that is built as this one.
const buildTags = "portable"
