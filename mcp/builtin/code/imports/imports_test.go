package imports

import (
	"strings"
	"testing"

	"toolpipe/mcp/builtin/code/lexis"
)

func TestAdd(t *testing.T) {
	for _, c := range []struct{ name, text, add, want string }{ // a want of "" is the text
		// Python
		{"a.py", "", "import os", "import os\n"},
		{"a.py", "x = 1\n", "import os", "import os\n\nx = 1\n"},
		{"a.py", "def f():\n    pass\n", "import os", "import os\n\n\ndef f():\n    pass\n"},
		{"a.py", "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# Copyright me\n\n\"\"\"Doc.\n\nimport no\n\"\"\"\n\nx = 1\n", "import os", "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# Copyright me\n\n\"\"\"Doc.\n\nimport no\n\"\"\"\n\nimport os\n\nx = 1\n"},
		{"a.py", "# About x.\nx = 1\n", "import os", "import os\n\n# About x.\nx = 1\n"},
		{"a.py", "\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\n\nx = 1\n", "import os", "\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\n\nimport os\n\nx = 1\n"},
		{"a.py", "import os\nimport sys\n\nimport requests\n", "import re", "import os\nimport re\nimport sys\n\nimport requests\n"},
		{"a.py", "import os\nimport sys\n\nimport requests\n", "import attr", "import os\nimport sys\n\nimport attr\nimport requests\n"},
		{"a.py", "import os\n\nfrom . import b\n", "import requests", "import os\n\nimport requests\n\nfrom . import b\n"},
		{"a.py", "from . import b\n", "import os", "import os\n\nfrom . import b\n"},
		{"a.py", "import sys\nimport os\n", "import re", "import sys\nimport os\nimport re\n"},
		{"a.py", "import os\nfrom a import b\n", "from __future__ import annotations", "from __future__ import annotations\n\nimport os\nfrom a import b\n"},
		{"a.py", "from a import b\n", "from a import c", "from a import b, c\n"},
		{"a.py", "from a import b, d  # x\n", "from a import c as e", "from a import b, c as e, d  # x\n"},
		{"a.py", "from a import (\n    b,\n    d,  # the d\n)\n", "from a import c", "from a import (\n    b,\n    c,\n    d,  # the d\n)\n"},
		{"a.py", "from a import (\n    b,\n    d  # the d\n)\n", "from a import e", "from a import (\n    b,\n    d,\n    e  # the d\n)\n"},
		{"a.py", "from a import (\n    b,\n    d,\n)\n", "from a import e", "from a import (\n    b,\n    d,\n    e,\n)\n"},
		{"a.py", "from a import b, \\\n    d\n", "from a import e", "from a import b, \\\n    d\nfrom a import e\n"},
		{"a.py", "from a import " + strings.Repeat("b", 80) + "\n", "from a import c", "from a import " + strings.Repeat("b", 80) + "\nfrom a import c\n"},
		{"a.py", "from a import *\n", "from a import c", "from a import *\nfrom a import c\n"},
		{"a.py", "import os, sys\n", "import sys", ""},
		{"a.py", "from a import (b,\n   c as d)\n", "from a import c as d", ""},
		{"a.py", "from a import (b,\n   c as d)\n", "from a import b, c as d", ""},
		{"a.py", "from a import b\n", "from a import b, c", "from a import b, c\n"},
		{"a.py", "import os as o\n", "import os", "import os as o\nimport os\n"},
		{"a.py", "# import os\nx = 'import os'\n", "import os", "import os\n\n# import os\nx = 'import os'\n"},
		{"a.py", "import b\r\nimport d\r\n", "import c", "import b\r\nimport c\r\nimport d\r\n"},
		{"a.py", "\xef\xbb\xbfimport b\n", "import a", "\xef\xbb\xbfimport a\nimport b\n"},
		{"a.py", "if x:\n    import os\n", "import os", "import os\n\nif x:\n    import os\n"},
		{"a.py", "import b", "import c", "import b\nimport c\n"},
		// Go
		{"a.go", "package a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\n\t\"m.org/x\"\n)\n", `"net/http"`, "package a\n\nimport (\n\t\"fmt\"\n\t\"net/http\"\n\t\"os\"\n\n\t\"m.org/x\"\n)\n"},
		{"a.go", "package a\n\nimport (\n\t\"fmt\"\n\n\t\"m.org/x\"\n\n\t\"p.org/x\"\n)\n", `import y "p.org/a"`, "package a\n\nimport (\n\t\"fmt\"\n\n\t\"m.org/x\"\n\n\ty \"p.org/a\"\n\t\"p.org/x\"\n)\n"},
		{"a.go", "package a\n\nimport (\n\t\"fmt\"\n)\n", `"m.org/x"`, "package a\n\nimport (\n\t\"fmt\"\n\n\t\"m.org/x\"\n)\n"},
		{"a.go", "package a\n\nimport \"fmt\"\n\nfunc f() {}\n", `"os"`, "package a\n\nimport \"fmt\"\nimport \"os\"\n\nfunc f() {}\n"},
		{"a.go", "// License\n\n// Package a is.\npackage a\n\nfunc f() {}\n", `"os"`, "// License\n\n// Package a is.\npackage a\n\nimport \"os\"\n\nfunc f() {}\n"},
		{"a.go", "package a\n", `"os"`, "package a\n\nimport \"os\"\n"},
		{"a.go", "package a\n\n// #include <a.h>\nimport \"C\"\n\nimport \"fmt\"\n", `"os"`, "package a\n\n// #include <a.h>\nimport \"C\"\n\nimport \"fmt\"\nimport \"os\"\n"},
		{"a.go", "package a\n\nimport (\"fmt\"; \"io\")\n", `"os"`, "package a\n\nimport (\"fmt\"; \"io\")\nimport \"os\"\n"},
		{"a.go", "package a\n\nimport (\n\tx \"m.org/x\"\n)\n", `"m.org/x"`, ""},
		{"a.go", "package a\n\nimport (\n\ty \"m.org/x\"\n)\n", `"m.org/x"`, "package a\n\nimport (\n\ty \"m.org/x\"\n\t\"m.org/x\"\n)\n"},
		{"a.go", "package a\n\nimport (\n\t_ \"m.org/x\"\n)\n", `_ "m.org/x"`, ""},
		// JavaScript and TypeScript
		{"a.js", "'use strict';\n\nf();\n", "import { x } from \"./y.js\"", "'use strict';\n\nimport { x } from './y.js';\n\nf();\n"},
		{"a.js", "#!/usr/bin/env node\n/** @license */\n\nf()\n", "import { x } from './y.js';", "#!/usr/bin/env node\n/** @license */\n\nimport { x } from './y.js'\n\nf()\n"},
		{"a.ts", "import { a } from \"./y\";\n", "import { x } from './y'", "import { a, x } from \"./y\";\n"},
		{"a.ts", "import {a, z} from './y'\n", "import { x } from './y';", "import {a, x, z} from './y'\n"},
		{"a.ts", "import d from './y';\n", "import { x } from './y';", "import d, { x } from './y';\n"},
		{"a.ts", "import d, {\n  a,\n  b,\n} from './y';\n", "import { c as x } from './y'", "import d, {\n  a,\n  b,\n  c as x,\n} from './y';\n"},
		{"a.ts", "import * as y from './y';\n", "import { x } from './y'", "import * as y from './y';\nimport { x } from './y';\n"},
		{"a.ts", "import type { A } from './y';\n", "import { x } from './y'", "import type { A } from './y';\nimport { x } from './y';\n"},
		{"a.ts", "import { A } from './y';\n", "import type { A } from './y'", ""},
		{"a.ts", "import type { A } from './y';\n", "import type { B } from './y'", "import type { A, B } from './y';\n"},
		{"a.js", "import a from 'a';\nimport c from 'c';\n\nimport z from './z';\n", "import b from 'b'", "import a from 'a';\nimport b from 'b';\nimport c from 'c';\n\nimport z from './z';\n"},
		{"a.js", "import a from 'a'\nimport z from './z'\n", "import y from './y'", "import a from 'a'\nimport y from './y'\nimport z from './z'\n"},
		{"a.js", "const a = require('a');\n\nf();\n", "const { b } = require(\"b\")", "const a = require('a');\nconst { b } = require('b');\n\nf();\n"},
		{"a.js", "const { a } = require('a');\n", "const { b } = require('a')", "const { a, b } = require('a');\n"},
		{"a.js", "import './side.js'\n", "import './side.js'", ""},
		{"a.js", "// import x from 'y'\nconst s = `\nimport x from 'y'\n`\n", "import x from 'y'", "import x from 'y'\n\n// import x from 'y'\nconst s = `\nimport x from 'y'\n`\n"},
		{"a.js", "import x from 'y'\r\nimport('z')\r\n", "import z from 'z'", "import x from 'y'\r\nimport z from 'z'\r\nimport('z')\r\n"},
		// Java
		{"A.java", "package p;\n\nclass A {}\n", "import java.util.List;", "package p;\n\nimport java.util.List;\n\nclass A {}\n"},
		{"A.java", "package p;\n\nimport java.io.File;\nimport java.util.Map;\n\nimport org.x.Y;\n\nclass A {}\n", "import java.util.List", "package p;\n\nimport java.io.File;\nimport java.util.List;\nimport java.util.Map;\n\nimport org.x.Y;\n\nclass A {}\n"},
		{"A.java", "import java.util.*;\n", "import java.util.List;", ""},
		{"A.java", "import java.util.*;\n", "import java.util.concurrent.Future;", "import java.util.*;\nimport java.util.concurrent.Future;\n"},
		{"A.java", "import java.util.List;\n", "import static java.util.Map.entry;", "import java.util.List;\n\nimport static java.util.Map.entry;\n"},
		{"A.java", "/* Copyright */\n\n/** About A. */\nclass A {}\n", "import java.util.List;", "/* Copyright */\n\nimport java.util.List;\n\n/** About A. */\nclass A {}\n"},
		// Rust
		{"a.rs", "//! Crate.\n\n#![allow(x)]\n\nfn f() {}\n", "use std::fmt;", "//! Crate.\n\n#![allow(x)]\n\nuse std::fmt;\n\nfn f() {}\n"},
		{"a.rs", "use std::collections::HashMap;\nuse std::io;\n\nuse crate::a;\n", "use std::fmt", "use std::collections::HashMap;\nuse std::fmt;\nuse std::io;\n\nuse crate::a;\n"},
		{"a.rs", "use std::{\n    fmt,\n    sync::{Arc, Mutex},\n};\n", "use std::sync::Arc;", ""},
		{"a.rs", "use std::{fmt, io};\n", "use std::env;", "use std::{env, fmt, io};\n"},
		{"a.rs", "use std::io::{self, Read};\n", "use std::io;", ""},
		{"a.rs", "#[cfg(test)]\nuse std::io;\n", "use std::io;", "use std::io;\n\n#[cfg(test)]\nuse std::io;\n"},
		{"a.rs", "pub(crate) use a::b;\n", "use a::b;", ""},
		// C and C++
		{"a.h", "#ifndef A_H\n#define A_H\n\nint f(void);\n\n#endif\n", "#include <stdio.h>", "#ifndef A_H\n#define A_H\n\n#include <stdio.h>\n\nint f(void);\n\n#endif\n"},
		{"a.h", "/* Copyright */\n#pragma once\nint f(void);\n", "#include <stdio.h>", "/* Copyright */\n#pragma once\n\n#include <stdio.h>\n\nint f(void);\n"},
		{"a.c", "#include \"a.h\"\n\n#include <stdio.h>\n#include <string.h>\n", "#include <stdlib.h>", "#include \"a.h\"\n\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"},
		{"a.c", "#ifdef X\n#include <stdio.h>\n#endif\n", "#include <stdio.h>", "#include <stdio.h>\n\n#ifdef X\n#include <stdio.h>\n#endif\n"},
		{"a.c", "# include <stdio.h> // x\n", "#include <stdio.h>", ""},
		{"a.cpp", "#include <vector>\n", "#include \"b.h\"", "#include <vector>\n\n#include \"b.h\"\n"},
	} {
		l := lexis.Of(c.name, []byte(c.text))
		got, done, err := Add(l, []byte(c.text), c.add)
		if c.want == "" && c.text != "" {
			c.want = c.text
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q + %q:\n%s%v", c.name, c.text, c.add, got, err)
			continue
		}
		if (string(got) == c.text) != strings.HasPrefix(done, "nothing to add") {
			t.Errorf("%q + %q: %s", c.text, c.add, done)
		}
		again, _, err := Add(l, got, c.add)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: %q + %q twice:\n%s%v", c.name, c.text, c.add, again, err)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	for name, all := range map[string][]string{
		"a.py":   {"", "os", "import", "import os\nimport sys", "from a import", "x = 1", "import os; f()", "importos", "from . import (a", "import \x00", strings.Repeat("import a", 1000), "# import os"},
		"a.go":   {"", "fmt", `"fmt" "os"`, "import (\n\"a\"\n\"b\"\n)", `import "C"`, "func f() {}", `"a"; func f() {}`},
		"a.ts":   {"", "import x", "import { x }", "import('y')", "export * from 'y'", "import x from 'y'; f()", "import a from 'a'\nimport b from 'b'", "let x = 1"},
		"A.java": {"", "java.util.List", "import ;", "import a b;", "class A {}", "import a.B; class C {}"},
		"a.rs":   {"", "std::fmt", "use ;", "mod a;", "use a; fn f() {}"},
		"a.c":    {"", "<stdio.h>", "#include", "#include X", "#define X", "#include <a", "int x;"},
		"a.rb":   {"require 'x'"},
		"a.zzz":  {"import x"},
	} {
		for _, add := range all {
			if got, done, err := Add(lexis.Of(name, nil), []byte("\n"), add); err == nil {
				t.Errorf("%s: %q: %q, %s", name, add, got, done)
			}
		}
	}
}

// What is added parses again as one statement more, whatever the text is.
func FuzzAdd(f *testing.F) {
	adds := map[string]string{"a.py": "from m import n", "a.go": `"m/n"`, "a.ts": "import { n } from './m'", "A.java": "import m.N;", "a.rs": "use m::n;", "a.c": "#include <m.h>"}
	for _, text := range []string{"", "import os\n", "package a\nimport (\n\t\"x\"\n)\n", "from m import (a,\n b)\n", "import {a,} from './m'", "use m::{a, b};", "#include <a.h>\n", "/* x", "'''\n", "import (", "use m::{", "from m import (", "\r\n\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, add := range adds {
			l := lexis.Of(name, nil)
			edited, done, err := Add(l, []byte(text), add)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for line := range strings.Lines(text) { // no line is lost but the one that gets a name
				if !strings.Contains(string(edited), strings.TrimRight(line, "\r\n")) && !strings.Contains(done, "added to") {
					t.Fatalf("%s: %q is lost from %q", name, line, edited)
				}
			}
		}
	})
}

func TestRules(t *testing.T) {
	for i := range rules {
		if rules[i].Pattern().NumSubexp() != 2 {
			t.Errorf("%s: %s", rules[i].Languages, rules[i].pattern)
		}
	}
}
