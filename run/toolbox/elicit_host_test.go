package toolbox

import (
	"testing"

	"toolpipe/mcp/wire"
)

// Nothing in the words of a server reaches a host that could move a cursor or deceive, and
// what a host gives back is not changed for its backslashes.
func TestSafe(t *testing.T) {
	t.Parallel()
	form := safeForm(wire.Form{
		Message: "Which\x1b[2J \u202ename\n?",
		Schema:  []byte(`{"type":"object", "properties":{"a\u001b":{"title":"\u202e\\","pattern":"^\\d+\"$","enum":["é","\u0007","a\n👩‍💻"],"maximum":1e2}}}`),
	})
	if want := `Which\u{1b}[2J \u{202e}name\n?`; form.Message != want {
		t.Errorf("%q", form.Message)
	}
	want := `{"type":"object", "properties":{"a\\u{1b}":{"title":"\\u{202e}\\\\","pattern":"^\\d+\"$","enum":["é","\\u{7}","a\n👩‍💻"],"maximum":1e2}}}`
	if string(form.Schema) != want {
		t.Errorf("%s", form.Schema)
	}
}
