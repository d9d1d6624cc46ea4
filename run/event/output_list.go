package event

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
)

// ListOutput prints the result of a run without a model: one line per item, the definition of one
// tool, an explanation, or the result of one call. Columns of a list are separated by tabs, for cut
// and awk, or aligned on a terminal.
type ListOutput struct {
	*Writer
	Terminal bool                      // the final text must be safe for a terminal
	Columns  int                       // width of the terminal, at which lists are cut; 0: tabs between columns
	Full     bool                      // describe a tool in full
	Verbose  bool                      // lists show the labels of tools, and the tokens of a server's definitions
	Color    func(shown string) string // adds colours to Staged.Shown; nil for none
	table    table
}

func (o *ListOutput) Event(e Event) error {
	switch e := e.(type) {
	case *Tool:
		if o.Full {
			return o.describe(e)
		}
		row := []string{"TOOL", e.Name, "VERDICT", e.verdictText(), "RULE", e.Rule}
		if o.Verbose {
			row = append(row, "LABELS", labelText(e.Labels), "EFFECTS", e.effectText(), "DECLARED", e.Declared)
		}
		description, _, _ := strings.Cut(strings.TrimSpace(e.Description), "\n")
		return o.row(append(row, "DESCRIPTION", description)...)
	case *Server:
		o.table.wraps = o.table.wraps || e.Message != ""
		why := strings.TrimPrefix(e.Message, "server "+strconv.Quote(e.Name)+" ("+e.Transport+"): ") // already in the row
		row := []string{"SERVER", e.Name, "STATUS", e.Status, "TRANSPORT", e.Transport, "PROTOCOL", e.Protocol, "TOOLS", strconv.Itoa(e.Tools), "TARGET", e.Target, "MESSAGE", why}
		if o.Verbose {
			row = append(row, "TOKENS", strconv.Itoa(e.Tokens))
		}
		return o.row(row...)
	case *Item:
		row := []string{"SERVER", e.Server, "PROMPT", e.Name}
		switch e.Kind {
		case "model":
			return o.row("MODEL", e.Name)
		case "resource":
			row = []string{"SERVER", e.Server, "URI", e.URI, "NAME", e.Name}
		case "skill":
			row = []string{"SERVER", e.Server, "SKILL", e.Name, "URI", e.URI}
		}
		return o.row(append(row, "TYPE", e.MIME, "DESCRIPTION", e.Description, "ARGUMENTS", argumentNames(e.Arguments))...)
	case *Preset:
		return o.row("PRESET", e.Name, "WORDS", e.Text)
	case *Check:
		return o.check(e)
	case *Contents:
		return o.contents(e)
	case *Login:
		refresh := ""
		if e.Refreshable {
			refresh = "refreshable"
		}
		return o.row("SERVER", e.Server, "ACCOUNT", e.Account, "STATUS", e.Status, "UNTIL", e.Expires, "REFRESH", refresh, "SCOPES", strings.Join(e.Scopes, " "), "ISSUER", e.Issuer)
	case *Explanation:
		return o.explain(e)
	case *Plan:
		return o.write([]byte(e.shown()))
	case *Staged:
		return o.staged(e)
	case *End:
		return o.end(e)
	}
	return nil
}

func (o *ListOutput) staged(e *Staged) error {
	if o.Color != nil {
		return o.write([]byte(o.Color(e.Shown)))
	}
	return o.write([]byte(e.Shown))
}

func (o *ListOutput) check(e *Check) error {
	if o.Columns == 0 {
		return o.row("CHECKED", e.Subject, "STATUS", e.Status, "RESULT", e.Message, "HINT", e.Hint)
	}
	o.table.wraps = true
	result := e.Message
	if e.Hint != "" {
		result += "; " + e.Hint
	}
	return o.row("CHECKED", e.Subject, "STATUS", e.Status, "RESULT", result)
}

func (o *ListOutput) end(e *End) error {
	if len(o.table.rows) > 0 {
		o.write(o.table.appendTo(nil, o.Columns))
	}
	text := []byte(e.Text.String())
	if o.Terminal {
		text = AppendLines(nil, text)
	}
	o.write(text)
	if n := len(text); n > 0 && text[n-1] != '\n' {
		o.write([]byte{'\n'})
	}
	return o.Flush()
}

