package servers

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
)

// serverPlaces are the paths of keys at which the files of other hosts have their
// servers. A file may have several of them, and all are read.
var serverPlaces = [][]string{
	{"mcpServers"},      // Claude, Cursor, Gemini, Windsurf, Cline, Roo, Copilot
	{"servers"},         // VS Code's mcp.json, JetBrains
	{"mcp", "servers"},  // VS Code's settings.json
	{"mcp"},             // opencode
	{"context_servers"}, // Zed
	{"amp.mcpServers"},  // Amp
}

const formHint = `the file is of the form {"mcpServers":{"NAME":{"command":"…","args":["…"]}}}`

// loadServers reads a file of --mcp-config; "-" is standard input.
func loadServers(ctx context.Context, c *config.Config, file string, keys []string, stdin io.Reader, warn config.Warner) ([]Server, error) {
	doc, err := readHostFile(ctx, c, file, stdin, warn)
	if err != nil {
		return nil, err
	}
	var all []Server
	places := serverPlacesOf(doc)
	for _, v := range places {
		servers, err := Parse(c, v, false, keys)
		if err != nil {
			return nil, err
		}
		all = append(all, servers...)
	}
	if len(places) == 0 {
		return nil, failure.UsageError([]string{formHint},
			"%s: holds no servers in a form that is read: an object mcpServers, servers, mcp, context_servers or amp.mcpServers, or a bare one", doc.Doc.Name())
	}
	return all, nil
}

// serverPlacesOf are the objects of servers in a file.
func serverPlacesOf(v document.Value) (places []document.Value) {
	for _, place := range serverPlaces {
		at, ok := v, true
		for _, key := range place {
			if ok {
				at, ok = at.Get(key)
			}
		}
		nested := slices.ContainsFunc(places, func(p document.Value) bool { return at.From <= p.From && p.To <= at.To })
		if ok && at.Kind() == '{' && !nested {
			places = append(places, at)
		}
	}
	if len(places) == 0 && isBareMap(v) {
		return []document.Value{v}
	}
	return places
}

// isOfGemini reports whether a file is one of Gemini, in a directory .gemini.
func isOfGemini(d *document.Document) bool {
	abs, err := filepath.Abs(d.Name())
	return err == nil && strings.Contains(abs, "/.gemini/")
}

// isBareMap reports whether an object is one of servers itself.
func isBareMap(v document.Value) bool {
	for _, m := range v.Members() {
		_, command := m.Get("command")
		_, url := m.Get("url")
		if !command && !url {
			return false
		}
	}
	return len(v.Members()) > 0
}

// readHostFile reads a file as another host has it. Hosts accept comments,
// trailing commas and a byte order mark.
func readHostFile(ctx context.Context, c *config.Config, file string, stdin io.Reader, warn config.Warner) (v document.Value, err error) {
	var data []byte
	name := file
	if file == "-" {
		name = "standard input"
		data, err = stdio.Await(ctx, func() ([]byte, error) { return config.ReadLimited(stdin, "--mcp-config: "+name, config.MaxRuleFile) })
	} else {
		data, err = stdio.Await(ctx, func() ([]byte, error) {
			return config.PipeOrRuleFile.Read(c, "--mcp-config", file, config.MaxRuleFile, warn)
		})
	}
	if err != nil {
		return document.Value{}, err
	}
	v, err = document.Parse(name, document.WithoutComments(data))
	if err == nil {
		return v, nil
	}
	format := map[string]string{".toml": "TOML", ".yaml": "YAML", ".yml": "YAML"}[strings.ToLower(filepath.Ext(file))]
	if format != "" {
		err = failure.Usage("--mcp-config: %s is %s; only JSON is read", config.ShellQuote(name), format)
	}
	failure.Of(err).Hints = []string{formHint}
	return v, err
}
