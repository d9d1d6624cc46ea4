package wire

import "strings"

// IsOnly reports whether s has no characters but ASCII letters, digits and those of others.
func IsOnly(s, others string) bool {
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"+others) == ""
}

// IsToken reports whether s is a token of RFC 9110, section 5.6.2, as the name of
// a header is.
func IsToken(s string) bool { return s != "" && IsOnly(s, "!#$%&'*+-.^_`|~") }

// IsPrintable reports whether s is printable ASCII without spaces, as a credential
// in a header must be.
func IsPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
