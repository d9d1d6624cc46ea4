package page

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/report/history"
	"toolpipe/stream/text/readable"
)

func title(r *history.Run) string {
	switch {
	case r.Start.ID != "":
		return r.Start.ID
	case len(r.Talk) > 0 && r.Talk[0].Prompt.Head != "":
		return r.Talk[0].Prompt.Head
	case r.Form == history.Plan:
		return "a plan of " + cmp.Or(r.Plan.Time, "unknown time")
	}
	return string(r.Form) + ", line " + strconv.Itoa(r.Line)
}

func span(ms int64) string {
	switch {
	case ms == history.Unknown:
		return ""
	case ms < 1000:
		return strconv.FormatInt(ms, 10) + " ms"
	case ms < 120_000:
		return strconv.FormatFloat(float64(ms)/1000, 'f', 2, 64) + " s"
	}
	return strconv.FormatInt(ms/60_000, 10) + " min " + strconv.FormatInt(ms/1000%60, 10) + " s"
}

func tone(status string) string {
	switch {
	case history.Good(status), status == "allow":
		return "ok"
	case slices.Contains([]string{"staged", "open", "", "not_run", "interrupted"}, status):
		return "warn"
	}
	return "bad"
}

func (p *page) badge(status, shown string) {
	p.raw(`<span class="s ` + tone(status) + `">`)
	p.text(short(shown, 60))
	p.raw("</span>")
}

func (p *page) status(r *history.Run) {
	switch {
	case r.Form != history.Log:
		p.badge("", string(r.Form))
	case !r.End.Known:
		p.badge("", "no end")
	default:
		words := r.End.Status
		if r.End.Exit != history.Unknown {
			words += ", exit " + strconv.FormatInt(r.End.Exit, 10)
		}
		p.badge(r.End.Status, words)
	}
}

func (p *page) section(r *history.Run, n int) {
	p.raw(`<section id="` + p.run + `" aria-labelledby="` + p.run + `h"><h2 id="` + p.run + `h">`)
	if len(p.report.Runs) > 1 {
		p.raw(strconv.Itoa(n) + ". ")
	}
	p.text(short(title(r), 100))
	p.raw("</h2>\n<p>")
	p.status(r)
	p.raw("</p>\n")
	p.warnings(r)
	p.summary(r)
	p.body(r, 3)
	p.raw("</section>\n")
}

func (p *page) warnings(r *history.Run) {
	if r.Form == history.Log && !r.End.Known {
		p.raw(`<p class="note">The log has no end of this run: it was killed, or it goes on. What follows is up to there.</p>` + "\n")
	} else if r.End.Cut {
		p.raw(`<p class="note">The last line of the file is not complete: its writer was killed. What follows is up to there.</p>` + "\n")
	}
	if m := r.More; m != (history.More{}) {
		p.raw(`<p class="note">Too long to be shown completely. Counted and not shown: questions ` + readable.Grouped(m.Questions) + ", calls " + readable.Grouped(m.Calls) + ", turns " + readable.Grouped(m.Turns) + ", other events " + readable.Grouped(m.Notes) + ".</p>\n")
	}
}

func (p *page) summary(r *history.Run) {
	p.raw("<dl>\n")
	p.fact("error", r.End.Error.String())
	p.fact("hint", r.End.Hint.String())
	p.facts(history.Begun(r))
	p.fact("took", span(r.End.Ms))
	if r.Form != history.Plan {
		p.figures("turns", r.Counts.Turns)
	}
	p.figures("calls", r.Counts.Calls)
	for _, status := range slices.Sorted(maps.Keys(r.Counts.Results)) {
		p.figures("results: "+attribute(cmp.Or(status, "(none)")), r.Counts.Results[status])
	}
	if t := r.Counts.Tokens; t != (history.Tokens{}) {
		p.figures("input tokens", t.Input)
		p.some("of these cached", t.Cached)
		p.figures("output tokens", t.Output)
		p.some("of these reasoning", t.Reasoning)
		p.some("tokens written to the cache", t.CacheWrite)
	}
	p.facts(history.Came(r))
	p.raw("</dl>\n")
	p.details(r.Details)
	for i := range r.Talk {
		p.titled("Prompt", &r.Talk[i].Prompt)
		p.titled("Answer", &r.Talk[i].Answer)
	}
}

