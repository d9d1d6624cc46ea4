package code

import (
	"path/filepath"
	"testing"

	"toolpipe/testdata/servertest"
)

// The moved lines take the line endings of the other file, and go before the code that runs
// only when the file is the program.
func TestMoveDefinition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, left, added string }{
		{"end", "x = 1\n\n\n# F is.\n@a\ndef f():\n    pass\n", "y = 1\n\n\n\n", "x = 1\n", "y = 1\n\n\n# F is.\n@a\ndef f():\n    pass\n"},
		{"only", "def f(): pass", "", "", "def f(): pass\n"},
		{"open", "def f(): pass\n\n\nx = 1", "y = 1", "x = 1", "y = 1\n\n\ndef f(): pass"},
		{"crlf", "def f():\n    pass\nx = 1\n", "y = 1\r\n", "x = 1\n", "y = 1\r\n\r\n\r\ndef f():\r\n    pass\r\n"},
		{"main", "def f(): pass\n", "'''\nif __name__ == 1:\n'''\nif __name__ == '__main__':\n    f()\n", "", "'''\nif __name__ == 1:\n'''\n\n\ndef f(): pass\n\n\nif __name__ == '__main__':\n    f()\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, s := newServer(t, map[string]string{"a.py": c.from, "b.py": c.to})
			servertest.Works(t, s, "move_definition", "path", "a.py", "name", "f", "to", "b.py", "force", true)
			if left, added := servertest.Get(t, filepath.Join(dir, "a.py")), servertest.Get(t, filepath.Join(dir, "b.py")); left != c.left || added != c.added {
				t.Errorf("%q\n%q", left, added)
			}
		})
	}
}
