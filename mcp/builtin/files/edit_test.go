package files

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

func TestReplaceText(t *testing.T) {
	for _, c := range []struct {
		content, before, after string
		all                    bool
		want                   string // "!" and a word for an error
	}{
		{"a b c", "b", "x", false, "a x c"},
		{"a b a", "a", "x", true, "x b x"},
		{"a b a", "a", "x", false, "!2 times"},
		{"aaa", "aa", "x", false, "!2 times"},
		{"aaa", "aa", "x", true, "xa"},
		{"a", "", "x", false, "!empty"},
		{"", "a", "x", false, "!not in the file"},
		{"a", "a", "a", false, "!same"},
		{"a\r\nb\r\n", "a\nb\n", "x\ny\n", false, "x\r\ny\r\n"},
		{"a\r\nb\r\n", "a\r\nb", "x\r\ny", false, "x\r\ny\r\n"},
		{"a\r\nb\n", "a\nb", "x", false, "!not in the file"},
		{"a\r\nb\n", "b", "x\ny", false, "a\r\nx\ny\n"},
		{"\uFEFFa\n", "a", "b", false, "\uFEFFb\n"},
		{"a", "a", "", false, ""},
		{"a\xffb", "b", "c", false, "a\xffc"},
	} {
		got, _, _, err := replaceText([]byte(c.content), c.before, c.after, c.all)
		checkEdit(t, got, err, c.want, c)
	}
}

func TestReplaceLines(t *testing.T) {
	for _, c := range []struct {
		content     string
		first, last int64
		text        string
		want        string
	}{
		{"a\nb\nc\n", 2, 2, "x", "a\nx\nc\n"},
		{"a\nb\nc\n", 2, 3, "x\ny\nz\n", "a\nx\ny\nz\n"},
		{"a\nb\nc\n", 2, 2, "", "a\nc\n"},
		{"a\nb\nc\n", 1, 3, "", ""},
		{"a\nb\n", 1, 0, "x", "x\na\nb\n"},
		{"a\nb\n", 3, 2, "x", "a\nb\nx\n"},
		{"a\nb", 3, 2, "x", "a\nb\nx"},
		{"a\nb", 2, 2, "x", "a\nx"},
		{"a\nb", 1, 1, "x", "x\nb"},
		{"", 1, 0, "x", "x"},
		{"", 1, 1, "x", "!0 lines"},
		{"a\n", 0, 1, "x", "!count from 1"},
		{"a\n", 2, 2, "x", "!1 lines"},
		{"a\n", 1, 9, "x", "x\n"},
		{"a\n", 3, 2, "x", "!1 lines"},
		{"a\nb\n", 2, 0, "x", "!before"},
		{"a\r\nb\r\n", 1, 1, "x\ny", "x\r\ny\r\nb\r\n"},
		{"a\r\nb\n", 1, 1, "x", "x\nb\n"},
		{"\uFEFFa\nb\n", 1, 1, "x", "\uFEFFx\nb\n"},
		{"\uFEFF", 1, 0, "x", "\uFEFFx"},
	} {
		got, err := replaceLines([]byte(c.content), c.first, c.last, c.text)
		checkEdit(t, got, err, c.want, c)
	}
}

func checkEdit(t *testing.T, got []byte, err error, want string, c any) {
	t.Helper()
	if word, fails := strings.CutPrefix(want, "!"); fails {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %q, %v", c, got, err)
		}
	} else if err != nil || string(got) != want {
		t.Errorf("%q: %q, %v", c, got, err)
	}
}

