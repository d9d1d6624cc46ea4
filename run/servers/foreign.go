package servers

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream/goroutine"
)

// serverPlaces are the paths of keys that contain servers in files of other hosts. A file may have
// several of them, and all are read.
var serverPlaces = [][]string{
	{"mcpServers"},                     // Claude, Cursor, Gemini, Windsurf, Cline, Roo, Copilot
	{"servers"},                        // VS Code's mcp.json, JetBrains
	{"mcp", "servers"},                 // VS Code's settings.json
	{"mcp"},                            // opencode
	{"context_servers"},                // Zed
	{"amp.mcpServers"},                 // Amp
	{"github.copilot.chat.mcpServers"}, // VS Code's settings.json, for Copilot
}

const formHint = `the file is of the form {"mcpServers":{"NAME":{"command":"…","args":["…"]}}}`

// A hostFile is a file of --mcp-config.
type hostFile struct {
	c    *config.Config
	dir  string   // its directory, absolute; "" if it is no file, such as standard input
	keys []string // variables with a model's key
	warn config.Warner
}

// loadServers reads a file of --mcp-config; "-" is standard input.
func loadServers(ctx context.Context, c *config.Config, file string, keys []string, stdin io.Reader, warn config.Warner) ([]Server, error) {
	doc, err := readHostFile(ctx, c, file, stdin, warn)
	if err != nil {
		return nil, err
	}
	h := &hostFile{c: c, keys: keys, warn: warn}
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		if abs, err := filepath.Abs(file); err == nil {
			h.dir = filepath.Dir(abs)
		}
	}
	if named, ok := doc.Get("mcpServers"); ok && named.Kind() == '"' {
		return h.readNamed(ctx, named)
	}
	if servers, found, err := h.placed(doc); found || err != nil {
		return servers, err
	}
	hints := describedHints(file, func(key string) bool { _, ok := doc.Get(key); return ok })
	if hints == nil {
		hints = []string{formHint}
	}
	return nil, failure.UsageError(hints, "%s: has no servers in a known form: "+
		"an object mcpServers, servers, mcp, context_servers or amp.mcpServers, or a bare one", doc.Doc.Name())
}

func (h *hostFile) placed(doc document.Value) (all []Server, found bool, err error) {
	places := serverPlacesOf(doc)
	for _, v := range places {
		servers, err := parseAll(entry{c: h.c, host: host{h.root(), isOfGemini(v.Doc), h.keys}}, v)
		if err != nil {
			return nil, false, err
		}
		all = append(all, servers...)
	}
	return all, len(places) > 0, nil
}

// root is the directory of the plugin that the file belongs to. The manifest of a plugin is in a
// subdirectory such as .claude-plugin, and its paths are relative to the plugin's directory.
func (h *hostFile) root() string {
	if isManifest, _ := filepath.Match(".*-plugin", filepath.Base(h.dir)); isManifest {
		return filepath.Dir(h.dir)
	}
	return h.dir
}

// readNamed reads the file of servers that the manifest of a plugin names.
func (h *hostFile) readNamed(ctx context.Context, v document.Value) ([]Server, error) {
	name := v.Text()
	if h.dir == "" || !filepath.IsLocal(name) {
		return nil, v.Errorf("%s is not a file below the directory of this one", v.Short())
	}
	what := v.Place()
	data, err := goroutine.AwaitResult(ctx, func() ([]byte, error) {
		root, err := os.OpenRoot(h.root()) // symbolic links cannot lead out of it
		if err != nil {
			return nil, config.OpenError(what, h.root(), err)
		}
		defer root.Close()
		f, err := root.OpenFile(name, os.O_RDONLY|stdio.OpenNonblock, 0)
		if err != nil {
			return nil, config.OpenError(what, name, err)
		}
		defer f.Close()
		return config.RuleFile.ReadFrom(h.c, f, what, filepath.Join(h.root(), name), config.MaxRuleFile, h.warn)
	})
	if err != nil {
		return nil, err
	}
	doc, err := document.Parse(filepath.Join(filepath.Dir(v.Doc.Name()), name), document.WithoutComments(data))
	if err != nil {
		return nil, err
	}
	servers, found, err := h.placed(doc)
	if err == nil && !found {
		err = failure.UsageError([]string{formHint}, "%s: contains no servers", doc.Doc.Name())
	}
	return servers, err
}

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

// isOfGemini reports whether a file belongs to Gemini, in a directory .gemini.
func isOfGemini(d *document.Document) bool {
	abs, err := filepath.Abs(d.Name())
	return err == nil && strings.Contains(abs, "/.gemini/")
}

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

// readHostFile reads a file of another host. Hosts accept comments, trailing commas and a byte
// order mark.
func readHostFile(ctx context.Context, c *config.Config, file string, stdin io.Reader, warn config.Warner) (v document.Value, err error) {
	var data []byte
	name := file
	if file == "-" {
		name = "standard input"
		data, err = goroutine.AwaitResult(ctx, func() ([]byte, error) { return config.ReadBehind("", stdin, "--mcp-config: "+name, config.MaxRuleFile) })
	} else {
		data, err = goroutine.AwaitResult(ctx, func() ([]byte, error) {
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
	failure.Of(err).Hints = []string{formHint}
	if format, hints := formatHints(file, string(data)); format != "" {
		if hints == nil {
			hints = []string{formHint}
		}
		err = failure.UsageError(hints, "--mcp-config: %s is %s; only JSON is read", config.ShellQuote(name), format)
	}
	return v, err
}
