package lexis

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"toolpipe/testdata/load"
)

// In each text, "no" is in comments and strings alone, and "yes" in code alone.
var texts = []struct{ file, text string }{
	{"a.go", "yes(\"no \\\" no\", `no\\`, yes, 'n', '\\'', '\"') // no \" '\nyes /* no\n// no\n*/ yes\n\"no\nyes"},
	{"a.c", "#include \"no.h\"\nyes('\"', \"no\\\n no\") /* no /* no */ yes // no\n#error don't no\nyes = 1; L\"no\"; yes"},
	{"a.cpp", "yes = 1'000'000; yes = R\"x(no )\" no \")x\" + yes; u8R\"(no)\" yes; f('\\'', u8'n') yes"},
	{"a.h", "yes u8\"no\" yes"},
	{"a.m", "[yes log:@\"no\"]; // no\nyes"},
	{"A.java", "yes(\"no\", '\"', \"\"\"\n no \" no\n\"\"\", yes) /** no's */ yes // no"},
	{"a.js", "yes(`no ${yes + `no ${ {yes: '}'} } no` + yes} no`, yes) // no\nyes = /no[/'\"]no\\/no/g; yes = yes / yes / 1; yes('no') / yes; return_ / yes / 2"},
	{"a.mjs", "return /no'/ + yes;\nif (/no\"/.test(yes)) {}\nx = a[1] / yes; // no\n'no\\\nno' + yes; 'no\nyes"},
	{"a.tsx", "const yes: Array<yes> = [/no/, yes]; `no\\`no${yes}`; yes /* no ` */"},
	{"a.py", "yes = '''no\n\" no''' + yes # no's\nf'no {yes} no {{no}} {yes[\"no\"]!r:>{yes}} no' yes rb\"no\\\"no\" + f(\"no\", u'no') yes\nr'no\\' no' yes\nF\"\"\"no {yes\n+yes} \"no\" \"\"\" yes"},
	{"a.rs", "yes<'a, yes>(&'a yes, 'n', '\\'', '\"', b'n', b\"no\", r#\"no \" no\"#, br##\"no\"#no\"##, yes) /* no /* no */ no */ yes // no\n\"no\nno\" yes"},
	{"a.rb", "yes \"no #{yes(\"no\")} no\" yes # no's\n=begin\nno \"\n=end\nyes <<~NO, yes\n  no ' no\n  NO\nyes << yes\nx = $' + yes\nyes =~ /no['\"]/; yes / yes / 2; puts /no'/; yes\n__END__\nno"},
	{"a.sh", "yes \"no $(yes \"no\" | yes) no $yes ${yes} no\" 'no\\' yes # no's\nyes=$# ; yes ${#yes} \\' yes a#yes \\\" yes\ncat <<EOF | yes <<-'X.Y'\nno \" no\nEOF\n\tno '\n\tX.Y\nyes $((1<<yes)) $'no\\'no' yes <<<yes\n"},
	{"a.php", "<p>no's</p>\n<?php yes(\"no $yes no\", 'no') // no's ?> no's <?= yes # no's\n #[yes] \n /* no */ $x = <<<EOT\n no \" no\n EOT . yes; yes ?> no's <?php yes"},
	{"b.php", "<?php yes = <<<'NO'\n no\n NO;\nyes"},
	{"a.kt", "yes(\"no $yes ${yes(\"no\")} no\", \"\"\"no \\\"\"\", 'n') /* no /* no */ no */ yes // no"},
	{"a.cs", "yes(@\"no\\\", yes, @\"no\"\"no\\\", $\"no{yes}{{no}}\", $@\"no\\{yes}\", \"\"\"no \" no\"\"\", '\"') // no\nyes"},
	{"a.swift", "yes(\"no \\(yes(\"no\", (yes))) no\", #\"no \" no\"#, \"\"\"\nno \" no\n\"\"\") /* no /* no */ no */ yes"},
	{"a.lua", "yes = [[no\n' no]] .. yes --[==[ no\n]] no ]==] yes -- no's\nyes[yes[1]] = 'no' .. [=[no]]no]=] yes"},
	{"a.sql", "SELECT yes -- no's\nFROM yes WHERE a = 'no\\' AND yes = 'no''no' /* no */ AND yes = E'no\\'no' AS $x$ no's $x$ yes $1 yes"},
	{"a.json", "{\"no\": yes, \"no\\\"no\": [yes]} // no"},
	{"a.yml", "yes: don't yes # no\nyes: \"no # no\" # no\nyes: ['no''no', yes]\na#yes: yes"},
	{"a.toml", "yes = \"no\" # no's\n[yes]\nyes = '''no\n' no''' \nyes = 'no\\'\nyes"},
	{"a.html", "<a yes='yes'>don't yes</a> <!-- no\nno --> yes"},
	{"a.rb", "yes = %w[no no's] + %(no (no) \"no #{yes}) + [%q|no|, %r{no/}]\nyes % (yes)\nyes %yes\n"},
	{"a.css", "yes /* no's */ { yes: url(//yes); content: \"no\" }"},
	{"a.scala", "yes('yes, 'n', s\"no ${yes}\") // no"},
	{"a.dart", "yes('no $yes ${yes}', \"\"\"no\n\"no\"\"\") // no\nyes"},
	{"Makefile", "yes: yes # no\n\techo don't yes a#yes"},
	{"Dockerfile", "# no's\nRUN yes # yes"},
}

