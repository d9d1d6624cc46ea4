//go:build unix

package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/code"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/fetch"
	"toolpipe/mcp/builtin/notes"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/load"
	"toolpipe/testdata/servertest"
)

// What one call with hostile arguments may take: processor time, memory
// allocated in all, bytes of an answer. The longest argument has argumentSize
// bytes, and the largest file the bytes of confine.MaxEdited.
const (
	argumentSize  = 1 << 20
	mostTime      = 8 * slowdown * time.Second
	mostAllocated = 256 << 20
	mostAnswered  = 1 << 20
)

func repeated(s string, size int) string { return strings.Repeat(s, size/len(s)) }

// hostileTexts are strings for any argument: the longest of each kind that
// something may be made larger of, or taken apart. Each is made when it is called for.
func hostileTexts() (texts []func() string) {
	add := func(s string) { texts = append(texts, func() string { return s }) }
	for _, s := range []string{"", "\x00", "\uFEFF"} {
		add(s)
	}
	for _, s := range []string{"a", "a\n", "\n", "\r\n", "\x01", "\U0001F600", "\u212a", " ", "\"", "\\", "/", "./", "../", "a/", "**/", "*", "?", "[", "[!a", "{", "}", "{}", "{,}", "{,", "(", "(a", "(((((a*)*)*)*)*)*", "|", "a|", "-", "^", "~", "@{", "%", "http://a/", "a."} {
		texts = append(texts, func() string { return repeated(s, argumentSize) }, func() string { return repeated(s, 4000) })
	}
	for _, pair := range []string{"{}", "()", "[]", `""`} {
		for _, depth := range []int{60, 400, 10_000} {
			add(strings.Repeat(pair[:1], depth) + "a" + strings.Repeat(pair[1:], depth))
			add(strings.Repeat(pair[:1], depth) + strings.Repeat(",a"+pair[1:], depth))
		}
	}
	for _, s := range []string{
		"(a?){1000}a{1000}b", "((a{100}){100}){100}", strings.Repeat(".{0,999}", 500) + "b", "(" + strings.Repeat(`\pL`, 1300) + "){900}", "(?s)a.*b|c", "(x+x+)+y",
		strings.Repeat("{a,b}", 8) + strings.Repeat("{}", 50), strings.Repeat("**/a/", 700) + "b", strings.Repeat("*a", 2000) + "b", strings.Repeat("[^b]", 1000) + "b", "http://[::1%25" + repeated("a", 15_000) + "]/",
	} {
		add(s)
	}
	return texts
}

// hostileValues are JSON texts for an argument of a type, each made once, when it is
// first called for.
func hostileValues(kind string) (values []func() string) {
	if made := madeValues[kind]; made != nil {
		return made
	}
	defer func() {
		for i := range values {
			values[i] = sync.OnceValue(values[i])
		}
		madeValues[kind] = values
	}()
	add := func(some ...string) {
		for _, s := range some {
			values = append(values, func() string { return s })
		}
	}
	large := func(before, s, after string) {
		values = append(values, func() string { return before + repeated(s, argumentSize) + after })
	}
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	add(deep, `{"a":`+deep+`}`, "null", "[]", "{}", "true")
	large(`"`, `\u0001`, `"`)
	switch kind {
	case "string":
		for _, text := range hostileTexts() {
			values = append(values, func() string {
				quoted, _ := json.Marshal(text())
				return string(quoted)
			})
		}
	case "integer", "number":
		add("0", "-1", "1", "9223372036854775807", "-9223372036854775808", "9223372036854775806", "1e18", "1e308", "1e-308", "1e999999999", "0.1")
		large("", "9", "")
		large("0.", "0", "1")
		large("1e", "9", "")
	case "array":
		large("[", `"",`, `""]`)
		large(`["`, "a", `"]`)
		large(`["true","`, "a", `"]`)
		large("[", `"true",`, `"a"]`)
		add(`["\u0000"]`)
		large(`["`, "/", `"]`)
	case "boolean":
		add("false")
		large(`"`, "true", `"`)
	}
	return values
}

