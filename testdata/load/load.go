// Package load decides how much of its work a test does. Only tests import it.
package load

import (
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"
	"testing"
)

// Full reports whether a test runs at its full size. All tests together need many
// minutes for that, so a test without TOOLPIPE_LOAD runs at a part of it, and .ci/run
// gives each commit another seventh of the tests. TOOLPIPE_LOAD is "all" or as In
// describes it. No test is full under the race detector, which is ten times slower.
func Full(t testing.TB) bool {
	part := os.Getenv("TOOLPIPE_LOAD")
	return part != "" && !RaceDetector() && In(part, t.Name())
}

// Variant skips a test that plays the same code as another one with other values, unless it
// is full.
func Variant(t testing.TB) {
	t.Helper()
	if !Full(t) {
		t.Skip("a variant, which TOOLPIPE_LOAD plays")
	}
}

// Of gives the full number of repetitions or the reduced one.
func Of(t testing.TB, full, reduced int) int {
	if Full(t) {
		return full
	}
	return reduced
}

// In reports whether a name belongs to a part of all names. A part is "K/N" with K from 0
// to N-1, and N different parts hold every name once. "" and "all" hold every name.
func In(part, name string) bool {
	if part == "" || part == "all" {
		return true
	}
	var k, n uint32
	if _, err := fmt.Sscanf(part, "%d/%d", &k, &n); err != nil || k >= n {
		panic("a part of the tests is K/N or all, not " + part)
	}
	return crc32.ChecksumIEEE([]byte(name))%n == k
}

// RaceDetector reports whether this test was built with the race detector, which
// multiplies memory and time.
func RaceDetector() bool { return Setting("-race") == "true" }

// Setting gives a flag of go build with which this test was built; "" without it.
func Setting(flag string) string {
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		if setting.Key == flag {
			return setting.Value
		}
	}
	return ""
}
