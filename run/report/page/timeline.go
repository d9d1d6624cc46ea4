package page

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/report/history"
	"toolpipe/stream/text/readable"
)

type bar struct {
	from, to int64 // milliseconds
	class    string
	name     string
	title    string
	href     string // link to the call; "" for others
	first    int64  // first text of a turn; Unknown
}

// maxLanes is how many parallel calls get a separate lane. Further ones are drawn over each other.
const maxLanes = 30

func (p *page) barsOf(r *history.Run) (model, asked, tools []bar) {
	for _, t := range r.Turns {
		if t.At != history.Unknown {
			name := "turn " + history.Grouped(t.Number)
			model = append(model, bar{from: t.At - max(0, t.Ms), to: t.At, class: "model", name: name, title: name + ": " + span(t.Ms), first: t.First})
		}
	}
	for _, c := range r.Calls {
		b := bar{from: c.Result.Began, to: c.Result.Began + max(0, c.Result.Ms), class: "tool", name: c.Name, href: p.ids[c], first: history.Unknown}
		if tone(history.Status(c)) == "bad" {
			b.class = "bad"
		}
		b.title = c.Name + ": " + cmp.Or(history.Status(c), "no result") + ", " + span(c.Result.Ms)
		if b.from > 0 {
			tools = append(tools, b)
		}
		for _, v := range c.Verdicts {
			if v.Asked > 0 && v.At >= v.Asked {
				asked = append(asked, bar{from: v.At - v.Asked, to: v.At, class: "ask", name: "asked", href: p.ids[c], title: "asked about " + c.Name + ": " + v.Decision + ", " + span(v.Asked), first: history.Unknown})
			}
		}
	}
	return model, asked, tools
}

func lanes(bars []bar) [][]bar {
	var all [][]bar
	slices.SortStableFunc(bars, func(a, b bar) int { return cmp.Compare(a.from, b.from) })
	for _, b := range bars {
		i := slices.IndexFunc(all, func(lane []bar) bool { return lane[len(lane)-1].to <= b.from })
		switch {
		case i >= 0:
			all[i] = append(all[i], b)
		case len(all) < maxLanes:
			all = append(all, []bar{b})
		default:
			all[maxLanes-1] = append(all[maxLanes-1], b)
		}
	}
	return all
}

const laneHeight = 24

type chart struct {
	from, all int64
}

func (c chart) percent(ms int64) float64 {
	return 100 * float64(min(max(ms-c.from, 0), c.all)) / float64(max(1, c.all))
}

func percents(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) + "%" }

func (p *page) timeline(r *history.Run, level int) {
	model, asked, tools := p.barsOf(r)
	if len(model)+len(tools) == 0 || r.Form != history.Log {
		return
	}
	for _, n := range r.Notes {
		if n.Kind == "retry" && n.At != history.Unknown && n.Wait > 0 {
			asked = append(asked, bar{from: n.At, to: n.At + n.Wait, class: "retry", name: "retry", title: "waiting for the next try: " + span(n.Wait), first: history.Unknown})
		}
	}
	if ready := r.Start.Ready; ready > 0 {
		model = append([]bar{{to: ready, class: "start", name: "start", title: "until servers and tools were ready: " + span(ready), first: history.Unknown}}, model...)
	}
	rows := [][]bar{model}
	if len(asked) > 0 {
		rows = append(rows, lanes(asked)...)
	}
	rows = append(rows, lanes(tools)...)
	all := slices.Concat(rows...)
	c := extent(all)
	p.heading(level, "Timeline")
	p.raw(`<figure><svg aria-hidden="true" height="` + strconv.Itoa(len(rows)*laneHeight+20) + `">` + "\n")
	p.axis(c, len(rows))
	for i, row := range rows {
		for _, b := range row {
			p.bar(&b, c, i*laneHeight)
		}
	}
	for _, n := range r.Notes {
		if n.Kind == "trim" && n.At != history.Unknown {
			x := percents(c.percent(n.At))
			p.raw(`<line class="trim" x1="` + x + `" x2="` + x + `" y1="0" y2="` + strconv.Itoa(len(rows)*laneHeight) + `"><title>trim: requests leave out results from here on</title></line>` + "\n")
		}
	}
	p.raw("</svg>\n<figcaption>")
	p.caption(r, model)
	p.raw("</figcaption>\n")
	p.key(used(all, "start", "starting", "model", "waiting for the model", "tool", "tools", "bad", "tools that failed", "ask", "questions", "retry", "waiting for a retry")...)
	p.raw("</figure>\n")
}

// used selects those pairs of a class and its meaning with a class that occurs in bars.
func used(bars []bar, pairs ...string) (some []string) {
	for pair := range slices.Chunk(pairs, 2) {
		if slices.ContainsFunc(bars, func(b bar) bool { return b.class == pair[0] }) {
			some = append(some, pair...)
		}
	}
	return some
}