// madeValues are those that hostileValues has returned, by type.
var madeValues = map[string][]func() string{}

// usualArguments are a good value for each required argument; the others are
// absent unless they are the hostile one, or needed beside it.
var usualArguments = map[string]string{
	"path": `"letters"`, "pattern": `"b"`, "content": `"x"`, "start_line": "1", "end_line": "1", "new_content": `"x"`, "old_string": `"b"`, "new_string": `"c"`, "url": `"http://127.0.0.1:1/"`,
	"name": `"n"`, "expected_revision": "1", "reason": `"x"`,
}

// hostileServers are all built-in servers that are functions of arguments.
// Their files are written anew by fill.
func hostileServers(t *testing.T) (sessions []*mcp.Session, fill func()) {
	dir, _, _ := repository(t, map[string]string{"small": "a\n"})
	servertest.Put(t, filepath.Join(dir, strings.Repeat("a/", 100)+"deep"), "a\n")
	files, err := serve(confine.Spec{Root: dir})
	check(t, err)
	shell, err := shell.New(shell.Spec{Commands: shell.CommandSpec{Dir: dir, Environ: os.Environ(), Processes: &process.Processes{}}, Limit: time.Second})
	check(t, err)
	fetch, err := fetch.New(fetch.Spec{Limit: time.Second})
	check(t, err)
	notes, err := notes.New(notes.Spec{Path: filepath.Join(dir, "notes")})
	check(t, err)
	servers := []*toolserver.Server{files, shell, fetch, notes}
	area, err := confine.Open(confine.Spec{Root: dir})
	check(t, err)
	if code, err := code.New(code.Spec{Areas: []*confine.Area{area}, Environ: os.Environ(), Processes: &process.Processes{}}); err == nil {
		servers = append(servers, code)
	} else {
		t.Log("the tools for source files are left out: ", err)
	}
	for _, server := range servers {
		sessions = append(sessions, servertest.Local(t, server))
	}
	return sessions, func() {
		servertest.Put(t, filepath.Join(dir, "letters"), repeated("a", 1<<20))
		servertest.Put(t, filepath.Join(dir, "lines"), repeated("a\n", 1<<20))
	}
}

