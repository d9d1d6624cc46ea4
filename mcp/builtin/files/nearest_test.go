package files

import (
	"fmt"
	"strings"
	"testing"
)

const nearestFile = `package a

// greet says "hello".
func greet(name string) error {
	if name == "" {
		return errors.New("no name")
	}
	fmt.Println("hello", name)
	return nil
}

func leave(name string) {
	fmt.Println("good-bye", name)
}
`

// A text that is not in the file leads to the nearest lines, with marks.
func TestNearest(t *testing.T) {
	for _, c := range []struct{ about, old, want string }{
		{"a typo", "\tif name == \"\" {\n\t\treturn errors.New(\"no nam\")\n\t}", `the nearest text is in lines 5-7:
     5  	if name == "" {
     6  		return errors.New("no name")
        		                         ^
     7  	}`},
		{"a typo within a line", `fmt.Printn("hello", name)`, `the nearest text is in line 8:
     8  	fmt.Println("hello", name)
        	         ^`},
		{"another case", "func Greet(Name string) error {", `the nearest text is in line 4; it differs only in upper and lower case:
     4  func greet(name string) error {
             ^     ^`},
		{"curly quotes", "\tfmt.Println(\u201chello\u201d, name)", `the nearest text is in line 8; it differs only in the forms of quotation marks or dashes:
     8  	fmt.Println("hello", name)
        	            ^     ^`},
		{"other white space", "    fmt.Println(\"hello\", name)\n    return nil\n", `the nearest text is in lines 8-9; it differs only in white space:
     8  	fmt.Println("hello", name)
        ^
     9  	return nil
        ^`},
		{"line numbers", "     8\t\tfmt.Println(\"hello\", name)\n     9\t\treturn nil", `the nearest text is in lines 8-9; it differs only in line numbers:
     8  	fmt.Println("hello", name)
     9  	return nil`},
		{"a line too few", "func greet(name string) error {\n\tif name == \"\" {\n\t}\n\tfmt.Println(\"hello\", name)", `the nearest text is in lines 4-8:
     4  func greet(name string) error {
     5  	if name == "" {
     6  		return errors.New("no name")
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
     7  	}
     8  	fmt.Println("hello", name)`},
		{"a line too many", "\tfmt.Println(\"hello\", name)\n\tlog()\n\treturn nil\n}", `the nearest text is in lines 8-10:
     8  	fmt.Println("hello", name)
        old_string has a line more here: 	log()
     9  	return nil
    10  }`},
		{"nothing like it", "import os\nprint(1)", ""},
		{"no letters", "\n\n", ""},
		{"one letter", "q", ""},
	} {
		if got := nearest([]byte(nearestFile), c.old); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.about, got, c.want)
		}
		if crlf := strings.ReplaceAll(nearestFile, "\n", "\r\n"); nearest([]byte(crlf), withCRLF(c.old)) != c.want {
			t.Errorf("%s, with CR LF:\n%s", c.about, nearest([]byte(crlf), c.old))
		}
	}
}

// At most 20 lines are shown, from the first difference on, and only a part of long lines.
func TestNearestIsShort(t *testing.T) {
	var file, old strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&file, "line %d of the file %s\n", i, strings.Repeat("x", i%7*100))
		if i >= 1000 && i < 1200 {
			fmt.Fprintf(&old, "line %d of the file %s\n", i, strings.Replace(strings.Repeat("x", i%7*100), "xx", "yx", i/1100))
		}
	}
	got := nearest([]byte(file.String()), old.String())
	if strings.Count(got, "\n") > nearestShown || len(got) > 8<<10 || !strings.HasPrefix(got, "the nearest text is in lines 1001-1200:\n") || !strings.Contains(got, "^") || strings.Contains(got, "line 1090 ") {
		t.Error(got)
	}
}

// A text begins where most of its lines are, even if another of its lines comes later.
func TestNearestBegins(t *testing.T) {
	file := "func f() {\n\tif x {\n\t\treturn g(x, y) + h(z)\n\t}\n}\n\nfunc g() {\n\treturn\n}\n"
	old := "func f() {\n\tif x {\n\t\treturn g(x, yy) + h(z)\n\t}\n\treturn\n}"
	if got, want := nearest([]byte(file), old), "the nearest text is in lines 1-5:\n     1  func f() {\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s...", got, want)
	}
}
