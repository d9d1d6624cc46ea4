package session

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/stream"
)

const (
	userLine = `{"role":"user","content":"hi"}` + "\n"
	callLine = `{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"y","arguments":"{}"}}]}` + "\n"
	sendA   = `{"sending":"a"}` + "\n"
	sendB   = `{"sending":"b"}` + "\n"
	resultA = `{"role":"tool","tool_call_id":"a","content":"A"}` + "\n"
	resultB = `{"role":"tool","tool_call_id":"b","content":"B"}` + "\n"
)

func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) (*File, error) {
	t.Helper()
	s, err := Open(&config.Config{Session: path}, func(code, server, message string) { t.Logf("%s: %s", code, message) })
	t.Cleanup(s.Close)
	return s, err
}

func mustOpen(t *testing.T, path string) *File {
	t.Helper()
	s, err := open(t, path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRefused holds that a file with anything wrong in it is refused with the line,
// and not changed.
func TestRefused(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"[]\n" + userLine: `:1: neither a message nor another line`,
		userLine + "{}\n": `:2: neither a message nor another line`,
		userLine + "7\n":  `:2: neither a message nor another line`,
		userLine + `{"sending":"a","not_sent":"a"}` + "\n":                                             `:2: neither a message`,
		userLine + `{"sent":"a"}` + "\n":                                                               `:2: neither a message`,
		userLine + sendA:                                                                               `:2: sending: no call without a result has the id "a"`,
		userLine + callLine + `{"sending":7}` + "\n":                                                   `:3: sending: no call without a result has the id 7`,
		userLine + callLine + `{"task":{"call":"c","id":"t"}}` + "\n":                                  `:3: task: a task without an id, or without an open call`,
		userLine + callLine + `{"task":{"call":"a"}}` + "\n":                                           `:3: task: a task without an id`,
		userLine + callLine + `{"task":{"call":"a","id":7}}` + "\n":                                    `:3: task.id: 7 is not a string`,
		userLine + callLine + `{"task":"a"}` + "\n":                                                    `:3: task: not an object`,
		userLine + callLine + `{"sending":"c"}` + "\n":                                                 `:3: sending: no call without a result has the id "c"`,
		userLine + callLine + sendA + resultA + sendA:                                                  `:5: sending: no call without a result has the id "a"`,
		userLine + resultA:                                                                             `:2: a tool message without its call: no open call has the id "a"`,
		userLine + callLine + resultA + resultB + userLine + resultA:                                   `:6: a tool message without its call`,
		userLine + callLine + resultA + resultB + resultA:                                              `:5: a tool message without its call`,
		userLine + callLine + resultA + userLine:                                                       `:2: the call "b" has no answer`,
		userLine + callLine + resultA + resultB + callLine:                                             `:5: an earlier call has the id "a" too`,
		userLine + strings.ReplaceAll(callLine, `"b"`, `"a"`):                                          `:2: two calls have the id "a"`,
		userLine + `{"role":"nobody","content":"hi"}` + "\n":                                           `:2: unknown role "nobody"`,
		userLine + `{"role":7,"content":"hi"}` + "\n":                                                  `:2: unknown role 7`,
		userLine + `{"role":"user","role":"user","content":"hi"}` + "\n":                               `:2:`,
		userLine + "{\"role\":\"user\",\"content\":\"\xff\"}\n":                                        `:2:27: `,
		userLine + `{"role":"user","content":{"a":1` + "}\n":                                           `:2:33: `,
		userLine + `{"role":"user"` + "\n" + userLine:                                                  `:2:15: `,
		userLine + `{"role":"user","content":}` + "\n":                                                 `:2:26: `,
		userLine + `{"role":"assistant","content":"x","provider_state":7}` + "\n":                      `:2: provider_state is not what`,
		userLine + `{"role":"user","content":"a"} {"role":"user","content":"b"}` + "\n":                `:2:31: `,
		userLine + `{"tools":[]}` + "\n":                                                               `:2: tools: tools is not an object`,
		userLine + `{"tools":{"x":1}}` + "\n":                                                          `:2: tools: the digest of the tool "x" is not a string`,
		userLine + `{"left_out":[{"call":"a","says":"x"}]}` + "\n":                                     `:2: left_out[0]: no message before this line has the part that is left out`,
		userLine + `{"left_out":[{"message":1,"part":0,"says":"x"}]}` + "\n":                           `:2: left_out[0]: no message before`,
		userLine + `{"left_out":[{"message":0,"part":1,"says":"x"}]}` + "\n":                           `:2: left_out[0]: no message before`,
		userLine + `{"left_out":[{"message":0,"part":-2,"says":"x"}]}` + "\n":                          `:2: left_out[0]`,
		userLine + `{"left_out":[{"message":0,"until":2,"says":"x"}]}` + "\n":                          `:2: left_out[0]: no message before`,
		userLine + `{"left_out":[{"message":0,"until":0,"says":"x"}]}` + "\n":                          `:2: left_out[0]: no message before`,
		userLine + `{"result":{"call":"a","text":"x"}}` + "\n":                                         `:2: result: no call without a result has the id "a"`,
		userLine + `{"left_out":{}}` + "\n":                                                            `:2: left_out: left_out is not a list`,
		userLine + `{"added":{"call":"a","text":"x"}}` + "\n":                                          `:2: added: no line before this one has a result of the call "a"`,
		userLine + callLine + resultA + `{"added":{"call":"a","text":"x","labels":["secret"]}}` + "\n": `:4: added: labels is not a list of`,
		"a secret":                        `:1: neither a message`,
		"a note\n":                        `:1: neither a message`,
		userLine + `{"model":"x`:          `:2: neither a message`,
		"\ufeff{\"role\":\"user\",\"cont": `:1: neither a message`,
	} {
		path := write(t, content)
		_, err := open(t, path)
		if err == nil || failure.Of(err).Status != failure.StatusUsage || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%.300s\ngives %v\nnot   %s", content, err, want)
		}
		if text(t, path) != content {
			t.Errorf("%.300s\nwas changed", content)
		}
	}
}

