package code

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/builtin/code/parsers"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
)

// Syntax errors are found by a parser of the language, or by the lexer, which knows only
// comments, strings and brackets. Answers say which of them checked the text.

func showSyntax(ctx context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	f, err := c.read(args.Text("path"))
	if err != nil {
		return nil, err
	}
	problems, err := c.checkSyntax(ctx, f)
	switch {
	case errors.Is(err, parsers.ErrUnchecked) && f.isLexed():
		return f.lexed(err), nil
	case errors.Is(err, parsers.ErrUnchecked):
		return nil, fmt.Errorf("%q: %w; a build, a linter or a test may show it", f.path, err)
	case err != nil:
		return nil, err
	case len(problems) == 0:
		return []byte("no syntax error\n"), nil
	}
	return []byte(parsers.Lines(problems)), nil
}

// checkSyntax returns the syntax errors that a parser finds. It runs no code of the file. The
// error is a parsers.ErrUnchecked if no parser can check the file.
func (c *call) checkSyntax(ctx context.Context, f *sourceFile) ([]parsers.Problem, error) {
	p := parsers.Parsers{LookPath: c.spec.lookPath, Processes: c.spec.Processes}
	return p.Check(ctx, f.path, f.language, f.text)
}

// checkEdited returns an error if a file parsed before an edit and would not parse with this
// text. The note describes the syntax of the edited text.
func (c *call) checkEdited(ctx context.Context, f *sourceFile, edited []byte) (note string, err error) {
	after := newSourceFile(f.path, edited)
	problems, err := c.checkSyntax(ctx, after)
	switch {
	case errors.Is(err, parsers.ErrUnchecked):
		return f.checkedByLexer(err), nil
	case err != nil:
		return "", err
	case len(problems) == 0:
		return "no syntax error", nil
	}
	if old, err := c.checkSyntax(ctx, f); err == nil && len(old) > 0 {
		return "it had syntax errors before, and has now:\n" + parsers.Lines(problems), nil
	}
	return "", fmt.Errorf("nothing was written: %s would no longer parse; force writes it all the same\n%s", confine.ShownName(f.path), parsers.Lines(problems))
}

// checkedByLexer describes what the guard of an edit has checked when no parser could.
func (f *sourceFile) checkedByLexer(unchecked error) string {
	if f.language == nil {
		return unchecked.Error()
	}
	return fmt.Sprintf("brackets, strings and comments close as before; no parser of %s checked it (%s)", f.language.Name, reasonOf(unchecked))
}

func reasonOf(unchecked error) string {
	return strings.TrimPrefix(unchecked.Error(), parsers.ErrUnchecked.Error()+": ")
}

// isLexed reports whether matching brackets, strings and comments are meaningful for a file.
// In languages such as HTML and Make they occur in plain text.
func (f *sourceFile) isLexed() bool {
	return f.language != nil && (!f.language.Data || f.language.Is("JSON", "CSS", "SCSS"))
}

// lexed is an answer about the brackets, strings and comments of a file that no parser could
// check.
func (f *sourceFile) lexed(unchecked error) []byte {
	f.lay()
	problems := f.unclosed()
	what := fmt.Sprintf("this check is not a complete parse of %s: %s", f.language.Name, reasonOf(unchecked))
	if len(problems) == 0 {
		return fmt.Appendf(nil, "no syntax error found: brackets, strings and comments close; %s\n", what)
	}
	return fmt.Appendf(nil, "%s[toolpipe] only brackets, strings and comments were checked; %s\n", parsers.Lines(problems), what)
}

// unclosed returns the unmatched brackets, the lines where a string is cut off, and a comment
// or string that is open at the end.
func (l *layout) unclosed() (problems []parsers.Problem) {
	isJSX := l.language.Is("JavaScript", "TypeScript") // JSX has quotes in its text
	for n := 1; n <= l.lines(); n++ {
		if l.states[n].Cut > l.states[n-1].Cut && !isJSX {
			problems = append(problems, parsers.Problem{Line: n, Message: "a string is not closed in its line"})
		}
		for i := l.starts[n-1]; i < l.starts[n]; i++ {
			if other, found := l.partner(i); found && other < 0 {
				message := fmt.Sprintf("%c closes nothing", l.mask[i])
				if strings.IndexByte(openers, l.mask[i]) >= 0 {
					message = fmt.Sprintf("%c is not closed", l.mask[i])
				}
				problems = append(problems, parsers.Problem{Line: n, Column: utf8.RuneCount(l.text[l.starts[n-1]:i]) + 1, Message: message})
			}
		}
	}
	if end := l.states[l.lines()]; end.Part != lexis.Code && !l.language.Is("PHP") { // PHP may end outside of code
		what := map[lexis.Part]string{lexis.Comment: "comment", lexis.String: "string"}[end.Part]
		problems = append(problems, parsers.Problem{Line: l.lines(), Message: "a " + what + " is open at the end of the file"})
	}
	return problems
}