func (p *page) titled(heading string, t *history.Text) {
	if !t.IsEmpty() {
		p.heading(3, heading)
		p.block(t, "")
	}
}

func (p *page) details(all []history.Detail) {
	if len(all) == 0 {
		return
	}
	p.raw("<dl>\n")
	for i := range all {
		p.member(all[i].Name, &all[i].Text, all[i].JSON)
	}
	p.raw("</dl>\n")
}

func (p *page) heading(level int, text string) {
	n := strconv.Itoa(min(level, 6))
	p.raw("<h" + n + ">" + text + "</h" + n + ">\n")
}

func (p *page) body(r *history.Run, level int) {
	p.concerns(r, level)
	p.timeline(r, level)
	p.tokens(r, level)
	p.callList(r, level)
	p.changes(r, level)
	p.turns(r, level)
	p.notes(r, level)
}

func (p *page) concerns(r *history.Run, level int) {
	calls := slices.DeleteFunc(slices.Clone(r.Calls), func(c *history.Call) bool { return history.Good(history.Status(c)) })
	notes := slices.DeleteFunc(slices.Clone(r.Notes), func(n *history.Note) bool { return n.Kind != "warning" && n.Kind != "attention" })
	if len(calls)+len(notes) == 0 {
		return
	}
	p.heading(level, "To look at")
	p.raw("<ul>\n")
	for _, c := range calls {
		status := history.Status(c)
		p.raw(`<li><a href="#` + p.ids[c] + `">`)
		p.code(nameOf(c))
		p.raw("</a> ")
		p.arguments(c)
		p.raw(" ")
		p.badge(status, cmp.Or(status, "no result"))
		p.raw(" ")
		p.line(history.Failure(c))
		p.raw("</li>\n")
	}
	for _, n := range notes {
		p.raw("<li>")
		p.badge("", n.Kind)
		p.raw(" ")
		p.line(n.Code + ": " + n.Text.String())
		p.raw("</li>\n")
	}
	p.raw("</ul>\n")
}

func (p *page) turns(r *history.Run, level int) {
	if len(r.Turns) == 0 {
		return
	}
	p.heading(level, "Turns")
	for _, t := range r.Turns {
		p.raw(`<details><summary><span class="row"><span class="name">turn ` + history.Grouped(t.Number) + `</span><span class="dim">`)
		p.line(strings.Join(words(t.Finish, span(t.Ms), t.Model, history.Price(r, t.Cost)), ", "))
		p.raw(`</span><span class="v">`)
		p.text(short(t.Text.Head, 60))
		p.raw("</span></span></summary>\n")
		for _, part := range []struct {
			name string
			text *history.Text
		}{{"reasoning", &t.Reasoning}, {"text", &t.Text}, {"beside the answer", &t.Beside}} {
			if !part.text.IsEmpty() {
				p.heading(level+1, part.name)
				p.block(part.text, "")
			}
		}
		p.details(t.Details)
		if t.Text.IsEmpty() && t.Reasoning.IsEmpty() {
			p.raw("<p>The model has written no text in this turn.</p>\n")
		}
		p.raw("</details>\n")
	}
}

func words(all ...string) (some []string) {
	for _, w := range all {
		if w != "" {
			some = append(some, w)
		}
	}
	return some
}

func (p *page) notes(r *history.Run, level int) {
	if len(r.Notes) == 0 {
		return
	}
	p.heading(level, "Other events")
	for _, n := range r.Notes {
		p.raw(`<details><summary><span class="row"><span class="name">`)
		p.line(n.Kind)
		p.raw(`</span><span class="dim">`)
		p.line(strings.Join(words(n.Code, after(n.At), "line "+strconv.Itoa(n.Line)), ", "))
		p.raw(`</span><span class="v">`)
		p.text(short(n.Text.Head, 80))
		p.raw("</span></span></summary>\n")
		if !n.Text.IsEmpty() {
			p.block(&n.Text, "")
		}
		if n.Wait != history.Unknown {
			p.raw("<p>The next try came after " + span(n.Wait) + ".</p>\n")
		}
		p.details(n.Details)
		p.raw("<p class=\"dim\">after turn " + history.Grouped(n.Turn) + "</p></details>\n")
	}
}

func after(ms int64) string {
	if ms == history.Unknown {
		return ""
	}
	return "after " + span(ms)
}