// TestTooLong holds that a line which no run could hold is refused, be it read or written,
// and that the file as a whole has no bound.
func TestTooLong(t *testing.T) {
	t.Parallel()
	path := write(t, strings.Repeat(userLine, 3000))
	s := mustOpen(t, path)
	s.places.longest = 1 << 20
	for _, n := range []int{s.longestText(), s.longestText() + 1} {
		long := stream.Message{Role: stream.User, Parts: []stream.Part{{Text: strings.Repeat("x", n)}}}
		if err := s.Add(nil, long); (err == nil) != (n == s.longestText()) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for _, longest := range []int64{1 << 20, 1<<20 - 1} {
		_, err := document.ReadLines(path, s.f, longest, func(document.Line) error { return nil })
		if (err == nil) != (longest == 1<<20) {
			t.Errorf("a line of at most %d bytes: %v", longest, err)
		}
	}
}

// longestText is the longest text that a message of the user can have.
func (s *File) longestText() int { return int(s.places.longest) - len(`{"role":"user","content":""}`) }

// TestRepaired holds what becomes of a last line that a writer left who was killed.
func TestRepaired(t *testing.T) {
	t.Parallel()
	whole := userLine + callLine + sendA
	for cut := len(userLine); cut <= len(whole); cut++ {
		path := write(t, whole[:cut])
		s := mustOpen(t, path)
		if got := text(t, path); got != whole[:cut] {
			t.Errorf("%d bytes: opening it made it %q", cut, got)
		}
		if err := s.Repair(); err != nil {
			t.Error(err)
		}
		s.Close()
		kept := whole[:strings.LastIndexByte(whole[:cut], '\n')+1]
		removed := cut - len(kept)
		if cut+1 < len(whole) && whole[cut] == '\n' || cut+1 == len(whole) { // only the end of the line is missing
			kept, removed = whole[:cut+1], 0
		}
		if got := text(t, path); got != kept || s.Cut != removed {
			t.Errorf("%d bytes: %d removed, not %d\n%s", cut, s.Cut, removed, got)
		}
	}
	for _, tail := range []string{"\x00\x00\x00", "{\"ro\x00\x00", `{"role":"user","content":"` + "\n", "{\"role\":\"us\xc3"} {
		path := write(t, userLine+tail)
		if s := mustOpen(t, path); s.Cut != len(tail) || s.Repair() != nil || text(t, path) != userLine {
			t.Errorf("%q: %d removed: %q", tail, s.Cut, text(t, path))
		}
	}
	if s := mustOpen(t, write(t, "")); s.Made || s.Unfinished() || len(s.messages) != 0 {
		t.Errorf("an empty file: %+v", s)
	}
	if s := mustOpen(t, write(t, "\n"+userLine+" \r\n"+userLine+"\n\n")); len(s.messages) != 2 {
		t.Errorf("empty lines: %+v", s.messages)
	}
}

// TestUnknown holds which calls count as sent without a result, and that the results
// stand in the order of the calls.
func TestUnknown(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"":                                "",
		sendA:                             "a",
		sendB + sendA:                     "ab",
		sendB + resultB + sendA:           "a",
		sendA + sendB + resultB + resultA: "",
		sendA + `{"not_sent":"a"}` + "\n": "",
		sendA + `{"not_sent":"a"}` + "\n" + sendA: "a",
	} {
		s := mustOpen(t, write(t, userLine+callLine+lines))
		got := ""
		for _, c := range s.Unknown {
			got += c.ID
		}
		if got != want || !s.Unfinished() {
			t.Errorf("%s: unknown %q, not %q", lines, got, want)
		}
		for i, m := range s.messages[2:] {
			if len(s.messages) == 4 && m.CallID != string("ab"[i]) {
				t.Errorf("%s: the results stand in another order", lines)
			}
		}
	}
}

