package config

import (
	"slices"
	"strings"
	"time"
)

// A key is one key of an object in a config, and what its value fills: see
// member.fill.
type key struct {
	names string // one, or several with blanks between
	to    any
}

func namesOf(keys []key) (names []string) {
	for _, k := range keys {
		names = append(names, strings.Fields(k.names)...)
	}
	return names
}

// readKeys reads an object that has these keys and no others.
func (v Value) readKeys(keys []key) error {
	read := eachMember(func(m member) error { return m.readKey(keys) })
	return read(member{Value: v})
}

// readKey reads a member, which must be one of the keys.
func (m member) readKey(keys []key) error {
	i := slices.IndexFunc(keys, func(k key) bool { return slices.Contains(strings.Fields(k.names), m.Key) })
	if i < 0 {
		return m.Unknown(namesOf(keys))
	}
	return m.fill(keys[i].to)
}

// What a key fills beside Go's own types.
type (
	not  bool // the opposite of the value
	word struct {
		to    *string
		words []string
	}
)

// fill reads the value of m into to, a pointer whose type says which values there
// are, or calls to, a function that reads the member.
func (m member) fill(to any) (err error) {
	switch to := to.(type) {
	case *string:
		*to, err = m.str()
	case word:
		*to.to, err = m.oneOf(to.words...)
	case *bool:
		*to, err = m.boolean()
	case *not:
		var on bool
		on, err = m.boolean()
		*to = not(!on)
	case *int:
		*to, err = m.count()
	case **bool:
		*to = new(bool)
		err = m.fill(*to)
	case **int:
		*to = new(int)
		err = m.fill(*to)
	case **string:
		*to = new(string)
		err = m.fill(*to)
	case *[]string:
		*to, err = m.Words()
	case *map[string]string:
		*to, err = m.table(Value.str)
	case *time.Duration:
		*to, err = m.duration()
	case func(member) error:
		err = to(m)
	}
	return err
}

// eachMember is a function that reads an object by calling read with each member.
func eachMember(read func(member) error) func(member) error {
	return func(m member) error {
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

// into is a function that reads a member by read, and keeps the result in to.
func into[T any](to *T, read func(member) (T, error)) func(member) error {
	return func(m member) (err error) {
		*to, err = read(m)
		return err
	}
}
