package flags

import (
	"cmp"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// An argument is a word of the command line. A cluster such as -qyf is split into its switches, qy,
// and the rest, f: a letter of another flag, or a value. Both are "" for any other word.
type argument struct{ word, switches, rest string }

func IsCluster(word string) bool { return len(word) > 1 && word[0] == '-' && word[1] != '-' }

// CheckArguments refuses arguments that parse but certainly mean something else than the user
// intended. args are the arguments before "--". isFile reports whether a regular file of that name
// exists.
func (t *Table) CheckArguments(args []string, isFile func(string) bool) error {
	letters := "" // of the switches
	for f := range t.All() {
		if f.Value == "" {
			letters += f.Short
		}
	}
	for i, word := range args {
		a := argument{word: word}
		if IsCluster(word) {
			a.rest = strings.TrimLeft(word[1:], letters)
			a.switches = strings.TrimSuffix(word[1:], a.rest)
		}
		behind := args[i+1:]
		if err := cmp.Or(a.checkApproval(behind), a.checkBlock(), a.checkFile(behind, isFile)); err != nil {
			return err
		}
	}
	return nil
}

// checkFile refuses a file directly after the value of -f: the shell expanded *.md to several
// names, and only the first one would be attached.
func (a argument) checkFile(behind []string, isFile func(string) bool) error {
	if a.word != "--file" && a.rest != "f" || len(behind) < 2 || strings.HasPrefix(behind[1], "-") || !isFile(behind[1]) {
		return nil
	}
	both := "-f " + config.ShellQuote(behind[0]) + " -f " + config.ShellQuote(behind[1]) + " attaches both"
	return failure.UsageError([]string{both, "a prompt with this text goes after --"},
		"--file: takes one file, but the file %q follows its value", behind[1])
}

// checkApproval refuses a value of --auto-approve, and a pattern after it: the user meant --allow,
// but everything would be approved. In a cluster of switches, such as -qyv, the y may be anywhere.
func (a argument) checkApproval(behind []string) error {
	value, wrong := strings.CutPrefix(a.word, "--auto-approve=")
	bare := a.word == "--auto-approve"
	if _, others, ok := strings.Cut(a.switches, "y"); ok {
		if value, wrong = strings.CutPrefix(a.rest, "="); !wrong {
			value = others + a.rest
			wrong = looksLikePattern(value)
		}
		bare = a.rest == ""
	}
	if bare && len(behind) > 0 && looksLikePattern(behind[0]) {
		value, wrong = behind[0], true
	}
	if !wrong {
		return nil
	}
	meant := "PATTERNS"
	if looksLikePattern(value) {
		meant = "'" + value + "'"
	}
	return failure.UsageError([]string{"--allow " + meant + " approves these tools and nothing else", "--auto-approve alone approves everything that is not denied"},
		"--auto-approve: takes no value, but %q follows it", value)
}

// checkBlock refuses letters of other flags with values after the x of a cluster: -xsh is meant as
// a language, and would be -x -s h.
func (a argument) checkBlock() error {
	_, others, ok := strings.Cut(a.switches, "x")
	if !ok || a.rest == "" {
		return nil
	}
	return failure.UsageError([]string{"-o block:LANG takes the first block of that language", "write a flag with a value apart from -x"},
		"-x: takes no value, but %q follows it", others+a.rest)
}

// looksLikePattern reports whether w could be a value of --allow, and is unlikely as a word of a
// prompt.
func looksLikePattern(w string) bool {
	isOther := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("_@*?,.-", r)
	}
	return w != "" && !strings.ContainsFunc(w, isOther) && (strings.Contains(w, "__") || strings.Contains(w, "*") || w[0] == '@')
}
