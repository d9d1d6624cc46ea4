package markdown

import (
	"cmp"
	"strconv"

	"toolpipe/run/report/history"
)

func (d *document) concerns(r *history.Run) {
	var lines []string
	eachCall(r, "", func(c *history.Call, inside string) {
		if history.Good(history.Status(c)) {
			return
		}
		line := "- " + code(cmp.Or(history.Status(c), "no result"), 20, false) + " " + inside + code(c.Name, 100, false) + arguments(c, false) + spaced(code(history.Failure(c), 300, false))
		lines = append(lines, line+"\n")
	})
	for _, n := range r.Notes {
		switch n.Kind {
		case "warning", "attention", "retry", "trim":
			line := "- " + n.Kind + spaced(code(n.Code, 40, false)) + spaced(code(n.Text.String(), 500, false))
			for i := range n.Details {
				line += spaced(code(n.Details[i].Name+"="+n.Details[i].Text.String(), 60, false))
			}
			lines = append(lines, line+"\n")
		}
	}
	items(d, "### To look at\n\n", lines, "of these", func(_ int, line string) string { return line })
}

// arguments shows the arguments of a call in one line.
func arguments(c *history.Call, cell bool) string {
	return spaced(code(c.Named, 120, cell)) + spaced(code(c.Rest, 60, cell))
}

func spaced(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

// eachCall calls do for each call of a run, followed by the calls of its nested run; inside names
// it.
func eachCall(r *history.Run, inside string, do func(c *history.Call, inside string)) {
	for _, c := range r.Calls {
		if do(c, inside); c.Nested != nil {
			eachCall(c.Nested, inside+code(c.Name, 40, true)+" › ", do)
		}
	}
}

func (d *document) calls(r *history.Run) {
	var rows []string
	eachCall(r, "", func(c *history.Call, inside string) {
		v := history.LastVerdict(c)
		rows = append(rows, "| "+strconv.Itoa(len(rows)+1)+" | "+inside+code(cmp.Or(c.Name, c.ID), 60, true)+arguments(c, true)+" | "+spaced(code(v.Decision, 20, true))+spaced(code(cmp.Or(v.Rule, v.By), 80, true))+
			" | "+code(cmp.Or(history.Status(c), "no result"), 20, true)+spaced(code(c.Result.Reason, 80, true))+" | "+known(c.Result.Bytes)+" | "+known(c.Result.Ms)+" |\n")
	})
	head := "### Calls\n\n| # | name | verdict, rule | result | bytes | ms |\n|---:|---|---|---|---:|---:|\n"
	items(d, head, rows, "calls", func(_ int, row string) string { return row })
}

func known(n int64) string {
	if n == history.Unknown {
		return ""
	}
	return history.Grouped(n)
}

func (d *document) changes(r *history.Run, most int) {
	var changed []*history.Call
	eachCall(r, "", func(c *history.Call, _ string) {
		if c.Change.File != "" {
			changed = append(changed, c)
		}
	})
	items(d, "### Changed files\n\n", changed, "changes", func(_ int, c *history.Call) string {
		text := code(c.Change.File, 300, false)
		if c.Change.New {
			text += " (new)"
		}
		if c.Change.Diff.IsEmpty() {
			return text + ": no diff, because it is not text or is too large\n\n"
		}
		return text + "\n\n" + fence(c.Change.Diff, "diff", most)
	})
}

func (d *document) planned(i int, c *history.Call) string {
	v := &c.Review
	text := "#### " + strconv.Itoa(i+1) + ". " + code(cmp.Or(c.Name, c.Server+"__"+c.Tool), 200, false) + " (" + cmp.Or(v.State, "?") + ")\n\n"
	item := func(name, value string) {
		if value != "" {
			text += "- " + name + ": " + code(value, 2000, false) + "\n"
		}
	}
	item("id", c.ID)
	item("server", c.Server)
	for _, f := range history.Why(v) {
		item(f.Name, f.Value)
	}
	item("result", c.Result.Status)
	for j := range c.Details {
		item(c.Details[j].Name, c.Details[j].Text.String())
	}
	text += "\n"
	if !v.Said.IsEmpty() {
		text += "The model said before:\n\n" + fence(v.Said, "text", 16<<10)
	}
	for j := range c.Arguments {
		a := &c.Arguments[j]
		text += "Argument " + code(a.Name, 200, false)
		if a.JSON {
			text += " (JSON)"
		}
		text += ":\n\n" + fence(a.Text, "text", 256<<10)
	}
	if c.Change.File != "" {
		text += "Change of " + code(c.Change.File, 300, false)
		if c.Change.New {
			text += " (new)"
		}
		switch text += ", made against " + code(cmp.Or(c.Change.Against, "no file"), 80, false); {
		case c.Change.Claimed:
			text += ": " + history.NoDiff + "\n\n"
		case !c.Change.Diff.IsEmpty():
			text += ":\n\n" + fence(c.Change.Diff, "diff", 256<<10)
		default:
			text += "\n\n"
		}
	}
	if !c.Result.Text.IsEmpty() {
		text += "Its result:\n\n" + fence(c.Result.Text, "text", 64<<10)
	}
	return text
}
