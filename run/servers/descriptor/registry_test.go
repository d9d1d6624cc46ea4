package descriptor

import (
	"slices"
	"strings"
	"testing"

	"toolpipe/run/document"
)

// read reads a description on a machine with some variables and programs.
func read(t *testing.T, text string, environ ...string) (*Server, string) {
	t.Helper()
	v, err := document.Parse("x.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d, ok, err := Find(v)
	if err != nil || !ok {
		t.Fatalf("%s: no description: %v", text, err)
	}
	s, err := d.Read(Machine{
		System: "linux", Home: "/home/me", Dir: "/b", Here: "/here",
		Withheld:  func(name string) bool { return name == "OPENAI_API_KEY" },
		Installed: func(program string) bool { return !slices.Contains(environ, "without "+program) },
		Variable: func(_ document.Value, name string, _ bool) (string, error) {
			for _, kv := range environ {
				if value, ok := strings.CutPrefix(kv, name+"="); ok {
					return value, nil
				}
			}
			return "", nil
		},
	})
	if err != nil {
		return s, err.Error()
	}
	return s, ""
}

// line is a server as one line: its variables, and its command or its URL and headers.
func line(s *Server) string {
	var words []string
	for name, value := range s.Env {
		words = append(words, name+"="+value)
	}
	for name, value := range s.Headers {
		words = append(words, name+": "+value)
	}
	slices.Sort(words)
	for _, w := range s.Command {
		words = append(words, w.Value)
	}
	if s.URL.Value != "" {
		words = append(words, s.URL.Value)
	}
	return strings.Join(words, "|")
}

// notes are the notes of a server but for what is used.
func notes(s *Server) string {
	var all []string
	for _, n := range s.Notes {
		if n.Code != Detail || strings.Contains(n.Message, "left out") {
			all = append(all, n.Code+" "+n.Message)
		}
	}
	return strings.Join(all, "\n")
}

func TestPackages(t *testing.T) {
	for _, x := range []struct {
		pack    string
		environ []string
		want    string // the line of the server
		err     string
		noted   string
	}{
		{`"registryType":"npm","identifier":"@me/fs","version":"1.0.0"`, nil, "npx|-y|@me/fs@1.0.0", "", ""},
		{`"registryType":"npm","identifier":"@me/fs"`, nil, "npx|-y|@me/fs", "", ""},
		{`"registryType":"npm","identifier":"fs","version":"1","runtimeHint":"bunx"`, nil, "bunx|fs@1", "", ""},
		{`"registryType":"npm","identifier":"fs","version":"1","runtimeHint":"node"`, nil, "npx|-y|fs@1", "", ""},
		{`"registryType":"npm","identifier":"fs","version":"1","runtimeArguments":[{"type":"positional","value":"-y"},{"value":"--quiet"}]`, nil, "npx|-y|--quiet|fs@1", "", ""},
		{`"registryType":"pypi","identifier":"fs","version":"1.2","registryBaseUrl":"https://packages.test"`, nil, "uvx|fs@1.2", "", ""},
		{`"registryType":"pypi","identifier":"fs","version":"1.2","runtimeHint":"pipx"`, nil, "pipx|run|fs@1.2", "", ""},
		{`"registryType":"nuget","identifier":"Fs","version":"1"`, nil, "dnx|Fs@1|--yes", "", ""},
		{`"registryType":"nuget","identifier":"Fs","version":"1","packageArguments":[{"type":"positional","value":"mcp"}]`, nil, "dnx|Fs@1|--yes|--|mcp", "", ""},
		{`"registryType":"oci","identifier":"images.test/me/fs:1"`, nil, "docker|run|-i|--rm|images.test/me/fs:1", "", ""},
		{`"registryType":"oci","identifier":"me/fs","version":"1","registryBaseUrl":"https://images.test","runtimeHint":"podman"`, nil, "podman|run|-i|--rm|images.test/me/fs:1", "", ""},
		{`"registryType":"oci","identifier":"me/fs","version":"sha256:ab","registryBaseUrl":"https://images.test"`, nil, "docker|run|-i|--rm|images.test/me/fs@sha256:ab", "", ""},
		{`"registryType":"oci","identifier":"localhost:5000/fs@sha256:ab","version":"1"`, nil, "docker|run|-i|--rm|localhost:5000/fs@sha256:ab", "", ""},
		{`"registryType":"oci","identifier":"fs:1","runtimeArguments":[{"type":"positional","value":"run"},{"type":"named","name":"--network","value":"host"}],"environmentVariables":[{"name":"TOKEN"},{"name":"LEVEL","default":"info"},{"name":"GONE"}]`, []string{"TOKEN=t"},
			"LEVEL=info|TOKEN=t|docker|run|-i|--rm|--network|host|-e|TOKEN|-e|LEVEL|fs:1", "", "left out: GONE"},
		{`"registryType":"docker","identifier":"fs:1"`, nil, "docker|run|-i|--rm|fs:1", "", ""},

		// What cannot be started, or would be something else.
		{`"registryType":"mcpb","identifier":"https://x.test/a.mcpb","fileSha256":"ab"`, nil, "https://x.test/a.mcpb", "the package is a bundle, and toolpipe downloads none", ""},
		{`"registryType":"npm","identifier":"fs","transport":{"type":"streamable-http","url":"http://localhost:{port}/mcp"}`, nil, "fs", `spoken to over "streamable-http"`, ""},
		{`"registryType":"cargo","identifier":"fs"`, nil, "fs", `registryType "cargo" are not known`, ""},
		{`"registryType":"npm","identifier":"-c"`, nil, "-c", "identifier is not the name of a package", ""},
		{`"registryType":"npm","identifier":7`, nil, "npx|-y|7", "", ""},
		{`"registryType":"npm","identifier":["fs"]`, nil, "?", `["fs"] is not a string`, ""},
		{`"registry_name":"npm","name":"fs","version":"1"`, nil, "?", "older than 2025-07-09", "unknown"},
		{`"registryType":"npm","identifier":"fs","version":"1","postInstallInstructions":[],"shell":true`, nil, "npx|-y|fs@1", "", `unknown key "shell" is ignored`},
		{`"registryType":"npm","identifier":"fs","packageArguments":{}`, nil, "fs", "{} is not a list", ""},
	} {
		s, err := read(t, `{"name":"io.github.me/fs","packages":[{`+x.pack+`}]}`, x.environ...)
		if got := line(s); got != x.want || x.err == "" && err != "" || !strings.Contains(err, x.err) || x.noted != "unknown" && (x.noted == "") != (notes(s) == "") || x.noted != "unknown" && !strings.Contains(notes(s), x.noted) {
			t.Errorf("%s:\n %s, want %s\n error %q\n notes %q", x.pack, got, x.want, err, notes(s))
		}
	}
}

func TestArguments(t *testing.T) {
	for _, x := range []struct {
		argument string
		environ  []string
		want     string // what follows the package
		err      string
		leftOut  string
	}{
		{`{"type":"positional","value":"a b"}`, nil, "a b", "", ""},
		{`{"type":"positional","valueHint":"dir","isRequired":true}`, nil, "", "not set: TOOLPIPE_INPUT_dir", ""},
		{`{"type":"positional","valueHint":"dir","isRequired":true}`, []string{"TOOLPIPE_INPUT_dir=x"}, "x", "", ""},
		{`{"type":"positional","valueHint":"dir"}`, nil, "", "", "dir (TOOLPIPE_INPUT_dir)"},
		{`{"type":"positional","valueHint":"a-b c","default":"d"}`, nil, "d", "", ""},
		{`{"type":"positional","valueHint":"a-b c","default":"d"}`, []string{"TOOLPIPE_INPUT_a_b_c=e"}, "e", "", ""},
		{`{"type":"positional","valueHint":"dir","format":"filepath"}`, []string{"TOOLPIPE_INPUT_dir=sub/x"}, "/here/sub/x", "", ""},
		{`{"type":"positional","valueHint":"dir","format":"filepath"}`, []string{"TOOLPIPE_INPUT_dir=~/x"}, "/home/me/x", "", ""},
		{`{"type":"positional","valueHint":"dir","isRepeated":true}`, []string{"TOOLPIPE_INPUT_dir=a\nb c\n\n"}, "a|b c", "", ""},
		{`{"type":"positional","valueHint":"dir","isRepeated":true,"isRequired":true}`, []string{"TOOLPIPE_INPUT_dir=\n"}, "", "not set: TOOLPIPE_INPUT_dir", ""},
		{`{"type":"named","name":"--mode","value":"ro"},{"type":"named","name":"--mode","value":"ro"}`, nil, "--mode|ro|--mode|ro", "", ""},
		{`{"type":"named","name":"--port","default":8080,"format":"number"}`, nil, "--port|8080", "", ""},
		{`{"type":"named","name":"--port","format":"number"}`, []string{"TOOLPIPE_INPUT_port=x"}, "", "TOOLPIPE_INPUT_port does not hold a number", ""},
		{`{"type":"named","name":"--port","format":"number"}`, []string{"PORT=1"}, "", "", "--port (TOOLPIPE_INPUT_port)"},
		{`{"type":"named","name":"--x","format":"boolean"}`, []string{"TOOLPIPE_INPUT_x=yes"}, "", "neither true nor false", ""},
		{`{"type":"named","name":"--x","choices":["a","b"]}`, []string{"TOOLPIPE_INPUT_x=c"}, "", "none of: a, b", ""},
		{`{"type":"named","name":"--x","choices":["a","b"]}`, []string{"TOOLPIPE_INPUT_x=b"}, "--x|b", "", ""},
		{`{"type":"named","name":"--stdio"}`, nil, "--stdio", "", ""},
		{`{"type":"named","name":"--stdio","value":"","description":"d"}`, nil, "--stdio", "", ""},
		{`{"type":"named","name":"--db","description":"d"}`, nil, "", "", "--db (TOOLPIPE_INPUT_db)"},
		{`{"type":"named","name":"--db","description":"d","isRequired":true}`, nil, "", "not set: TOOLPIPE_INPUT_db", ""},
		{`{"type":"named","name":"-v","isRepeated":true,"format":"string"}`, []string{"TOOLPIPE_INPUT_v=a\nb"}, "-v|a|-v|b", "", ""},
		// Variables in a value are filled in once; what is none of them stays as it is.
		{`{"type":"named","name":"-e","value":"A={a}{b}{c}","variables":{"a":{"isRequired":true},"b":{"default":"{a}"}}}`, []string{"TOOLPIPE_INPUT_a={b}$"}, "-e|A={b}${a}{c}", "", ""},
		{`{"type":"named","name":"-e","value":"T={t}","variables":{"t":{}}}`, nil, "", "", "-e (TOOLPIPE_INPUT_t)"},
		{`{"type":"named","name":"-e","value":"T={t}","isRequired":true,"variables":{"t":{}}}`, nil, "", "not set: TOOLPIPE_INPUT_t", ""},
		{`{"type":"named","name":"-e","value":"T={t}","variables":{"t":{"isRequired":true},"u":{"isRequired":true}}}`, nil, "", "not set: TOOLPIPE_INPUT_t", ""},
		{`{"type":"positional","value":"{open {} }"}`, nil, "{open {} }", "", ""},
		{`{"type":"flag","name":"--x"}`, nil, "", `type "flag" is unknown`, ""},
		{`{"type":"named"}`, nil, "", "a named argument has no name", ""},
		{`"x"`, nil, "", "is not an object", ""},
		{`{"type":"named","name":"--x","isRequired":"yes"}`, nil, "", `"yes" is not true or false`, ""},
		{`{"type":"named","name":"--x","value":{}}`, nil, "", "{} is not a string", ""},
	} {
		s, err := read(t, `{"name":"io.github.me/fs","packages":[{"registryType":"npm","identifier":"fs","packageArguments":[`+x.argument+`]}]}`, x.environ...)
		got := strings.TrimPrefix(strings.TrimPrefix(line(s), "npx|-y|fs"), "|")
		if x.err != "" && strings.Contains(err, x.err) {
			continue
		}
		if got != x.want || err != x.err || !strings.Contains(notes(s), x.leftOut) || (x.leftOut == "") != (notes(s) == "") {
			t.Errorf("%s %q:\n %s, want %s\n error %q\n notes %q", x.argument, x.environ, got, x.want, err, notes(s))
		}
	}
}

// TestShown: in place of a value that a user gives, the name of its variable is shown, also when it is missing.
func TestShown(t *testing.T) {
	text := `{"name":"a/b","packages":[{"registryType":"npm","identifier":"fs","packageArguments":[{"type":"named","name":"--k","value":"a{k}","isRequired":true,"variables":{"k":{"isSecret":true}}}]}]}`
	for _, environ := range [][]string{nil, {"TOOLPIPE_INPUT_k=secret"}} {
		s, _ := read(t, text, environ...)
		if got := s.Command[len(s.Command)-1].Shown; got != "a${TOOLPIPE_INPUT_k}" {
			t.Errorf("%q: %s", environ, got)
		}
	}
}

func TestEnvironmentVariables(t *testing.T) {
	const list = `{"name":"A","isRequired":true},{"name":"B","default":"b"},{"name":"C"},{"name":"D","value":"d{x}","variables":{"x":{"default":1}}},{"name":"OPENAI_API_KEY"},{"name":"E","value":"fixed"}`
	text := `{"name":"a/b","packages":[{"registryType":"npm","identifier":"fs","environmentVariables":[` + list + `]}]}`
	if s, err := read(t, text, "B=", "OPENAI_API_KEY=key"); err != "x.json:1: the server needs variables that are not set: A" || !strings.Contains(notes(s), "left out: C, OPENAI_API_KEY (TOOLPIPE_INPUT_OPENAI_API_KEY)") {
		t.Errorf("%s\n%s", err, notes(s))
	}
	s, err := read(t, text, "A=a", "C=c", "E=e", "TOOLPIPE_INPUT_OPENAI_API_KEY=own")
	if got := line(s); err != "" || got != "A=a|B=b|C=c|D=d1|E=fixed|OPENAI_API_KEY=own|npx|-y|fs" {
		t.Errorf("%s %s", got, err)
	}
}

// Files of before 2025-09-16 have other names for the same.
func TestSnakeCase(t *testing.T) {
	s, err := read(t, `{"name":"a/b","version_detail":{"version":"1"},"packages":[{"registry_type":"npm","registry_base_url":"https://packages.test","identifier":"fs","version":"1",
		"runtime_hint":"npx","package_arguments":[{"type":"positional","value_hint":"dir","is_required":true,"is_repeated":true}],
		"environment_variables":[{"name":"K","is_required":true,"is_secret":true}]}]}`, "TOOLPIPE_INPUT_dir=x\ny", "K=k")
	if got := line(s); err != "" || got != "K=k|npx|-y|fs@1|x|y" || notes(s) != "" {
		t.Errorf("%s, %s, %s", got, err, notes(s))
	}
	s, err = read(t, `{"name":"a/b","remotes":[{"transport_type":"sse","url":"https://x.test/sse"}]}`)
	if got := line(s); err != "" || got != "https://x.test/sse" {
		t.Errorf("%s, %s", got, err)
	}
}

// TestWays: of several ways the first package whose runner is there, then a remote, then a package.
func TestWays(t *testing.T) {
	const npm, pypi, bundle = `{"registryType":"npm","identifier":"n","odd":1}`, `{"registryType":"pypi","identifier":"p"}`, `{"registryType":"mcpb","identifier":"m"}`
	const sse, http, ws = `{"type":"sse","url":"https://x.test/sse","odd":1}`, `{"type":"streamable-http","url":"https://x.test/mcp"}`, `{"type":"ws","url":"wss://x.test"}`
	for _, x := range []struct {
		packages, remotes string
		without           []string
		want, err         string
	}{
		{npm + "," + pypi, "", []string{"without npx"}, "uvx|p", ""},
		{bundle + "," + pypi, http, nil, "uvx|p", ""},
		{npm + "," + pypi, sse + "," + http, []string{"without npx", "without uvx"}, "https://x.test/mcp", ""},
		{pypi, "", []string{"without uvx"}, "uvx|p", ""},
		{bundle, "", nil, "m", "toolpipe downloads none"},
		{"", http + "," + sse, nil, "https://x.test/mcp", ""},
		{"", ws, nil, "wss://x.test", `the transport "ws" is unknown`},
		{"", `{"type":"sse"}`, nil, "?", "the remote has no url"},
	} {
		s, err := read(t, `{"$schema":"https://x.test/server.schema.json","name":"a/b","packages":[`+x.packages+`],"remotes":[`+x.remotes+`]}`, x.without...)
		if got := line(s); got != x.want || x.err == "" && err != "" || !strings.Contains(err, x.err) || notes(s) != "" {
			t.Errorf("%s %s: %s, %s, %s", x.packages, x.remotes, got, err, notes(s))
		}
	}
	if _, err := read(t, `{"$schema":"https://x.test/server.schema.json","name":"a/b"}`); !strings.Contains(err, "neither packages nor remotes") {
		t.Error(err)
	}
}

func TestRemotes(t *testing.T) {
	text := `{"name":"a/b","remotes":[{"type":"streamable-http","url":"https://{tenant}.x.test/{other}","variables":{"tenant":{"isRequired":true}},
		"headers":[{"name":"Authorization","value":"Bearer {key}","isRequired":true,"variables":{"key":{"isSecret":true}}},{"name":"X-Region"},{"name":"X-Fixed","value":"1"}]}]}`
	s, err := read(t, text)
	if !strings.HasSuffix(err, "not set: TOOLPIPE_INPUT_tenant, TOOLPIPE_INPUT_key") || s.URL.Shown != "https://${TOOLPIPE_INPUT_tenant}.x.test/{other}" {
		t.Errorf("%s, %s", err, s.URL.Shown)
	}
	s, err = read(t, text, "TOOLPIPE_INPUT_tenant=me", "TOOLPIPE_INPUT_key=k", "TOOLPIPE_INPUT_X_Region=eu")
	if got := line(s); err != "" || got != "Authorization: Bearer k|X-Fixed: 1|X-Region: eu|https://me.x.test/{other}" || !strings.Contains(notes(s), "unknown_variable") {
		t.Errorf("%s, %s, %s", got, err, notes(s))
	}
}

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		`{"server":{"name":"io.github.me/fs","remotes":[{"type":"sse","url":"https://x.test"}]},"_meta":{}}`: "fs",
		`{"name":"fs","packages":[{}]}`:              "fs",
		`{"packages":["packages/*"],"name":"lerna"}`: "none",
		`{"packages":[{}]}`:                          "none",
		`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"}`: "",
		`{"manifest_version":"0.3","name":"b","server":{}}`:                                          "b",
		`{"dxt_version":"0.1","name":"b","server":{}}`:                                               "b",
		`{"name":"b","server":{"mcp_config":{}}}`:                                                    "b",
		`{"name":"b","server":"x"}`:                                                                  "none",
		`{"manifest_version":3,"name":"a browser's extension"}`:                                      "none",
		`{"servers":[{"server":{"name":"a/b","remotes":[{}]}}]}`:                                     "this is a list of the registry, with 1 servers",
		`[]`: "none", `"x"`: "none", `{"server":{"name":1,"packages":[{}]}}`: "none", `{"server":null,"packages":null,"servers":null}`: "none",
	} {
		v, err := document.Parse("x.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d, ok, err := Find(v)
		got := d.Name
		if err != nil {
			got = err.Error()
		} else if !ok {
			got = "none"
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// FuzzDescriptor: nothing that is JSON makes it panic, and what has no error has a command or a URL.
func FuzzDescriptor(f *testing.F) {
	f.Add(`{"name":"a/b","packages":[{"registryType":"npm","identifier":"fs","packageArguments":[{"type":"named","name":"-e","value":"A={a}","variables":{"a":{}}}]}]}`)
	f.Add(`{"manifest_version":"0.3","name":"b","server":{"mcp_config":{"command":"x","args":["${user_config.a}","${__dirname}"],"env":{"E":"${HOME"}}},"user_config":{"a":{"multiple":true}}}`)
	f.Add(`{"name":"a/b","remotes":[{"type":"sse","url":"https://{x}/"}],"_meta":{"io.modelcontextprotocol.registry/official":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := document.Parse("x.json", []byte(text))
		if err != nil {
			return
		}
		if _, ok, err := Find(v); err != nil || !ok {
			return
		}
		if s, err := read(t, text, "A=1"); err == "" && len(s.Command) == 0 && s.URL.Value == "" {
			t.Errorf("%s: nothing to start or to reach", text)
		}
	})
}
