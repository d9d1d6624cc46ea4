package approve

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
)

// theShell is the tool that runs commands, by its server and its own name.
var theShell = Call{Server: "shell", Tool: "run_command"}

// scriptPattern refuses a rule that allows what a shell reads by a pattern over
// its text: "git *" takes "git log; rm -r .", too, for only a shell can tell
// where a command ends. at is the rule's arguments.
func (p *policyReader) scriptPattern(at int, r *Rule) error {
	if !r.matchesNames(&theShell, false) {
		return nil
	}
	for i := range p.children(at) {
		keys, _ := parsePath(string(p.key(i)))
		test := string(p.key(i + 1))
		if len(keys) == 1 && (keys[0].any || keys[0].key == "script") && (test == "glob" || test == "regex") {
			return p.errorAt(p.nodes[i].keyStart, `no %s can tell what a shell makes of a script: allow words instead, such as "argv":{"words":["git",["log","diff"]]}, or accept it by "script_pattern":true in the rule`, test)
		}
	}
	return nil
}

// runners are programs that run what their arguments say, and the options that
// make them do so; those without options do it always.
var runners = []struct {
	programs, options []string
}{
	{[]string{"sh", "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "tcsh", "zsh"}, []string{"-c"}},
	{[]string{"python", "python3", "ipython", "pypy"}, []string{"-c"}},
	{[]string{"bun", "julia", "lua", "luajit", "node", "nodejs", "osascript", "perl", "php", "R", "Rscript", "ruby"}, []string{"-e", "-E", "-p", "-r", "--eval", "--print"}},
	{[]string{"deno"}, []string{"eval"}},
	{[]string{"find"}, []string{"-exec", "-execdir", "-ok", "-okdir"}},
	{[]string{"awk", "chroot", "doas", "env", "gawk", "ionice", "mawk", "nawk", "nice", "nohup", "npx", "parallel", "setsid", "ssh", "stdbuf", "su", "sudo", "time", "timeout", "unshare", "watch", "xargs"}, []string{""}},
}

// runnerWarning warns of a rule that allows commands by their words and with
// them a program that runs other commands. at is the rule's arguments.
func (p *policyReader) runnerWarning(at int, r *Rule) string {
	for i := range p.children(at) {
		if string(p.key(i+1)) != "words" {
			continue
		}
		var listed [][]string // for each position of the command
		for position := range p.children(i + 1) {
			var words []string
			for w := position; w < p.nodes[position].next; w++ {
				if p.nodes[w].kind == '"' {
					words = append(words, string(p.str(w)))
				}
			}
			listed = append(listed, words)
		}
		for _, program := range slices.Concat(listed[:min(1, len(listed))]...) {
			if runner := asRunner(program, slices.Concat(listed[1:]...)); runner != "" {
				return r.Origin + ": this rule allows " + strconv.Quote(runner) + ", which runs what its arguments say: list the program that it is to run instead"
			}
		}
	}
	if runner := r.freeRunner(); runner != "" {
		return r.Origin + ": this rule allows " + strconv.Quote(runner) + " with any argument, which it runs: list every word by words"
	}
	return ""
}

// asRunner returns the program and the option among words that makes it run
// what its arguments say, "" if there is none.
func asRunner(program string, words []string) string {
	name := path.Base(program)
	for _, r := range runners {
		if !slices.Contains(r.programs, name) && !slices.Contains(r.programs, strings.TrimRight(name, "0123456789.")) { // python3.12
			continue
		}
		for _, o := range r.options {
			for _, w := range words {
				// Short options may stand together, as in sh -ec.
				together := len(o) == 2 && o[0] == '-' && len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, o[1:])
				if w == o || together {
					return program + " " + w
				}
			}
			if o == "" {
				return program
			}
		}
	}
	return ""
}

// freeRunner returns what asRunner does for a program that r, which tests the
// words of argv one by one, allows with a word that nobody listed.
func (r *Rule) freeRunner() string {
	a := &argumentTests{others: r.arguments.others}
	for _, t := range r.arguments.tests {
		if t.path[0].key == "argv" {
			a.tests = append(a.tests, t)
		}
	}
	if a.tests == nil {
		return ""
	}
	e := &evaluation{lexical: true}
	for _, kind := range runners {
		for _, program := range kind.programs {
			for _, option := range kind.options {
				words := strings.Fields(program + " " + option)
				for range 4 { // as many free words as find and timeout take
					words = append(words, "unlisted-word")
					arguments := `{"argv":["` + strings.Join(words, `","`) + `"]}`
					e.begin(context.Background(), &Call{Arguments: []byte(arguments)})
					e.parse()
					if a.allow(e) {
						return strings.TrimSpace(program + " " + option)
					}
				}
			}
		}
	}
	return ""
}
