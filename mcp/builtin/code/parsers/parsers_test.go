package parsers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/process"
	"toolpipe/testdata/servertest"
)

// syntaxOf is what Check finds with an environment: lines, or the error.
func syntaxOf(ctx context.Context, environ []string, name, text string) string {
	p := Parsers{Processes: &process.Processes{}, LookPath: func(name string) (string, []string, error) {
		env := process.ChildEnv(environ, map[string]string{"LC_ALL": "C.UTF-8"}, nil)
		program, err := process.LookPath(name, env)
		if err != nil {
			err = fmt.Errorf("%s is in no directory of PATH", name)
		}
		return program, env, err
	}}
	problems, err := p.Check(ctx, name, lexis.Of(name, []byte(text)), []byte(text))
	if err != nil {
		return "!" + err.Error()
	}
	return Lines(problems)
}

func TestCheckSyntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, name, text, want string }{ // want is the begin of what is told
		{"", "a.go", "package a\n\nfunc f() {}\n", ""},
		{"", "a.go", "package a\n\nfunc f() { é := }\nfunc g( {}\n", "3:17: expected operand, found '}'\n"},
		{"", "a.go", "package a\n//line z.go:90\nfunc f( {}\n", "3:9: "},
		{"", "a.go", "package a\n\x00\xff", "2:1: illegal character NUL\n"},
		{"", "a.go", "package a\n" + strings.Repeat("f(\n", 50), "2:1: "},
		{"", "a.json", `{"a": [1, null]}`, ""},
		{"", "a.json", "{\"a\": 1,\n \"é\": 01}", "2:8: "},
		{"", "a.json", "{\"a\": 1, \"a\": 2}", "1:10: "},
		{"", "a.json", "", "1:1: "},
		{"", "a.json", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), ""},
		{"", "a.json", strings.Repeat("[", 100_000), "1:10001: "},
		{"python3", "a.py", "def f(x: int) -> int:\n    return x\n", ""},
		{"python3", "a.py", "x = 1\ndef f(:\n", "2:7: "},
		{"python3", "a.py", "if x:\n\ty\n        z\n", "3:"},
		{"python3", "a.py", "x = '“\n", "1:5: "},
		{"python3", "a.py", "x = “1”\n", "1:5: invalid character '“' (U+201C)\n"},
		{"python3", "a.py", "x = 1 \x00", "1"},
		{"python3", "a.py", "# coding: nothing\nx = 1\n", "1:"},
		{"python3", "a.py", "# coding: latin-1\nx = '\xe9'\n", ""},
		{"python3", "a.py", "\xef\xbb\xbfx = 1\r\ny = 2", ""},
		{"python3", "script", "#!/usr/bin/env python3\nx = = 1\n", "2:5: "},
		{"sh", "a.sh", "if true; then echo $(date); fi\n", ""},
		{"sh", "a.sh", "#!/bin/sh\nif true; then\n  x\nfi fi\n", "4: "},
		{"sh", "run", "#!/bin/sh -e\ncase a in\n", "3: "},
		{"bash", "a.bash", "a=(1 2)\nif [[ $a ]]; then\nfi\n", "3: syntax error near unexpected token `fi'\n"},
		{"bash", "a.sh", "#!/usr/bin/env -S bash -eu\na=(1 2)\necho \"${a[@]}\"\n", ""},
		{"bash", "a.sh", "a=(1 2)\n", ""},
		{"bash", "a.sh", "a=(1 2)\nfi\n", "2: syntax error near unexpected token `fi'\n"},
		{"", "a.zsh", "echo\n", "!the syntax cannot be checked: no known parser for Shell (.zsh)"},
		{"", "a.sh", "#!/bin/ksh\nfi\n", "!the syntax cannot be checked: no known parser for Shell (ksh)"},
		{"node", "a.js", "let a = 1;\nreturn;\n", ""},
		{"node", "a.js", "let a = \"é\" + ;\n", "1:15: Unexpected token ';'\n"},
		{"node", "a.js", "import b from \"b\";\nexport const a = await b;\n", ""},
		{"node", "a.js", "import b from \"b\";\nexport const a = ;\n", "2:18: Unexpected token ';'\n"},
		{"node", "a.js", "function f() {\n", "2: Unexpected end of input\n"},
		{"node", "a.js", "let a = '" + strings.Repeat("a", maxParserOutput) + "' );\n", "1: syntax error\n"}, // node repeats the line
		{"node", "a.mjs", "import b from \"b\";\nawait b;\n", ""},
		{"node", "a.mjs", "with (a) b;\n", "1:1: Strict mode code may not include a with statement\n"},
		{"node", "a.cjs", "with (a) b;\n", ""},
		{"node", "a.cjs", "import b from \"b\";\n", "1:1: Cannot use import statement outside a module\n"},
		{"node", "run", "#!/usr/bin/env node\nlet let = 1\n", "2:5: "},
		{"", "a.sh", "#!/bin/k\x1b[31msh\nfi\n", `!the syntax cannot be checked: no known parser for Shell ("k\x1b[31msh")`},
		{"", "Makefile", "all:\n", "!the syntax cannot be checked: no known parser for Make"},
		{"", "run.\n[toolpipe]", "#!/usr/bin/php\n<?php\n", `!the syntax cannot be checked: no known parser for PHP (".\n[toolpipe]")`},
		{"", "a.jsx", "<a/>\n", "!the syntax cannot be checked: no known parser for JavaScript (.jsx)"},
		{"", "a.ts", "let a: number = ;\n", "!the syntax cannot be checked: no known parser for TypeScript"},
		{"", "a.rs", "fn main() {\n", "!the syntax cannot be checked: no known parser for Rust"},
		{"", "notes.txt", "", "!the syntax cannot be checked: the language is not known"},
		{"", "a.jsonc", "// {", "!the syntax cannot be checked: no known parser for JSON"},
		{"ruby", "a.rb", "#!/usr/bin/env ruby\ndef f = \"é\"\n", ""},
		{"ruby", "a.rb", "puts 1\ndef f(\n)\n  (\nend\n", "5"},
		{"ruby", "a.rb", "#!/bin/sh\nputs 1 +\n", "2"},
		{"ruby", "a.rb", "x = [\n-:9999999999999: )\n", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			servertest.Needs(t, c.program)
			got := syntaxOf(t.Context(), os.Environ(), c.name, c.text)
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%.80q: %s", c.text, got)
			}
			if strings.Count(got, "\n") > maxProblems+1 || len(got) > (maxProblems+1)*(maxMessage+40) {
				t.Errorf("%d bytes are told", len(got))
			}
		})
	}
}

