package descriptor

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/document"
)

const (
	packageKeys = "registryType registryBaseUrl identifier version fileSha256 runtimeHint transport runtimeArguments packageArguments " +
		"environmentVariables postInstallInstructions"
	remoteKeys = "type transportType url headers variables description"
)

// isRegistry reports whether an object is a server.json: by its schema, or by what it has to have.
func isRegistry(v document.Value) bool {
	if strings.Contains(text(v, "$schema"), "server.schema.json") {
		return true
	}
	for _, key := range []string{"packages", "remotes"} {
		if list, ok := v.Get(key); ok && text(v, "name") != "" && slices.ContainsFunc(list.Elements(), func(e document.Value) bool { return e.Kind() == '{' }) {
			return true
		}
	}
	return false
}

// unwrapped is the server.json in an answer of the registry's API.
func unwrapped(v document.Value) document.Value {
	if inner, ok := v.Get("server"); ok && isRegistry(inner) {
		return inner
	}
	return v
}

// lastPart is the last part of reverse.dns/name.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// registry reads a server.json: of its packages the first that is spoken to over stdio and of which the runner is
// installed, else a remote, else a package of which the runner is not installed.
func (r *reader) registry() error {
	v := unwrapped(r.at)
	r.sayStatus(v)
	packages, remotes := elements(v, "packages"), elements(v, "remotes")
	ways := len(packages) + len(remotes)
	var first *pack
	var refused error
	for _, e := range packages {
		p, err := r.pack(e)
		if err == nil && r.Installed(p.program) {
			r.sayChoice(v, p.what, ways)
			return r.start(p)
		}
		if err == nil && first == nil {
			first = p
		}
		refused = cmp.Or(refused, err)
	}
	switch {
	case len(remotes) > 0:
		return r.reach(v, remotes, ways)
	case first != nil:
		r.sayChoice(v, first.what, ways)
		return r.start(first)
	case refused != nil:
		return refused
	}
	return r.at.Errorf("it has neither packages nor remotes, so that nothing says how the server is started or reached")
}

// elements are those of a member that is a list.
func elements(v document.Value, key string) []document.Value {
	list, ok := v.Get(key)
	if !ok {
		return nil
	}
	return list.Elements()
}

// sayStatus warns of a server that the registry has given up.
func (r *reader) sayStatus(v document.Value) {
	status := text(v, "status")
	if meta, ok := r.at.Get("_meta"); ok {
		if official, ok := meta.Get("io.modelcontextprotocol.registry/official"); ok {
			status = cmp.Or(text(official, "status"), status)
		}
	}
	if status != "" && status != "active" {
		r.note("server_status", "the registry calls this server %q", status)
	}
}

// sayChoice notes what is used of a server.json.
func (r *reader) sayChoice(v document.Value, what string, ways int) {
	of := ""
	if ways > 1 {
		of = ", the one that is used of " + strconv.Itoa(ways)
	}
	r.note(Detail, "%s %s: %s%s", text(v, "name"), text(v, "version"), what, of)
}

// A pack is a package of server.json that can be started.
type pack struct {
	fields  fields
	kind    string // npm, pypi, nuget or oci
	program string // the runner
	word    string // the package as the runner takes it
	what    string // it for people
	notes   []Note // about it
}

// pack reads a package. Without an error it can be started if its runner is there.
func (r *reader) pack(v document.Value) (*pack, error) {
	noted := len(r.Notes)
	all, err := r.fields(v, packageKeys)
	if err != nil {
		return nil, err
	}
	p := &pack{fields: all, notes: slices.Clone(r.Notes[noted:])}
	r.Notes = r.Notes[:noted]
	var id, version, hint string
	r.Command = literals(cmp.Or(all.text("identifier"), "?"))
	if err := all.fill(map[string]any{"registryType": &p.kind, "identifier": &id, "version": &version, "runtimeHint": &hint}); err != nil {
		return nil, err
	}
	_, older := v.Get("registry_name")
	switch {
	case older:
		return nil, v.Errorf("registry_name is of a form of server.json that is older than 2025-07-09, which is not read")
	case id == "" || id[0] == '-':
		return nil, v.Errorf("identifier is not the name of a package")
	case p.kind == "mcpb":
		err := v.Errorf("the package is a bundle, and toolpipe downloads none")
		err.Hints = []string{"download " + strconv.Quote(id) + ", compare its SHA-256 with fileSha256, unpack it with unzip, and give its manifest.json to --mcp-config"}
		return nil, err
	}
	if p.program, p.word, err = runner(v, p.kind, id, version); err != nil {
		return nil, err
	}
	// Some name the language in place of what fetches and starts a package.
	if !slices.Contains([]string{"", "node", "python", "python3", "uv", "dotnet"}, hint) {
		p.program = hint
	}
	p.what = p.kind + " package " + p.word
	return p, checkPack(p)
}

