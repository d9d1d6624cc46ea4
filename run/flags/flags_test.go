package flags

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"toolpipe/run/config"
)

// TestTable holds that every flag can be found in the full help, that no two are
// the same, and that what the help says of a value fits what the flag takes.
func TestTable(t *testing.T) {
	table := New(new(config.Config))
	full := table.help(false)
	seen := map[any]string{}
	once := func(what any, name string) {
		if other := seen[what]; other != "" {
			t.Errorf("--%s and --%s share %v", other, name, what)
		}
		seen[what] = name
	}
	for _, g := range table.Groups {
		if strings.Count(full, "\n\n"+g.Title+"\n") != 1 || g.Title == "" || len(g.Flags) == 0 {
			t.Errorf("the help has no group %q", g.Title)
		}
	}
	for f := range table.All() {
		once(f.Name, f.Name)
		once(f.Setting, f.Name)
		if f.Short != "" {
			once("-"+f.Short, f.Name)
		}
		if strings.TrimSpace(f.text()) == "" || strings.HasPrefix(f.text(), " ") {
			t.Errorf("--%s has no help", f.Name)
		}
		if strings.Count(full, " --"+f.Name+strings.TrimRight(" "+f.Value, " ")) == 0 && f.Bare() != "short" {
			t.Errorf("--%s %s is not in the full help", f.Name, f.Value)
		}
		switch f.Setting.(type) {
		case config.Mode:
		case *bool, **bool, *count:
			if f.Value != "" {
				t.Errorf("--%s is a switch but has the value %s", f.Name, f.Value)
			}
		default:
			if f.Value == "" {
				t.Errorf("--%s needs a word for its value", f.Name)
			}
		}
	}
}

// TestHelp holds that the short help fits a screen.
func TestHelp(t *testing.T) {
	table := New(new(config.Config))
	if n := strings.Count(table.help(true), "\n"); n > 60 {
		t.Errorf("the short help has %d lines", n)
	}
	for line := range strings.Lines(table.help(true) + table.help(false)) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for f := range table.All() {
		if shown := strings.Contains(table.help(true), " --"+f.Name+" ") || f.Name == "help"; shown != f.Everyday {
			t.Errorf("the short help shows --%s: %v", f.Name, shown)
		}
		if f.Everyday && utf8.RuneCountInString(f.brief()) > width-indent {
			t.Errorf("--%s takes more than one line of the short help", f.Name)
		}
	}
}

// TestValues holds what the flags take for their values, and what of it they mean.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		args  string // NAME=VALUE of each flag
		error string // "" for none
	}{
		{"timeout=90", ""}, {"timeout=0 timeout=90s", ""},
		{"timeout=0", `--timeout: "0" is not longer than 0`},
		{"timeout=", "--timeout: needs a value: --timeout D"},
		{"timeout=5n", `--timeout: "5n" is not a duration`},
		{"timeout=-5", `--timeout: "-5" is not a duration`},
		{"max-result-bytes=1g", ""}, {"max-result-bytes=65536", ""},
		{"max-result-bytes=2G", `--max-result-bytes: "2G" is not a number of bytes up to 1G`},
		{"max-result-bytes=0", `--max-result-bytes: "0" is not a number of bytes up to 1G`},
		{"max-result-bytes=K", `--max-result-bytes: "K" is not a number of bytes up to 1G`},
		{"max-rounds=0", ""},
		{"max-rounds=-1", "--max-rounds: -1 is not a number from 0 on"},
		{"max-tokens=0", "--max-tokens: 0 is not a number from 1 on"},
		{"parallel=-1", "--parallel: -1 is not a number from 1 on"},
		{"max-tokens=1.5", `--max-tokens: "1.5" is not a number`},
		{"max-tokens=99999999999999999999", `--max-tokens: "99999999999999999999" is too large`},
		{"system=", ""}, {"key-env=", ""}, {"base-url=", ""}, {"system=-", ""},
		{"model=", "--model: needs a value: --model NAME"},
		{"deny=a deny=", "--deny: needs a value: --deny PATTERNS"},
		{"approver= approver=x", ""},
		{"file=a file=-", ""}, {"policy=-", `--policy: "-" is not a file`},
		{"shell=false", ""}, {"shell=1", `--shell: takes no value, but got "1"`},
		{"stream=false", ""}, {"stream=xx", `--stream: is true or false, not "xx"`},
		{"list-tools=true list-tools=false call=a__b", ""},
		{"list-tools=1", `--list-tools: takes no value, but got "1"`},
		{"list-tools=true call=a__b", "--list-tools and --call: only one of them can be given"},
	} {
		table := New(new(config.Config))
		if got := give(table, strings.Fields(c.args)); got != c.error {
			t.Errorf("%s: %s", c.args, got)
		}
	}
}

func give(table *Table, args []string) string {
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		for f := range table.All() {
			if f.Name == name {
				if err := f.Set(value); err != nil {
					return err.Error()
				}
			}
		}
	}
	if err := table.Check(); err != nil {
		return err.Error()
	}
	return ""
}

// TestSettings holds what values become.
func TestSettings(t *testing.T) {
	c := new(config.Config)
	give(New(c), strings.Fields("verbose=+1 verbose=+1 timeout=90 max-result-bytes=64k max-rounds=0 deny=a deny=b system= call=a__b"))
	if c.Verbose != 2 || c.Timeout != 90*time.Second || c.MaxResultBytes != 64<<10 || c.MaxRounds == nil || *c.MaxRounds != 0 ||
		strings.Join(c.Deny, " ") != "a b" || c.System == nil || *c.System != "" || c.Mode != config.CallTool || c.Target != "a__b" {
		t.Errorf("%+v", c)
	}
	if c.KeyEnv != nil || c.BaseURL != "" || c.Shell {
		t.Errorf("settings that were not given: %+v", c)
	}
}
