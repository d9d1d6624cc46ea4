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
	list.whole = true
	if got, want := string(list.appendTo(nil, 20)), "SERVER  TARGET                                    MESSAGE\na       /a/path/that/is/longer/than/forty/colum…  why\n"; got != want {
		t.Errorf("%s", got)
	}
}
