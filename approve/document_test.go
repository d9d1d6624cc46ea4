package approve

import (
	"fmt"
	"strings"
	"testing"
)

// A document has a node for each value, and one for a blank text.
func TestDocumentNodes(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "{0-0>1",
		" ":                           "{0-0>1",
		`"a"`:                         `"0-3>1`,
		" 12 ":                        "01-3>1",
		"[]":                          "[0-2>1",
		`[1,"x"]`:                     `[0-7>3 01-2>2 "3-6>3`,
		`{"a":"b","c":[true],"d":{}}`: `{0-27>5 a:"5-8>2 c:[13-19>4 t14-18>4 d:{24-26>5`,
	} {
		var d document
		d.parse([]byte(text))
		var got []string
		for i, n := range d.nodes {
			key := ""
			if n.keyEnd > 0 {
				key = string(d.key(i)) + ":"
			}
			got = append(got, fmt.Sprintf("%s%c%d-%d>%d", key, n.kind, n.start, n.end, n.next))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s", text, strings.Join(got, " "))
		}
	}
}
