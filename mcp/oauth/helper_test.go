package oauth

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolpipe/mcp/process"
)

// TestHelperProgram is a credential helper, as a program of its own: it takes
// the URL apart as docker-credential-osxkeychain does.
func TestHelperProgram(t *testing.T) {
	dir := os.Getenv("TOOLPIPE_TEST_HELPER")
	if dir == "" {
		t.Skip("is run by the other tests")
	}
	fail := func(message string) {
		fmt.Println(message)
		os.Exit(1)
	}
	if message, err := os.ReadFile(filepath.Join(dir, "fault")); err == nil {
		if string(message) == "hang" {
			time.Sleep(time.Hour)
		}
		fail(string(message))
	}
	input, _ := io.ReadAll(os.Stdin)
	var entry struct{ ServerURL, Username, Secret string }
	action := os.Args[len(os.Args)-1]
	if entry.ServerURL = string(input); action == "store" {
		if err := json.Unmarshal(input, &entry); err != nil {
			fail(err.Error())
		}
	}
	var file string
	if action != "list" {
		u, err := url.Parse(entry.ServerURL)
		switch {
		case err != nil:
			fail(err.Error())
		case u.Scheme != "https" && u.Scheme != "http":
			fail("unsupported scheme: " + u.Scheme)
		case u.Hostname() == "":
			fail("no hostname in URL")
		}
		file = filepath.Join(dir, url.PathEscape(u.Path))
	}
	switch action {
	case "get":
		text, err := os.ReadFile(file)
		if err != nil {
			fail("credentials not found in native keychain")
		}
		os.Stdout.Write(text)
	case "store":
		text, _ := json.Marshal(entry)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			fail(err.Error())
		}
	case "erase":
		if os.Remove(file) != nil {
			fail("credentials not found in native keychain")
		}
	case "list":
		listed := map[string]string{"/v1/": "somebody", "ghcr.io": "else"} // what docker login has put there
		names, _ := filepath.Glob(filepath.Join(dir, "%*"))
		for _, name := range names {
			path, _ := url.PathUnescape(filepath.Base(name))
			listed[path] = "user"
		}
		text, _ := json.Marshal(listed)
		os.Stdout.Write(text)
	default:
		fail("unknown action " + action)
	}
	os.Exit(0)
}

// helped is a store with a credential helper, and the helper's directory.
func helped(t *testing.T, name string) (*Store, string) {
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nTOOLPIPE_TEST_HELPER='%s' exec '%s' -test.run='^TestHelperProgram$' \"$1\"\n", dir, os.Args[0])
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "docker-credential-fake"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s, _ := newStore(t)
	procs := &process.Processes{}
	t.Cleanup(procs.KillAll)
	s.Helper = &Helper{Name: strings.ReplaceAll(name, "BIN", bin), Environ: []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, Processes: procs}
	return s, dir
}

// TestHelper: logins are kept by the helper, and no file has one.
func TestHelper(t *testing.T) {
	for _, name := range []string{"fake", "BIN/docker-credential-fake"} {
		s, _ := helped(t, name)
		l, work := testLogin(), testLogin()
		work.Account = "work"
		if got := got(t, s, l.Key()); got != nil {
			t.Errorf("before: %+v", got)
		}
		put(t, s, l)
		put(t, s, work)
		if got := got(t, s, l.Key()); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", l) {
			t.Errorf("%+v\n%+v", got, l)
		}
		if all, err := s.List(t.Context()); err != nil || len(all) != 2 || all[1].Account != "work" {
			t.Errorf("%+v, %v", all, err)
		}
		for range 2 { // also when it is gone
			if err := s.Update(t.Context(), l.Key(), func(*Login) (*Login, error) { return nil, nil }); err != nil {
				t.Error(err)
			}
		}
		if got(t, s, l.Key()) != nil || got(t, s, work.Key()) == nil {
			t.Error("the wrong login was removed")
		}
		if names, _ := filepath.Glob(filepath.Join(s.Dir, "*.json*")); len(names) > 0 {
			t.Errorf("files: %q", names)
		}
	}
}

// TestHelperFails: a failure of the helper is an error. Nothing is read from or
// written to a file instead.
func TestHelperFails(t *testing.T) {
	for fault, want := range map[string]string{
		"the keychain is locked": "the keychain is locked",
		"":                       "exit status 1",
	} {
		s, dir := helped(t, "fake")
		put(t, &Store{Dir: s.Dir}, testLogin()) // a file from before the helper was configured
		if err := os.WriteFile(filepath.Join(dir, "fault"), []byte(fault), 0o600); err != nil {
			t.Fatal(err)
		}
		l := testLogin()
		l.AccessToken = "access-2"
		_, gets := s.Get(t.Context(), l.Key())
		puts := s.Update(t.Context(), l.Key(), func(*Login) (*Login, error) { return l, nil })
		for _, err := range []error{gets, puts, s.Update(t.Context(), l.Key(), func(*Login) (*Login, error) { return nil, nil })} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `credential helper "docker-credential-fake"`) {
				t.Errorf("%v", err)
			}
		}
		if _, err := s.List(t.Context()); err == nil {
			t.Error("the list has no error")
		}
		if l := got(t, &Store{Dir: s.Dir}, l.Key()); l.AccessToken != "access-1" {
			t.Errorf("the file has %q", l.AccessToken)
		}
	}
	s, _ := helped(t, "nobody")
	if _, err := s.Get(t.Context(), testLogin().Key()); err == nil || !strings.Contains(err.Error(), `"docker-credential-nobody"`) {
		t.Errorf("%v", err)
	}
}
