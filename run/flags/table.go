package flags

import (
	"cmp"
	"iter"
	"slices"

	"toolpipe/mcp/local"
	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// A Table is all flags, and the values of flags that are not settings of a run.
type Table struct {
	Groups     []Group // in the order of the help
	Completion string  // the value of --completion
	Help       *string // the value of --help, "short" without a value; nil if the flag was not given
	Version    bool
	block      bool // -x was given
	settings   *config.Config
}

func New(c *config.Config) *Table {
	t := &Table{settings: c}
	t.Groups = []Group{
		{"model", modelFlags(c)},
		{"input", inputFlags(c)},
		{"tools", slices.Concat(serverFlags(c), toolFlags(c))},
		{"without a model", modeFlags(c)},
		{"approvals", approvalFlags(c)},
		{"output", t.outputFlags()},
		{"limits and config", limitFlags(c)},
		{"about", t.aboutFlags()},
	}
	return t
}

func (t *Table) All() iter.Seq[*Flag] {
	return func(yield func(*Flag) bool) {
		for _, g := range t.Groups {
			for i := range g.Flags {
				if !yield(&g.Flags[i]) {
					return
				}
			}
		}
	}
}

// Check refuses flags and prompt arguments that the user cannot have meant, and sets the mode. It
// is called after all flags are set.
func (t *Table) Check() error {
	c := t.settings
	var chosen *Flag // the flag that sets the mode
	for f := range t.All() {
		if !f.given {
			continue
		}
		if err := f.check(); err != nil {
			return err
		}
		mode, ok := f.Setting.(config.Mode)
		if !ok || f.isSwitch() && f.last == "false" {
			continue
		}
		if chosen != nil {
			return failure.Usage("--%s and --%s: only one of them can be given", chosen.Name, f.Name)
		}
		chosen, c.Mode, c.Target = f, mode, f.last
	}
	if c.Door() != "" {
		if err := t.checkInner(); err != nil {
			return err
		}
	}
	if t.block {
		if _, isBlock := c.Block(); c.Output != "" && !isBlock {
			return failure.Usage("-x and --output %s: only one of them can be given", c.Output)
		}
		c.Output = cmp.Or(c.Output, "block")
	}
	switch {
	case c.Mode == config.Report:
		return t.checkFilter()
	case c.Mode == config.CallTool, c.Mode == config.Explain, c.Mode == config.Check:
	case chosen != nil && len(c.Args) > 0:
		if c.Mode == config.Serve {
			return failure.UsageError([]string{"--servers NAMES chooses among the servers of the config"}, "--serve takes no prompt, but %q was given", c.Args[0])
		}
		return chosen.refuse("takes no prompt, but %q was given", c.Args[0])
	case len(c.Args) == 1 && c.Args[0] == "-":
		c.Args, c.NamesInput = nil, true // as for --call
	}
	if c.Mode == config.Answer && c.Preset.Prompt != "" {
		c.Args = append([]string{c.Preset.Prompt}, c.Args...)
	}
	return nil
}

// checkInner refuses flags about what the run decides that started the command of this program, and
// sets those with which the run is the only server and decides alone.
func (t *Table) checkInner() error {
	c := t.settings
	for f := range t.All() {
		if _, isMode := f.Setting.(config.Mode); !f.given || isMode || slices.Contains([]string{"output", "quiet", "verbose", "color", "timeout", "keep-going", "no-stdin", "no-config", "no-input"}, f.Name) {
			continue
		}
		return failure.UsageError([]string{"leave --" + f.Name + " out", "env -u " + local.DoorVariable + " toolpipe starts a run of its own"},
			"--%s: the run that started this command decides about its servers, rules, limits and logs", f.Name)
	}
	c.NoConfig, c.AutoApprove, c.Egress = true, true, "off"
	return nil
}

// checkFilter refuses flags that --report ignores. It only reads files and writes a document, so
// the user of another flag meant something else.
func (t *Table) checkFilter() error {
	for f := range t.All() {
		if !f.given || slices.Contains([]string{"report", "max-result-bytes", "timeout", "quiet", "verbose", "color", "no-config", "no-input"}, f.Name) {
			continue
		}
		hint := "leave --" + f.Name + " out"
		if slices.Contains([]string{"log", "session", "stage", "file"}, f.Name) {
			hint = "toolpipe --report " + config.ShellQuote(t.settings.Target) + " " + config.ShellQuote(f.last) + " reads that file"
		}
		return failure.UsageError([]string{hint}, "--report and --%s: --report reads files, and makes no run", f.Name)
	}
	return nil
}
