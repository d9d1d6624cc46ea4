package toolbox

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/builtin/code"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/fetch"
	"toolpipe/mcp/builtin/files"
	"toolpipe/mcp/builtin/notes"
	"toolpipe/mcp/builtin/processes"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/servers"
	"toolpipe/stream/text/jsontext"
)

// plausible are values with which most tools get as far as to open a file.
var plausible = map[string]string{
	"path": `"other.go"`, "name": `"Open"`, "target": `"Open"`, "pattern": `"Open"`, "operation": `"remove"`, "content": `"x"`, "old_string": `"Open"`, "new_string": `"Shut"`,
	"new_content": `"x"`, "start_line": "1", "end_line": "1", "url": `"http://127.0.0.1:1/"`, "expected_revision": "1", "id": `"p1"`, "signal": `"HUP"`, "to": `"Shut"`, "import": `"\"os\""`,
}

// builtins are all built-in servers whose tools could open files.
func builtins(t *testing.T, root string) map[string]*toolserver.Server {
	area, err := confine.Open(confine.Spec{Root: root, Anyway: true})
	if err != nil {
		t.Fatal(err)
	}
	all, procs := map[string]*toolserver.Server{}, &process.Processes{}
	environ := []string{"PATH=" + os.Getenv("PATH")}
	must := func(name string, s *toolserver.Server, err error) {
		if err != nil {
			t.Skip(err)
		}
		all[name] = s
	}
	all["files"] = files.New(area, files.Spec{Name: "files", Environ: environ, Processes: procs})
	s, err := code.New(code.Spec{Areas: []*confine.Area{area}, Environ: environ, Processes: procs})
	must("code", s, err)
	s, err = notes.New(notes.Spec{Path: filepath.Join(t.TempDir(), "notes")})
	must("notes", s, err)
	s, err = fetch.New(fetch.Spec{})
	must("fetch", s, err)
	s, err = processes.New(processes.Spec{})
	must("processes", s, err)
	return all
}

// TestDeclaredPaths: no built-in tool opens a file that stands in an argument of which it
// does not declare that it is a path, and one that declares neither reading nor writing
// opens none.
func TestDeclaredPaths(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"other.go", "canary.go"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("package a\n\nfunc Open() {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, local := range builtins(t, root) {
		if !servers.IsReserved(local.Name()) {
			t.Errorf("the name %q of a built-in server is not reserved", local.Name())
		}
		session, err := mcp.Connect(t.Context(), mcp.Spec{Name: name, Local: local.Pipe}, mcp.Hooks{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range session.Tools() {
			if name == "processes" && slices.Contains([]string{"start", "restart", "input", "wait"}, tool.Name) {
				continue // they run programs, or wait
			}
			checkDeclared(t, local, tool)
		}
		session.Close()
	}
}

func checkDeclared(t *testing.T, local *toolserver.Server, tool wire.Tool) {
	effects := local.Builtin(tool.Name).Effects
	if effects == (toolserver.Effects{}) {
		t.Errorf("%s declares no effects", tool.Name)
	}
	required := jsontext.Strings(jsontext.Member(tool.InputSchema, "required"))
	properties := map[string]string{"": ""} // by their types
	for name, schema := range jsontext.Members(jsontext.Member(tool.InputSchema, "properties")) {
		properties[jsontext.Unquote(name)] = jsontext.Text(jsontext.Member(schema, "type"))
	}
	for canary, kind := range properties {
		if canary != "" && (canary == effects.Path || canary == effects.To) || canary != "" && kind != "string" {
			continue
		}
		args := []byte("{")
		for name := range properties {
			switch {
			case name == "":
			case name == canary:
				args = jsontext.AppendMember(args, name, []byte(`"canary.go"`))
			case name == effects.Path, slices.Contains(required, name):
				args = jsontext.AppendMember(args, name, []byte(plausible[name]))
			}
		}
		var mu sync.Mutex
		var opened []string
		bounds := confine.Bounds{Matches: func(names ...string) bool {
			mu.Lock()
			defer mu.Unlock()
			opened = append(opened, names[0])
			return false
		}}
		result, err := local.Call(confine.WithBounds(t.Context(), bounds), tool.Name, append(args, '}'), func(wire.Progress) {})
		if err != nil || result == nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		switch files := effects.Reads || effects.Writes; {
		case canary != "" && slices.Contains(opened, "canary.go"):
			t.Errorf("%s opens the file that stands in %q, which it does not declare", tool.Name, canary)
		case !files && opened != nil:
			t.Errorf("%s opens %q, and declares no effect on files", tool.Name, opened)
		case files && canary == "" && !slices.Contains(opened, "other.go"):
			t.Errorf("%s was to open other.go, and opens %q: %s", tool.Name, opened, result.Raw)
		}
	}
}

// TestUndeclared: a built-in tool that declares no effects may do everything, and may not
// only read.
func TestUndeclared(t *testing.T) {
	local := toolserver.New("s", "")
	local.AddBuiltin(toolserver.Define("t", "", toolserver.ReadsOnly, toolserver.Effects{}), nil)
	tool := &Tool{Tool: local.Builtin("t").Tool(), Conn: &Connection{Server: servers.Builtin(local, "")}}
	const everything = approve.Exposed | approve.AllEffects
	if got := new(Toolbox).traits(tool); tool.OnlyReads() || got.Labels|got.Assumed != everything || got.Effects() != approve.AllEffects || got.By != "" {
		t.Errorf("%+v", got)
	}
}

// TestTraits: a server that nobody trusts may do everything, whatever it says; one that is
// trusted is believed.
func TestTraits(t *testing.T) {
	const everything = approve.Exposed | approve.AllEffects
	for _, x := range []struct {
		annotations     string
		trusted         bool
		labels, assumed approve.Labels
	}{
		{`{}`, false, 0, everything},
		{`{"readOnlyHint":true}`, false, 0, everything},
		{`{"openWorldHint":true}`, false, approve.Untrusted | approve.Sends, everything},
		{`{}`, true, 0, approve.Reads | approve.Writes | approve.Runs},
		{`{"readOnlyHint":true}`, true, approve.Reads, 0},
		{`{"readOnlyHint":true,"openWorldHint":true}`, true, approve.Reads | approve.Untrusted | approve.Sends, 0},
		{`{"openWorldHint":true}`, true, approve.Untrusted | approve.Sends, approve.Reads | approve.Writes | approve.Runs},
	} {
		definition := wire.Tool{Name: "t", Annotations: []byte(x.annotations), ReadOnly: jsontext.IsTrue(jsontext.Member([]byte(x.annotations), "readOnlyHint"))}
		tool := &Tool{Tool: definition, Conn: &Connection{Server: servers.Server{Trusted: x.trusted}}}
		if got := new(Toolbox).traits(tool); got.Labels != x.labels || got.Assumed != x.assumed {
			t.Errorf("%s, trusted %t: %v, assumed %v", x.annotations, x.trusted, got.Labels.Words(), got.Assumed.Words())
		}
		counted := count(&approve.Gate{EgressRule: approve.EgressRule{Egress: approve.EgressAsk}}, new(Toolbox).traits(tool))
		if want := x.labels | x.assumed&(approve.Exposed|approve.Sends); counted.Labels != want {
			t.Errorf("%s, trusted %t: %v where egress asks", x.annotations, x.trusted, counted.Labels.Words())
		}
	}
}
