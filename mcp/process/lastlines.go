package process

import (
	"regexp"
	"strings"
)

// LastLines are the last n informative lines of text, without the final line end.
func LastLines(text string, n int) string {
	said := saying(text)
	return strings.Join(said[max(0, len(said)-n):], "\n")
}

// TellingLines are LastLines, preceded by the first lines and by lines with an error, up to
// five each, in their order: a program may print all its flags after the error. A line […]
// replaces lines that are left out.
func TellingLines(text string, n int) string {
	const most = 5
	said := saying(text)
	var told []string
	errors, left := 0, false
	for i, line := range said {
		isError := strings.Contains(strings.ToLower(line), "error")
		if i >= most && i < len(said)-n && (!isError || errors == most) {
			left = true
			continue
		}
		if isError && i >= most {
			errors++
		}
		if left {
			told = append(told, "[…]")
		}
		told, left = append(told, line), false
	}
	return strings.Join(told, "\n")
}

// saying are the informative lines of text. Lines of a stack trace or a search path are left
// out, because they would displace the error that they belong to.
func saying(text string) []string {
	// Positions in a source file: of Python, of Node.
	isPlace := regexp.MustCompile(`^(File ".*", line |node:internal/)`).MatchString
	isFrame := regexp.MustCompile(frame).MatchString
	var said []string
	code := false // the last line names a position in a source file; the text of that position follows
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n\t ")
		trimmed := strings.TrimLeft(line, "\t ")
		switch {
		case strings.Trim(trimmed, "^~") == "": // it is empty, or points into the line before
			if trimmed != "" && len(said) > 0 && strings.HasPrefix(said[len(said)-1], " ") {
				said = said[:len(said)-1]
			}
		case isPlace(trimmed):
			code = true
			continue
		case code && len(line)-len(trimmed) >= 4:
		case !isFrame(trimmed):
			said = append(said, line)
		}
		code = false
	}
	if len(said) == 0 {
		said = strings.Split(strings.TrimRight(text, "\r\n "), "\n")
	}
	return said
}

// frame is the beginning of a line of a stack trace or a search path: of Node, Java and .NET
// ("at "), Ruby ("from "), Go and Python.
const frame = `^(goroutine |created by |Traceback \(most recent call last\)|Require stack:|requireStack:|- /|Node\.js v|code: '|at .*[(:]|from .*:in |.*\.go:.* \+0x|[{}\]]$)`
