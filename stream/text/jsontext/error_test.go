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
	for text, want := range map[string]string{
		"[1": "an array", `"a`: "a string", "-": "a number", "0": "a number", "9": "a number", "true": "a boolean", "false": "a boolean", "null": "null",
		"not JSON": "'n'", "timeout": "'t'", "file not found": "'f'", "/": "'/'", ":": "':'", "x": "'x'", "\xff": "byte 0xff",
	} {
		if err := Check([]byte(text), Options{Object: true}); err == nil || err.Error() != "found "+want+", not an object at byte 0" {
			t.Errorf("%q: %v", text, err)
		}
	}
}
