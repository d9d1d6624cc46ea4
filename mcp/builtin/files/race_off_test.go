//go:build !race

package files

const slowdown = 1
