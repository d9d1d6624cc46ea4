//go:build !linux || portable

package cage

import (
	"slices"
	"strings"
	"testing"
)

// TestSeatbeltArguments shows the profile whole. It has not run on a Mac.
func TestSeatbeltArguments(t *testing.T) {
	spec := Spec{
		Write:   []string{"/private/tmp/run", "/disk/u/project", "/disk/u/.config/app/cache"},
		Protect: []string{"/disk/u/project/sub/.git/hooks"},
		Hide:    []string{"/disk/u/.config", "/disk/u/project/.env", "/disk/u/.ssh"},
	}
	args := seatbeltArguments(&spec)
	own := strings.TrimPrefix(args[1], seatbeltBase)
	const want = `(deny file-read* file-write* (subpath (param "PATH_0")))
(allow file-read* file-write* (subpath (param "PATH_1")))
(deny file-read* file-write* (subpath (param "PATH_2")))
(allow file-read* file-write* (subpath (param "PATH_3")))
(deny file-read* file-write* (subpath (param "PATH_4")))
(deny file-write-unlink (literal (param "PATH_5")))
(deny file-write-unlink (literal (param "PATH_6")))
(deny file-write* (subpath (param "PATH_7")))
(allow file-read* file-write* (subpath (param "PATH_8")))
`
	if own != want {
		t.Errorf("profile:\n%s, want\n%s", own, want)
	}
	parameters := []string{
		"-DPATH_0=/disk/u/.config", "-DPATH_1=/disk/u/.config/app/cache", "-DPATH_2=/disk/u/.ssh", "-DPATH_3=/disk/u/project", "-DPATH_4=/disk/u/project/.env",
		"-DPATH_5=/disk/u/project/sub", "-DPATH_6=/disk/u/project/sub/.git", "-DPATH_7=/disk/u/project/sub/.git/hooks", "-DPATH_8=/private/tmp/run", "--",
	}
	if args[0] != "-p" || !slices.Equal(args[2:], parameters) {
		t.Errorf("parameters: %q", args[2:])
	}
	if strings.Contains(args[1], "network") {
		t.Error("there is a network")
	}
	spec.Network = WholeNetwork
	if args = seatbeltArguments(&spec); !strings.Contains(args[1], "(allow network*") {
		t.Error("there is no network")
	}
	for _, profile := range []string{args[1]} {
		if strings.Count(profile, "(") != strings.Count(profile, ")") || strings.Count(profile, `"`)%2 != 0 {
			t.Errorf("parentheses or quotes do not match:\n%s", profile)
		}
	}
}
