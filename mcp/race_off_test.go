//go:build !race

package mcp

const slowdown = 1
