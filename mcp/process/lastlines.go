package process

import (
	"regexp"
	"strings"
)

// LastLines are the last n lines of text that say something, without the final
// line end: the lines of a stack trace and of a search path are left out, which
// would push out the error that they belong to.
func LastLines(text string, n int) string {
	// Places in a source file: of Python, of Node.
	isPlace := regexp.MustCompile(`^(File ".*", line |node:internal/)`).MatchString
	isFrame := regexp.MustCompile(frame).MatchString
	var said []string
	code := false // the last line names a place in a source file, whose text follows
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n\t ")
		trimmed := strings.TrimLeft(line, "\t ")
		switch {
		case strings.Trim(trimmed, "^~") == "": // it is empty, or points at a place in the line before
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
	return strings.Join(said[max(0, len(said)-n):], "\n")
}

// frame is the beginning of a line of a stack trace or a search path: of Node, Java and
// .NET ("at "), Ruby ("from "), Go and Python.
const frame = `^(goroutine |created by |Traceback \(most recent call last\)|Require stack:|requireStack:|- /|Node\.js v|code: '|at .*[(:]|from .*:in |.*\.go:.* \+0x|[{}\]]$)`
