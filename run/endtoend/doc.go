// Package endtoend tests toolpipe as its users have it: it builds the program
// once and starts it as a process of its own, with pipes, terminals and signals,
// against a model and tool servers that are doubles.
//
// testdata/script holds the scenarios, and its README.md says how one is written.
// Tests in Go do what a script cannot express: servers that misbehave below HTTP,
// certificates, load, panics. testdata/faults.md lists what can go wrong outside
// toolpipe, with the tests for each case.
package endtoend
