package toolbox

import (
	"fmt"
	"slices"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/event"
)

// Direct are the tools that are offered to a model or a host.
func (b *Toolbox) Direct() []*Tool {
	return slices.DeleteFunc(slices.Clone(b.All()), func(t *Tool) bool { return t.Withheld || !b.InRequest(t) })
}

// ForCommands are the tools that programs in commands can call: all except those that start
// programs or read results, which commands find as files, and the readers of the resources of all
// servers. A call of a tool that is withheld is denied by its rule.
func (b *Toolbox) ForCommands() (all []*Tool) {
	all = slices.DeleteFunc(slices.Clone(b.All()), func(t *Tool) bool { return t.Declares().Runs || t.Kept })
	for _, c := range b.Conns {
		if t := b.reader(c); t != nil && b.Tool(t.ModelName) == nil {
			all = append(all, t)
		}
	}
	return all
}

// InRequest reports whether the model can call t itself: with --shell-tools only it has the tools
// that run commands, which call all others, and those that read results.
func (b *Toolbox) InRequest(t *Tool) bool {
	return b.inv == nil || b.inv.Config.ShellTools != "only" || t.Kept || t.Conn.Own != nil && t.Conn.Own.Runs()
}

// inCommands is the end of the description of a tool that runs commands, about the tools there; ""
// for any other tool.
func (b *Toolbox) inCommands(t *Tool) string {
	if b.inv == nil || !b.inv.Config.OpensDoors() || !t.Declares().Runs || len(t.Scripts()) == 0 {
		return ""
	}
	text := "\nCommands can call tools: toolpipe --call NAME key=value key:=JSON prints the result, with -o json as an object with structured and content."
	if b.inv.Config.ShellTools == "only" {
		text += " toolpipe --list-tools lists the tools, toolpipe --describe-tool NAME shows the arguments."
	}
	text += "\nPut calls into pipelines, since you get only what the command prints: toolpipe --call NAME -o json | jq -r '.content[].text' | sort | uniq -c"
	if b.inv.Config.ShellTools == "only" {
		only := slices.DeleteFunc(slices.Clone(b.All()), func(t *Tool) bool { return t.Withheld || b.InRequest(t) })
		text += "\nServers with the number of their tools: " + b.counts(only)
	}
	return text
}

// counts lists the servers of these tools, each with the number of its tools.
func (b *Toolbox) counts(tools []*Tool) string {
	count := map[*Connection]int{}
	for _, t := range tools {
		count[t.Conn]++
	}
	var all []string
	for _, c := range b.Conns {
		if n := count[c]; n > 0 {
			all = append(all, fmt.Sprintf("%s (%d)", c.Name, n))
		}
	}
	return strings.Join(all, ", ")
}

// Standing is what the rules say about t with any arguments. In a command these are the rules of the
// run that started it.
func (b *Toolbox) Standing(t *Tool) event.Standing {
	if t.far != nil && b.inv.Config.Door() != "" {
		return t.far.Standing
	}
	v := b.inv.Gate.Static(t.Call(nil))
	is := event.Standing{Verdict: v.Outcome.String(), Rule: v.Rule}
	if v.Outcome == approve.Unapproved {
		is.Verdict = "ask"
	}
	if v.Except != "" {
		is.Verdict, is.Otherwise, is.Except = "depends", is.Verdict, v.Except
	}
	return is
}
