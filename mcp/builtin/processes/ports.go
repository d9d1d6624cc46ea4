package processes

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

const maxURLs = 20

func findPorts(_ context.Context, p *program, _ toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	b := fmt.Appendf(nil, "[toolpipe] %s\n", p.describe())
	pids, err := p.process.Tree()
	var sockets []string
	if err == nil {
		sockets, err = listening(pids)
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		b = append(b, "[toolpipe] this system does not report on which sockets it listens\n"...)
	case err != nil:
		b = fmt.Appendf(b, "[toolpipe] the sockets on which it listens are not known: %v\n", err)
	case len(sockets) == 0:
		b = append(b, "[toolpipe] it listens on no TCP port\n"...)
	default:
		b = fmt.Appendf(b, "[toolpipe] it listens on\n%s\n", strings.Join(sockets, "\n"))
	}
	if urls := p.urls(); len(urls) > 0 {
		b = fmt.Appendf(b, "[toolpipe] URLs in its output\n%s\n", strings.Join(urls, "\n"))
	}
	return toolserver.TextResult(b), nil
}

// urls are the first maxURLs different URLs in the output.
func (p *program) urls() (all []string) {
	url := regexp.MustCompile(`https?://[^\s"'<>` + "`" + `\\|{}^]{1,500}`)
	for next, size := int64(0), p.out.Size(); next < size; {
		b, at := p.out.From(next, keptHead+keptTail)
		next = at + int64(len(b))
		text, _ := plain(b)
		for _, found := range url.FindAll(text, 1000) {
			u := strings.TrimRight(string(found), ".,;:!?)]")
			if !slices.Contains(all, u) {
				all = append(all, u)
			}
			if len(all) == maxURLs {
				return all
			}
		}
	}
	return all
}
