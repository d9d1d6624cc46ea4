//go:build race

package mcp

// slowdown is how many times longer the race detector makes what computes.
const slowdown = 12
