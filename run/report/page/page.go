// Package page writes a report as one page of HTML that loads nothing and works without scripts.
//
// Its Content-Security-Policy allows only the script and the style in the page, by their SHA-256,
// and loads nothing. So elements use no style attributes and no event handlers; SVG elements use
// presentation attributes and classes. Every text of a log passes through appendText or attribute.
// A bar is a line of a picture. It is only visual: the page says the same in words elsewhere.
package page

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/report/history"
	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/readable"
)

//go:embed style.css
var style string

//go:embed script.js
var script string

type page struct {
	w      *bufio.Writer
	report *history.Report
	buffer []byte
	run    string // id of the current run
	calls  int    // number of calls, for their ids
	ids    map[*history.Call]string
	lists  int // number of call lists
}

func Write(w io.Writer, r *history.Report) error {
	p := &page{w: bufio.NewWriterSize(w, 64<<10), report: r, ids: map[*history.Call]string{}}
	p.head()
	p.sources()
	if len(r.Runs) > 1 {
		p.contents()
	}
	p.raw("</header>\n<main>\n")
	for i, run := range r.Runs {
		p.run = "r" + strconv.Itoa(i+1)
		p.number(run)
		p.section(run, i+1)
	}
	if len(r.Runs) == 0 {
		p.raw("<p>The input contains no run.</p>\n")
	}
	p.raw("</main>\n<script>" + script + "</script>\n</body>\n</html>\n")
	return p.w.Flush()
}

func (p *page) number(run *history.Run) {
	for _, c := range run.Calls {
		p.calls++
		p.ids[c] = "c" + strconv.Itoa(p.calls)
		if c.Nested != nil {
			p.number(c.Nested)
		}
	}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (p *page) head() {
	title := "toolpipe report"
	if len(p.report.Sources) > 0 {
		title += ": " + p.report.Sources[0].Name
	}
	p.raw(`<!DOCTYPE html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ` + hashOf(style) + `; script-src ` + hashOf(script) + `; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>` + attribute(title) + `</title>
<style>` + style + "</style>\n</head>\n<body>\n<header>\n<h1>toolpipe report</h1>\n")
}

// raw writes HTML of this package.
func (p *page) raw(s string) { p.w.WriteString(s) }

func (p *page) text(s string) {
	p.buffer = appendText(p.buffer[:0], s)
	p.w.Write(p.buffer)
}

func (p *page) line(s string) {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\n", "\u23ce "), "\t", " ")
	p.text(escape.Cut(s, 2000))
}

func (p *page) code(s string) {
	p.raw("<code>")
	p.line(s)
	p.raw("</code>")
}

// block writes a text of a log with its line breaks. Class "diff" colours the lines of a diff.
func (p *page) block(t *history.Text, class string) {
	if class != "" {
		p.raw(`<pre class="` + class + `">`)
	} else {
		p.raw("<pre>")
	}
	part := p.text
	if class == "diff" {
		part = p.diff
	}
	if part(t.Head); t.Left > 0 {
		p.raw(`<span class="gap">` + t.Gap() + "</span>")
		part(t.Tail)
	}
	p.raw("</pre>\n")
}

// member writes a name and its text in a list. A short text stays on one line.
func (p *page) member(name string, t *history.Text, code bool) {
	p.raw("<dt>")
	p.line(name)
	p.raw("</dt><dd>")
	switch {
	case t.Left > 0 || len(t.Head) > 300 || strings.Contains(t.Head, "\n"):
		p.block(t, "")
	case code:
		p.code(t.Head)
	default:
		p.raw(`<span class="v">`)
		p.line(t.Head)
		p.raw("</span>")
	}
	p.raw("</dd>\n")
}

// fact writes a label and a text of a log, unless the text is empty.
func (p *page) fact(name, value string) {
	if value != "" {
		t := history.Text{Head: value}
		p.member(name, &t, false)
	}
}

func (p *page) facts(all []history.Fact) {
	for _, f := range all {
		p.fact(f.Name, f.Value)
	}
}

// figures writes a label and a number, unless the number is Unknown.
func (p *page) figures(name string, n int64) {
	if n != history.Unknown {
		p.raw("<dt>" + name + "</dt><dd>")
		p.count(n)
		p.raw("</dd>\n")
	}
}

// some is figures for numbers that are mostly 0, which are omitted then.
func (p *page) some(name string, n int64) {
	if n > 0 {
		p.figures(name, n)
	}
}

func (p *page) count(n int64) {
	p.raw(`<data value="` + strconv.FormatInt(n, 10) + `">` + readable.Grouped(n) + "</data>")
}

func (p *page) sources() {
	p.raw("<details><summary>What this was made of</summary>\n")
	for _, s := range p.report.Sources {
		p.raw("<dl>\n")
		p.fact("file", s.Name)
		p.fact("form", string(s.Form))
		p.figures("bytes", s.Bytes)
		p.figures("lines", int64(s.Lines))
		p.fact("SHA-256", s.SHA256)
		for _, fault := range slices.Concat(s.Cut, s.Long) {
			p.fact("note", fault)
		}
		p.raw("</dl>\n")
	}
	p.raw("<p>A text of more than ")
	p.count(int64(p.report.Limit))
	p.raw(" bytes is shown without its middle")
	if p.report.Short > 0 {
		p.raw(", and the last texts with at most " + readable.Grouped(int64(p.report.Short)) + " bytes, because there are so many")
	}
	p.raw(". Secrets that toolpipe hid when it wrote these files are hidden here. Nothing here was checked: anyone who can write the files can change their content.</p>\n</details>\n")
}

func (p *page) contents() {
	p.raw("<nav aria-label=\"Runs\"><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table of runs\"><table><thead><tr><th scope=\"col\">Run</th><th scope=\"col\">Status</th><th scope=\"col\">Turns</th><th scope=\"col\">Calls</th><th scope=\"col\">Took</th></tr></thead><tbody>\n")
	for i, r := range p.report.Runs {
		n := strconv.Itoa(i + 1)
		p.raw(`<tr><td><a href="#r` + n + `">` + n + ". ")
		p.text(short(title(r), 60))
		p.raw("</a></td><td>")
		p.status(r)
		p.raw(`</td><td class="n">` + readable.Grouped(r.Counts.Turns) + `</td><td class="n">` + readable.Grouped(r.Counts.Calls) + `</td><td class="n">` + span(r.End.Ms) + "</td></tr>\n")
	}
	p.raw("</tbody></table></div>\n")
	if more := p.report.MoreRuns; more > 0 {
		p.raw(`<p class="note">` + readable.Grouped(more) + " further runs are counted here and not shown, of which " + readable.Grouped(p.report.Failed) + " did not end with 0.</p>\n")
	}
	p.raw("</nav>\n")
}
