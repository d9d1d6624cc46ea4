//go:build race

package stream

// raceDetector says that the race detector is on, whose own memory is some
// times that of the program.
const raceDetector = true
