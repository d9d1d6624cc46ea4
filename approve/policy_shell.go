package approve

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// checkScripts refuses a rule that allows scripts by a pattern over their text, or as a
// path: only a shell knows where a command ends, and "git *" also matches "git log; rm -r .".
func (r *Rule) checkScripts(servers []Server) error {
	if r.Decision != Allow || r.arguments == nil || r.scriptPattern {
		return nil
	}
	for _, s := range servers {
		for _, tool := range s.Tools {
			for _, t := range r.arguments.tests {
				isScript := len(t.path) == 1 && tool.Scripts != nil && (t.path[0].any || slices.Contains(tool.Scripts, t.path[0].key))
				isPattern := t.kind == "glob" || t.kind == "regex" || t.kind == "under"
				if isScript && isPattern && r.matchesNames(&tool.Call, false) {
					return fmt.Errorf(`%s: no %s can decide what a shell does with a script: allow words instead, such as "argv":{"words":["git",["log","diff"]]}, or accept it by "script_pattern":true in the rule`, r.Origin, t.kind)
				}
			}
		}
	}
	return nil
}

// runners are programs that run other programs or code from their arguments, and the options
// that make them do so. The option "" means that a program always does so.
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

// runnerWarning returns a warning if a words test of the rule, which allows calls, lists one of
// the runners and an option that makes it run anything; else "". at is the node of the rule's
// arguments.
func (p *policyReader) runnerWarning(at int, r *Rule) string {
	for i := range p.children(at) {
		if string(p.key(i+1)) != "words" {
			continue
		}
		listed, _ := p.wordLists(i + 1)
		for _, program := range slices.Concat(listed[:min(1, len(listed))]...) {
			if runner := runnerIn(program, slices.Concat(listed[1:]...)); runner != "" {
				return r.Origin + ": this rule allows " + strconv.Quote(runner) + ", which runs the program that its arguments name: list that program instead"
			}
		}
	}
	return ""
}

// runnerIn returns the program and the option among words that makes it run its arguments, such
// as "sh -c"; "" if there is none. The program is a path, and may have a version, such as
// /usr/bin/python3.12.
func runnerIn(program string, words []string) string {
	name := strings.TrimRight(path.Base(program), "-.0123456789")
	for _, r := range runners {
		if !slices.Contains(r.programs, name) {
			continue
		}
		for _, o := range r.options {
			for _, w := range words {
				// Short options may be combined, as in sh -ec.
				combined := len(o) == 2 && strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, o[1:])
				if w == o || combined {
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
