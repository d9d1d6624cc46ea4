//go:build unix

package files

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/testdata/servertest"
)

// bigTree makes a tree of 100,000 small source files, some of them deep, some
// binary.
func bigTree(b *testing.B) string {
	b.Helper()
	root := b.TempDir()
	text := []byte(strings.Repeat("func example(argument int) error {\n\treturn doSomething(argument)\n}\n\n", 20))
	for d := range 1000 {
		dir := filepath.Join(root, fmt.Sprintf("p%02d/q%02d/r%d", d%30, d/30, d%7))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 100 {
			content := text
			switch {
			case f == 50:
				content = append(append([]byte{}, text...), "the needle is here\n"...)
			case f%25 == 1:
				content = append([]byte{0}, text...)
			}
			if err := os.WriteFile(fmt.Sprintf("%s/file%03d.go", dir, f), content, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	return root
}

// BenchmarkBigTree gives each tool's time as a ratio to the program's that it
// is measured against: x-find, x-grep. The best of several runs of both, in
// turn, so that the machine's other work does not count.
func BenchmarkBigTree(b *testing.B) {
	root := bigTree(b)
	server, err := serve(confine.Spec{Root: root})
	if err != nil {
		b.Fatal(err)
	}
	session := servertest.Local(b, server)
	for _, c := range []struct {
		name, tool, args string
		against          []string
	}{
		{"list", "list_directory", `{"path":"p00/q00/r0"}`, []string{"find", root + "/p00/q00/r0"}},
		{"tree", "get_tree", `{"max_depth":9}`, []string{"find", root}},
		{"search", "search_files", `{"pattern":"file999*"}`, []string{"find", root, "-name", "file999*"}},
		{"search-path", "search_files", `{"pattern":"**/r3/none*.go"}`, []string{"find", root, "-path", "*/r3/none*.go"}},
		{"grep-literal", "grep_files", `{"pattern":"needle"}`, []string{"grep", "-rnI", "needle", root}},
		{"grep-regexp", "grep_files", `{"pattern":"the n\\w+ is"}`, []string{"grep", "-rnIE", `the n\w+ is`, root}},
		{"grep-class", "grep_files", `{"pattern":"[xyz]eedle|haystac[kx]"}`, []string{"grep", "-rnIE", `[xyz]eedle|haystac[kx]`, root}},
		{"grep-case", "grep_files", `{"pattern":"NEEDLE","ignore_case":true}`, []string{"grep", "-rniI", "NEEDLE", root}},
	} {
		b.Run(c.name, func(b *testing.B) {
			ours, theirs := time.Hour, time.Hour
			for range 7 {
				cmd := exec.Command(c.against[0], c.against[1:]...)
				var out bytes.Buffer
				cmd.Stdout = &out
				start := time.Now()
				cmd.Run()
				theirs = min(theirs, time.Since(start))
				start = time.Now()
				r, err := session.Call(b.Context(), c.tool, []byte(c.args), nil)
				ours = min(ours, time.Since(start))
				if err != nil || r.IsError {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				session.Call(b.Context(), c.tool, []byte(c.args), nil)
			}
			b.ReportMetric(float64(ours)/float64(theirs), "x-"+c.against[0])
			b.ReportMetric(float64(theirs.Microseconds())/1000, "ms-"+c.against[0])
			b.ReportMetric(float64(ours.Microseconds())/1000, "ms-ours")
		})
	}
}

// BenchmarkSlice reads the first lines of a file of 100 MB.
func BenchmarkSlice(b *testing.B) {
	root := b.TempDir()
	if err := os.WriteFile(filepath.Join(root, "f"), bytes.Repeat([]byte("a line of some length, as logs have\n"), 100_000_000/36), 0o644); err != nil {
		b.Fatal(err)
	}
	server, err := serve(confine.Spec{Root: root})
	if err != nil {
		b.Fatal(err)
	}
	session := servertest.Local(b, server)
	b.ReportAllocs()
	for b.Loop() {
		session.Call(b.Context(), "get_file_slice", []byte(`{"path":"f","start_line":10,"end_line":40}`), nil)
	}
}

// BenchmarkStart is what a run pays for the built-in servers before they are used.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		s, err := serve(confine.Spec{Root: dir})
		if err != nil {
			b.Fatal(err)
		}
		p := s.Pipe()
		for _, m := range []string{`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`} {
			if err := p.Send(b.Context(), []byte(m)); err != nil {
				b.Fatal(err)
			}
			if _, err := p.Receive(); err != nil {
				b.Fatal(err)
			}
		}
		p.Close()
	}
}
