package imports

import "testing"

func TestRules(t *testing.T) {
	for i := range rules {
		if rules[i].Pattern().NumSubexp() != 2 {
			t.Errorf("%s: %s", rules[i].Languages, rules[i].pattern)
		}
	}
}
