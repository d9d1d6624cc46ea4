package code

import "testing"

func TestImportRules(t *testing.T) {
	for i := range importRules {
		if importRules[i].Pattern().NumSubexp() != 2 {
			t.Errorf("%s: %s", importRules[i].Languages, importRules[i].pattern)
		}
	}
}