func TestMask(t *testing.T) {
	no, yes := regexp.MustCompile(`no`), regexp.MustCompile(`yes`)
	for _, c := range texts {
		l := Of(c.file, nil)
		if l == nil {
			t.Errorf("%s: no language", c.file)
			continue
		}
		for _, text := range []string{c.text, strings.ReplaceAll(c.text, "\n", "\r\n")} {
			if l.Name == "Ruby" && text != c.text {
				text = strings.ReplaceAll(text, "__END__\r", "__END__")
			}
			mask := string(l.mask([]byte(text)))
			checkMask(t, c.file, text, mask)
			if no.MatchString(mask) || len(yes.FindAllString(mask, -1)) != len(yes.FindAllString(text, -1)) {
				t.Errorf("%s: the mask of\n%s\nis\n%s", c.file, text, mask)
			}
		}
	}
}

// mask is the mask of a text alone.
func (l *Language) mask(text []byte) []byte {
	mask, _ := l.Scan(text)
	return mask
}

// checkMask holds that a mask has blanks, or a quote, in place of some bytes, and no
// other difference.
func checkMask(t *testing.T, file, text, mask string) {
	t.Helper()
	if len(mask) != len(text) {
		t.Fatalf("%s: the mask has %d bytes, the text %d", file, len(mask), len(text))
	}
	for i := range len(text) {
		if mask[i] != text[i] && (mask[i] != ' ' && mask[i] != '"' || text[i] == '\n') {
			t.Fatalf("%s: byte %d is %q, its mask is %q", file, i, text[i], mask[i])
		}
	}
}

func TestQuotesStay(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.py", "f(rb'x', \"\"\"a\nb\"\"\", '') # '", "f(  ' ', \"\"\" \n \"\"\", '')    "},
		{"a.rs", "r#\"x\"# 'x'", "  \" \"  ' '"},
		{"a.js", "`a${b}c` (/x/)", "`   b  ` (\" \")"},
		{"a.rb", "a = %w(b (c) d) + /e/x", "a = \"         \" + \" \"x"},
		{"a.go", "x // \"é\"\r\ny", "x        \r\ny"},
	} {
		if mask := string(Of(c.file, nil).mask([]byte(c.text))); mask != c.want {
			t.Errorf("the mask of %q is %q, want %q", c.text, mask, c.want)
		}
	}
}

func TestOf(t *testing.T) {
	for _, c := range []struct{ file, head, want string }{
		{"dir/x.GO", "", "Go"}, {"x.tar.py", "", "Python"}, {"x.d.ts", "", "TypeScript"}, {"dir/Rakefile", "", "Ruby"}, {"x.cc", "", "C++"},
		{"run", "#!/usr/bin/env python3\n", "Python"}, {"run", "#!/usr/bin/env -S A=1 node --x\n", "JavaScript"}, {"run", "#! /bin/sh", "Shell"}, {"run", "#!/usr/bin/python3.12 -I\n", "Python"},
		{"x.py", "#!/bin/sh\n", "Python"},
		{"x", "", ""}, {"x.unheard", "", ""}, {"x", "#!", ""}, {"x", "#!/usr/bin/env\n", ""}, {"x", "#!\nsh", ""}, {"x", "#!/bin/s", ""}, {"x.", "", ""}, {"", "", ""}, {"x.c h", "", ""}, {".go", "", "Go"},
	} {
		got := ""
		if l := Of(c.file, []byte(c.head)); l != nil {
			got = l.Name
		}
		if got != c.want {
			t.Errorf("Of(%q, %q) is %q, want %q", c.file, c.head, got, c.want)
		}
	}
	var unknown *Language
	if text := []byte("x // \"y\""); &unknown.mask(text)[0] != &text[0] {
		t.Error("the mask of an unknown language is not the text")
	}
}

