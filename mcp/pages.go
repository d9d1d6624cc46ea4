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

// errListed ends a listing early without failing it.
var errListed = errors.New("enough")

// pages lists what method lists under key, page by page, and shows each item
// to visit. identity names the member that tells items apart. It ends where
// the server says so, and also where a cursor comes again or a page brings
// only what came before, as servers without an end do; one that is empty, as a
// filter of the server's may leave it, ends nothing. What is beyond the limits
// above is left out with the warning "list_cut". It has the time of a call.
func (s *Session) pages(ctx context.Context, method, key, identity string, visit func(item []byte) error) error {
	ctx, watch := s.watch(ctx)
	defer watch.stop()
	return s.allPages(ctx, method, key, identity, visit)
}

// allPages is pages with the time that ctx has.
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
				if errors.Is(err, errListed) {
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
	s.report.warn("list_cut", fmt.Sprintf("server %q: %s has more than %s, the rest is left out", s.spec.Name, what, limit))
}

// checkComplete says whether a result is a whole one: an unknown resultType is an
// invalid answer, none is a legacy server's.
func checkComplete(result []byte) error {
	switch t := jsontext.Member(result, "resultType"); {
	case t == nil, jsontext.Text(t) == "complete":
		return nil
	default:
		return &incompleteResult{jsontext.Text(t)}
	}
}

// incompleteResult is a result that is not whole.
type incompleteResult struct{ resultType string }

func (e *incompleteResult) Error() string {
	return fmt.Sprintf("the server answered with the result type %q, which was not asked for", e.resultType)
}

// notOffered says whether a list failed because the server has no such
// thing and does not claim to.
func (s *Session) notOffered(capability string, err error) bool {
	s.mu.Lock()
	offered := s.offers[capability]
	s.mu.Unlock()
	e, ok := errors.AsType[*wire.RPCError](err)
	return ok && (e.Code == wire.CodeMethodNotFound || !offered)
}
