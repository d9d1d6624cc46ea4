package face

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/stream/escape"
)

// toolFrame is a call as a person sees it on a terminal, in one piece though
// several calls may run at once:
//
//	┌ files__read_file {"path":"notes.txt"}
//	│ The Rhine is 1233 km long,
//	│ …
//	└ ok · 12 ms · 2048 bytes
//
// It opens when its call is what is awaited, and closes with the result.
type toolFrame struct {
	id      string
	name    string // escaped
	args    string // escaped
	opened  bool
	refusal string // who or what denied it; "" when its result says so
}

const (
	resultLines        = 6  // of a result that are shown
	resultLinesVerbose = 50 // with -v
	resultPrefix       = 8 << 10
)

func newToolFrame(e *event.Call) *toolFrame {
	t := &toolFrame{id: e.ID, name: escape.Escape(e.Name)}
	switch {
	case e.Arguments == nil:
		t.args = escape.Escape(string(e.Raw[:min(len(e.Raw), resultPrefix)]))
	case string(e.Arguments) != "{}":
		t.args = string(event.AppendJSON(nil, e.Arguments[:min(len(e.Arguments), resultPrefix)]))
	}
	return t
}

// openFrame prints the head of a frame once. The caller holds mu.
func (f *Face) openFrame(t *toolFrame) {
	if t.opened {
		return
	}
	t.opened = true
	name := f.fitLess("┌ ", t.name)
	line := f.paint(dim, "┌ ") + f.paint(bold, name)
	if args := f.fitLess("┌ "+name+" ", t.args); args != "" {
		line += f.paint(dim, " "+args)
	}
	f.print(line + "\n")
}

// closeFrame prints what a call came to. The caller holds mu.
func (f *Face) closeFrame(t *toolFrame, e *event.Result) {
	f.openFrame(t)
	var b strings.Builder
	rest := " · " + duration(e.Time) + " · " + byteCount(e.Bytes)
	if e.TextJSON == nil { // no server's answer, but a reason in our own words: [toolpipe] not run: the run ended
		_, reason, _ := strings.Cut(string(e.Text), ": ")
		rest = " · " + escape.Escape(config.FirstNonEmpty(t.refusal, reason))
	} else {
		for _, line := range f.resultText(e) {
			b.WriteString(f.paint(dim, "│ "+f.fitLess("│ ", line)) + "\n")
		}
	}
	status, style := strings.ReplaceAll(string(e.Status), "_", " "), yellow
	if e.Status == event.ResultOK {
		style = dim
	}
	b.WriteString(f.paint(dim, "└ ") + f.paint(style, f.fitLess("└ ", status)) + f.paint(dim, f.fitLess("└ "+status, rest)) + "\n")
	f.print(b.String())
}

// resultText is the first lines of a result, safe and without tabs.
func (f *Face) resultText(e *event.Result) []string {
	text, cut := literalPrefix(e.TextJSON, resultPrefix)
	most := resultLines
	if f.verbose > 0 {
		most = resultLinesVerbose
	}
	var lines []string
	rest := strings.TrimRight(string(text), "\r\n\t ")
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if len(lines) == most {
			cut = true
			break
		}
		lines = append(lines, expandTabs(string(event.AppendLines(nil, []byte(strings.TrimRight(line, "\r"))))))
	}
	if cut {
		for len(lines) > 0 && lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		lines = append(lines, "…")
	}
	return lines
}

// literalPrefix is the beginning of the text that a JSON string literal
// stands for, made of at most so many of its bytes.
func literalPrefix(literal []byte, most int) (text []byte, cut bool) {
	i := 1
	for i < len(literal)-1 && i < most {
		switch {
		case literal[i] != '\\':
			i++
		case literal[i+1] != 'u':
			i += 2
		case isHighSurrogate(literal[i:]) && i+12 < len(literal):
			i += 12
		default:
			i += 6
		}
	}
	for i > 1 && i < len(literal) && !utf8.RuneStart(literal[i]) {
		i--
	}
	var s string
	if json.Unmarshal(append(append([]byte{}, literal[:i]...), '"'), &s) != nil {
		return nil, true
	}
	return []byte(s), i < len(literal)-1
}

// isHighSurrogate tells whether p begins with the escape of the first half of
// a surrogate pair.
func isHighSurrogate(p []byte) bool {
	if len(p) < 6 {
		return false
	}
	n, err := strconv.ParseUint(string(p[2:6]), 16, 16)
	return err == nil && n >= 0xd800 && n < 0xdc00
}

// duration is a time for people: 12 ms, 3.4 s, 2 min 05 s.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	}
	return elapsed(d)
}

func byteCount(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10<<10:
		return strconv.Itoa(n) + " bytes"
	case n < 10<<20:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n>>20) + " MiB"
}