// hostile are texts that a scanner with a step back, or with a search to the end
// for each quote, takes a time for that grows with the square of their length.
func hostile(size int) map[string]string {
	texts := map[string]string{}
	for _, piece := range []string{
		`"`, `'`, "`", "`${", "\"\"\"", "/*", "*/", "/", "/[", "(/[", "=/[/", "\"\\", "r#", "r####\"#", "R\"aaaa(", ")aaaa\"", "$a", "$a$", "[=", "[[", "]=]", "--[", "#{", "\"#{", "\"$(", "{{", "f\"{",
		"<<A\n", "<<A", "<<'A' ", "<<<A\n", "\n=begin", "1'", "a'", "'\\", "\\", "\n", " ", "x", "\"(\"\n", "<!--", "?>", "<?", "\x00", "\xff", "é'",
	} {
		texts[piece] = strings.Repeat(piece, size/len(piece))
	}
	var names strings.Builder
	for i := range size / 8 {
		names.WriteString("<<N")
		names.WriteString(strings.Repeat("abcdefghij"[i%10:i%10+1], 1+i%4))
		names.WriteByte('\n')
	}
	texts["here-documents"] = names.String()
	texts["a raw string"] = "R\"" + strings.Repeat("(", size)
	texts["ends of a raw string"] = "r" + strings.Repeat("#", maxFill) + "\"" + strings.Repeat("\""+strings.Repeat("#", maxFill-1), size/maxFill)
	return texts
}

func TestHostile(t *testing.T) {
	t.Parallel()
	size := 16 << 10
	if load.Full(t) {
		size = 1 << 20
	}
	texts := hostile(size)
	if size == 1<<20 {
		texts["quotes"] = strings.Repeat("\"'`", 10<<20/3)
	}
	for i := range languages {
		l := &languages[i]
		for what, text := range texts {
			start := time.Now()
			mask := l.mask([]byte(text))
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%s: %q took %v", l.Name, what, took)
			}
			checkMask(t, l.Name, text, string(mask))
		}
	}
}

func TestScanInStrings(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []int
	}{
		{"a.go", "x := `a\nb\nc` + \"d\"\ny := 1 /* e\nf */\n", []int{1, 2}},
		{"a.py", "x = \"\"\"a\r\nb\"\"\"\n# '''\ny = 'a\\\nb'\nz = 1\n", []int{1, 4}},
		{"a.js", "x = `a\n${b(\n1)}\nc`; // `\ny\n", []int{1, 3}},
		{"a.sh", "cat <<E >x\na\n b\nE\necho\n", []int{1, 2, 3}},
		{"a.c", "char *s = \"a\\\nb\"; // c \\\nd\n", []int{1}},
		{"a", "`a\nb`", nil},
		{"a.go", "", nil},
	} {
		_, states := Of(c.name, nil).Scan([]byte(c.text))
		var got []int // the lines, from 0
		for n, state := range states[:len(states)-1] {
			if state.Part == String {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %v", c.text, got)
		}
	}
}

// TestAnyText gives each language random pieces of syntax.
func TestAnyText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := strings.Split("\" ' ` \"\"\" ''' ${ } #{ { ( ) \\( \\ / // /* */ # -- --[[ ]] [=[ ]=] R\"x( )x\" r#\" \"# $x$ <<A A <<< <!-- --> ?> <?php =begin =end __END__ x 1 f b é \x00 \xff | = ? @\" $\" $", " ")
	pieces = append(pieces, " ", "\n", "\n", "\r\n", "\t")
	for range 20_000 {
		var b bytes.Buffer
		for range random.IntN(40) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		l := &languages[random.IntN(len(languages))]
		checkMask(t, l.Name, b.String(), string(l.mask(b.Bytes())))
	}
}

func BenchmarkMask(b *testing.B) {
	text := []byte(strings.Repeat("func yes(a int) string { return \"no\" + yes('n') } // no more\n", 16<<10))
	for _, name := range []string{"a.go", "a.js", "a.py", "a.sh"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Of(name, nil).mask(text)
			}
		})
	}
}
