// Package parsers finds syntax errors in source texts. It checks Go and JSON itself, and
// other languages by programs that read a text from their input and run nothing of it.
//
// Languages without such a program have no parser here. Compilers read other files, as cc
// -fsyntax-only does for #include, or do far more, as rustc, javac and tsc. The grammars of
// tree-sitter as WebAssembly were measured with wazero 1.12: the runtime, the core and the
// grammar of Rust add 4.1 MB to the program, and each further grammar 0.4 to 1.1 MB.
// Compiling them takes 300 ms and 30 MB at each start; interpreting them takes 25 ms, and the
// parser is slow. They also accept wrong texts, because they recover from errors. So they are
// not used.
package parsers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

const (
	maxProblems     = 20               // in one answer
	maxMessage      = 300              // bytes of one message
	maxParsed       = 4 << 20          // bytes of a text for another program: Python's parser needs hundreds of times as many
	parserTime      = 20 * time.Second // then such a program is ended
	maxParserOutput = 64 << 10         // bytes of its errors that are read
)

// Parsers are the installed parsers.
type Parsers struct {
	// LookPath finds a program, and returns the environment to start it in.
	LookPath  func(name string) (program string, env []string, err error)
	Processes *process.Processes
}

// A Problem is a syntax error in a text.
type Problem struct {
	Line, Column int // from 1; Column 0 means unknown
	Message      string
}

// String is the problem as LINE:COLUMN: MESSAGE, or LINE: MESSAGE.
func (p Problem) String() string {
	if p.Column == 0 {
		return fmt.Sprintf("%d: %s", p.Line, p.Message)
	}
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)
}

// Lines formats problems as lines of an answer; if there are many, only the first ones.
func Lines(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems[:min(len(problems), maxProblems)] {
		fmt.Fprintln(&b, p)
	}
	if more := len(problems) - maxProblems; more > 0 {
		fmt.Fprintf(&b, "[toolpipe] %d more are left out\n", more)
	}
	return b.String()
}

// ErrUnchecked means that no parser can check a text.
var ErrUnchecked = errors.New("the syntax cannot be checked")

func unchecked(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnchecked, fmt.Sprintf(format, args...))
}

// Check returns the syntax errors of a text, in a file of that name. It runs no code of the
// text. The error is an ErrUnchecked if no parser can check it.
func (ps *Parsers) Check(ctx context.Context, name string, language *lexis.Language, text []byte) ([]Problem, error) {
	extension := path.Ext(strings.ToLower(name))
	switch {
	case language == nil:
		return nil, unchecked("the language is not known")
	case language.Is("Go"):
		return goProblems(text), nil
	case language.Is("JSON") && extension == ".json":
		return jsonProblems(text), nil
	}
	parsers, err := parsersOf(language.Name, extension, text)
	if err != nil {
		return nil, err
	}
	if len(text) > maxParsed {
		return nil, unchecked("the file has %d bytes, at most %d are given to %s", len(text), maxParsed, parsers[0].program)
	}
	return ps.parseByAny(ctx, parsers, text)
}

// parseByAny tries the parsers until one accepts the text. If none does, it returns the
// errors of the parser that got furthest. The first parser must be installed.
func (ps *Parsers) parseByAny(ctx context.Context, parsers []textParser, text []byte) (problems []Problem, err error) {
	for i, p := range parsers {
		found, err := ps.parse(ctx, p, text)
		switch {
		case err != nil && i == 0, ctx.Err() != nil:
			return nil, err
		case err == nil && len(found) == 0:
			return nil, nil
		case err == nil && (i == 0 || found[0].Line > problems[0].Line):
			problems = found
		}
	}
	return problems, nil
}

func goProblems(text []byte) (problems []Problem) {
	_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution) // it reports the first error of each line, ten at most
	list, _ := errors.AsType[scanner.ErrorList](err)
	slices.SortStableFunc(list, func(a, b *scanner.Error) int { return a.Pos.Offset - b.Pos.Offset })
	for _, e := range list { // a comment //line may have changed the line in the error
		before := text[:min(e.Pos.Offset, len(text))]
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		problems = append(problems, Problem{bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(line) + 1, oneLine(e.Msg)})
	}
	return problems
}

// maxJSONDepth limits the stack: the grammar of RFC 8259 has no limit.
const maxJSONDepth = 10_000

func jsonProblems(text []byte) []Problem {
	err := jsontext.Check(text, jsontext.Options{Depth: maxJSONDepth})
	if e, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
		return []Problem{{e.Line, e.Column, oneLine(e.Message)}}
	}
	return nil
}

func oneLine(message string) string {
	return readable.Cut(strings.Join(strings.Fields(message), " "), maxMessage, " …")
}

// A textParser is a program that parses a text from its input and runs nothing of it.
type textParser struct {
	program string
	args    []string
	place   string // begins a line about an error, before the line number
}

// pythonParser reports errors in the format of Ruby, plus the column. Isolated and without
// site, Python reads no file of a directory, user or environment that may contain code;
// ast.parse compiles nothing.
const pythonParser = `import ast, sys
try:
    ast.parse(sys.stdin.buffer.read())
except SyntaxError as e:
    text = "-:%d:%d: %s" % (e.lineno or 1, e.offset or 1, e.msg)
except ValueError as e:
    text = "-:1: %s" % e
else:
    sys.exit(0)
sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace"))
sys.exit(1)
`