func (p *Plan) shown() string {
	text := "plan:    " + escape.Escape(p.File) + "\ndigest:  " + p.Digest
	if p.Whole != "" {
		text += "\ndigest with results: " + p.Whole
	}
	return text + "\nstaged:  " + escape.Escape(p.Time+" in "+p.Dir) + "\ncalls:   " + strconv.Itoa(p.Calls) + ": " + escape.Escape(p.Text(p.Made)) + "\n"
}

// Text is the counts in words. earlier counts the calls of earlier runs.
func (m Made) Text(earlier Made) string {
	text := strconv.Itoa(m.OK) + " ok, " + strconv.Itoa(m.Failed) + " failed, "
	if m.Unknown > 0 {
		text += strconv.Itoa(m.Unknown) + " unknown, "
	}
	text += strconv.Itoa(m.Open) + " left"
	if made := earlier.OK + earlier.Failed + earlier.Unknown; made > 0 {
		text += "; earlier runs made " + strconv.Itoa(made)
		if earlier.Last != "" {
			text += ", the last at " + earlier.Last
		}
	}
	return text
}

func labelText(labels []string) string { return cmp.Or(strings.Join(labels, ","), "none") }

func (s *Standing) verdictText() string {
	if s.Except == "" {
		return s.Verdict
	}
	return s.Verdict + ": " + s.Otherwise + ", but " + s.Except
}

// effectText lists effects, each with its arguments for paths or destinations, or with a question
// mark if it is only assumed.
func (t *Traits) effectText() string {
	var words []string
	for _, effect := range t.Effects {
		arguments := map[string][]string{"reads": t.Reads, "writes": t.Writes, "sends": t.Sends}[effect]
		if arguments != nil {
			effect += "(" + strings.Join(arguments, " ") + ")"
		}
		words = append(words, effect)
	}
	for _, effect := range t.Assumed {
		if effect != "private" && effect != "untrusted" {
			words = append(words, effect+"?")
		}
	}
	return labelText(words)
}

// argumentNames lists the arguments of a prompt: WHO, or [WHO] for an optional one.
func argumentNames(all []PromptArgument) string {
	var names []string
	for _, a := range all {
		if !a.Required {
			a.Name = "[" + a.Name + "]"
		}
		names = append(names, a.Name)
	}
	return strings.Join(names, " ")
}

// row writes one item, or keeps it until all items can be aligned. cells are pairs of a column
// heading and a value. Values are escaped, so they cannot contain a tab, begin another row or
// control a terminal.
func (o *ListOutput) row(cells ...string) error {
	var header, fields []string
	for pair := range slices.Chunk(cells, 2) {
		header, fields = append(header, pair[0]), append(fields, escape.Escape(pair[1]))
	}
	if o.Columns > 0 {
		o.table.header, o.table.rows = header, append(o.table.rows, fields)
		return nil
	}
	return o.write([]byte(strings.Join(fields, "\t") + "\n"))
}

func (o *ListOutput) describe(e *Tool) error {
	var b bytes.Buffer
	b.WriteString("name:        " + escape.Escape(e.Name) + "\nserver:      " + escape.Escape(e.Server) + "\ntool:        " + escape.Escape(e.Tool) +
		"\nverdict:     " + e.verdictText())
	if e.Rule != "" {
		b.WriteString(" (" + escape.Escape(e.Rule) + ")")
	}
	b.WriteString("\nlabels:      " + labelText(e.Labels) + "\neffects:     " + escape.Escape(e.effectText()))
	if e.Declared != "" {
		b.WriteString(" (" + escape.Escape(e.Declared) + ")")
	}
	b.WriteString("\n")
	for _, part := range []struct {
		name string
		raw  json.RawMessage
	}{{"annotations", e.Annotations}, {"schema", e.Schema}, {"output", e.OutputSchema}} {
		if part.raw != nil {
			b.WriteString(part.name + ":\n")
			json.Indent(&b, AppendJSON(nil, part.raw), "", "  ")
			b.WriteString("\n")
		}
	}
	if e.Description != "" {
		// Each line is indented, so that none of them looks like a line of toolpipe.
		text := AppendLines(nil, []byte(strings.TrimSpace(e.Description)))
		b.WriteString("description:\n  " + strings.ReplaceAll(string(text), "\n", "\n  ") + "\n")
	}
	return o.write(b.Bytes())
}

