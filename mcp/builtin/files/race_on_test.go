//go:build race

package files

// slowdown is how many times longer the race detector makes what computes. It
// also has pools forget at random, so that memory says nothing.
const slowdown = 12