// TestWritten holds that what is written is read again, as the same bytes.
func TestWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	s := mustOpen(t, path)
	odd := "a\n\u2028\x1b[31m\u009b\x00\xff\"\\"
	failed := stream.Message{Role: stream.ToolRole, CallID: odd, Name: "x", Parts: []stream.Part{{Text: odd}}, Failed: true}
	for _, err := range []error{
		s.Add(nil, stream.Message{Role: stream.User, Parts: []stream.Part{{Text: odd}}}),
		s.Add(map[string]string{"x": "1", "y": "2"}, stream.Message{Role: stream.Assistant, Calls: []stream.Call{{ID: odd, Name: "x"}, {ID: "b", Name: "y"}}}),
		s.Sending(odd), s.NotSent(odd), s.Sending(odd), s.Sending("b"), s.Add(nil, failed),
		s.BeginTask("b", &Task{ID: odd, Server: "s", At: "0", Protocol: "2026-07-28", Tool: odd, Arguments: "1"}),
		s.Add(map[string]string{"x": "1", "y": "3"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := text(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || !s.Made {
		t.Errorf("%v, %v, made %v", info.Mode(), err, s.Made)
	}
	if strings.Count(before, "\n") != 9 || !strings.Contains(before, "\n"+`{"tools":{"x":"1","y":"2"}}`+"\n") {
		t.Errorf("%q", before)
	}
	s.Close()
	s = mustOpen(t, path)
	if len(s.messages) != 3 || !s.messages[2].Failed || len(s.Unknown) != 1 || s.Unknown[0].ID != "b" || s.Tools["y"] != "2" || s.Made ||
		*s.TaskOf("b") != (Task{ID: strings.ToValidUTF8(odd, "\ufffd"), Server: "s", At: "0", Protocol: "2026-07-28", Tool: strings.ToValidUTF8(odd, "\ufffd"), Arguments: "1"}) || s.TaskOf("a") != nil {
		t.Errorf("%+v", s)
	}
	if text(t, path) != before {
		t.Errorf("changed to %q", text(t, path))
	}
	if err := s.Answer(stream.Message{Role: stream.ToolRole, CallID: "b", Parts: []stream.Part{{Text: "?"}}}); err != nil || len(s.messages) != 4 {
		t.Errorf("%v %+v", err, s.messages)
	}
}

// TestLocked holds that one File is open at a time, and that a file which another
// process replaced is not taken for the one at the path.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := write(t, userLine)
	s := mustOpen(t, path)
	if _, err := open(t, path); err == nil || !strings.Contains(err.Error(), "is in use by ") {
		t.Errorf("%v", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	held, ok := errors.AsType[*heldError](lock(f))
	if !ok || held.pid != 0 && held.pid != os.Getpid() {
		t.Errorf("%+v", held)
	}
	if held.pid != 0 && held.Error() != "in use by process "+strconv.Itoa(os.Getpid()) {
		t.Error(held)
	}
	f.Close() // must not end the lock of s
	if _, err := open(t, path); err == nil {
		t.Error("the lock has gone")
	}
	if err := os.Rename(write(t, userLine), path); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := s.lock(); err == nil {
		t.Error("a closed file was locked")
	}
	s.f, _ = os.OpenFile(write(t, userLine), os.O_RDWR, 0)
	if err := s.lock(); err == nil || !strings.Contains(err.Error(), "was removed or replaced") {
		t.Errorf("%v", err)
	}
	mustOpen(t, path)
}

// TestTogether holds that many who begin a session at the same time lose nothing of
// each other: a file that has nothing in it is removed by nobody but its holder.
func TestTogether(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		var kept atomic.Int64
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				s, err := Open(&config.Config{Session: path}, nil)
				if err != nil {
					return
				}
				if i%4 > 0 && s.Add(nil, stream.Message{Role: stream.User}) == nil {
					kept.Add(1)
				}
				s.Close()
			})
		}
		all.Wait()
		data, err := os.ReadFile(path)
		if err != nil && kept.Load() > 0 || strings.Count(string(data), "\n") != int(kept.Load()) {
			t.Fatalf("%d of %d were kept: %v", strings.Count(string(data), "\n"), kept.Load(), err)
		}
	}
}

