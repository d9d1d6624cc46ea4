package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"toolpipe/stream/text/jsontext"
)

// A Key identifies a login. It has the server's URL and not its name, so that no other server
// gets the tokens by having the same name.
type Key struct{ Server, Account string }

func (l *Login) Key() Key { return Key{l.Server, l.Account} }

// A Store keeps logins: in one file each, or with a credential helper. Its methods may be
// called concurrently, and by several processes.
type Store struct {
	Dir    string       // the absolute directory of the files and the locks; "" if there is none
	Helper *Helper      // nil: the logins are files
	Secret func(string) // called with every token and every client secret that is read
	Warn   func(code, server, message string)

	given  sync.Map // from Key to *Login: the logins from Give, later their refreshed versions
	ahead  sync.Map // from Key to *Login: refreshed logins that could not be stored and are newer than the stored ones
	warned sync.Map // the messages of past warnings
}

// Get is the stored login, nil if there is none. The error is a *RefusedError if the stored
// login must not be used.
func (s *Store) Get(ctx context.Context, k Key) (*Login, error) {
	if newer, ok := s.ahead.Load(k); ok {
		return newer.(*Login), nil
	}
	l, err := s.stored(ctx, k)
	if l != nil || err != nil {
		return l, err
	}
	given, _ := s.given.Load(k)
	l, _ = given.(*Login)
	return l, nil
}

// stored is the login in the file or with the helper, nil if there is none.
func (s *Store) stored(ctx context.Context, k Key) (*Login, error) {
	l, err := s.load(ctx, k.id())
	if l != nil && l.Key() != k {
		return nil, &RefusedError{s.place(k.id()), fmt.Sprintf("it is a login at %q", l.Server)}
	}
	return l, err
}

// load is the login with an id, nil if there is none.
func (s *Store) load(ctx context.Context, id string) (l *Login, err error) {
	var doc []byte
	if s.Helper != nil {
		doc, err = s.Helper.get(ctx, id)
	} else {
		doc, err = s.readFile(id)
	}
	if doc == nil || err != nil {
		return nil, err
	}
	if l, err = s.read(doc); err != nil {
		return nil, &RefusedError{s.place(id), err.Error()}
	}
	return l, nil
}

func (s *Store) place(id string) string {
	if s.Helper != nil {
		return fmt.Sprintf("%s of credential helper %q", helperPrefix+id, s.Helper.program())
	}
	return s.path(id)
}

// Update changes the stored login under its lock. change gets the login or nil, and returns
// the login to store instead, or nil to remove it.
func (s *Store) Update(ctx context.Context, k Key, change func(*Login) (*Login, error)) error {
	unlock, err := s.lock(ctx, k)
	if err != nil {
		return err
	}
	defer unlock()
	old, err := s.stored(ctx, k)
	if _, refused := errors.AsType[*RefusedError](err); err != nil && !refused {
		return err
	}
	l, err := change(old)
	switch {
	case err != nil:
		return err
	case l != nil:
		return s.put(ctx, l)
	case s.Helper != nil:
		return s.Helper.erase(ctx, k)
	}
	return s.removeFile(k.id())
}

// put stores a login. The caller holds its lock.
func (s *Store) put(ctx context.Context, l *Login) error {
	doc, err := json.Marshal(document{1, *l})
	if err != nil {
		return err
	}
	if len(doc) >= maxLogin {
		return fmt.Errorf("the login has %d bytes, and more than %d are not read again", len(doc), maxLogin)
	}
	if s.Helper != nil {
		err = s.Helper.store(ctx, l.Key(), doc)
	} else {
		err = s.writeFile(l.Key().id(), append(doc, '\n'))
	}
	if err == nil {
		s.ahead.Delete(l.Key())
	}
	return err
}

// List returns all stored logins, ordered by server and account. Refused logins are left out
// and reported in the error.
func (s *Store) List(ctx context.Context) (all []Login, err error) {
	var ids []string
	if s.Helper != nil {
		ids, err = s.Helper.list(ctx)
	} else {
		ids, err = s.listFiles()
	}
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		l, failed := s.load(ctx, id)
		if l != nil {
			all = append(all, *l)
		}
		err = errors.Join(err, failed)
	}
	for k, given := range s.given.Range {
		if !slices.ContainsFunc(all, func(l Login) bool { return l.Key() == k }) {
			all = append(all, *given.(*Login))
		}
	}
	slices.SortFunc(all, func(a, b Login) int {
		return strings.Compare(a.Server+"\x00"+a.Account, b.Server+"\x00"+b.Account)
	})
	return all, err
}

type document struct {
	Version int `json:"version"`
	Login
}

// read reads a stored login. Its text is secret: errors never quote it.
func (s *Store) read(doc []byte) (*Login, error) {
	var d document
	switch {
	case jsontext.CheckObject(doc, jsontext.Peer, nil) != nil || json.Unmarshal(doc, &d) != nil || d.Server == "" || d.Version < 1:
		return nil, fmt.Errorf("it is not a login of toolpipe (%d bytes)", len(doc))
	case d.Version > 1:
		return nil, fmt.Errorf("a newer toolpipe wrote it (version %d)", d.Version)
	}
	s.tellSecrets(&d.Login)
	return &d.Login, nil
}

// Give adds logins for servers without a stored login. text is one stored document or an
// array of them. It is called before all other methods.
func (s *Store) Give(text string) error {
	all := []byte(strings.TrimSpace(text))
	docs := [][]byte{all}
	if strings.HasPrefix(string(all), "[") && jsontext.Check(all, jsontext.Peer) == nil {
		docs = slices.Collect(jsontext.Elements(all))
	}
	for _, doc := range docs {
		l, err := s.read(doc)
		if err != nil {
			return err
		}
		s.given.LoadOrStore(l.Key(), l)
	}
	return nil
}

// RefusedError is the reason why a stored login is not used.
type RefusedError struct{ Place, Why string }

func (e *RefusedError) Error() string { return fmt.Sprintf("%s is not used: %s", e.Place, e.Why) }