// runner is the program that starts a package, and the package as it takes it.
func runner(v document.Value, kind, id, version string) (program, word string, err error) {
	at := ""
	if version != "" {
		at = "@" + version
	}
	switch kind {
	case "npm":
		return "npx", id + at, nil
	case "pypi": // uvx takes pkg@1.2, and not pkg==1.2 (microsoft/vscode#283572)
		return "uvx", id + at, nil
	case "nuget":
		return "dnx", id + at, nil
	case "oci", "docker":
		return "docker", image(v, id, version), nil
	}
	return "", "", v.Errorf("packages of registryType %q are not known; npm, pypi, nuget and oci are", kind)
}

// image is the name of a container image. Files of before 2025-10-11 have its registry and its tag apart.
func image(v document.Value, id, version string) string {
	base := cmp.Or(text(v, "registryBaseUrl"), text(v, "registry_base_url"))
	if u, err := url.Parse(base); err == nil && u.Host != "" && !strings.HasPrefix(id, u.Host+"/") {
		id = u.Host + "/" + id
	}
	switch tagged := strings.ContainsAny(id[strings.LastIndexByte(id, '/')+1:], ":@"); {
	case tagged || version == "":
		return id
	case strings.HasPrefix(version, "sha256:"):
		return id + "@" + version
	}
	return id + ":" + version
}

// checkPack refuses a package that is spoken to over HTTP.
func checkPack(p *pack) error {
	if t, ok := p.fields["transport"]; ok {
		if kind := text(t, "type"); kind != "stdio" {
			return t.Errorf("the package is started and then spoken to over %q, which is not supported for packages; stdio is", kind)
		}
	}
	return nil
}

// start is the command of a package, in the order of VS Code: what the runner wants, runtimeArguments, the package,
// packageArguments.
func (r *reader) start(p *pack) error {
	r.Notes = append(r.Notes, p.notes...)
	if base := p.fields.text("registryBaseUrl"); base != "" && p.kind != "oci" && p.kind != "docker" {
		r.note(Detail, "the file names the registry %s, and %s fetches packages from the one that it is configured for", base, p.program)
	}
	before, err := r.arguments(p.fields["runtimeArguments"])
	if err != nil {
		return err
	}
	after, err := r.arguments(p.fields["packageArguments"])
	if err != nil {
		return err
	}
	names, env, err := r.pairs(p.fields["environmentVariables"], func(name string) string {
		if r.Withheld(name) {
			return inputVariable(name)
		}
		return name
	})
	if err != nil {
		return err
	}
	r.Env = values(env)
	r.Command = literals(p.program)
	add := func(words ...Text) { r.Command = append(r.Command, words...) }
	is := func(words ...string) bool {
		return len(before) > 0 && slices.Contains(words, before[0].Value)
	}
	switch base := path.Base(p.program); {
	case base == "npx" && !is("-y", "--yes"): // else it would ask
		add(literal("-y"))
	case base == "pipx" && !is("run"):
		add(literal("run"))
	case p.kind == "oci" || p.kind == "docker":
		add(literals("run", "-i", "--rm")...)
		if is("run") {
			before = before[1:]
		}
	}
	add(before...)
	if p.kind == "oci" || p.kind == "docker" {
		for _, name := range names {
			add(literals("-e", name)...)
		}
	}
	add(literal(p.word))
	if p.kind == "nuget" {
		if add(literal("--yes")); len(after) > 0 {
			add(literal("--"))
		}
	}
	add(after...)
	return nil
}

// reach is the first remote over Streamable HTTP, else the first over SSE.
func (r *reader) reach(v document.Value, remotes []document.Value, ways int) error {
	best, kind := remotes[0], ""
	r.Command, r.URL = nil, literal(text(best, "url"))
	for _, e := range remotes {
		switch k := cmp.Or(text(e, "type"), text(e, "transport_type")); {
		case k != "streamable-http" && k != "streamable" && k != "http" && k != "sse":
			return e.Errorf("the transport %q is unknown; streamable-http and sse are known", k)
		case kind == "" || kind == "sse" && k != "sse":
			best, kind = e, k
		}
	}
	all, err := r.fields(best, remoteKeys)
	if err != nil {
		return err
	}
	in := input{at: best, name: "url", value: all.text("url"), flags: flags{required: true}}
	if in.value == "" {
		return best.Errorf("the remote has no url")
	}
	r.URL = literal(in.value)
	r.sayChoice(v, "the remote "+in.value, ways)
	if list, ok := all["variables"]; ok {
		in.variables = list.Members()
	}
	found, err := r.resolve(in)
	if err != nil {
		return err
	}
	known := map[string]Text{}
	for _, m := range in.variables {
		known[m.Key] = Text{}
	}
	if left := fill(in.value, known).Value; strings.Contains(left, "{") {
		r.note("unknown_variable", "the url has something in braces that is none of its variables, and stays as it is")
	}
	r.URL = found[0]
	_, headers, err := r.pairs(all["headers"], inputVariable)
	r.Headers = values(headers)
	return err
}

// values are the values of texts.
func values(texts map[string]Text) map[string]string {
	all := map[string]string{}
	for name, t := range texts {
		all[name] = t.Value
	}
	return all
}
