package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
)

func writeFile(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
	confine.Writing.Lock()
	defer confine.Writing.Unlock()
	path, content := args.Text("path"), args.Text("content")
	p, err := a.FindNew(ctx, path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	verb := "created"
	if p.Info != nil {
		verb = "replaced"
	}
	if err := p.Replace(ctx, []byte(content)); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s %s: %s, %s\n", verb, confine.ShownName(p.Rel), counted(int64(len(content)), "byte"), counted(countLines([]byte(content)), "line")), nil
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// change edits a file. edit also returns the tool's answer.
func change(ctx context.Context, a *confine.Access, path string, edit func(content []byte) (edited, answer []byte, err error)) (answer []byte, err error) {
	err = a.Change(ctx, path, func(content []byte) (edited []byte, err error) {
		if edited, answer, err = edit(content); err != nil {
			err = fmt.Errorf("%q: %w", path, err)
		}
		return edited, err
	})
	return answer, err
}

func editFile(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
	path := args.Text("path")
	return change(ctx, a, path, func(content []byte) (edited, answer []byte, err error) {
		edited, n, lines, err := replaceText(content, args.Text("old_string"), args.Text("new_string"), args.Flag("replace_all"))
		places := "line"
		if n > 1 {
			places = fmt.Sprintf("%d places, lines", n)
		}
		return edited, fmt.Appendf(nil, "edited %s: %s %s\n", confine.ShownName(path), places, joinLines(lines, n > len(lines))), err
	})
}

func setFileSlice(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
	path, first, last := args.Text("path"), args.Integer("start_line", 0), args.Integer("end_line", 0)
	return change(ctx, a, path, func(content []byte) (edited, answer []byte, err error) {
		edited, err = replaceLines(content, first, last, args.Text("new_content"))
		was, is := countLines(content), countLines(edited)
		return edited, fmt.Appendf(nil, "edited %s: it had %s and has %d\n", confine.ShownName(path), counted(was, "line"), is), err
	})
}

// An edit works on the whole text. If all lines of the text end in CR LF, the model's lines
// get that end too. A byte order mark stays at the beginning.

func allCRLF(text []byte) bool {
	n := bytes.Count(text, []byte("\n"))
	return n > 0 && n == bytes.Count(text, []byte("\r\n"))
}

func withCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// replaceText replaces the text before by after, at all n positions or at the only one. lines
// are the lines, from 1, of the first ten positions.
func replaceText(content []byte, before, after string, all bool) (edited []byte, n int, lines []int, err error) {
	if before == "" {
		return nil, 0, nil, errors.New("old_string is empty; write_file writes a whole file, set_file_slice inserts at a line")
	}
	if allCRLF(content) {
		before, after = withCRLF(before), withCRLF(after)
	}
	if before == after {
		return nil, 0, nil, errors.New("old_string and new_string are the same; nothing would change")
	}
	b := []byte(before)
	first := bytes.Index(content, b)
	if first < 0 {
		return nil, 0, nil, notInFile(content, before)
	}
	if !all && bytes.Contains(content[first+1:], b) {
		lines, more := beginnings(content, b, 1)
		times := strconv.Itoa(len(lines))
		if more {
			times = "more than " + times
		}
		return nil, 0, nil, fmt.Errorf("old_string occurs %s times, beginning in lines %s; give more of the text around the intended occurrence, or set replace_all", times, joinLines(lines, more))
	}
	n = bytes.Count(content, b)
	if size := int64(len(content)) + int64(n)*int64(len(after)-len(b)); size > confine.MaxEdited {
		return nil, 0, nil, errTooLarge(size)
	}
	lines, _ = beginnings(content, b, len(b))
	return bytes.ReplaceAll(content, b, []byte(after)), n, lines, nil
}

func errTooLarge(size int64) error {
	return fmt.Errorf("the file would have %d bytes; an edited file may have at most %d", size, confine.MaxEdited)
}

// beginnings returns the lines of the first ten positions where b begins, each at least step
// bytes after the previous one, and whether there are more. It does not count all positions:
// in a text of one repeated letter that would take the product of both lengths.
func beginnings(content, b []byte, step int) (lines []int, more bool) {
	line, counted := 1, 0
	for at := 0; ; at += step {
		i := bytes.Index(content[at:], b)
		if i < 0 {
			return lines, false
		}
		at += i
		if len(lines) == 10 {
			return lines, true
		}
		line += bytes.Count(content[counted:at], []byte("\n"))
		counted = at
		lines = append(lines, line)
	}
}

func joinLines(lines []int, more bool) string {
	text := strings.ReplaceAll(strings.Trim(fmt.Sprint(lines), "[]"), " ", ", ")
	if more {
		text += " and others"
	}
	return text
}

// notInFile is the error for a text that is not in the file. It shows the most similar lines.
func notInFile(content []byte, before string) error {
	if near := nearest(content, before); near != "" {
		return errors.New("old_string is not in the file, and nothing was changed; " + near)
	}
	return errors.New("old_string is not in the file; read the file again and copy the text exactly")
}

// replaceLines replaces the lines first to last by text. With last one less than first it
// inserts the text before first; with an empty text it deletes. If last is past the end, it means
// the last line. A text without a line end gets one, unless it becomes the last line of a file
// without a final line end.
func replaceLines(content []byte, first, last int64, text string) ([]byte, error) {
	body := bytes.TrimPrefix(content, toolserver.ByteOrderMark)
	count := countLines(body)
	switch {
	case first < 1:
		return nil, fmt.Errorf("start_line is %d; lines count from 1", first)
	case last < first-1:
		return nil, fmt.Errorf("end_line %d is before start_line %d; one less than start_line inserts", last, first)
	case first > count+1 || first == count+1 && last >= first:
		return nil, fmt.Errorf("the file has %d lines; start_line %d is past the end (start_line %d with end_line %d appends)", count, first, count+1, count)
	}
	last = min(last, count)
	start := lineStart(body, first)
	end := start + lineStart(body[start:], last-first+2)
	ending := "\n"
	if allCRLF(body) {
		text, ending = withCRLF(text), "\r\n"
	}
	if text != "" && !strings.HasSuffix(text, "\n") && (end < len(body) || bytes.HasSuffix(body, []byte("\n"))) {
		text += ending
	}
	if text != "" && start == len(body) && start > 0 && body[start-1] != '\n' {
		text = ending + text
	}
	size := len(content) - (end - start) + len(text)
	if size > confine.MaxEdited {
		return nil, errTooLarge(int64(size))
	}
	edited := make([]byte, 0, size)
	edited = append(edited, content[:len(content)-len(body)+start]...)
	return append(append(edited, text...), body[end:]...), nil
}

// countLines counts lines, including a last line without an end.
func countLines(b []byte) int64 {
	n := int64(bytes.Count(b, []byte("\n")))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// lineStart is the offset of a line, counted from 1, or of the end if there are fewer lines.
func lineStart(b []byte, line int64) (at int) {
	for text := range bytes.Lines(b) {
		if line--; line < 1 {
			break
		}
		at += len(text)
	}
	return at
}
