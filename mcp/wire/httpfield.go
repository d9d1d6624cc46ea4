package wire

import "strings"

// IsOnly reports whether s has only ASCII letters, digits and characters of others.
func IsOnly(s, others string) bool {
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"+others) == ""
}

// IsToken reports whether s is a token, such as the name of a header (RFC 9110, 5.6.2).
func IsToken(s string) bool { return s != "" && IsOnly(s, "!#$%&'*+-.^_`|~") }

// IsPrintable reports whether s is printable ASCII without spaces, as a credential in a
// header must be.
func IsPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
