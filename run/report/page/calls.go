package page

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/report/history"
)

func (p *page) callList(r *history.Run, level int) {
	if len(r.Calls) == 0 {
		return
	}
	p.heading(level, "Calls")
	p.lists++
	id := "calls" + strconv.Itoa(p.lists)
	if len(r.Calls) > 1 {
		p.raw(`<form class="filter" data-of="` + id + `" role="search" aria-label="Filter the calls, list ` + strconv.Itoa(p.lists) + `" hidden>` +
			`<div><label for="` + id + `t">tool</label><select id="` + id + `t" name="tool"><option>all tools</option></select></div>` +
			`<div><label for="` + id + `s">status</label><select id="` + id + `s" name="status"><option>every status</option></select></div>` +
			`<div><label for="` + id + `x">text</label><input id="` + id + `x" name="text" type="search" autocomplete="off"></div>` +
			`<output for="` + id + "t " + id + "s " + id + `x"></output></form>` + "\n")
	}
	p.raw(`<div id="` + id + `">` + "\n")
	for i, c := range r.Calls {
		p.call(c, i+1, level)
	}
	p.raw("</div>\n")
}

func (p *page) call(c *history.Call, n, level int) {
	status := history.Status(c)
	open := ""
	if c.Review.State != "" && len(p.report.Runs) == 1 {
		open = " open" // a plan is read from beginning to end
	}
	p.raw(`<details class="call" id="` + p.ids[c] + `" data-tool="` + attribute(c.Name) + `" data-status="` + attribute(cmp.Or(status, "no result")) + `"` + open +
		`><summary><span class="row"><span class="dim">` + strconv.Itoa(n) + `</span><span class="name">`)
	p.code(nameOf(c))
	p.raw("</span>")
	p.arguments(c)
	p.badge(status, cmp.Or(status, "no result"))
	p.brief(short(c.Result.Reason, 200))
	if v := history.LastVerdict(c); v.Decision != "" {
		p.raw("<span>")
		p.line(v.Decision + ": " + strings.Join(words(v.By, v.Rule), ", "))
		p.raw("</span>")
	}
	p.raw(`<span class="dim">`)
	if c.Result.Bytes != history.Unknown {
		p.count(c.Result.Bytes)
		p.raw(" bytes ")
	}
	p.raw(span(c.Result.Ms) + `</span></span></summary>` + "\n")
	p.whole(c, level+1)
	p.raw("</details>\n")
}

// arguments writes the arguments of a call in one line.
func (p *page) arguments(c *history.Call) {
	p.brief(strings.Join(words(short(c.Named, 120), short(c.Rest, 60)), " "))
}

// brief writes a short text of a log, unless it is empty.
func (p *page) brief(s string) {
	if s != "" {
		p.raw(`<span class="v">`)
		p.text(s)
		p.raw("</span>")
	}
}

func nameOf(c *history.Call) string { return cmp.Or(c.Name, "(unknown tool)") }

func (p *page) whole(c *history.Call, level int) {
	p.heading(level, "Arguments")
	if c.Raw {
		p.raw("<p>The model did not write one JSON object:</p>\n")
	}
	if p.details(c.Arguments); len(c.Arguments) == 0 {
		p.raw("<p>none</p>\n")
	}
	p.verdicts(c, level)
	p.review(c, level)
	if c.Change.File != "" || !c.Change.Diff.IsEmpty() {
		p.heading(level, "Change")
		p.change(c)
	}
	if n := len(c.Progress); n > 0 {
		p.heading(level, "Progress")
		if c.MoreProgress > 0 {
			p.raw("<p>The last " + strconv.Itoa(n) + " of " + strconv.Itoa(n+c.MoreProgress) + " messages:</p>\n")
		}
		p.raw("<ul>\n")
		for i := range c.Progress {
			p.raw("<li>")
			p.line(c.Progress[i].String())
			p.raw("</li>\n")
		}
		p.raw("</ul>\n")
	}
	if c.Nested != nil {
		p.heading(level, "The run of the agent")
		p.body(c.Nested, level+1)
	}
	p.result(c, level)
	p.raw("<dl>\n")
	p.fact("id", c.ID)
	p.fact("server", c.Server)
	p.fact("tool", c.Tool)
	p.figures("turn", c.Turn)
	p.fact("client", c.Connection)
	p.fact("asked for", after(c.At))
	p.fact("began", after(c.Result.Began))
	p.fact("line of the file", strconv.Itoa(c.Line))
	p.raw("</dl>\n")
	p.details(c.Details)
}

