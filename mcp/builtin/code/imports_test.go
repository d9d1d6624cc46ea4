package code

import (
	"fmt"
	"strings"
	"testing"

	"toolpipe/testdata/servertest"
)

func TestImports(t *testing.T) {
	for _, c := range []struct {
		name  string
		text  string
		other string // files that are there too
		want  string
	}{
		{"d/a.go", "package d\n\nimport (\n\t\"fmt\"\n\tx \"m.org/m/p/q\"\n\t_ \"m.org/mm\"\n)\n// import \"no\"\nvar s = `import \"no\"`\n", "go.mod p/q/q.go",
			"4: \"fmt\"\n5: x \"m.org/m/p/q\" -> p/q\n6: _ \"m.org/mm\"\n"},
		{"d/a.py", "import os, d.b as x  # import no\nfrom . import b, c\nfrom ..e import (f,\n  g)\nfrom d.c.k import h\n'''\nimport no\n'''\nif 1:\n    import sys; import c\n", "d/__init__.py d/b.py d/c/__init__.py e.py no.py",
			"1: import os, d.b as x -> d/b.py\n2: from . import b, c -> d/__init__.py, d/b.py, d/c/__init__.py\n3: from ..e import (f, -> e.py\n5: from d.c.k import h -> d/c/__init__.py\n10: import sys\n"},
		{"d/app.py", "import typing\nimport json, d.json\nfrom typing import Any\nfrom .typing import T\n", "d/__init__.py d/typing.py d/json/__init__.py", // absolute names are not those of the own package
			"1: import typing\n2: import json, d.json -> d/json/__init__.py\n3: from typing import Any\n4: from .typing import T -> d/typing.py\n"},
		{"d/run.py", "import helper\n", "d/helper.py", "1: import helper -> d/helper.py\n"},
		{"d/a.c", "#include <stdio.h>\n  # include \"b.h\" // x\n/*\n#include \"no.h\"\n*/\n#include \"sub/c d.h\"\n#include <e.h>\n", "d/b.h d/sub/c d.h include/e.h no.h",
			"1: #include <stdio.h>\n2: # include \"b.h\" -> d/b.h\n6: #include \"sub/c d.h\" -> d/sub/c d.h\n7: #include <e.h> -> include/e.h\n"},
		{"src/p/A.java", "package p;\nimport java.util.*;\nimport p.q.B;\nimport static p.q.B.f;\n// import no;\n", "src/p/q/B.java",
			"2: import java.util.*;\n3: import p.q.B; -> src/p/q/B.java\n4: import static p.q.B.f; -> src/p/q/B.java\n"},
		{"d/a.ts", "import a, { b,\n  c } from './b';\nimport \"../c.js\";\nexport * from \"./e\"\nconst f = require('fs'), g = await import(`no`);\n// import x from './no'\nconst h = 'import x from \"./no\"', i = require(\"./e/x.json\"); const k = import('./b')\nimport q /* from './no' */\n", "d/b.ts c.js d/e/index.ts d/e/x.json fs.js d/fs.js d/no.ts",
			"1: import a, { b, c } from './b' -> d/b.ts\n3: import \"../c.js\" -> c.js\n4: export * from \"./e\" -> d/e/index.ts\n5: require('fs')\n7: require(\"./e/x.json\") -> d/e/x.json\n7: import('./b') -> d/b.ts\n"},
		{"src/a.rs", "use std::fmt;\npub(crate) use crate::b::{self, c::D,\n    x};\nmod e;\n// mod no;\nextern crate f;\nmod g { }\n", "src/b/mod.rs src/b/c.rs src/a/e.rs src/f.rs no.rs",
			"1: use std::fmt;\n2: pub(crate) use crate::b::{self, c::D, x}; -> src/b/mod.rs, src/b/c.rs\n4: mod e; -> src/a/e.rs\n6: extern crate f;\n"},
		{"d/a.rb", "require 'set'\nrequire_relative \"b\"\n# require 'no'\nrequire(\"x/y\")\n", "d/b.rb lib/x/y.rb", "1: require 'set'\n2: require_relative \"b\" -> d/b.rb\n4: require(\"x/y\" -> lib/x/y.rb\n"},
		{"d/a.sh", ". ./b.sh\nsource \"c.sh\"; ./no.sh\nsource /etc/profile\ncat <<E\n. ./b.sh\nE\n", "d/b.sh c.sh", "1: . ./b.sh -> d/b.sh\n2: source \"c.sh\" -> c.sh\n3: source /etc/profile\n"},
		{"d/a.php", "<?php\nuse App\\B;\nuse App\\{C, D as E};\n$x = require_once __DIR__ . '/b.php';\n// include 'no.php';\n", "src/App/B.php src/App/D.php d/b.php", "2: use App\\B; -> src/App/B.php\n3: use App\\{C, D as E}; -> src/App/D.php\n4: require_once __DIR__ . '/b.php' -> d/b.php\n"},
		{"A.kt", "import a.b.C as D\nimport x.y\n", "src/main/kotlin/a/b/C.kt", "1: import a.b.C as D -> src/main/kotlin/a/b/C.kt\n2: import x.y\n"},
		{"A.cs", "using System;\nusing static A.B;\nusing X = A.C<int>;\nusing (var f = g()) {}\nusing var h = k();\n", "A/B.cs A/C.cs", "1: using System;\n2: using static A.B; -> A/B.cs\n3: using X = A.C<int>; -> A/C.cs\n"},
		{"a.lua", "local b = require 'b.c' -- require 'no'\n", "b/c.lua", "1: require 'b.c' -> b/c.lua\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{c.name: c.text}
			for other := range strings.FieldsSeq(strings.ReplaceAll(c.other, "c d.h", "c\x01d.h")) {
				files[strings.ReplaceAll(other, "\x01", " ")] = "module m.org/m\n"
			}
			_, s := newServer(t, files)
			if got := servertest.Works(t, s, "imports", "path", c.name); got != c.want {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestImportsBadInput(t *testing.T) {
	_, s := newServer(t, map[string]string{
		"none.py": "x = 1\n", "a.txt": "import x\n", "bin.py": "import x\x00", "data.json": "{}", "d/a.sh": ". ../.env\n. ../../x\n. ../d\n. ./a.sh\n", ".env": "x=1\n",
		"many.py": strings.Repeat("import a.b.c\n", maxImports+5), "long.py": "import " + strings.Repeat("a.", 200_000) + "\n", "broken.go": "package", "hostile.js": strings.Repeat("import ", 100_000) + strings.Repeat("require(", 100_000),
	})
	if got := servertest.Works(t, s, "imports", "path", "none.py"); got != "none.py imports nothing (Python)\n" {
		t.Error(got)
	}
	if got := servertest.Works(t, s, "imports", "path", "d/a.sh"); got != "1: . ../.env\n2: . ../../x\n3: . ../d\n4: . ./a.sh\n" {
		t.Error(got)
	}
	if got := servertest.Works(t, s, "imports", "path", "many.py"); strings.Count(got, "import") != maxImports || !strings.HasSuffix(got, fmt.Sprintf("[toolpipe] the first %d are shown, the others are left out\n", maxImports)) {
		t.Error(got[len(got)-200:])
	}
	if got := servertest.Works(t, s, "imports", "path", "long.py"); len(got) > 400 {
		t.Error(len(got))
	}
	for _, file := range []string{"broken.go", "hostile.js"} {
		servertest.Works(t, s, "imports", "path", file)
	}
	for path, why := range map[string]any{"": "empty", "..": "outside", "/etc/passwd": "outside", "missing": "no file", "a\x00": "NUL", ".": "directory", "a.txt": "language", "bin.py": "binary", "data.json": "not known", ".env": "protected"} {
		servertest.Fails(t, s, why.(string), "imports", "path", path)
	}
	servertest.Fails(t, s, "string", "imports", "path", 1)
	servertest.Fails(t, s, "needs", "imports")
	servertest.Fails(t, s, "no argument", "imports", "path", "none.py", "name", "x")
}
