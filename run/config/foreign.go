package config

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream/text/jsontext"
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
func (c *Config) loadServers(ctx context.Context, file string, keys []string, stdin io.Reader, warn Warner) ([]Server, error) {
	doc, err := c.readHostFile(ctx, file, stdin, warn)
	if err != nil {
		return nil, err
	}
	var all []Server
	places := doc.serverPlaces()
	for _, v := range places {
		servers, err := parseServers(c, v, false, keys)
		if err != nil {
			return nil, err
		}
		all = append(all, servers...)
	}
	if len(places) == 0 {
		return nil, failure.UsageError([]string{formHint},
			"%s: holds no servers in a form that is read: an object mcpServers, servers, mcp, context_servers or amp.mcpServers, or a bare one", doc.Doc.name)
	}
	return all, nil
}

// serverPlaces are the objects of servers in a file.
func (v Value) serverPlaces() (places []Value) {
	for _, place := range serverPlaces {
		at, ok := v, true
		for _, key := range place {
			if ok {
				at, ok = at.Get(key)
			}
		}
		nested := slices.ContainsFunc(places, func(p Value) bool { return at.From <= p.From && p.To <= at.To })
		if ok && at.Kind() == '{' && !nested {
			places = append(places, at)
		}
	}
	if len(places) == 0 && v.isBareMap() {
		return []Value{v}
	}
	return places
}

// isOfGemini reports whether a file is one of Gemini, in a directory .gemini.
func (d *Document) isOfGemini() bool {
	abs, err := filepath.Abs(d.name)
	return err == nil && strings.Contains(abs, "/.gemini/")
}

// isBareMap reports whether an object is one of servers itself.
func (v Value) isBareMap() bool {
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
func (c *Config) readHostFile(ctx context.Context, file string, stdin io.Reader, warn Warner) (v Value, err error) {
	var data []byte
	name := file
	if file == "-" {
		name = "standard input"
		data, err = stdio.Await(ctx, func() ([]byte, error) { return ReadLimited(stdin, "--mcp-config: "+name, MaxRuleFile) })
	} else {
		data, err = stdio.Await(ctx, func() ([]byte, error) { return pipeOrRuleFile.Read(c, "--mcp-config", file, MaxRuleFile, warn) })
	}
	if err != nil {
		return Value{}, err
	}
	v, err = ParseDocument(name, withoutComments(data))
	if err == nil {
		return v, nil
	}
	format := map[string]string{".toml": "TOML", ".yaml": "YAML", ".yml": "YAML"}[strings.ToLower(filepath.Ext(file))]
	if format != "" {
		err = failure.Usage("--mcp-config: %s is %s; only JSON is read", ShellQuote(name), format)
	}
	failure.Of(err).Hints = []string{formHint}
	return v, err
}

// withoutComments returns a JSON text with blanks instead of its byte order
// mark, its comments and the commas before a closing bracket, so that all else
// keeps its place.
func withoutComments(data []byte) []byte {
	if jsontext.Check(data, jsontext.Options{DuplicateNames: true}) == nil {
		return data // as most are; the expression below would cost a millisecond
	}
	out := slices.Clone(data)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		blank(0, 3)
	}
	tokens := regexp.MustCompile(`(?s)"(?:\\.|[^"\\])*"?|//[^\n]*|/\*.*?\*/|\S`)
	comma := -1 // the last comma, as long as nothing but blanks and comments follows it
	before := byte('[')
	for _, at := range tokens.FindAllIndex(out, -1) {
		switch c := out[at[0]]; {
		case c == '/' && at[1]-at[0] > 1:
			blank(at[0], at[1])
		case c == ',' && before != '[' && before != '{' && before != ',':
			comma, before = at[0], ','
		default:
			if comma >= 0 && (c == ']' || c == '}') {
				out[comma] = ' '
			}
			comma, before = -1, c
		}
	}
	return out
}

// commentHint is for a text that would be JSON without comments, trailing
// commas and byte order mark; nil where it would not.
func commentHint(data []byte) []string {
	if jsontext.Check(withoutComments(data), jsontext.Options{}) != nil {
		return nil
	}
	return []string{"comments, trailing commas and a byte order mark are accepted only in the files of --mcp-config"}
}
