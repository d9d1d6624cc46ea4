//go:build unix

package endtoend

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// longFlags finds the long flags named in text, each once.
func longFlags(text string) (names []string) {
	for _, found := range regexp.MustCompile(`(?:^|[\s,(\[|'"])(--[a-z][a-z0-9-]*)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, found[1]) {
			names = append(names, found[1])
		}
	}
	return names
}

// maxMemory is the peak memory that a run may have if the test does not say less, except
// under the race detector.
const maxMemory = 256 << 20

// checkRun checks what must hold in every run: no process is left, no secret is
// shown, stderr is clean, and the events are as the manual promises.
func (s *script) checkRun(p *process) error {
	var errs []error
	fail := func(format string, values ...any) { errs = append(errs, fmt.Errorf(format, values...)) }
	if len(p.survivors) > 0 {
		fail("processes left behind: %s", strings.Join(p.survivors, ", "))
	}
	if runtime.GOOS == "linux" && p.maxrss > cmp.Or(s.memory, maxMemory) && !load.RaceDetector() {
		fail("peak memory %d MiB", p.maxrss>>20)
	}
	for name, text := range map[string][]byte{"stdout": s.stdout, "stderr": s.stderr, "the terminal": s.screen} {
		if err := s.findSecret(name, text); err != nil {
			errs = append(errs, err)
		}
	}
	if filepath.Base(p.args[0]) != "toolpipe" {
		return errors.Join(errs...)
	}
	if at := rawControl(s.stderr); at >= 0 {
		fail("a raw control character on stderr: %q", s.stderr[at:min(at+40, len(s.stderr))])
	}
	if lines := bytes.Count(s.stderr, []byte("\n")); lines > 100 && !slices.ContainsFunc(p.args, func(a string) bool { return strings.HasPrefix(a, "-v") }) {
		fail("%d lines on stderr", lines)
	}
	if bytes.Contains(s.stderr, []byte("goroutine ")) || p.status == 70 && !s.defect {
		fail("a defect shows: status %d", p.status)
	}
	// On a terminal, the output is mixed with questions and typed input.
	if !strings.Contains(p.on, "1") {
		switch outputFormat(p.args[1:]) {
		case "ndjson":
			errs = append(errs, checkEvents(s.stdout, p))
		case "json":
			errs = append(errs, checkEnd(s.stdout, p))
		}
	}
	return errors.Join(errs...)
}

// outputFormat is the value of -o in args.
func outputFormat(args []string) string {
	for i, arg := range args {
		if (arg == "-o" || arg == "--output") && i+1 < len(args) {
			return args[i+1]
		}
		for _, prefix := range []string{"--output=", "-o=", "-o"} {
			if value, ok := strings.CutPrefix(arg, prefix); ok && value != "" {
				return value
			}
		}
	}
	return "text"
}

// rawControl returns the offset of the first control character (C0 except newline
// and tab, DEL, C1) or byte that is not UTF-8, or -1.
func rawControl(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// findSecret looks for every canary, in each encoding in which it could leak.
func (s *script) findSecret(where string, text []byte) error {
	for name, secret := range s.canaries {
		if s.encoded[secret] == nil {
			s.encoded[secret] = encodings(secret)
		}
		for how, spelling := range s.encoded[secret] {
			if bytes.Contains(text, spelling) {
				return fmt.Errorf("the secret %s is in %s, %s", name, where, how)
			}
		}
	}
	return nil
}

// encodings are the forms of a secret that no output may have.
func encodings(secret string) map[string][]byte {
	forms := map[string][]byte{"escaped as in JSON": []byte(eachByte(`\u%04x`, secret))}
	for how, spell := range spellings {
		forms[how] = []byte(spell(secret))
	}
	for offset := range 3 { // without the characters that also hold bits of the bytes beside it
		text := base64.RawStdEncoding.EncodeToString([]byte("  "[:offset] + secret))
		forms[fmt.Sprintf("in base64 behind %d bytes", offset)] = []byte(text[(offset*8+5)/6 : (offset+len(secret))*8/6])
	}
	return forms
}

var endStatuses = map[string][]int{"ok": {0}, "tool": {1}, "usage": {2}, "model": {3}, "server": {4}, "unapproved": {5}, "limit": {6},
	"unknown": {7}, "output": {8}, "internal": {70}, "interrupted": {129, 130, 131, 141, 143}}

var (
	resultStatuses = []string{"staged", "ok", "error", "failed", "denied", "invalid", "unknown", "not_run"}
	decisions      = []string{"staged", "allow", "deny", "unapproved"}
	deciders       = []string{"flag", "policy", "config", "terminal", "approver", "default"}
)

// checkEvents checks what the manual promises of every event stream.
func checkEvents(stdout []byte, p *process) error {
	if len(stdout) == 0 {
		if p.status == 2 || p.status > 128 {
			return nil // the flags were wrong, or the program was killed
		}
		return errors.New("no events at all")
	}
	if stdout[len(stdout)-1] != '\n' {
		return fmt.Errorf("the last line is not complete: %s", clip(stdout))
	}
	lines := strings.Split(strings.TrimSuffix(string(stdout), "\n"), "\n")
	calls, results, texts := map[string]int{}, map[string]int{}, map[int64]string{}
	background := map[string]bool{}    // calls that start programs, which call tools after the result
	isOpen := func(call string) bool { // the call of an agent, or of a command, which may be in a nested run
		for id, n := range calls {
			if strings.HasSuffix(id, "/"+call) && n == results[id]+1 {
				return true
			}
		}
		return false
	}
	for i, line := range lines {
		if err := strictLine(line); err != nil {
			return fmt.Errorf("line %d is not strict: %v: %s", i+1, err, clip([]byte(line)))
		}
		kind, parent := gjson.Get(line, "type").String(), gjson.Get(line, "parent").String()
		if parent != "" && !background[parent] && !isOpen(parent) {
			return fmt.Errorf("an event of a nested run without its call, or after the result of the call: %s", line)
		}
		if (kind == "start") != (i == 0) || (kind == "end") != (i == len(lines)-1) {
			return fmt.Errorf("line %d of %d is %q", i+1, len(lines), kind)
		}
		switch kind {
		case "start":
			if gjson.Get(line, "schema").Raw != "1" || !gjson.Get(line, "version").Exists() {
				return fmt.Errorf("start: %s", line)
			}
		case "text":
			if parent != "" {
				break
			}
			texts[gjson.Get(line, "turn").Int()] += gjson.Get(line, "text").String()
		case "tool_call":
			id := parent + "/" + gjson.Get(line, "id").String()
			if strings.HasPrefix(gjson.Get(line, "name").String(), "processes__") {
				background[gjson.Get(line, "id").String()] = true
			}
			// Some models use an id again in a later turn.
			if calls[id]++; calls[id] > results[id]+1 || strings.HasSuffix(id, "/") {
				return fmt.Errorf("tool_call id %q is empty, or comes again before its result", id)
			}
			if gjson.Get(line, "arguments").Exists() == gjson.Get(line, "raw").Exists() {
				return fmt.Errorf("tool_call has both or none of arguments and raw: %s", line)
			}
			if a := gjson.Get(line, "arguments"); a.Exists() && !a.IsObject() {
				return fmt.Errorf("arguments are no object: %s", line)
			}
		case "tool_result":
			id := parent + "/" + gjson.Get(line, "id").String()
			if results[id]++; results[id] > calls[id] {
				return fmt.Errorf("tool_result %q without its call, or twice", id)
			}
			if status := gjson.Get(line, "status").String(); !slices.Contains(resultStatuses, status) {
				return fmt.Errorf("tool_result.status %q", status)
			}
		case "retry":
			if gjson.Get(line, "discards").Bool() && parent == "" {
				clear(texts)
			}
		case "approval":
			if d, by := gjson.Get(line, "decision").String(), gjson.Get(line, "by").String(); !slices.Contains(decisions, d) || !slices.Contains(deciders, by) {
				return fmt.Errorf("approval: %s", line)
			}
			if id := parent + "/" + gjson.Get(line, "id").String(); calls[id] == 0 {
				return fmt.Errorf("approval of %q before its call", id)
			}
		case "":
			return fmt.Errorf("line %d has no type: %s", i+1, line)
		}
	}
	for id := range calls {
		if results[id] != calls[id] {
			return fmt.Errorf("tool_call %q has %d results", id, results[id])
		}
	}
	end := lines[len(lines)-1]
	if err := checkEnd([]byte(end+"\n"), p); err != nil {
		return err
	}
	turn := gjson.Get(end, "turns").Int()
	for turn > 1 && strings.TrimSpace(texts[turn]) == "" { // the answer is the text of the last turn that had text
		turn--
	}
	if gjson.Get(end, "status").String() == "ok" && turn > 0 && texts[turn] != gjson.Get(end, "text").String() {
		return fmt.Errorf("end.text is not the text of turn %d, which is %q: %s", turn, texts[turn], end)
	}
	return nil
}

// checkEnd checks that stdout is one end event that agrees with the exit status.
func checkEnd(stdout []byte, p *process) error {
	if len(stdout) == 0 && (p.status == 2 || p.status > 128) {
		return nil
	}
	line, rest, _ := strings.Cut(string(stdout), "\n")
	if rest != "" {
		return fmt.Errorf("more than one line: %s", clip(stdout))
	}
	if err := strictLine(line); err != nil {
		return fmt.Errorf("the end event is not strict: %v: %s", err, clip(stdout))
	}
	end := gjson.Parse(line)
	if end.Get("type").String() != "end" {
		return fmt.Errorf("not an end event: %s", line)
	}
	status, exit := end.Get("status").String(), int(end.Get("exit").Int())
	if exit != p.status {
		return fmt.Errorf("end.exit is %d, the exit status %d", exit, p.status)
	}
	if !slices.Contains(endStatuses[status], exit) {
		return fmt.Errorf("end.status %q with end.exit %d", status, exit)
	}
	if status == "interrupted" && p.signal == 0 && exit != 131 { // dying by SIGQUIT prints stacks
		return fmt.Errorf("interrupted, but did not die by the signal: status %d", p.status)
	}
	if exit > 1 && end.Get("error.message").String() == "" && status != "interrupted" {
		return fmt.Errorf("end has no error.message: %s", line)
	}
	return nil
}

// strictLine holds that text is one strict JSON object: valid UTF-8, no key twice, no half of a surrogate pair, nothing after
// it, and no character raw that could do something to a terminal or break a line.
func strictLine(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("invalid UTF-8")
	}
	for _, r := range text {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0x200e || r == 0x200f || r == 0x061c ||
			r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return fmt.Errorf("%U is not escaped", r)
		}
	}
	if err := pairedSurrogates(text); err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return fmt.Errorf("no object: %v", err)
	}
	if err := uniqueKeys(decoder, true); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("something follows the object")
	}
	return nil
}

// pairedSurrogates checks that each escaped surrogate is half of a pair.
func pairedSurrogates(text string) error {
	escaped := func(i int) (unit rune) {
		if i+6 <= len(text) && text[i:i+2] == `\u` {
			fmt.Sscanf(text[i+2:i+6], "%x", &unit)
		}
		return unit
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit := escaped(i)
		switch {
		case !utf16.IsSurrogate(unit):
			i++ // an escaped backslash begins no escape
		case utf16.DecodeRune(unit, escaped(i+6)) == utf8.RuneError:
			return fmt.Errorf("half a surrogate pair: %s", text[i:i+6])
		default:
			i += 11
		}
	}
	return nil
}

// uniqueKeys reads the rest of an object or array.
func uniqueKeys(decoder *json.Decoder, object bool) error {
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		if object {
			key := token.(string)
			if seen[key] {
				return fmt.Errorf("the key %q comes twice", key)
			}
			seen[key] = true
			if token, err = decoder.Token(); err != nil {
				return err
			}
		}
		if delim, ok := token.(json.Delim); ok {
			if err := uniqueKeys(decoder, delim == '{'); err != nil {
				return err
			}
		}
	}
	_, err := decoder.Token() // its end
	return err
}
