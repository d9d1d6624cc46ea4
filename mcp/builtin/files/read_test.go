package files

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/toolserver"
	"toolpipe/testdata/servertest"
)

// A slice that is cut says in which line, and how to go on.
func TestSliceCut(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	long := strings.Repeat("\u00e9", toolserver.MaxText)
	_, s := fileServer(t, map[string]string{"lines": strings.Repeat(line, 5000), "long": "a\n" + long + "\nz\n"})
	got := servertest.Works(t, s, "get_file_slice", "path", "lines", "start_line", 11)
	last := 11 + (toolserver.MaxText-1)/len(line)
	if want := fmt.Sprintf("\n[toolpipe] the slice is cut at %d bytes, in line %d; go on with start_line %d\n", toolserver.MaxText, last, last); !strings.HasSuffix(got, want) {
		t.Errorf("…%q\nwant %q", got[len(got)-120:], want)
	}
	got = servertest.Works(t, s, "get_file_slice", "path", "long", "start_line", 2)
	want := fmt.Sprintf("\n[toolpipe] the slice is cut at %d bytes, in line 2; go on with read_file, offset %d\n", toolserver.MaxText, toolserver.MaxText+2)
	if text, ok := strings.CutSuffix(got, want); !ok || text != long[:toolserver.MaxText] {
		t.Errorf("…%q\nwant %q", got[len(got)-120:], want)
	}
	if got := servertest.Works(t, s, "read_file", "path", "long", "offset", toolserver.MaxText+2, "length", 2); got != "\u00e9" {
		t.Errorf("going on: %q", got)
	}
}

// Text in another encoding is shown with a warning: written back it would not
// be what it was.
func TestNotUTF8(t *testing.T) {
	_, s := fileServer(t, map[string]string{"latin1": "caf\xe9\nna\xefve", "utf8": "caf\u00e9\n\ufffd\n"})
	const mark = "\n[toolpipe] this is not valid UTF-8: invalid bytes are shown as U+FFFD and would be lost if this text were written back; edit_file and set_file_slice keep all bytes that they do not replace\n"
	if got := servertest.Works(t, s, "read_file", "path", "latin1"); got != "caf\ufffd\nna\ufffdve"+mark {
		t.Errorf("read_file: %q", got)
	}
	if got := servertest.Works(t, s, "get_file_slice", "path", "latin1", "start_line", 1, "end_line", 1); got != "caf\ufffd\n"+mark {
		t.Errorf("get_file_slice: %q", got)
	}
	for _, call := range [][]any{{"read_file"}, {"get_file_slice"}, {"read_file", "offset", 4}, {"read_file", "offset", 0, "length", 4}} {
		if got := servertest.Works(t, s, call[0].(string), append(call[1:], "path", "utf8")...); strings.Contains(got, "[toolpipe]") {
			t.Errorf("%v: %q", call, got)
		}
	}
}

// A summary shows the beginnings of the first lines, and counts the others.
func TestSummaryOfText(t *testing.T) {
	_, s := fileServer(t, map[string]string{"empty": "", "text": "\xEF\xBB\xBFone\r\n" + strings.Repeat("\u00e9", 600) + "\r\n" + strings.Repeat("x\r\n", 20) + "end"})
	if got := servertest.Works(t, s, "get_file_summary", "path", "empty"); got != "path: empty\nsize: 0 bytes\nkind: text\nlines: 0\n" {
		t.Errorf("empty: %q", got)
	}
	want := "kind: text, with a byte order mark, CRLF line ends\nlines: 23\nthe last line has no line end\nlongest line: 1202 bytes\nfirst lines:\n     1  \ufeffone\n     2  " +
		strings.Repeat("\u00e9", 80) + "\n     3  x\n"
	got := servertest.Works(t, s, "get_file_summary", "path", "text")
	if !strings.Contains(got, want) || !strings.HasSuffix(got, "    10  x\n") {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// What the summary did not read it says nothing about.
func TestSummaryOfLongFile(t *testing.T) {
	t.Parallel()
	dir, s := fileServer(t, map[string]string{"big": strings.Repeat("a line\n", toolserver.ReadChunk)})
	check(t, os.Truncate(filepath.Join(dir, "big"), maxSummarised+10))
	got := servertest.Works(t, s, "get_file_summary", "path", "big")
	if !strings.Contains(got, "in the first 67108864 bytes") || strings.Contains(got, "no line end") {
		t.Error(got)
	}
}

// endless is the same bytes again and again.
type endless string

func (e endless) Read(b []byte) (int, error) {
	for n := 0; n < len(b); {
		n += copy(b[n:], e)
	}
	return len(b), nil
}

// Lines are counted in the first maxCounted bytes: those that end there are
// read, the next is not.
func TestSliceAtTheEndOfWhatIsCounted(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("y", 1<<10-1) + "\n"
	lines := int64(toolserver.MaxCounted / len(line))
	for _, c := range []struct {
		first, last int64
		want        string
		far         bool
	}{{lines - 1, lines, line + line, false}, {lines, lines + 1, line, true}, {lines + 1, lines + 1, "", true}, {lines, -1, line, true}} {
		s := slice{first: c.first, last: c.last}
		if err := s.read(t.Context(), bufio.NewReader(endless(line))); err != nil || string(s.text) != c.want || s.far != c.far {
			t.Errorf("lines %d to %d: %q, far %t: %v", c.first, c.last, s.text, s.far, err)
		}
	}
}
