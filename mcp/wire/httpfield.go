package wire

import (
	"strings"
)

// IsPrintable says whether s may stand in a header.
func IsPrintable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// IsToken is RFC 9110, section 5.6.2.
func IsToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !IsASCIILetter(c) && (c < '0' || c > '9') && !strings.Contains("!#$%&'*+-.^_`|~", string(rune(c))) || c >= 0x80 {
			return false
		}
	}
	return s != ""
}

func IsASCIILetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