// TestLink holds that a link to a session stays, also where the session is not made.
func TestLink(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.Symlink("real.jsonl", path); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path).Close()
	s := mustOpen(t, path)
	if err := s.Add(nil, stream.Message{Role: stream.User}); err != nil {
		t.Fatal(err)
	}
	if text(t, path) != text(t, filepath.Join(filepath.Dir(path), "real.jsonl")) {
		t.Error("the link was replaced")
	}
}

// TestOtherFiles holds that only a regular file that not everybody can write to is
// taken.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, everybody := filepath.Join(dir, "fifo"), write(t, userLine)
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.Chmod(everybody, 0o602)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                           "is a directory",
		fifo:                          "is not a regular file",
		"/dev/null":                   "is not a regular file",
		everybody:                     "everybody can write to this file",
		filepath.Join(dir, "no", "s"): "does not exist",
		filepath.Join(fifo, "s"):      "not a directory",
		filepath.Join(dir, "a\x00b"):  "invalid argument",
		strings.Repeat("long", 1<<9):  "file name too long",
	} {
		if _, err := open(t, path); err == nil || failure.Of(err).Status != failure.StatusUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, not %s", path, err, want)
		}
	}
}

// TestNothingAfterFailure holds that nothing is written after a write that failed:
// it may have left a part of a line.
func TestNothingAfterFailure(t *testing.T) {
	t.Parallel()
	path := write(t, userLine)
	s := mustOpen(t, path)
	real := s.f
	var err error
	if s.f, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	first := s.Sending("a")
	s.f = real
	if second := s.Sending("b"); first == nil || second != first || failure.Of(first).Status != failure.StatusOutput {
		t.Errorf("%v, %v", first, second)
	}
	if text(t, path) != userLine {
		t.Errorf("%q", text(t, path))
	}
}

// TestNone holds that no session keeps nothing.
func TestNone(t *testing.T) {
	t.Parallel()
	var s *File
	if err := errors.Join(s.Add(nil, stream.Message{}), s.Sending("a"), s.NotSent("a")); err != nil || s.Unfinished() || s.Messages() != nil {
		t.Error(err)
	}
	s.Close()
}
