package toolbox

import "testing"

// TestFormFields holds what a typed answer becomes, and that one which does not fit
// the field is refused.
func TestFormFields(t *testing.T) {
	form := `{"type":"object","required":["n","c"],"properties":{
		"s":{"type":"string","title":"S","description":"text"},
		"n":{"type":"integer","minimum":1},
		"b":{"type":"boolean","default":false},
		"c":{"type":"string","oneOf":[{"const":"red"},{"const":"blue"}]},
		"l":{"type":"array","items":{"enum":["x","y"]}}}}`
	fields := map[string]*formField{}
	for _, f := range formFields([]byte(form)) {
		fields[f.name] = &f
	}
	for _, c := range []struct{ name, typed, want string }{
		{"s", "5", `"5"`}, {"s", "", ""}, {"n", "7", "7"}, {"n", "0", "refused"}, {"n", "x", "refused"}, {"n", "", "refused"}, {"n", "1.5", "refused"},
		{"b", "Yes", "true"}, {"b", "n", "false"}, {"b", "", "false"}, {"b", "1", "refused"}, {"b", "perhaps", "refused"},
		{"c", "red", `"red"`}, {"c", "green", "refused"}, {"l", "x, y", `["x","y"]`}, {"l", "z", "refused"}, {"l", "", ""},
	} {
		v, why := fields[c.name].parse(c.typed)
		if got := string(v); got != c.want && (why == "" || c.want != "refused") {
			t.Errorf("%s, %q: %s, %s, want %s", c.name, c.typed, got, why, c.want)
		}
	}
	for name, want := range map[string]string{"s": "s (string, may be left empty) S text", "c": "c (string: red, blue)", "l": "l (array: x, y, may be left empty)", "b": "b (boolean, default false)"} {
		if got := fields[name].describe(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