// slowReplace is replaceText, byte by byte.
func slowReplace(content, before, after string, all bool) (string, bool) {
	crlf := strings.Contains(content, "\n")
	for i := range len(content) {
		crlf = crlf && (content[i] != '\n' || i > 0 && content[i-1] == '\r')
	}
	if crlf {
		before, after = slowCRLF(before), slowCRLF(after)
	}
	places := 0
	for i := range len(content) {
		if before != "" && strings.HasPrefix(content[i:], before) {
			places++
		}
	}
	if places == 0 || places > 1 && !all || before == after {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(content); {
		if strings.HasPrefix(content[i:], before) {
			b.WriteString(after)
			i += len(before)
		} else {
			b.WriteByte(content[i])
			i++
		}
	}
	return b.String(), true
}

func slowCRLF(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '\n' && (i == 0 || s[i-1] != '\r') {
			b.WriteByte('\r')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func FuzzReplaceText(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "c\n", false)
	f.Add("\uFEFFaaa", "aa", "", true)
	f.Add("x\r\r\ny\n", "\r", "\n", true)
	f.Fuzz(func(t *testing.T, content, before, after string, all bool) {
		want, ok := slowReplace(content, before, after, all)
		got, n, lines, err := replaceText([]byte(content), before, after, all)
		if ok != (err == nil) || ok && string(got) != want {
			t.Fatalf("%q, %q to %q, %t: %q %a, want %q %t", content, before, after, all, got, err, want, ok)
		}
		if ok && (n < 1 || len(lines) == 0 || lines[0] < 1) {
			t.Errorf("%d places, lines %v", n, lines)
		}
	})
}

// slowLines is replaceLines on a list of lines.
func slowLines(content string, first, last int64, text string) (string, bool) {
	mark := ""
	if strings.HasPrefix(content, "\uFEFF") {
		mark, content = "\uFEFF", content[len("\uFEFF"):]
	}
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	n := int64(len(lines))
	if first < 1 || first > n+1 || last < first-1 || last > n {
		return "", false
	}
	ending, crlf := "\n", strings.Contains(content, "\n")
	for _, l := range lines {
		crlf = crlf && (!strings.HasSuffix(l, "\n") || strings.HasSuffix(l, "\r\n"))
	}
	if crlf {
		ending, text = "\r\n", slowCRLF(text)
	}
	before, after := strings.Join(lines[:first-1], ""), strings.Join(lines[last:], "")
	if text != "" {
		if before != "" && before[len(before)-1] != '\n' {
			text = ending + text
		}
		if text[len(text)-1] != '\n' && (after != "" || n > 0 && strings.HasSuffix(lines[n-1], "\n")) {
			text += ending
		}
	}
	return mark + before + text + after, true
}

func FuzzReplaceLines(f *testing.F) {
	f.Add("a\r\nb\r\n", int8(1), int8(2), "c\n")
	f.Add("\uFEFFa\nb", int8(3), int8(2), "c")
	f.Add("", int8(1), int8(0), "\n")
	f.Fuzz(func(t *testing.T, content string, first, last int8, text string) {
		want, ok := slowLines(content, int64(first), int64(last), text)
		got, err := replaceLines([]byte(content), int64(first), int64(last), text)
		if ok != (err == nil) || ok && string(got) != want {
			t.Fatalf("%q, %d to %d, %q: %q %a, want %q %t", content, first, last, text, got, err, want, ok)
		}
	})
}

// FuzzSlice compares get_file_slice's reader with a list of lines, some of them
// longer than its buffer.
func FuzzSlice(f *testing.F) {
	f.Add("a\nb\nc", uint8(2), int8(3))
	f.Add("a\n\n", uint8(2), int8(-1))
	f.Add("more than sixteen bytes\nmore than sixteen bytes", uint8(2), int8(2))
	f.Fuzz(func(t *testing.T, content string, first uint8, last int8) {
		if first == 0 || last >= 0 && int(last) < int(first) {
			return
		}
		lines := bytes.SplitAfter([]byte(content), []byte("\n"))
		if len(lines[len(lines)-1]) == 0 {
			lines = lines[:len(lines)-1]
		}
		s := slice{first: int64(first), last: int64(max(last, -1))}
		if err := s.read(t.Context(), bufio.NewReaderSize(strings.NewReader(content), 16)); err != nil {
			t.Fatal(err)
		}
		end := len(lines)
		if last >= 0 {
			end = min(end, int(last))
		}
		want := bytes.Join(lines[min(int(first)-1, end):end], nil)
		if !bytes.Equal(s.text, want) {
			t.Errorf("%q lines %d to %d: %q, want %q", content, first, last, s.text, want)
		}
		if seen := int64(len(lines)); (last < 0 || int64(last) > seen) && s.line != seen {
			t.Errorf("%q: counted %d, want %d", content, s.line, seen)
		}
	})
}
