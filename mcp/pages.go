package mcp

import (
	"context"
	"errors"
	"fmt"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

const (
	maxPages     = 100
	maxItems     = 10_000        // of one list
	maxListBytes = wire.MaxFrame // bytes of the items of one list
	maxCursor    = 64 << 10      // bytes of a cursor, as received
)

type List struct {
	Method     string
	Key        string // of the items in a page
	Identity   string // the member that identifies an item
	capability string
}

var (
	toolList  = List{"tools/list", "tools", "name", "tools"}
	Resources = List{"resources/list", "resources", "uri", "resources"}
	Templates = List{"resources/templates/list", "resourceTemplates", "uriTemplate", "resources"}
	Prompts   = List{"prompts/list", "prompts", "name", "prompts"}
)

// Items lists all pages and passes each item to visit as received. A server that does not
// declare the list has no items and is not asked: some servers never answer an unknown
// method.
func (s *Session) Items(ctx context.Context, l List, visit func(item []byte)) error {
	if !s.has(l.capability) {
		return nil
	}
	ctx, _, stop := s.watch(ctx)
	defer stop()
	if err := s.allPages(ctx, l, visit); err != nil {
		return s.failed(l.Method, err)
	}
	return nil
}

// allPages is Items without its deadlines. It also stops when a cursor repeats or a page has
// only items that came before, since some servers' lists never end. An empty page does not
// stop it: a filter of the server may cause one. Items over the limits are left out with the
// warning "list_cut".
func (s *Session) allPages(ctx context.Context, l List, visit func(item []byte)) error {
	params := []byte("{}")
	cursors, known := map[string]bool{}, map[string]bool{}
	items, size := 0, 0
	for range maxPages {
		page, err := s.conn.exchange(ctx, s.request(l.Method, params, nil))
		if err == nil {
			err = checkComplete(page)
		}
		if err != nil {
			refused, ok := errors.AsType[*wire.RPCError](err)
			if ok && (refused.Code == wire.CodeMethodNotFound || !s.has(l.capability)) {
				return nil
			}
			return err
		}
		news, empty := false, true
		for item := range jsontext.Elements(jsontext.Member(page, l.Key)) {
			empty = false
			items++
			size += len(item)
			if items > maxItems || size > maxListBytes {
				s.warnCut(l, fmt.Sprintf("%d entries or %d MiB", maxItems, maxListBytes>>20))
				return nil
			}
			id := jsontext.Text(jsontext.Member(item, l.Identity))
			news = news || !known[id]
			known[id] = true
			visit(item)
		}
		cursor := jsontext.Member(page, "nextCursor")
		next := jsontext.Text(cursor)
		switch {
		case len(cursor) > maxCursor:
			s.warnCut(l, fmt.Sprintf("%d KiB in a cursor", maxCursor>>10))
			return nil
		case jsontext.Kind(cursor) != '"', next == "" && s.isLegacy():
			return nil
		case cursors[next], !news && !empty:
			s.report.log(l.Method + ": the server's list has no end, what came is used")
			return nil
		}
		cursors[next] = true
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	s.warnCut(l, fmt.Sprintf("%d pages", maxPages))
	return nil
}

func (s *Session) warnCut(l List, limit string) {
	s.warnOnce("list_cut "+l.Method, "list_cut", fmt.Sprintf("server %q: %s has more than %s, the rest is left out", s.spec.Name, l.Method, limit))
}

// resultType is the kind of a result. Legacy servers send no resultType.
func resultType(result []byte) string {
	if t := jsontext.Member(result, "resultType"); t != nil {
		return jsontext.Text(t)
	}
	return "complete"
}

func checkComplete(result []byte) error {
	if t := resultType(result); t != "complete" {
		return fmt.Errorf("the server answered with the result type %q, which was not requested", t)
	}
	return nil
}
