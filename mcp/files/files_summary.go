package files

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/htmltext"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

const (
	maxSummarised = 64 << 20 // bytes of a file whose lines are counted
	maxHeadings   = 300
)

func getFileSummary(v *confine.View, ctx context.Context, args toolserver.Arguments) (*wire.Result, error) {
	p, err := v.Find(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if p.Info != nil && p.Info.IsDir() {
		return summariseDirectory(v, ctx, p)
	}
	f, info, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := fmt.Appendf(nil, "path: %s\nsize: %d bytes\n", confine.ShownName(p.Rel), info.Size())
	r := bufio.NewReaderSize(io.LimitReader(f, maxSummarised), toolserver.ReadChunk)
	head, err := r.Peek(toolserver.ReadChunk)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%q: %w", p.Asked, confine.Reason(err))
	}
	if toolserver.LooksBinary(head) {
		return toolserver.TextResult(fmt.Appendf(b, "kind: binary, %s\n", http.DetectContentType(head[:min(512, len(head))]))), nil
	}
	s := summary{language: languageOf(p.Name)}
	if err := s.read(ctx, r); err != nil {
		return nil, fmt.Errorf("%q: %w", p.Asked, confine.Reason(err))
	}
	return toolserver.TextResult(s.report(b, head, info.Size())), nil
}

func summariseDirectory(v *confine.View, ctx context.Context, p *confine.Place) (*wire.Result, error) {
	dir, err := p.Directory()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	list, total, err := entries(v, ctx, dir, p.Rel, confine.MaxKept)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", p.Asked, err)
	}
	dirs := 0
	for _, e := range list {
		if e.IsDir() {
			dirs++
		}
	}
	return toolserver.TextResult(fmt.Sprintf("path: %s\nkind: directory\nentries: %d, of them %d directories\n", confine.ShownName(p.Rel), total, dirs)), nil
}

// summary is what one pass over a text gives.
type summary struct {
	language string
	lines    int
	partial  bool // the last line has no end
	longest  int
	headings []byte
	shown    int
	more     int
	fenced   bool
}

func (s *summary) read(ctx context.Context, r *bufio.Reader) error {
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			if length == 0 {
				s.lines++
				s.heading(bytes.TrimRight(line, "\r\n"))
			}
			length += len(line)
			s.longest = max(s.longest, length)
			s.partial = line[len(line)-1] != '\n'
			if !s.partial {
				length = 0
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil && err != bufio.ErrBufferFull:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

func (s *summary) heading(line []byte) {
	if s.language == "Markdown" && bytes.HasPrefix(line, []byte("```")) {
		s.fenced = !s.fenced
	}
	if s.fenced || !topLevel(s.language, line) {
		return
	}
	if s.shown == maxHeadings {
		s.more++
		return
	}
	s.shown++
	s.headings = fmt.Appendf(s.headings, "%6d  ", s.lines)
	s.headings = append(append(s.headings, toolserver.WholeRunes(line[:min(len(line), 160)])...), '\n')
}

func (s *summary) report(b, head []byte, size int64) []byte {
	name := s.language
	if name == "" {
		name = "text"
	}
	b = append(append(b, "kind: "...), name...)
	if bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")) {
		b = append(b, ", with a byte order mark"...)
	}
	if bytes.Contains(head, []byte("\r\n")) {
		b = append(b, ", CRLF line ends"...)
	}
	b = append(b, '\n')
	if size > maxSummarised {
		b = fmt.Appendf(b, "lines: %d in the first %d bytes\n", s.lines, maxSummarised)
	} else {
		b = fmt.Appendf(b, "lines: %d\n", s.lines)
	}
	if s.partial && size <= maxSummarised {
		b = append(b, "the last line has no line end\n"...)
	}
	if s.longest > 1000 {
		b = fmt.Appendf(b, "longest line: %d bytes\n", s.longest)
	}
	if s.shown > 0 {
		b = append(append(b, "top level:\n"...), s.headings...)
	}
	if s.more > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d more are not shown\n", s.more)
	}
	return b
}

// languageOf is the language that a file's name tells; "" when it does not.
func languageOf(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "Markdown"
	case ".go":
		return "Go"
	case ".py", ".pyi":
		return "Python"
	case ".js", ".mjs", ".cjs", ".jsx":
		return "JavaScript"
	case ".ts", ".tsx", ".mts":
		return "TypeScript"
	case ".rs":
		return "Rust"
	case ".c", ".h":
		return "C"
	case ".cc", ".cpp", ".cxx", ".hpp", ".hh":
		return "C++"
	case ".java":
		return "Java"
	case ".kt", ".kts":
		return "Kotlin"
	case ".cs":
		return "C#"
	case ".rb":
		return "Ruby"
	case ".php":
		return "PHP"
	case ".swift":
		return "Swift"
	case ".sh", ".bash", ".zsh":
		return "shell"
	case ".toml", ".ini", ".cfg":
		return "settings"
	case ".yaml", ".yml":
		return "YAML"
	case ".json":
		return "JSON"
	}
	return ""
}

// topLevel says whether a line begins something that an outline shows: a
// heading, or a declaration that is not indented.
func topLevel(language string, line []byte) bool {
	if len(line) == 0 || line[0] == ' ' || line[0] == '\t' {
		return false
	}
	word := string(firstWord(line))
	switch language {
	case "Markdown":
		return strings.Trim(word, "#") == "" && len(word) <= 6
	case "Go":
		return word == "func" || word == "type" || word == "var" || word == "const" || word == "package"
	case "Python":
		return word == "def" || word == "class" || word == "async"
	case "JavaScript", "TypeScript":
		return declares(word, "export", "function", "class", "const", "let", "var", "async", "interface", "type", "enum", "namespace", "declare", "abstract", "module.exports")
	case "Rust":
		return strings.HasPrefix(word, "pub") || declares(word, "fn", "struct", "enum", "trait", "impl", "mod", "const", "static", "type", "macro_rules!", "unsafe", "async", "union")
	case "C", "C++":
		return declares(word, "struct", "enum", "union", "typedef", "class", "namespace", "template", "#define") ||
			htmltext.IsLetter(line[0]) && bytes.IndexByte(line, '(') > 0 && !bytes.HasSuffix(line, []byte(";"))
	case "Java", "Kotlin", "C#", "PHP", "Swift":
		return declares(word, "public", "private", "protected", "internal", "abstract", "final", "sealed", "data", "open", "static", "class", "interface", "enum", "record", "struct", "protocol", "extension", "func", "fun", "function", "val", "var", "let", "object", "namespace", "trait", "package", "@interface")
	case "Ruby":
		return declares(word, "class", "module", "def")
	case "shell":
		return word == "function" || bytes.Contains(line, []byte("()"))
	case "settings":
		return line[0] == '['
	case "YAML":
		return htmltext.IsLetter(line[0]) && bytes.IndexByte(line, ':') > 0
	}
	return false
}

func declares(word string, words ...string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

func firstWord(line []byte) []byte {
	if i := bytes.IndexAny(line, " \t({:<"); i > 0 {
		return line[:i]
	}
	return line
}
