package history

func keptOf(all []Detail) (n int) {
	for i := range all {
		n += all[i].Text.kept()
	}
	return n
}

// shrink keeps the memory of all texts within its bound: it halves the bytes that are kept of
// each, so that however many there are, all of them have a head and a tail.
func (r *Reader) shrink() {
	for r.kept > maxKept && r.report.Limit > leastLimit {
		r.report.Limit /= 2
		r.kept = 0
		for _, run := range r.report.Runs {
			texts(run, func(t *Text) {
				t.shrink(r.report.Limit)
				r.kept += t.kept()
			})
		}
	}
}

// texts gives each long text of a run.
func texts(r *Run, do func(*Text)) {
	details := func(all []Detail) {
		for i := range all {
			do(&all[i].Text)
		}
	}
	for i := range r.Talk {
		do(&r.Talk[i].Prompt)
		do(&r.Talk[i].Answer)
	}
	do(&r.End.Error)
	do(&r.End.Hint)
	details(r.Details)
	for _, t := range r.Turns {
		do(&t.Text)
		do(&t.Reasoning)
		do(&t.Beside)
		details(t.Details)
	}
	for _, n := range r.Notes {
		do(&n.Text)
		details(n.Details)
	}
	for _, c := range r.Calls {
		details(c.Arguments)
		details(c.Details)
		for _, t := range []*Text{&c.Result.Text, &c.Result.Content, &c.Change.Diff, &c.Review.Said, &c.Review.Reason, &c.Review.Problem} {
			do(t)
		}
		for i := range c.Verdicts {
			do(&c.Verdicts[i].Reason)
		}
		for i := range c.Progress {
			do(&c.Progress[i])
		}
		if c.Nested != nil {
			texts(c.Nested, do)
		}
	}
}