var (
	python     = textParser{"python3", []string{"-I", "-S", "-c", pythonParser}, "-:"}
	posixShell = textParser{"sh", []string{"-n", "/dev/stdin"}, "/dev/stdin: "} // a shell that reads a script without a file name counts no lines
	bash       = textParser{"bash", []string{"--norc", "--noprofile", "-n", "/dev/stdin"}, "/dev/stdin: "}
	nodeScript = textParser{"node", []string{"--no-warnings", "--check", "-"}, "[stdin]:"}
	nodeModule = textParser{"node", []string{"--no-warnings", "--input-type=module", "--check", "-"}, "[stdin]:"}
	rubyParser = textParser{"ruby", []string{"--disable=gems,rubyopt", "-W0", "-c", "-"}, "-:"}
)

// parsersOf are the parsers for a text; one of them must accept it. They depend on the
// language, and also on the extension or the program in the first line. If the kind of a
// script is unknown, there is a parser for each kind.
func parsersOf(language, extension string, text []byte) ([]textParser, error) {
	all := map[string][]textParser{
		"Python": {python}, "Ruby": {rubyParser},
		"JavaScript": {nodeScript, nodeModule}, "JavaScript .cjs": {nodeScript}, "JavaScript .mjs": {nodeModule}, "JavaScript .jsx": nil,
		"Shell .sh": {posixShell, bash}, "Shell sh": {posixShell}, "Shell .dash": {posixShell}, "Shell dash": {posixShell}, "Shell .bash": {bash}, "Shell bash": {bash},
	}
	kind := extension
	if language == "Shell" {
		kind = cmp.Or(lexis.Interpreter(text), extension)
	}
	parsers, found := all[language+" "+kind]
	if !found {
		parsers = all[language]
	}
	if parsers == nil {
		if kind != "" {
			language += " (" + confine.ShownName(kind) + ")"
		}
		return nil, unchecked("no known parser for %s checks the code without running it", language)
	}
	return parsers, nil
}

// parse runs a parser on a text. The parser starts in the root directory, away from the
// project's files, with an environment that loads no code.
func (ps *Parsers) parse(ctx context.Context, p textParser, text []byte) ([]Problem, error) {
	program, env, err := ps.LookPath(p.program)
	if err != nil {
		return nil, unchecked("%v", err)
	}
	if p.program == rubyParser.program {
		text = withoutProgramLine(text)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, parserTime, unchecked("%s took more than %v", p.program, parserTime))
	defer cancel()
	said := process.Output{Head: maxParserOutput}
	cmd := &exec.Cmd{Path: program, Args: append([]string{p.program}, p.args...), Env: env, Dir: "/", Stdin: bytes.NewReader(text), Stderr: &said}
	err = ps.Processes.Run(ctx, cmd)
	if ctx.Err() != nil || err == nil {
		return nil, err
	}
	problems := p.problems(said.String(), text)
	if len(problems) == 0 {
		return nil, unchecked("%s failed: %v: %s", p.program, err, oneLine(said.String()))
	}
	return problems, nil
}

// withoutProgramLine turns a first line "#!" into a comment: Ruby obeys the options in it,
// and -r loads a file.
func withoutProgramLine(text []byte) []byte {
	body := bytes.TrimPrefix(text, toolserver.ByteOrderMark)
	if !bytes.HasPrefix(body, []byte("#!")) {
		return text
	}
	text = bytes.Clone(text)
	text[len(text)-len(body)+1] = '#'
	return text
}

// problems reads the errors that a parser reported. A line with the position is followed by
// the message, or by lines with the source, a mark below it, and the message.
func (p textParser) problems(said string, text []byte) (problems []Problem) {
	place := regexp.MustCompile("^" + regexp.QuoteMeta(p.place) + `(?:line )?(\d+)(?::(\d+): )?:?(.*)`)
	lines, last := strings.Split(said, "\n"), bytes.Count(text, []byte("\n"))+1
	for i, line := range lines {
		m := place.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		number, err := strconv.Atoi(m[1])
		if err != nil || number > last+1 { // it is a line of the source, which is shown too
			continue
		}
		e := Problem{Line: number, Message: oneLine(m[3])}
		if m[3] == "" { // Node.js prints the message after the source
			_, message, _ := strings.Cut(said, "\nSyntaxError: ")
			message, _, _ = strings.Cut(message, "\n")
			e.Message = oneLine(cmp.Or(message, "syntax error"))
		}
		if e.Column, err = strconv.Atoi(m[2]); err != nil && len(problems) < maxProblems {
			e.Column = markedColumn(lines[i+1:], text, number)
		}
		if e.Message != "" && e.Message[0] != '`' { // bash repeats the line in these
			problems = append(problems, e)
		}
	}
	return problems
}

// markedColumn is the column of a mark ^ below a line of a text; 0 if the lines are not such
// a pair.
func markedColumn(lines []string, text []byte, number int) int {
	if len(lines) < 2 || lines[0] == "" || strings.Trim(lines[1], " \t^~") != "" {
		return 0
	}
	for range number - 1 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	if !bytes.HasPrefix(text, []byte(lines[0])) {
		return 0
	}
	return strings.IndexByte(lines[1], '^') + 1
}