// contents writes one part of a resource, made safe for a terminal.
func (o *ListOutput) contents(e *Contents) (err error) {
	var b []byte
	if e.Text != nil {
		b = []byte(jsontext.Unquote(e.Text))
	} else if b, err = base64.StdEncoding.DecodeString(string(e.Blob)); err != nil {
		return err
	}
	if o.Terminal {
		b = AppendLines(nil, b)
	}
	return o.write(b)
}

func (o *ListOutput) explain(e *Explanation) error {
	line := e.Decision + "\t" + escape.Escape(e.Name) + "\t" + escape.Escape(string(e.Arguments)) + "\n"
	for _, m := range e.Rules {
		line += "rule\t" + m.Decision + "\t" + escape.Escape(m.Rule) + "\t" + escape.Escape(m.Reason) + "\n"
	}
	for _, m := range e.Others {
		line += "no match\t" + m.Decision + "\t" + escape.Escape(m.Rule+": "+m.Why) + "\n"
	}
	if e.Approver {
		line += "approver\tis asked first, and can deny it\n"
	}
	line += "decided\t" + e.By + "\t" + escape.Escape(e.Rule) + "\t" + escape.Escape(e.Reason) + "\n"
	if x := &e.Exposed; x.Decision != "" {
		line += "while private and untrusted\t" + x.Decision + "\t" + x.By + "\t" + escape.Escape(x.Rule) + "\t" + escape.Escape(x.Reason) + "\n"
	}
	return o.write([]byte(line))
}

// table is a list for a terminal: a header and aligned columns, each as wide as its widest field.
type table struct {
	header []string
	rows   [][]string // as many fields as the header, escaped
	wraps  bool       // the last column goes on in further lines instead of being cut
}

// maxField is the width of a column that is followed by others. The first two may be wider: they
// contain the names that a user copies.
const maxField = 40

// leastWrapped is the width that a column must have for its text to go on below it. Otherwise the
// text goes on at the beginning of the next line.
const leastWrapped = 20

// appendTo appends the table in lines of at most columns columns. Empty columns are omitted.
func (t *table) appendTo(b []byte, columns int) []byte {
	widths := make([]int, len(t.header))
	for _, row := range t.rows {
		for i, field := range row {
			widths[i] = max(widths[i], escape.Columns(field))
		}
	}
	last := 0 // the last column that is not empty
	for i, w := range widths {
		if w > 0 {
			widths[i], last = max(w, escape.Columns(t.header[i])), i
		}
		if i > 1 {
			widths[i] = min(widths[i], maxField)
		}
	}
	for n, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, field := range row {
			if widths[i] == 0 {
				continue
			}
			if i < last { // the last one may use the rest of the line
				field = escape.Cut(field, widths[i])
				field += strings.Repeat(" ", widths[i]-escape.Columns(field)+2)
			}
			if t.wraps && n > 0 && i == last {
				field = wrapped(field, escape.Columns(line.String()), columns)
			}
			line.WriteString(field)
		}
		for shown := range strings.SplitSeq(line.String(), "\n") {
			if shown = strings.TrimRight(shown, " "); !t.wraps {
				shown = escape.Cut(shown, columns)
			}
			b = append(append(b, shown...), '\n')
		}
	}
	return b
}

// wrapped is the text of a column that begins after from columns, in lines of at most columns
// columns. Only a word that is longer than a line is broken.
func wrapped(text string, from, columns int) string {
	if from+escape.Columns(text) <= columns {
		return text
	}
	begin, at := from, from // begin: where further lines begin
	if columns-from < leastWrapped {
		begin, at = 2, columns
	}
	var b strings.Builder
	put := func(s string, n int) { // n is the columns that must fit into the line
		if at > begin && at+n > columns {
			b.WriteString("\n" + strings.Repeat(" ", begin))
			at, s = begin, strings.TrimPrefix(s, " ")
		}
		b.WriteString(s)
		at += escape.Columns(s)
	}
	for i, word := range strings.Split(text, " ") {
		if i > 0 || at > begin {
			put(" ", 1+escape.Columns(word))
		}
		for _, r := range word {
			put(string(r), escape.RuneColumns(r))
		}
	}
	return b.String()
}
