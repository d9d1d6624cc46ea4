//go:build unix

package endtoend

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// mode FILE PERMISSIONS
func (s *script) mode(args []string) error {
	info, err := os.Stat(filepath.Join(s.work, args[0]))
	if err != nil {
		return err
	}
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		return mismatchf("%s has mode %s", args[0], got)
	}
	return nil
}

// read returns a source by its name: stdout, stderr, screen, request:N or a file.
// For SOURCE#PATH it is the string that gjson finds at PATH.
func (s *script) read(name string) ([]byte, error) {
	if name, path, ok := strings.Cut(name, "#"); ok {
		text, err := s.read(name)
		if err != nil {
			return nil, err
		}
		return []byte(gjson.GetBytes(text, path).String()), nil
	}
	switch name {
	case "stdout":
		return s.stdout, nil
	case "stderr":
		return s.stderr, nil
	case "screen":
		return s.screen, nil
	}
	if number, ok := strings.CutPrefix(name, "request:"); ok {
		r, err := s.requestNumber(number)
		if err != nil {
			return nil, err
		}
		return r.body, nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.work, name)
	}
	return os.ReadFile(name)
}

// grep PATTERN SOURCE, grep -count=N PATTERN SOURCE
func (s *script) grep(args []string) error {
	text, err := s.read(args[len(args)-1])
	if err != nil {
		return err
	}
	return matchText(args[len(args)-1], text, args[:len(args)-1])
}

// matchText matches [-count=N] PATTERN, where ^ and $ are the ends of a line
// and \A and \z those of the text.
func matchText(name string, text []byte, args []string) error {
	count := -1
	if digits, ok := strings.CutPrefix(args[0], "-count="); ok {
		count, _ = strconv.Atoi(digits)
		args = args[1:]
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	found := len(pattern.FindAllIndex(text, -1))
	if count < 0 && found > 0 || found == count {
		return nil
	}
	return mismatchf("%q matches %d times in %s:\n%s", args[0], found, name, clip(text))
}

// compare is cmp [-scrub] SOURCE FILE: byte equality; -scrub leaves out the
// values that differ from run to run.
func (s *script) compare(args []string) error {
	scrub := false
	if args[0] == "-scrub" {
		scrub, args = true, args[1:]
	}
	got, err := s.read(args[0])
	if err != nil {
		return err
	}
	want, err := s.read(args[1])
	if err != nil {
		return err
	}
	if scrub {
		got = s.scrub(got)
	}
	if bytes.Equal(got, want) {
		return nil
	}
	if *update && s.archive.replace(args[1], string(got)) {
		return nil
	}
	return mismatchf("%s is not %s:\n%s\nwant:\n%s", args[0], args[1], clip(got), clip(want))
}

var scrubbed = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"(ms|after_ms|at_ms|began_ms)":\d+`), `"$1":0`},
	{regexp.MustCompile(`"(time)":"[^"]*"`), `"$1":"T"`},
	{regexp.MustCompile(`"version":"[^"]*"`), `"version":"V"`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), `127.0.0.1:PORT`},
}

func (s *script) scrub(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte(s.work), []byte("$WORK"))
	for _, one := range scrubbed {
		text = one.pattern.ReplaceAll(text, []byte(one.with))
	}
	return text
}

// json SOURCE PATH [VALUE]: what gjson finds at PATH exists, or is VALUE (a
// string, a number, or JSON text), or with VALUE ~PATTERN matches.
func (s *script) json(args []string) error {
	text, err := s.read(args[0])
	if err != nil {
		return err
	}
	return matchJSON(text, args[1], args[2:])
}

func matchJSON(text []byte, path string, want []string) error {
	got := gjson.GetBytes(text, path)
	if !got.Exists() && len(want) > 0 { // not a mismatch, because `!` would then accept a missing value
		return fmt.Errorf("nothing at %s in:\n%s", path, clip(text))
	}
	if !got.Exists() {
		return mismatchf("nothing at %s in:\n%s", path, clip(text))
	}
	if len(want) == 0 {
		return nil
	}
	value := got.String()
	if got.Type == gjson.Number {
		value = got.Raw
	}
	if pattern, ok := strings.CutPrefix(want[0], "~"); ok {
		re, err := regexp.Compile("(?m)" + pattern)
		if err != nil {
			return err
		}
		if re.MatchString(value) {
			return nil
		}
	} else if value == want[0] {
		return nil
	}
	return mismatchf("at %s:\n%s\nwant:\n%s\nin:\n%s", path, value, want[0], clip(text))
}

// event TYPE[N].PATH [VALUE]: json on the N-th event (from 1, the first when
// not given) of that type on stdout.
func (s *script) event(args []string) error {
	selector, path, _ := strings.Cut(args[0], ".")
	kind, number := selector, 1
	if at := strings.IndexByte(selector, '['); at > 0 {
		kind = selector[:at]
		number, _ = strconv.Atoi(strings.TrimSuffix(selector[at+1:], "]"))
	}
	for line := range strings.Lines(string(s.stdout)) {
		if gjson.Get(line, "type").String() != kind {
			continue
		}
		if number--; number == 0 {
			return matchJSON([]byte(line), path, args[1:])
		}
	}
	if path != "" {
		return fmt.Errorf("no such event on stdout:\n%s", clip(s.stdout))
	}
	return mismatchf("no such event on stdout:\n%s", clip(s.stdout))
}

// events TYPE N: how many events of a type are on stdout.
func (s *script) events(args []string) error {
	want, _ := strconv.Atoi(args[1])
	found := 0
	for line := range strings.Lines(string(s.stdout)) {
		if gjson.Get(line, "type").String() == args[0] {
			found++
		}
	}
	if found != want {
		return mismatchf("%d events of type %s on stdout:\n%s", found, args[0], clip(s.stdout))
	}
	return nil
}

// requests N: the model got N requests, on M connections with -connections=M.
func (s *script) countRequests(args []string) error {
	s.verified = true
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	for _, arg := range args {
		what, got := "requests", len(s.model.requests)
		if digits, ok := strings.CutPrefix(arg, "-connections="); ok {
			what, got, arg = "connections", s.model.server.connected(), digits
		}
		if strconv.Itoa(got) != arg {
			return mismatchf("%d %s came", got, what)
		}
	}
	return nil
}

func (s *script) requestNumber(number string) (*modelRequest, error) {
	if s.model == nil {
		return nil, errors.New("there is no model")
	}
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	n, _ := strconv.Atoi(number)
	if number == "last" {
		n = len(s.model.requests)
	}
	if n < 1 || n > len(s.model.requests) {
		return nil, fmt.Errorf("there is no request %s: %d came", number, len(s.model.requests))
	}
	return s.model.requests[n-1], nil
}

// request N PATH [VALUE]: json on the body of the N-th request.
func (s *script) request(args []string) error {
	r, err := s.requestNumber(args[0])
	if err != nil {
		return err
	}
	if args[1] == "path" && len(args) == 3 {
		if r.path != args[2] {
			return mismatchf("the request went to %s", r.path)
		}
		return nil
	}
	return matchJSON(r.body, args[1], args[2:])
}

// header N NAME [PATTERN]
func (s *script) header(args []string) error {
	r, err := s.requestNumber(args[0])
	if err != nil {
		return err
	}
	value := r.header.Get(args[1])
	if value == "" {
		return mismatchf("no header %s", args[1])
	}
	if len(args) < 3 {
		return nil
	}
	if ok, err := regexp.MatchString(args[2], value); err != nil || !ok {
		return errors.Join(err, mismatchf("header %s is %q", args[1], value))
	}
	return nil
}
