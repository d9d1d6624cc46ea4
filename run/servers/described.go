package servers

import (
	"cmp"
	"os"
	"runtime"
	"slices"

	"toolpipe/mcp"
	"toolpipe/mcp/process"
	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/servers/descriptor"
)

// describedServer is the server that a server.json or the manifest.json of a bundle describes. dir is the directory
// of the file, "" for none.
func describedServer(c *config.Config, d descriptor.Description, dir string, keys []string) (Server, error) {
	e := &entry{c: c, host: host{keys: keys}, Server: Server{Spec: mcp.Spec{Name: d.Name}, origin: d.At.Origin()}}
	if d.Name == "" {
		return e.Server, d.At.Errorf("the server has no name")
	}
	if CheckName(d.Name, "") != nil {
		e.Spelling = d.Name
	}
	here, err := os.Getwd()
	if err != nil {
		return e.Server, d.At.Errorf("the working directory: %s", failure.Cause(err))
	}
	found, err := d.Read(descriptor.Machine{
		System: runtime.GOOS, Home: c.Getenv("HOME"), Dir: dir, Here: here,
		Withheld: func(name string) bool { return slices.Contains(keys, name) },
		Installed: func(program string) bool {
			_, err := process.LookPath(program, c.Environ)
			return err == nil
		},
		Variable: func(at document.Value, name string, secret bool) (string, error) {
			value, _, err := e.variable(at, name)
			if err == nil && secret {
				e.variables[name] = variable{value, true}
			}
			return value, err
		},
	})
	for i, word := range found.Command {
		if i == 0 {
			e.Command, e.command = []string{word.Value}, []string{word.Shown}
		} else {
			e.words, e.args = append(e.words, word.Value), append(e.args, word.Shown)
		}
	}
	e.Env, e.Dir, e.Headers = found.Env, found.Dir, found.Headers
	e.URL, e.Shown = found.URL.Value, found.URL.Shown
	for _, n := range found.Notes {
		e.warn(n.Code, n.Message)
	}
	if err := cmp.Or(e.contain(err), e.contain(e.finish(d.At))); err != nil {
		return e.Server, err
	}
	return e.Server, nil
}

// Details say what of a description the server is made of, and what was left out; nothing for a server of any other file.
func (s *Server) Details() (all []string) {
	for _, n := range s.notes {
		if n.code == descriptor.Detail {
			all = append(all, n.message)
		}
	}
	return all
}
