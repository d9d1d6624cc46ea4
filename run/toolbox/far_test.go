package toolbox

import (
	"reflect"
	"slices"
	"testing"

	"toolpipe/approve"
)

// TestTool: what one side says of a tool, the other reads, and the tool's own _meta is as it was.
func TestFarTool(t *testing.T) {
	var traits approve.Traits
	traits.Labels, traits.Assumed = approve.Private|approve.Untrusted, approve.Runs
	for effect, paths := range map[approve.Labels][]string{approve.Reads: {"a.b", "list.*.path"}, approve.Writes: {}, approve.Sends: {"to"}} {
		if err := traits.Declare(effect, paths); err != nil {
			t.Fatal(err)
		}
	}
	traits.Reads.Absent = "."
	for own, want := range map[string]string{"": "", `{}`: "", `{"x/y":[1, 2]}`: `{"x/y":[1, 2]}`, `{"toolpipe/tool":{"server":"z"}}`: ""} {
		meta := (&FarTool{Server: "fs", Name: "read", Traits: traits, Scripts: []string{"script"}}).Meta([]byte(own))
		got, rest, said := readFarTool(meta)
		traits.By = got.Traits.By
		if !said || got.Server != "fs" || got.Name != "read" || string(rest) != want || !reflect.DeepEqual(got.Traits, traits) || !slices.Equal(got.Scripts, []string{"script"}) {
			t.Errorf("%s: %+v, %s, %v", own, got, rest, said)
		}
	}
	if _, own, said := readFarTool([]byte(`{"x":1}`)); said || string(own) != `{"x":1}` {
		t.Errorf("%s, %v", own, said)
	}
}

func TestFarServers(t *testing.T) {
	want := []FarServer{{"fs", "/a b", "read\nfirst"}, {"x", "", ""}}
	got, listed := farServers([]byte("{" + string(AppendFarServers(nil, want)) + "}"))
	if !listed || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, listed)
	}
	if got, listed := farServers([]byte("{" + string(AppendFarServers(nil, nil)) + "}")); !listed || got != nil {
		t.Errorf("%+v, %v", got, listed)
	}
	if _, listed := farServers([]byte(`{}`)); listed {
		t.Error("no list is one")
	}
}
