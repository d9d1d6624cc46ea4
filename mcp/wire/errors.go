package wire

import (
	"strings"
)

// joined are errors that belong together, told in one line.
type joined []error

// JoinErrors leaves out what is nil.
func JoinErrors(errs ...error) error {
	var j joined
	for _, err := range errs {
		if err != nil {
			j = append(j, err)
		}
	}
	if len(j) == 0 {
		return nil
	}
	return j
}

func (j joined) Error() string {
	var said []string
	for _, err := range j {
		said = append(said, err.Error())
	}
	return strings.Join(said, "; ")
}

func (j joined) Unwrap() []error { return j }
