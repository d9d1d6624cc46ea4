// Package endtoend tests toolpipe as its users have it: it builds the program
// once and starts it as a process of its own, with pipes, terminals and signals,
// against a model and tool servers that are doubles.
//
// testdata/script holds the scenarios, and its README.md says how one is written.
// Tests in Go are for what a script cannot say: servers that misbehave below
// HTTP, certificates, load, panics. testdata/faults.md lists what can go wrong
// outside toolpipe and which test holds each case.
package endtoend