// No code of a file is run, whatever it does while it is read; no file that lies
// beside it or in the working directory is loaded, and no variable of the
// environment has anything loaded.
func TestCheckSyntaxRunsNothing(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	touch := map[string]string{
		".py": fmt.Sprintf("open(%q, 'w')\n", ran), ".cjs": fmt.Sprintf("require('fs').writeFileSync(%q, '')\n", ran), ".mjs": fmt.Sprintf("import f from 'fs'; f.writeFileSync(%q, '')\n", ran),
		".rb": fmt.Sprintf("File.write(%q, '')\n", ran), ".sh": "touch " + ran + "\n",
	}
	for _, name := range []string{"ast.py", "sitecustomize.py", "usercustomize.py", ".rubyrc", ".rbenv-vars", "evil.py", "evil.mjs", "evil.cjs", "evil.rb", "evil.sh", ".bashrc", ".profile", ".bash_profile", ".shrc"} {
		code := touch[filepath.Ext(name)]
		if code == "" {
			code = touch[".sh"]
		}
		servertest.Put(t, filepath.Join(dir, name), code)
	}
	servertest.Put(t, filepath.Join(dir, "package.json"), `{"type": "module", "imports": {"#x": "./evil.mjs"}}`)
	t.Chdir(dir)
	environ := append(os.Environ(),
		"NODE_OPTIONS=--require "+dir+"/evil.cjs", "NODE_PATH="+dir, "RUBYOPT=-r"+dir+"/evil.rb", "RUBYLIB="+dir, "BASH_ENV="+dir+"/evil.sh", "ENV="+dir+"/evil.sh", "PYTHONPATH="+dir, "PYTHONSTARTUP="+dir+"/evil.py",
		"PYTHONUSERBASE="+dir, "SHELLOPTS=xtrace", "PS4=$(touch "+ran+")", "BASH_FUNC_touch%%=() { "+touch[".sh"]+"}", "PROMPT_COMMAND="+touch[".sh"])
	for _, c := range []struct{ program, name, text, told string }{
		{"python3", "a.py", touch[".py"], ""},
		{"python3", "a.py", "# coding: evil\n" + touch[".py"], "1:"},
		{"python3", "a.py", "import evil\nfrom sitecustomize import *\n@evil\ndef f(x=" + strings.TrimSpace(touch[".py"]) + "): pass\n", ""},
		{"sh", "a.sh", "#!/bin/sh\nset +n\n" + touch[".sh"] + "x=$(" + touch[".sh"] + ")\nalias ls='" + strings.TrimSpace(touch[".sh"]) + "'\n. ./evil.sh\neval '" + touch[".sh"] + "'\ntrap '" + strings.TrimSpace(touch[".sh"]) + "' EXIT\n", ""},
		{"bash", "a.bash", "shopt -s extglob\nset +n\n" + touch[".sh"] + "x=`" + strings.TrimSpace(touch[".sh"]) + "`\ncat <<< $(" + strings.TrimSpace(touch[".sh"]) + ")\na[$(" + strings.TrimSpace(touch[".sh"]) + ")]=1\n", ""},
		{"bash", "a.sh", "#!/bin/bash -i\n" + touch[".sh"], ""},
		{"node", "a.cjs", touch[".cjs"], ""},
		{"node", "a.js", "require('./evil.cjs');\n" + touch[".cjs"], ""},
		{"node", "a.mjs", touch[".mjs"] + "import './evil.mjs'; import '#x'; await import('./evil.mjs')\n", ""},
		{"node", "a.js", "#!/usr/bin/env node --require " + dir + "/evil.cjs\nwith (a) b;\n", ""}, // it is a script, whatever package.json says
		{"ruby", "a.rb", "BEGIN { " + strings.TrimSpace(touch[".rb"]) + " }\n" + touch[".rb"] + "END { exit 1 }\n", ""},
		{"ruby", "a.rb", "#!ruby -r" + dir + "/evil.rb\n", ""},
		{"ruby", "a.rb", "\xef\xbb\xbf#!/usr/bin/ruby -I" + dir + " -revil -s -x\n", ""},
		{"ruby", "a.rb", "#!/usr/bin/touch " + ran + "\n", ""},
		{"ruby", "a.rb", "# coding: evil\n" + touch[".rb"], "1: unknown encoding name"},
		{"ruby", "a.rb", "require_relative 'evil'\nload 'evil.rb'\nDATA.read\n__END__\n" + touch[".rb"], ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			servertest.Needs(t, c.program)
			got := syntaxOf(t.Context(), environ, c.name, c.text)
			if !strings.HasPrefix(got, c.told) || c.told == "" && got != "" {
				t.Errorf("%q: %s", c.text, got)
			}
			if _, err := os.Lstat(ran); err == nil {
				os.Remove(ran)
				t.Errorf("%q was run, or a file that was planted", c.text)
			}
		})
	}
}

