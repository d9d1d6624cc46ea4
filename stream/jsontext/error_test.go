package jsontext

import "testing"

// The message of an error says where it is, and what stands there.
func TestSyntaxErrorText(t *testing.T) {
	for text, want := range map[string]string{
		"":               "no JSON value, the text is empty at byte 0",
		"[1,":            "a value is missing at the end at byte 3",
		"\n[1 2]":        "'2' where ',' or ']' should be at line 2, column 4 (byte 4)",
		"{\"a\" \xff}":   "byte 0xff after a key where ':' should be at byte 5",
		"{\"a\" \ufffd}": `'\ufffd' after a key where ':' should be at byte 5`,
	} {
		if err := Check([]byte(text), Options{}); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for c, want := range map[byte]string{'[': "an array", '"': "a string", '-': "a number", '0': "a number", '9': "a number", 't': "a boolean", 'f': "a boolean", 'n': "null", '/': "'/'", ':': "':'", 'x': "'x'"} {
		if got := kindName(c); got != want {
			t.Errorf("%c: %s", c, got)
		}
	}
}