func (p *page) verdicts(c *history.Call, level int) {
	if len(c.Verdicts) == 0 {
		return
	}
	p.heading(level, "Verdict")
	for i := range c.Verdicts {
		v := &c.Verdicts[i]
		p.raw("<p>")
		p.badge(v.Decision, v.Decision)
		p.raw("</p>\n<dl>\n")
		p.fact("by", v.By)
		p.fact("rule", v.Rule)
		p.fact("reason", v.Reason.String())
		if v.Asked > 0 {
			p.fact("asked for", span(v.Asked))
		}
		if v.Egress != "" {
			p.fact("may send private data out", v.Egress)
			p.fact("private by", v.Private)
			p.fact("untrusted by", v.Untrusted)
		}
		p.raw("</dl>\n")
	}
}

func (p *page) review(c *history.Call, level int) {
	r := &c.Review
	if r.State == "" {
		return
	}
	p.heading(level, "Why it is in the plan")
	p.raw("<dl>\n")
	p.facts(history.Why(r))
	p.fact("the model said before", r.Said.String())
	p.raw("</dl>\n")
}

func (p *page) change(c *history.Call) {
	p.raw("<p>")
	p.code(c.Change.File)
	if c.Change.New {
		p.raw(" (a new file)")
	}
	p.raw("</p>\n")
	if c.Change.Against != "" {
		p.raw("<p class=\"dim\">made against the content with the SHA-256 ")
		p.code(c.Change.Against)
		p.raw("</p>\n")
	}
	switch {
	case c.Change.Claimed:
		p.raw("<p>There is no diff here: " + history.NoDiff + "</p>\n")
		return
	case c.Change.Diff.IsEmpty():
		p.raw("<p>There is no diff: the file is not text, or is too large.</p>\n")
		return
	}
	p.block(&c.Change.Diff, "diff")
}

func (p *page) diff(s string) {
	for line := range strings.Lines(s) {
		class := "c"
		switch line[0] {
		case '+':
			class = "a"
		case '-':
			class = "d"
		case '@', '\\':
			class = "h"
		}
		p.raw(`<span class="` + class + `">`)
		p.text(strings.TrimSuffix(line, "\n"))
		p.raw("</span>")
	}
}

func (p *page) result(c *history.Call, level int) {
	r := &c.Result
	if r.Status == "" && r.Text.IsEmpty() {
		return
	}
	p.heading(level, "Result")
	if r.Truncated {
		p.raw("<p>The model got only its head and its tail.</p>\n")
	}
	if len(r.Labels) > 0 {
		p.raw("<p>It adds these labels to the conversation: ")
		p.line(strings.Join(r.Labels, ", "))
		p.raw("</p>\n")
	}
	p.block(&r.Text, "")
	if !r.Content.IsEmpty() {
		p.heading(level+1, "As the server sent it")
		p.block(&r.Content, "")
	}
}

func (p *page) changes(r *history.Run, level int) {
	changed := slices.DeleteFunc(slices.Clone(r.Calls), func(c *history.Call) bool { return c.Change.File == "" })
	if len(changed) == 0 || r.Form == history.Plan {
		return
	}
	p.heading(level, "Changed files")
	p.raw("<p class=\"dim\">By the built-in file tools. Logs do not contain the changes by commands and other servers.</p>\n")
	for _, c := range changed {
		p.raw("<details><summary>")
		p.code(c.Change.File)
		p.raw(`</summary><p><a href="#` + p.ids[c] + `">the call that changed it</a></p>` + "\n")
		p.change(c)
		p.raw("</details>\n")
	}
}