// A parser that is not there, fails, hangs or floods is no verdict about the file.
func TestCheckSyntaxWithBrokenParser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, want string }{
		{"", "python3 is in no directory of PATH"},
		{"#!/bin/sh\necho no module named ast >&2; exit 3\n", "python3 failed: exit status 3: no module named ast"},
		{"#!/bin/sh\nkill -9 $$\n", "python3 failed: signal: killed"},
		{"#!/nonexistent\n", "python3 failed: fork/exec"},
		{"#!/bin/sh\nyes xxxxxxxxxxxxxxxxxxxxxxxxxx >&2 &\necho started >&2; wait\n", "canceled by the test"},
		{"#!/bin/sh\ntrap '' TERM; sleep 1000\n", "canceled by the test"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.script != "" {
				servertest.Put(t, filepath.Join(dir, "python3"), c.script)
				if err := os.Chmod(filepath.Join(dir, "python3"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if strings.Contains(c.want, "canceled") {
				time.AfterFunc(200*time.Millisecond, func() { cancel(errors.New("canceled by the test")) })
			}
			began := time.Now()
			path := "PATH=" + dir
			if c.script != "" {
				path += ":" + os.Getenv("PATH")
			}
			if got := syntaxOf(ctx, []string{path}, "a.py", "x = 1\n"); !strings.Contains(got, c.want) || len(got) > 1000 {
				t.Errorf("%.1000s", got)
			}
			if time.Since(began) > parserTime {
				t.Errorf("it took %v", time.Since(began))
			}
		})
	}
	if got := syntaxOf(t.Context(), os.Environ(), "a.py", strings.Repeat("#", maxParsed+1)); !strings.Contains(got, fmt.Sprint(maxParsed)) {
		t.Error(got)
	}
}