func extent(bars []bar) chart {
	from, to := int64(math.MaxInt64), int64(1)
	for _, b := range bars {
		from, to = min(from, b.from), max(to, b.to)
	}
	if from < to/4 { // a nested run may start late
		from = 0
	}
	return chart{from, max(1, to-from)}
}

func (p *page) axis(c chart, rows int) {
	for i, anchor := range [...]string{"start", "middle", "middle", "middle", "end"} {
		x, y := strconv.Itoa(25*i)+"%", strconv.Itoa(rows*laneHeight)
		p.raw(`<line x1="` + x + `" x2="` + x + `" y1="0" y2="` + y + `"/><text class="t" x="` + x + `" y="` + strconv.Itoa(rows*laneHeight+15) + `" text-anchor="` + anchor + `">` + span(c.from+c.all*int64(i)/4) + "</text>\n")
	}
}

// bar draws a bar as a nested picture, which clips the name.
func (p *page) bar(b *bar, c chart, y int) {
	x := min(c.percent(b.from), 99.7)
	width := max(c.percent(b.to)-x, 0.3)
	if b.href != "" {
		p.raw(`<a href="#` + b.href + `" tabindex="-1">`)
	}
	p.raw(`<svg x="` + percents(x) + `" y="` + strconv.Itoa(y+2) + `" width="` + percents(width) + `" height="` + strconv.Itoa(laneHeight-4) + `"><title>` + attribute(b.title) + `</title><rect class="k-` + b.class + `" width="100%" height="100%"/>`)
	if b.first != history.Unknown && b.to > b.from && b.first > b.from {
		at := percents(100 * float64(min(b.first, b.to)-b.from) / float64(b.to-b.from))
		p.raw(`<line class="first" x1="` + at + `" x2="` + at + `" y1="0" y2="100%"/>`)
	}
	p.raw(`<text x="4" y="14">` + attribute(b.name) + "</text></svg>")
	if b.href != "" {
		p.raw("</a>")
	}
	p.raw("\n")
}

func (p *page) caption(r *history.Run, model []bar) {
	sum, first := int64(0), int64(history.Unknown)
	for _, b := range model {
		if b.class != "model" {
			continue
		}
		sum += b.to - b.from
		if first == history.Unknown && b.first >= b.from {
			first = b.first - b.from
		}
	}
	tools, waited := int64(0), int64(0)
	for _, call := range r.Calls {
		tools += max(0, call.Result.Ms)
		for _, v := range call.Verdicts {
			waited += max(0, v.Asked)
		}
	}
	say := []string{"waiting for the model " + span(sum)}
	if first != history.Unknown {
		say = append(say, "the first text of the model after "+span(first)+" (the light line in a turn)")
	}
	say = append(say, "tools "+span(tools)+" in all")
	if waited > 0 {
		say = append(say, "questions "+span(waited))
	}
	p.raw(strings.Join(say, ", ") + ".")
}

func (p *page) key(pairs ...string) {
	p.raw(`<ul class="key">`)
	for pair := range slices.Chunk(pairs, 2) {
		p.raw(`<li><svg aria-hidden="true"><rect class="k-` + pair[0] + `" width="100%" height="100%"/></svg>` + pair[1] + "</li>")
	}
	p.raw("</ul>\n")
}

func (p *page) tokens(r *history.Run, level int) {
	most := int64(0)
	for _, t := range r.Turns {
		most = max(most, t.Tokens.Input+t.Tokens.Output)
	}
	if most == 0 {
		return
	}
	p.heading(level, "Tokens by turn")
	p.key("cached", "input, cached", "model", "input", "tool", "output", "reason", "reasoning")
	p.raw(`<ol class="bars">` + "\n")
	for _, t := range r.Turns {
		k := t.Tokens
		p.raw(`<li><span>turn ` + history.Grouped(t.Number) + `</span><svg aria-hidden="true" height="16">`)
		at := int64(0)
		for _, part := range []struct {
			class string
			n     int64
		}{{"cached", min(k.Cached, k.Input)}, {"model", k.Input - min(k.Cached, k.Input)}, {"tool", k.Output - min(k.Reasoning, k.Output)}, {"reason", min(k.Reasoning, k.Output)}} {
			if part.n > 0 {
				c := chart{0, most}
				p.raw(`<rect class="k-` + part.class + `" x="` + percents(c.percent(at)) + `" width="` + percents(c.percent(part.n)) + `" height="100%"/>`)
				at += part.n
			}
		}
		p.raw(`</svg><span class="num">` + readable.Grouped(k.Input) + " in")
		if k.Cached > 0 {
			p.raw(" (" + readable.Grouped(k.Cached) + " cached)")
		}
		p.raw(", " + readable.Grouped(k.Output) + " out")
		if k.Reasoning > 0 {
			p.raw(" (" + readable.Grouped(k.Reasoning) + " reasoning)")
		}
		if t.Cost != "" {
			p.raw(", ")
			p.line(t.Cost + " " + r.Counts.Currency)
		}
		p.raw("</span></li>\n")
	}
	p.raw("</ol>\n")
}
