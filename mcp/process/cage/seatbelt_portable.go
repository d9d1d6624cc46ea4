//go:build !linux || portable

package cage

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// seatbeltBase is what every program needs. Of the services that it may ask, those are named
// that tell who the user is and what the settings are; others would start programs outside.
const seatbeltBase = `(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.cfprefsd.daemon") (global-name "com.apple.cfprefsd.agent") (global-name "com.apple.PowerManagement.control"))
(allow file-read*)
(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
`

// seatbeltNetwork is what a program with the network needs beside sockets: names and
// certificates.
const seatbeltNetwork = `(allow network* system-socket)
(allow mach-lookup (global-name "com.apple.trustd.agent") (global-name "com.apple.SystemConfiguration.configd") (global-name "com.apple.SystemConfiguration.DNSConfiguration"))
`

// seatbeltArguments are those of sandbox-exec before the program and its arguments. Paths are
// parameters, so that none is read as a rule. Where two rules are about a path, the later one
// counts: those about what is below come after those about what is above. A name between a
// directory that may be written and what is protected in it is not renamed: else another
// directory could take its place.
func seatbeltArguments(spec *Spec) []string {
	rules := map[string]string{}
	for _, path := range spec.Write {
		rules[path] = "(allow file-read* file-write* (subpath (param %)))"
	}
	for _, path := range spec.Protect {
		rules[path] = "(deny file-write* (subpath (param %)))"
	}
	for _, path := range spec.Hide {
		if rules[path] == "" {
			rules[path] = "(deny file-read* file-write* (subpath (param %)))"
		}
	}
	for _, path := range slices.Concat(spec.Protect, spec.Hide) {
		for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if rules[dir] == "" && slices.ContainsFunc(spec.Write, func(w string) bool { return below(dir, w) }) {
				rules[dir] = "(deny file-write-unlink (literal (param %)))"
			}
		}
	}
	var profile strings.Builder
	profile.WriteString(seatbeltBase)
	if spec.Network == WholeNetwork {
		profile.WriteString(seatbeltNetwork)
	}
	var parameters []string
	for i, path := range slices.Sorted(maps.Keys(rules)) {
		name := "PATH_" + strconv.Itoa(i)
		profile.WriteString(strings.Replace(rules[path], "%", strconv.Quote(name), 1) + "\n")
		parameters = append(parameters, "-D"+name+"="+path)
	}
	return slices.Concat([]string{"-p", profile.String()}, parameters, []string{"--"})
}
