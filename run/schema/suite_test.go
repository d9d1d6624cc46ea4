package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSuite runs the official JSON Schema test suite
// (github.com/json-schema-org/JSON-Schema-Test-Suite) if TOOLPIPE_SCHEMA_SUITE
// names its folder. A schema that is not compiled is counted, not wrong: its
// values are not checked. Every other result must be the suite's, but for \s and
// \S in patterns, which to Go mean ASCII alone.
func TestSuite(t *testing.T) {
	dir := os.Getenv("TOOLPIPE_SCHEMA_SUITE")
	if dir == "" {
		t.Skip("TOOLPIPE_SCHEMA_SUITE names no JSON Schema test suite")
	}
	for _, draft := range []string{"draft2020-12", "draft7"} {
		files, err := filepath.Glob(filepath.Join(dir, "tests", draft, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		optional, _ := filepath.Glob(filepath.Join(dir, "tests", draft, "optional", "*.json"))
		checked, unchecked, wrong := 0, 0, 0
		for _, file := range append(files, optional...) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var groups []struct {
				Description string
				Schema      json.RawMessage
				Tests       []struct {
					Description string
					Data        json.RawMessage
					Valid       bool
				}
			}
			if err := json.Unmarshal(data, &groups); err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				text := g.Schema
				if draft == "draft7" && g.Schema[0] == '{' && !strings.Contains(string(g.Schema), "$schema") {
					text = append([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#",`), g.Schema[1:]...)
					text = []byte(strings.Replace(string(text), ",}", "}", 1))
				}
				s, err := Compile(text)
				if err != nil {
					unchecked += len(g.Tests)
					t.Logf("not checked: %s/%s %s: %v", draft, strings.TrimSuffix(filepath.Base(file), ".json"), g.Description, err)
					continue
				}
				for _, c := range g.Tests {
					name := strings.TrimSuffix(strings.TrimPrefix(file, filepath.Join(dir, "tests")+"/"), ".json") + ": " + g.Description + ": " + c.Description
					faults, err := s.Check(c.Data)
					switch {
					case err != nil:
						unchecked++
						t.Logf("not checked: %s: %v", name, err)
					case (len(faults) == 0) != c.Valid && len(s.Unchecked) > 0:
						unchecked++
						t.Logf("not checked: %s: %q", name, s.Unchecked)
					case (len(faults) == 0) != c.Valid && strings.Contains(g.Description, `ECMA 262 \s`), (len(faults) == 0) != c.Valid && strings.Contains(g.Description, `ECMA 262 \S`):
						t.Logf("wrong: %s: white space beyond ASCII is none to Go's patterns", name)
						wrong++
					case (len(faults) == 0) != c.Valid:
						t.Errorf("%s: %q", name, faults)
					default:
						checked++
					}
				}
			}
		}
		t.Logf("%s: %d right, %d not checked, %d wrong", draft, checked, unchecked, wrong)
	}
}
