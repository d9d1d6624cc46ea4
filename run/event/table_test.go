package event

import "testing"

// TestTable holds that columns are aligned, that empty ones are left out, and that
// no line is wider than the terminal.
func TestTable(t *testing.T) {
	list := table{header: []string{"TOOL", "VERDICT", "RULE", "DESCRIPTION"}, rows: [][]string{
		{"fs__read", "allow", "", "Reads a file of any size"},
		{"fs__漢字", "ask", "", ""},
	}}
	for columns, want := range map[int]string{
		80: "TOOL      VERDICT  DESCRIPTION\nfs__read  allow    Reads a file of any size\nfs__漢字  ask\n",
		26: "TOOL      VERDICT  DESCRI…\nfs__read  allow    Reads …\nfs__漢字  ask\n",
		6:  "TOOL \u2026\nfs__r…\nfs__…\n",
	} {
		if got := string(list.appendTo(nil, columns)); got != want {
			t.Errorf("in %d columns:\n%s", columns, got)
		}
	}
	list = table{header: []string{"SERVER", "STATUS", "TARGET", "MESSAGE"}, rows: [][]string{{"a", "", "/a/path/that/is/longer/than/forty/columns/of/a/terminal", "why"}}}
	if got, want := string(list.appendTo(nil, 80)), "SERVER  TARGET                                    MESSAGE\na       /a/path/that/is/longer/than/forty/colum…  why\n"; got != want {
		t.Errorf("%s", got)
	}
	list = table{header: []string{"CHECKED", "STATUS", "RESULT"}, wraps: true, rows: [][]string{
		{"config", "ok", "none"},
		{"endpoint", "warning", "reached, but it lists 漢字 at http://127.0.0.1:11434/v1; --list models"},
	}}
	for columns, want := range map[int]string{
		80: "CHECKED   STATUS   RESULT\nconfig    ok       none\nendpoint  warning  reached, but it lists 漢字 at http://127.0.0.1:11434/v1;\n                   --list models\n",
		40: "CHECKED   STATUS   RESULT\nconfig    ok       none\nendpoint  warning  reached, but it lists\n                   漢字 at\n                   http://127.0.0.1:1143\n                   4/v1; --list models\n",
		30: "CHECKED   STATUS   RESULT\nconfig    ok       none\nendpoint  warning\n  reached, but it lists 漢字\n  at\n  http://127.0.0.1:11434/v1;\n  --list models\n",
		12: "CHECKED   STATUS   RESULT\nconfig    ok\n  none\nendpoint  warning\n  reached,\n  but it\n  lists 漢字\n  at\n  http://127\n  .0.0.1:114\n  34/v1;\n  --list\n  models\n",
	} {
		if got := string(list.appendTo(nil, columns)); got != want {
			t.Errorf("in %d columns:\n%s", columns, got)
		}
	}
}
