package flags

import (
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// CheckArguments refuses arguments that parse, and mean something else than the
// user can have meant. args are those before a "--" that ends the flags; isFile
// tells whether there is a regular file of that name.
func (t *Table) CheckArguments(args []string, isFile func(string) bool) error {
	switches := t.SwitchLetters()
	for _, check := range []func() error{
		func() error { return refuseApproveValue(args, switches) },
		func() error { return refuseBlockValue(args, switches) },
		func() error { return refuseFileList(args, switches, isFile) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// refuseFileList refuses a file directly behind the value of -f: the shell has made
// several names of *.md, and only the first one would be attached.
func refuseFileList(args []string, switches string, isFile func(string) bool) error {
	for i, a := range args {
		if a != "--file" && !(IsCluster(a) && strings.TrimLeft(a[1:], switches) == "f") || i+2 >= len(args) {
			continue
		}
		if next := args[i+2]; !strings.HasPrefix(next, "-") && isFile(next) {
			return failure.UsageError([]string{"-f " + config.ShellQuote(args[i+1]) + " -f " + config.ShellQuote(next) + " attaches both", "a prompt of this text goes behind --"},
				"--file: takes one file, but the file %q follows its value", next)
		}
	}
	return nil
}

// refuseApproveValue refuses a value that is given to --auto-approve, and a
// pattern that follows it: everything would be approved where --allow was meant.
// args are those before a "--" that ends the flags. In a cluster of switches,
// such as -qyv, the y may stand anywhere.
func refuseApproveValue(args []string, switches string) error {
	for i, a := range args {
		value, wrong := strings.CutPrefix(a, "--auto-approve=")
		bare := a == "--auto-approve"
		if IsCluster(a) {
			rest := strings.TrimLeft(a[1:], switches)
			if _, behind, ok := strings.Cut(a[:len(a)-len(rest)], "y"); ok {
				if value, wrong = strings.CutPrefix(rest, "="); !wrong {
					value = behind + rest
					wrong = looksLikePattern(value)
				}
				bare = rest == ""
			}
		}
		if bare && i+1 < len(args) && looksLikePattern(args[i+1]) {
			value, wrong = args[i+1], true
		}
		if wrong {
			meant := "PATTERNS"
			if looksLikePattern(value) {
				meant = "'" + value + "'"
			}
			return failure.UsageError([]string{"--allow " + meant + " approves these tools and nothing else", "--auto-approve alone approves everything that is not denied"},
				"--auto-approve: takes no value, but %q follows it", value)
		}
	}
	return nil
}

// refuseBlockValue refuses letters of other flags with values behind the x of a
// cluster: -xsh is meant as a language, and would be -x -s h.
func refuseBlockValue(args []string, switches string) error {
	for _, a := range args {
		if !IsCluster(a) {
			continue
		}
		rest := strings.TrimLeft(a[1:], switches)
		if _, behind, ok := strings.Cut(a[:len(a)-len(rest)], "x"); ok && rest != "" {
			return failure.UsageError([]string{"-o block:LANG takes the first block of that language", "a flag with a value stands apart from -x"},
				"-x: takes no value, but %q follows it", behind+rest)
		}
	}
	return nil
}

// IsCluster tells whether a is one or more one-letter flags.
func IsCluster(a string) bool { return len(a) > 1 && a[0] == '-' && a[1] != '-' }

// looksLikePattern tells whether w could be a value of --allow, and is hardly a
// word of a prompt.
func looksLikePattern(w string) bool {
	isOther := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("_@*?,.-", r)
	}
	return w != "" && !strings.ContainsFunc(w, isOther) && (strings.Contains(w, "__") || strings.Contains(w, "*") || w[0] == '@')
}
