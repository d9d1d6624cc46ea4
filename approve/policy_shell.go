package approve

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/jsontext"
)

// commandTools are calls of the built-in tools that run commands.
var commandTools = []*Call{{Server: "shell", Tool: "run_command"}, {Server: "processes", Tool: "start"}}

// checkScriptPattern refuses a rule that allows scripts by a pattern over their
// text, or as a path: only a shell knows where a command ends, and "git *" also matches
// "git log; rm -r .". at is the node of the rule's arguments.
func (p *policyReader) checkScriptPattern(at int, r *Rule) error {
	if !slices.ContainsFunc(commandTools, func(c *Call) bool { return r.matchesNames(c, false) }) {
		return nil
	}
	for i := range p.children(at) {
		keys, _ := parsePath(string(p.key(i)))
		test := string(p.key(i + 1))
		if len(keys) == 1 && (keys[0].any || keys[0].key == "script") && (test == "glob" || test == "regex" || test == "under") {
			return p.errorAt(p.nodes[i].keyStart, `no %s can tell what a shell makes of a script: allow words instead, such as "argv":{"words":["git",["log","diff"]]}, or accept it by "script_pattern":true in the rule`, test)
		}
	}
	return nil
}

// runners are programs that run other programs or code which their arguments
// name, and the options that make them do so. The option "" stands for no
// option: these programs always do so.
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

// runnerWarning returns a warning if the rule, which allows calls, allows one of
// the runners to run anything; else "". at is the node of the rule's arguments.
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
			if runner := runnerIn(program, slices.Concat(listed[1:]...)); runner != "" {
				return r.Origin + ": this rule allows " + strconv.Quote(runner) + ", which runs what its arguments say: list the program that it is to run instead"
			}
		}
	}
	if runner := p.unlistedRunner(at, r); runner != "" {
		return r.Origin + ": this rule allows " + strconv.Quote(runner) + " with any argument, which it runs: list every word by words"
	}
	return ""
}

// runnerIn returns the program and the option among words that makes it run what
// its arguments say, such as "sh -c"; "" if there is none.
func runnerIn(program string, words []string) string {
	for _, o := range runnerOptions(program) {
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
	return ""
}

// runnerOptions returns the options of the runner at the path program, which may
// have a version, such as /usr/bin/python3.12; nil if it is no runner.
func runnerOptions(program string) []string {
	name := strings.TrimRight(path.Base(program), "-.0123456789")
	for _, r := range runners {
		if slices.Contains(r.programs, name) {
			return r.options
		}
	}
	return nil
}

// unlistedRunner returns a runner, as runnerIn does, that the rule allows with
// words that it does not list. It tries the rule's tests on argv with each
// program that these tests may mean. at is the node of the rule's arguments.
func (p *policyReader) unlistedRunner(at int, r *Rule) string {
	argv := &argumentTests{others: r.arguments.others}
	first := &argumentTests{others: true} // the tests on the program alone
	programs, tests := plainRunners(), r.arguments.tests
	for i := range p.children(at) {
		t := tests[0]
		tests = tests[1:]
		if t.path[0].key != "argv" && !t.path[0].any {
			continue
		}
		argv.tests = append(argv.tests, t)
		if len(t.path) == 2 && t.path[1].index == 0 {
			first.tests = append(first.tests, t)
			programs = append(programs, p.meantRunners(i+1)...)
		}
	}
	if argv.tests == nil {
		return ""
	}
	for _, program := range programs {
		if !first.allowWords(program) { // most programs, so it saves time
			continue
		}
		for _, option := range runnerOptions(program) {
			words := append([]string{program}, strings.Fields(option)...)
			for range 4 { // find and timeout need several words before a command
				if words = append(words, "unlisted-word"); argv.allowWords(words...) {
					return strings.TrimSpace(program + " " + option)
				}
			}
		}
	}
	return ""
}

// allowWords reports whether the tests allow argv to be words.
func (a *argumentTests) allowWords(words ...string) bool {
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, string(jsontext.Quoted(w)))
	}
	e := &evaluation{lexical: true}
	e.begin(context.Background(), &Call{Arguments: []byte(`{"argv":[` + strings.Join(quoted, ",") + "]}")})
	e.parse()
	return a.matchNarrow(e)
}

// plainRunners returns the names of all runners, as programs are usually named:
// alone or in a directory of programs, Python also with a version.
func plainRunners() (programs []string) {
	for _, directory := range []string{"", "/usr/bin/", "/bin/", "/usr/local/bin/"} {
		for _, r := range runners {
			for _, name := range r.programs {
				programs = append(programs, directory+name)
			}
		}
		programs = append(programs, directory+"python3.12")
	}
	return programs
}

// meantRunners returns the programs which the value of a test, p.nodes[at], may
// mean: a string itself, and what is left of it when each wildcard stands for
// little or for a runner's name, and the runners in its directory and below it.
func (p *policyReader) meantRunners(at int) (programs []string) {
	for i := at; i < p.nodes[at].next; i++ {
		if p.nodes[i].kind != '"' {
			continue
		}
		text := string(p.str(i))
		programs = append(programs, text)
		if at != i || string(p.key(at)) != "glob" && string(p.key(at)) != "under" {
			continue // one value of one_of
		}
		directory, name := path.Split(text)
		directory = strings.NewReplacer("*", "x", "?", "x").Replace(directory)
		name = strings.ReplaceAll(name, "?", "1")
		programs = append(programs, directory+strings.ReplaceAll(name, "*", ""), directory+strings.ReplaceAll(name, "*", "1"))
		for _, r := range runners {
			for _, runner := range r.programs {
				programs = append(programs, directory+strings.ReplaceAll(name, "*", runner), directory+runner, text+"/"+runner)
			}
		}
	}
	return programs
}