// hostileCall runs a tool and says what was beyond the bounds. After limit it does not
// wait any longer, which the tool is to obey soon.
func hostileCall(t *testing.T, s *mcp.Session, limit time.Duration, tool, args string) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := processorTime(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	r, err := s.Call(ctx, tool, json.RawMessage(args), nil)
	took := processorTime(t) - began
	runtime.ReadMemStats(&after)
	size := len(fmt.Sprint(err))
	if r != nil {
		size += len(r.Structured)
		for _, b := range r.Content {
			size += len(b.Text)
		}
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; took > mostTime || allocated > mostAllocated && slowdown == 1 || size > mostAnswered {
		t.Errorf("%s %.150s (%d bytes) took %v and %d MiB, and answered %d bytes", tool, args, len(args), took, allocated>>20, size)
	}
	if err != nil && strings.Contains(err.Error(), "defect") {
		t.Errorf("%s %.150s: %v", tool, args, err)
	}
}

func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	check(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Every argument of every built-in tool gets the largest, the deepest and the
// most repetitive value. A model that is misled may write any of them. All of
// them take a quarter of a minute: .ci/run sets TOOLPIPE_LOAD for that, without
// which an argument gets every 37th, and the next one those that follow.
func TestHostileArguments(t *testing.T) {
	every, count, limit := load.Of(t, 1, 37), 0, time.Duration(load.Of(t, 3, 1))*time.Second
	servers, fill := hostileServers(t)
	tools := make([][]wire.Tool, len(servers))
	for i, s := range servers { // all at first: a listing has to end within the start-up timeout
		tools[i] = s.Tools()
	}
	for i, s := range servers {
		for _, tool := range tools[i] {
			properties := jsontext.Member(tool.InputSchema, "properties")
			for literal, property := range jsontext.Members(properties) {
				name, filled := jsontext.Unquote(literal), false
				for _, value := range hostileValues(jsontext.Text(jsontext.Member(property, "type"))) {
					if count++; count%every != 0 {
						continue
					}
					if !filled {
						fill()
						filled = true
					}
					args := []string{strconv.Quote(name) + ":" + value()}
					for required := range jsontext.Elements(jsontext.Member(tool.InputSchema, "required")) {
						if string(required) != string(literal) {
							args = append(args, string(required)+":"+usualArguments[jsontext.Unquote(required)])
						}
					}
					hostileCall(t, s, limit, tool.Name, "{"+strings.Join(args, ",")+"}")
				}
			}
		}
	}
}

// Arguments that are hostile together: one makes the other's size count twice,
// or the file's.
func TestHostileArgumentsTogether(t *testing.T) {
	servers, fill := hostileServers(t)
	files := servers[0]
	letters := func(n int) string { return `"` + repeated("a", n) + `"` }
	for _, c := range [][2]string{
		{"edit_file", `{"path":"letters","old_string":"a","new_string":` + letters(900<<10) + `,"replace_all":true}`},
		{"edit_file", `{"path":"letters","old_string":` + letters(512<<10) + `,"new_string":"b"}`},
		{"edit_file", `{"path":"letters","old_string":` + letters(512<<10) + `,"new_string":"b","replace_all":true}`},
		{"edit_file", `{"path":"lines","old_string":"a","new_string":"b"}`},
		{"edit_file", `{"path":"lines","old_string":"` + repeated(`a\n`, 512<<10) + `b","new_string":"b"}`},
		{"edit_file", `{"path":"lines","old_string":"\n","new_string":` + letters(argumentSize) + `,"replace_all":true}`},
		{"set_file_slice", `{"path":"lines","start_line":1,"end_line":524288,"new_content":` + letters(argumentSize) + `}`},
		{"set_file_slice", `{"path":"lines","start_line":9223372036854775807,"end_line":9223372036854775806,"new_content":""}`},
		{"set_file_slice", `{"path":"lines","start_line":1,"end_line":9223372036854775807,"new_content":""}`},
		{"read_file", `{"path":"letters","offset":9223372036854775807,"length":9223372036854775807}`},
		{"read_file", `{"path":"letters","offset":1,"length":9223372036854775807}`},
		{"get_file_slice", `{"path":"lines","start_line":9223372036854775807,"end_line":9223372036854775807}`},
		{"grep_files", `{"path":"lines","pattern":"(?s)a.*c|a","context":50}`},
		{"grep_files", `{"path":"lines","pattern":"(?s)^.*\\z"}`},
		{"grep_files", `{"path":"lines","pattern":"(?s)[ab].{5}.*[ab]"}`},
		{"grep_files", `{"path":"letters","pattern":"([ab]?){300}[ab]{300}[cd]"}`},
		{"grep_files", `{"path":"letters","pattern":"(a?){200}(a?){200}b"}`},
		{"grep_files", `{"path":"letters","pattern":"(?i)k*s*(\\pL?){500}b","ignore_case":true}`},
		{"grep_files", `{"pattern":"a","include":"` + strings.Repeat("{**/,a/}", 7) + strings.Repeat("a/", 100) + `b"}`},
		{"search_files", `{"pattern":"` + strings.Repeat("**/a/", 400) + `{b,c}"}`},
		{"get_tree", `{"max_depth":9223372036854775807}`},
		{"write_file", `{"path":"` + repeated("new/", 4000) + `x","content":""}`},
	} {
		fill()
		hostileCall(t, files, time.Duration(load.Of(t, 3, 1))*time.Second, c[0], c[1])
	}
	fill()
	grow := `{"path":"letters","old_string":"a","new_string":"aaaaaaaa","replace_all":true}`
	for range 2 {
		hostileCall(t, files, time.Minute, "edit_file", grow)
	}
	servertest.Fails(t, files, fmt.Sprint(confine.MaxEdited), "edit_file", "path", "letters", "old_string", "a", "new_string", "aaaaaaaa", "replace_all", true)
}
