package event

import (
	"strings"

	"toolpipe/run/failure"
)

type BlockOutput struct {
	*Writer
	Terminal bool   // output must be safe for a terminal
	Language string // language of the block; "" is any
}

func (o *BlockOutput) Event(e Event) error {
	end, ok := e.(*End)
	if !ok {
		return nil
	}
	if block, ok := FencedBlock(end.Text.String(), o.Language); ok && end.Status == failure.StatusOK {
		if o.Terminal {
			block = AppendLines(nil, block)
		}
		o.write(block)
	}
	return o.Flush()
}

// FencedBlock is the content of the first fenced code block of a Markdown text (CommonMark 0.31.2,
// section 4.5) with an info string that begins with the language, ignoring case. Language ""
// matches any block. The indentation of the fence is removed from each line. Unlike in CommonMark,
// a block without a closing fence does not count: the text may have been cut.
func FencedBlock(text, language string) (block []byte, ok bool) {
	var fence string // the opening fence; "" outside of blocks
	var indent int
	var wanted bool
	for line := range strings.Lines(text) {
		blanks := len(line) - len(strings.TrimLeft(line, " "))
		mark, info := Fence(line[blanks:])
		switch {
		case fence == "" && mark != "":
			word, _, _ := strings.Cut(info, " ")
			fence, indent, wanted, block = mark, blanks, language == "" || strings.EqualFold(word, language), nil
		case fence == "":
		case strings.HasPrefix(mark, fence) && info == "":
			if wanted {
				return block, true
			}
			fence = ""
		default:
			block = append(block, line[min(blanks, indent):]...)
		}
	}
	return nil, false
}

// Fence splits a line that opens or closes a block into the fence and the text after it. The fence
// must be at the start of line; mark is "" for any other line.
func Fence(line string) (mark, info string) {
	rest := strings.TrimLeft(line, line[:min(1, len(line))])
	mark = line[:len(line)-len(rest)]
	info = strings.TrimSpace(rest)
	switch {
	case strings.HasPrefix(mark, "```") && !strings.Contains(info, "`"), strings.HasPrefix(mark, "~~~"):
		return mark, info
	}
	return "", ""
}
