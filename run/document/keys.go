package document

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"toolpipe/run/failure"
)

// A Key is a key of an object in a config, and the variable for its value: see Member.Fill.
type Key struct {
	names string // one name, or several separated by blanks
	to    any
}

func Keys(namesAndTargets ...any) []Key {
	keys := make([]Key, len(namesAndTargets)/2)
	for i := range keys {
		keys[i] = Key{namesAndTargets[2*i].(string), namesAndTargets[2*i+1]}
	}
	return keys
}

func NamesOf(keys []Key) (names []string) {
	for _, k := range keys {
		names = append(names, strings.Fields(k.names)...)
	}
	return names
}

// ReadKeys reads an object. Other keys than these are errors.
func (v Value) ReadKeys(keys []Key) error {
	read := EachMember(func(m Member) error { return m.ReadKey(keys) })
	return read(Member{Value: v})
}

func (m Member) ReadKey(keys []Key) error {
	i := slices.IndexFunc(keys, func(k Key) bool { return slices.Contains(strings.Fields(k.names), m.Key) })
	if i < 0 {
		return m.Unknown(NamesOf(keys))
	}
	return m.Fill(keys[i].to)
}

// Not is a target for the opposite of the value.
type Not bool

// WordOf is a target for a string that is one of the words.
func WordOf(to *string, words ...string) func(Member) error {
	return Into(to, func(m Member) (string, error) { return m.OneOf(words...) })
}

// Fill reads the value of m into to, a pointer to a type with a known form, or calls the function
// to with the member.
func (m Member) Fill(to any) (err error) {
	switch to := to.(type) {
	case *string:
		*to, err = m.Str()
	case *bool:
		*to, err = m.Boolean()
	case *Not:
		var on bool
		on, err = m.Boolean()
		*to = Not(!on)
	case *int:
		*to, err = m.Count()
	case **bool:
		*to = new(bool)
		err = m.Fill(*to)
	case **int:
		*to = new(int)
		err = m.Fill(*to)
	case **string:
		*to = new(string)
		err = m.Fill(*to)
	case *[]string:
		*to, err = m.Words()
	case *map[string]string:
		*to, err = m.Table(Value.Str)
	case *time.Duration:
		*to, err = m.Duration()
	case func(Member) error:
		err = to(m)
	}
	return err
}

// EachMember returns a function that reads an object by calling read with each member.
func EachMember(read func(Member) error) func(Member) error {
	return func(m Member) error {
		if m.Kind() != '{' {
			return m.Errorf("not an object")
		}
		for _, inner := range m.Members() {
			if err := read(inner); err != nil {
				return err
			}
		}
		return nil
	}
}

// Into returns a function that reads a member by read and stores the result in to.
func Into[T any](to *T, read func(Member) (T, error)) func(Member) error {
	return func(m Member) (err error) {
		*to, err = read(m)
		return err
	}
}

func (m Member) OneOf(words ...string) (string, error) {
	s, err := m.Str()
	if err == nil && !slices.Contains(words, s) {
		return "", m.Errorf("%q is not one of: %s", s, strings.Join(words, ", "))
	}
	return s, err
}

// Duration reads a string such as "30s", or a number of seconds.
func (v Value) Duration() (time.Duration, error) {
	s := string(v.Raw())
	if v.Kind() == '"' {
		s = v.Text()
	}
	d, err := ParseDuration(s)
	if err != nil {
		return 0, failure.Within(v.Place(), err)
	}
	return d, nil
}

// ParseDuration reads "30s", "2m", "1h30m" or a plain number of seconds. Negative durations are
// refused; 0 is accepted.
func ParseDuration(s string) (time.Duration, error) {
	text := s
	if strings.Trim(s, "+-0123456789.") == "" {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err == nil && d >= 0 {
		return d, nil
	}
	problem := "is not a duration"
	if regexp.MustCompile(`^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$`).MatchString(text) {
		problem = "is too large"
	}
	return 0, failure.UsageError([]string{"a duration is written 30s, 2m or as a number of seconds"}, "%q %s", s, problem)
}
