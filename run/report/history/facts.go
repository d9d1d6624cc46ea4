package history

import (
	"cmp"
	"strings"
)

// A Fact is a label and a text from a file. A report shows it unless the text is empty.
type Fact struct{ Name, Value string }

func Begun(r *Run) []Fact {
	return []Fact{
		{"id", r.Start.ID}, {"model", r.Start.Model}, {"began", r.Start.Time},
		{"staged", r.Plan.Time}, {"in", r.Plan.Dir}, {"digest", r.Plan.Digest}, {"digest with results", r.Plan.Whole}, {"last result", r.Plan.Last},
		{"version", cmp.Or(r.Start.Version, r.Plan.Version)}, {"API", r.Start.API},
	}
}

// Price is a cost with its currency; "" for none.
func Price(r *Run, cost string) string {
	if cost != "" {
		cost += " " + r.Counts.Currency
	}
	return cost
}

func Came(r *Run) []Fact {
	return []Fact{
		{"cost", Price(r, r.Counts.Cost)}, {"labels", strings.Join(r.End.Labels, ", ")}, {"servers", strings.Join(r.Start.Servers, "; ")},
		{"changed in the sandbox", strings.Join(r.End.Changed, ", ")},
	}
}

func Why(r *Review) []Fact {
	return []Fact{
		{"PROBLEM", r.Problem.String()}, {"staged because", cmp.Or(r.Rule, "no rule allows it")}, {"by", r.By}, {"reason", r.Reason.String()},
		{"labels of the conversation", cmp.Or(strings.Join(r.Labels, ", "), "none")}, {"private by", r.Private}, {"untrusted by", r.Untrusted},
		{"target of the server", r.Target}, {"directory of the server", r.Dir}, {"definition of the tool (SHA-256)", r.Definition},
	}
}

// Status is the status of a call's result, the exit code of a command that ran, or the state of a
// planned call; "" for none.
func Status(c *Call) string {
	if c.Result.Status == "ok" && c.Result.Exit != "" {
		return "exit " + c.Result.Exit
	}
	return cmp.Or(c.Result.Status, c.Review.State)
}

// Good reports whether a call with this status needs no attention.
func Good(status string) bool {
	return status == "ok" || status == "exit 0" || status == "answered" || status == "done"
}

// Failure says in one line why a call did not succeed: what kept it from running, or Result.Reason.
func Failure(c *Call) string {
	if v := LastVerdict(c); v.kept() {
		return strings.TrimSpace(v.Rule + " " + v.Reason.String())
	}
	return c.Result.Reason
}

// kept reports whether a verdict kept the call from running.
func (v Verdict) kept() bool { return v.Decision != "" && v.Decision != "allow" }

// LastVerdict is the last verdict, or an empty one.
func LastVerdict(c *Call) Verdict {
	if n := len(c.Verdicts); n > 0 {
		return c.Verdicts[n-1]
	}
	return Verdict{}
}
