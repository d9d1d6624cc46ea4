//go:build !linux || portable

package cage

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// seatbeltBase are the rules that every program needs. It allows only the services for users
// and settings; others would start programs outside of the cage.
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

// seatbeltNetwork are the rules that a program with the network needs in addition to sockets:
// name resolution and certificates.
const seatbeltNetwork = `(allow network* system-socket)
(allow mach-lookup (global-name "com.apple.trustd.agent") (global-name "com.apple.SystemConfiguration.configd") (global-name "com.apple.SystemConfiguration.DNSConfiguration"))
`

// seatbeltArguments are the arguments of sandbox-exec before the program. Paths are
// parameters, so that none is read as a rule. If two rules apply to a path, the later one
// counts, so rules for parents come first. A directory between a writable directory and a
// protected path in it cannot be renamed; otherwise another directory could replace it.
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
