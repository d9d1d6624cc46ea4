package flags

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/manual"
)

// The scripts. @FLAGS@, @CASES@ and @SPECS@ are replaced by texts made from the table.
var (
	//go:embed completion.bash
	bashScript string
	//go:embed completion.zsh
	zshScript string
	//go:embed completion.fish
	fishScript string
)

// shells are the shells for which --completion prints a script. While a user types, the scripts ask
// for the names in the config: toolpipe --completion profiles (or servers, presets), followed by the
// words before the cursor. So a --config among these words is used, and a "--" among them does no
// harm.
var shells = []string{"bash", "zsh", "fish"}

func (t *Table) CompletionText() (string, error) {
	switch t.Completion {
	case "bash":
		return t.bash(), nil
	case "zsh":
		return t.zsh(), nil
	case "fish":
		return t.fish(), nil
	case "profiles", "servers", "presets":
		return t.configNames()
	}
	return "", failure.UsageError([]string{"--completion is one of: " + config.JoinWords(shells)}, "--completion: %q is not one of its values", t.Completion)
}

func (t *Table) configNames() (string, error) {
	ignore := func(code, server, message string) {}
	config, err := invocation.LoadSettings(t.settings, ignore)
	if err != nil {
		return "", err
	}
	names := config.ProfileNames()
	switch t.Completion {
	case "presets":
		names = config.PresetNames()
	case "servers":
		used, unused, err := config.Servers(context.Background(), t.settings, strings.NewReader(""), ignore)
		if err != nil {
			return "", err
		}
		names = nil
		for _, s := range append(used, unused...) {
			names = append(names, s.Name)
		}
	}
	var b strings.Builder
	for _, name := range names {
		if !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			b.WriteString(name + "\n")
		}
	}
	return b.String(), nil
}

func (f *Flag) words() []string {
	switch f.Name {
	case "help":
		return append([]string{"all", "topics", "man"}, manual.Topics()...)
	case "completion":
		return shells
	}
	return config.Choices(f.Name)
}

// action is the completion rule of a shell for the value of the flag. The parameters are the rules
// for a list of values (words), a file, a directory, the profiles, servers or presets of the config
// (names), and any other value that the flag needs. words and names contain a %s for the list and
// for the kind.
func (f *Flag) action(words, file, directory, names, value string) string {
	switch {
	case f.words() != nil:
		return fmt.Sprintf(words, strings.Join(f.words(), " "))
	case f.Name == "model", f.Name == "agent":
		return fmt.Sprintf(names, "profiles")
	case f.Name == "preset":
		return fmt.Sprintf(names, "presets")
	case slices.Contains([]string{"trust", "servers", "login", "logout"}, f.Name):
		return fmt.Sprintf(names, "servers")
	case f.Value == "FILE" || f.Value == "FILE|JSON" || f.Value == "FILE|-" || f.Value == "PATH":
		return file
	case strings.HasSuffix(f.Value, "DIR"):
		return directory
	case f.Bare() == "":
		return value
	}
	return ""
}

// names returns the spellings of the flag, for example -o and --output.
func (f *Flag) names() []string {
	if f.Short == "" {
		return []string{"--" + f.Name}
	}
	return []string{"-" + f.Short, "--" + f.Name}
}

// bash is the script for bash. It splits the line itself, because bash treats the text after a "="
// as a separate word. It does not use "compgen -W", which would run names of the config as code.
func (t *Table) bash() string {
	var cases, descriptions strings.Builder
	for f := range t.All() {
		fmt.Fprintf(&descriptions, "--%s\t%s\n", f.Name, f.brief())
		if action := f.action("_toolpipe_words %s", "_toolpipe_paths file", "_toolpipe_paths directory", "_toolpipe_names %s", ":"); action != "" {
			fmt.Fprintf(&cases, "    %s) %s ;;\n", strings.Join(f.names(), "|"), action)
		}
	}
	return strings.NewReplacer("@CASES@", cases.String(), "@FLAGS@", config.ShellQuote(strings.TrimSuffix(descriptions.String(), "\n"))).Replace(bashScript)
}

func (t *Table) zsh() string {
	var specs strings.Builder
	for f := range t.All() {
		action := f.action("(%s)", "_files", "_files -/", "{_toolpipe_names %s}", "")
		spec := "[" + escapeZsh(f.brief()) + "]"
		switch {
		case f.Value == "":
		case f.Bare() != "":
			spec = "=-" + spec + "::" + escapeZsh(f.Value) + ":" + action
		default:
			spec += ":" + escapeZsh(f.Value) + ":" + action
		}
		others := "(" + strings.Join(f.names(), " ") + ")" // not offered again
		if _, repeated := f.Setting.(*[]string); repeated {
			others = "*"
		}
		for _, name := range f.names() {
			if f.Value != "" && f.Bare() == "" && strings.HasPrefix(name, "--") {
				name += "=" // the value follows it, or is the next word
			}
			specs.WriteString("    " + config.ShellQuote(others+name+spec) + " \\\n")
		}
	}
	return strings.Replace(zshScript, "@SPECS@", specs.String(), 1)
}

func escapeZsh(s string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(s)
}

func escapeFish(s string) string { return strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) }

func (t *Table) fish() string {
	var b strings.Builder
	b.WriteString(fishScript)
	for f := range t.All() {
		b.WriteString("complete -c toolpipe -l " + f.Name)
		if f.Short != "" {
			b.WriteString(" -s " + f.Short)
		}
		b.WriteString(f.action(" -x -a '%s'", " -r -F", " -x -a '(__fish_complete_directories)'", " -x -a '(__toolpipe_names %s)'", " -x"))
		b.WriteString(" -d '" + escapeFish(f.brief()) + "'\n")
	}
	return b.String()
}
