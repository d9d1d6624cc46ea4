// Package flags is the table of the command's flags: names, values, help texts and the settings
// that they fill. Package main declares the flags from it; help, completion and the man page are
// printed from it. A new flag is a row of the table and a field of the settings.
package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
)

type Flag struct {
	Name  string
	Short string // its letter, "" if it has none
	Value string // the name of its value in the help; "" for a switch, "[=WORD]" for an optional value

	Help     string // text in the full help; lists show the part before the first semicolon
	Everyday bool   // the short help shows it

	// Setting is the setting that the flag fills. Its type decides which values are valid:
	//
	//	*bool           true or false, as a switch
	//	**bool          the same; nil if it is not given
	//	config.Mode     none: the flag chooses the mode; a value is its Target
	//	*count          how often it is given
	//	*int            a number from 1
	//	**int           a number from 0
	//	*string         text that is not empty
	//	**string        text; nil if it is not given
	//	*[]string       texts that are not empty; the flag can be repeated
	//	*time.Duration  longer than 0
	//	**time.Duration from 0; nil if it is not given
	//	*int64          a number of bytes
	Setting any
	EmptyOK bool // the text may be empty

	given bool
	last  string // the last value
	bad   error  // why the last value is invalid
}

type Group struct {
	Title string
	Flags []Flag
}

// A count is a setting that a switch increments; a value sets it.
type count int

// Set takes one value. It refuses a value only if no later value could correct it; Table.Check
// refuses the other wrong values.
func (f *Flag) Set(text string) (err error) {
	f.given, f.last, f.bad = true, text, nil
	if _, either := f.Setting.(**bool); either && text != "true" && text != "false" {
		return f.refuse("is true or false, not %q", text)
	}
	if f.isSwitch() && text != "true" && text != "false" {
		return f.refuse("takes no value, but got %q", text) // 1 and t may be meant for another flag
	}
	switch setting := f.Setting.(type) {
	case config.Mode:
	case *bool:
		*setting = text == "true"
	case **bool:
		*setting = new(text == "true")
	case *count:
		if text == f.Bare() {
			*setting++
			return nil
		}
		err = f.number(text, (*int)(setting))
	case *int:
		err = f.number(text, setting)
	case **int:
		*setting = new(int)
		err = f.number(text, *setting)
	case *string:
		*setting = text
	case **string:
		*setting = &text
	case *[]string:
		*setting = append(*setting, text)
	case *time.Duration:
		*setting, f.bad = f.duration(text, 1)
	case **time.Duration:
		*setting = new(time.Duration)
		**setting, f.bad = f.duration(text, 0)
	case *int64:
		*setting, f.bad = f.bytes(text)
	default:
		panic(fmt.Sprintf("--%s: no flag can set a %T", f.Name, setting))
	}
	return err
}

// String and Type are only for package pflag: a flag is one of its values.
func (f *Flag) String() string { return "" }
func (f *Flag) Type() string   { return f.Value }

func (f *Flag) isSwitch() bool {
	_, counted := f.Setting.(*count)
	return f.Value == "" && !counted
}

// Bare is the value of the flag if it is given without one; "" if it needs one.
func (f *Flag) Bare() string {
	switch {
	case f.isSwitch():
		return "true"
	case f.Value == "":
		return "+1"
	case strings.HasPrefix(f.Value, "[="):
		return "short"
	}
	return ""
}

func (f *Flag) NeedsValue(hints ...string) error {
	return failure.UsageError(hints, "--%s: needs a value: --%s %s", f.Name, f.Name, f.Value)
}

func (f *Flag) refuse(format string, args ...any) error {
	return failure.Usage("--%s: %s", f.Name, fmt.Sprintf(format, args...))
}

func (f *Flag) number(text string, to *int) error {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return f.refuse("%q is too large", text)
	case err != nil:
		return f.refuse("%q is not a number", text)
	}
	*to = int(n)
	return nil
}

func (f *Flag) duration(text string, least time.Duration) (time.Duration, error) {
	d, err := document.ParseDuration(text)
	switch {
	case err == nil && d >= least:
		return d, nil
	case err == nil:
		err = fmt.Errorf("%q is not longer than 0", text)
	}
	return 0, failure.UsageError([]string{"a duration is written 30s, 2m or as a number of seconds"}, "--%s: %v", f.Name, err)
}

// bytes reads a number of bytes with an optional K, M or G.
func (f *Flag) bytes(text string) (int64, error) {
	digits, shift := text, 0
	if n := len(text) - 1; n > 0 {
		if i := strings.IndexByte("KMG", text[n]&^0x20); i >= 0 {
			digits, shift = text[:n], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n <= 0 || n<<shift > 1<<30 {
		return 0, failure.UsageError([]string{"--" + f.Name + " 65536, 64K or 1M"}, "--%s: %q is not a number of bytes up to 1G", f.Name, text)
	}
	return n << shift, nil
}

// check refuses values that a user cannot have meant. A shell expands a variable that is not set to
// an empty value, which would silently disable the flag, even a protection such as --approver. A
// limit of 0 would do the same. The file "-" is a standard stream for other programs.
func (f *Flag) check() error {
	texts, emptyOK := []string{f.last}, f.EmptyOK
	switch setting := f.Setting.(type) {
	case *[]string:
		texts = *setting
	case **string:
		emptyOK = true
	case *int:
		if *setting < 1 {
			return f.refuse("%d is not a number from 1 on", *setting)
		}
	case **int:
		if **setting < 0 {
			return f.refuse("%d is not a number from 0 on", **setting)
		}
	}
	if slices.Contains(texts, "") && !emptyOK {
		return f.NeedsValue("its value is empty: a variable of the shell that is not set?")
	}
	if slices.Contains(texts, "-") && f.Name != "file" && (f.Value == "PATH" || f.Value == "FILE" || f.Value == "FILE|JSON") {
		return failure.UsageError([]string{"./- names a file that is called -"}, `--%s: "-" is not a file`, f.Name)
	}
	return f.bad
}
