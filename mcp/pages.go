package mcp

import (
	"context"
	"errors"
	"fmt"

	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

const (
	maxPages     = 100
	maxItems     = 10_000        // of one list
	maxListBytes = wire.MaxFrame // bytes of the items of one list
	maxCursor    = 64 << 10      // bytes of a cursor, as it came
)

// errEnough ends a listing early without failing it.
var errEnough = errors.New("enough")

// A List is one of a server's lists beside that of its tools.
type List struct {
	Method     string
	Key        string // of the items in a page
	Identity   string // the member that tells items apart
	capability string
}

var (
	Resources = List{"resources/list", "resources", "uri", "resources"}
	Templates = List{"resources/templates/list", "resourceTemplates", "uriTemplate", "resources"}
	Prompts   = List{"prompts/list", "prompts", "name", "prompts"}
)

// Items lists all pages and passes each item to visit as it came. A server that does
// not have the list has no items.
func (s *Session) Items(ctx context.Context, l List, visit func(item []byte)) error {
	ctx, watch := s.watch(ctx)
	defer watch.stop()
	err := s.allPages(ctx, l.Method, l.Key, l.Identity, func(item []byte) error {
		visit(item)
		return nil
	})
	if err != nil && !s.notOffered(l.capability, err) {
		return s.failed(l.Method, err)
	}
	return nil
}

// allPages lists all pages of method and passes each item under key to visit.
// identity is the member that tells items apart. It also ends where a cursor
// comes again, or a page has only items that came before, as with servers whose
// list has no end; an empty page, which a filter of the server may leave, does
// not end it. Items beyond the limits are left out with the warning "list_cut".
func (s *Session) allPages(ctx context.Context, method, key, identity string, visit func(item []byte) error) error {
	params := []byte("{}")
	cursors, known := map[string]bool{}, map[string]bool{}
	items, size := 0, 0
	for range maxPages {
		raw, err := s.roundTrip(ctx, s.request(method, params))
		if err != nil {
			return err
		}
		if err := checkComplete(raw); err != nil {
			return err
		}
		news, empty := false, true
		for item := range jsontext.Elements(jsontext.Member(raw, key)) {
			empty = false
			items++
			size += len(item)
			if items > maxItems || size > maxListBytes {
				s.warnCut(method, fmt.Sprintf("%d entries or %d MiB", maxItems, maxListBytes>>20))
				return nil
			}
			id := jsontext.Text(jsontext.Member(item, identity))
			news = news || !known[id]
			known[id] = true
			if err := visit(item); err != nil {
				if errors.Is(err, errEnough) {
					return nil
				}
				return err
			}
		}
		cursor := jsontext.Member(raw, "nextCursor")
		if len(cursor) > maxCursor {
			s.warnCut(method, fmt.Sprintf("%d KiB in a cursor", maxCursor>>10))
			return nil
		}
		next := jsontext.Text(cursor)
		switch {
		case jsontext.Kind(cursor) != '"', next == "" && !s.modern:
			return nil
		case cursors[next], !news && !empty:
			s.report.log(method + ": the server's list has no end, what came is used")
			return nil
		}
		cursors[next] = true
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	s.warnCut(method, fmt.Sprintf("%d pages", maxPages))
	return nil
}

func (s *Session) warnCut(what, limit string) {
	s.warnOnce("list_cut "+what, "list_cut", fmt.Sprintf("server %q: %s has more than %s, the rest is left out", s.spec.Name, what, limit))
}

// checkComplete returns an error unless a result is complete. Legacy servers send
// no resultType.
func checkComplete(result []byte) error {
	if t := jsontext.Member(result, "resultType"); t != nil && jsontext.Text(t) != "complete" {
		return &incompleteResult{jsontext.Text(t)}
	}
	return nil
}

// incompleteResult is a result whose resultType is not "complete".
type incompleteResult struct{ resultType string }

func (e *incompleteResult) Error() string {
	return fmt.Sprintf("the server answered with the result type %q, which was not asked for", e.resultType)
}

// notOffered says whether a list failed because the server does not have that
// capability.
func (s *Session) notOffered(capability string, err error) bool {
	e, ok := errors.AsType[*wire.RPCError](err)
	return ok && (e.Code == wire.CodeMethodNotFound || !s.has(capability))
}
