package stream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/secrets"
)

// replayer answers from a recording, in its order.
type replayer struct {
	path      string
	exchanges []recorded
	next      int
}

// recorded is one exchange of a recording.
type recorded struct {
	line        int // of the request
	request     []byte
	status      int // 0: nothing was answered
	contentType string
	body        []byte
	cut         bool
}

// maxRecording caps a recording, which is held in memory.
const maxRecording = 1 << 30

func openReplay(path string) (*replayer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecording+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRecording {
		return nil, fmt.Errorf("%s is larger than 1 GiB", path)
	}
	p := &replayer{path: path}
	if err := p.parse(data); err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return p, nil
}

// parse reads the sections; see record.go for their form. Requests that got
// no answer are left out: the run tried again.
func (p *replayer) parse(data []byte) error {
	rest, ok := bytes.CutPrefix(data, []byte(recordingHead))
	if !ok {
		return fmt.Errorf("1: this is no recording of --record")
	}
	var cur recorded
	into := func([]byte) {}
	number := 1
	for line := range bytes.Lines(rest) {
		number++
		word, arg, isMark := mark(line)
		switch {
		case !isMark:
			into(line)
		case word == "request":
			cur = recorded{line: number}
			into = appender(&cur.request)
		case word == "response" && cur.line > 0 && cur.status == 0:
			status, typ, _ := strings.Cut(arg, " ")
			cur.status, _ = strconv.Atoi(status)
			cur.contentType = typ
			into = appender(&cur.body)
		case (word == "end" || word == "cut") && cur.status > 0:
			cur.cut = word == "cut"
			p.exchanges = append(p.exchanges, cur)
			cur, into = recorded{}, func([]byte) {}
		default:
			return fmt.Errorf("%d: unexpected %q", number, strings.TrimSpace(string(line)))
		}
	}
	if cur.status > 0 {
		cur.cut = true
		p.exchanges = append(p.exchanges, cur)
	}
	return nil
}

// mark splits a line such as "-- response 200 text/html --".
func mark(line []byte) (word, arg string, ok bool) {
	s := strings.TrimRight(string(line[:min(len(line), 200)]), "\r\n")
	s, head := strings.CutPrefix(s, "-- ")
	s, tail := strings.CutSuffix(s, " --")
	word, arg, _ = strings.Cut(s, " ")
	return word, arg, head && tail
}

// appender adds lines to a body, undoing their escapes.
func appender(to *[]byte) func([]byte) {
	return func(line []byte) {
		if rest, ok := bytes.CutPrefix(line, []byte{'\\'}); ok {
			if len(bytes.TrimRight(rest, "\r\n")) == 0 {
				*to = bytes.TrimSuffix(*to, []byte{'\n'})
				return
			}
			line = rest
		}
		*to = append(*to, line...)
	}
}

// answer returns the next response, if the request is the one it was to.
func (p *replayer) answer(sent *body, hidden *secrets.Finder) (*response, error) {
	if p.next == len(p.exchanges) {
		return nil, &Error{Kind: Mismatch, Message: fmt.Sprintf("%q holds %d exchanges, and the run asks for one more", p.path, len(p.exchanges)),
			Hint: "record it anew with --record"}
	}
	r := &p.exchanges[p.next]
	p.next++
	now := hidden.Hide(sent.bytes()) // as the recording has it
	if then := comparable(r.request, now); !bytes.Equal(now, then) {
		return nil, p.mismatch(r, then, now)
	}
	res := &response{status: r.status, header: http.Header{"Content-Type": {r.contentType}}}
	var body io.Reader = bytes.NewReader(r.body)
	if r.cut {
		body = io.MultiReader(body, brokenReader{})
	}
	res.body = io.NopCloser(body)
	return res, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// comparable is the recorded request as now must be: a replay may do without
// a model's name.
func comparable(then, now []byte) []byte {
	model := gjson.GetBytes(then, "model")
	if !model.Exists() || gjson.GetBytes(now, "model").Exists() {
		return then
	}
	rest, ok := bytes.CutPrefix(then, []byte(`{"model":`+model.Raw+`,`))
	if !ok {
		return then
	}
	return append([]byte{'{'}, rest...)
}

// mismatch shows the first difference.
func (p *replayer) mismatch(r *recorded, then, now []byte) *Error {
	path, a, b := "the body", clean(string(then), maxShown), clean(string(now), maxShown)
	if valid(then) && valid(now) {
		path, a, b = firstDifference(gjson.ParseBytes(then), gjson.ParseBytes(now), "")
	}
	return &Error{Kind: Mismatch,
		Message: fmt.Sprintf("request %d no longer fits the recording %q (line %d): %s differs:\n- %s\n+ %s", p.next, p.path, r.line, path, a, b),
		Hint:    "- is recorded, + is sent now; --record makes a new recording"}
}

// firstDifference returns the path of the first value that differs, and both.
func firstDifference(a, b gjson.Result, path string) (string, string, string) {
	if (a.IsObject() && b.IsObject()) || (a.IsArray() && b.IsArray()) {
		as, bs := entries(a), entries(b)
		for i := range max(len(as), len(bs)) {
			var x, y entry
			if i < len(as) {
				x = as[i]
			}
			if i < len(bs) {
				y = bs[i]
			}
			name := strings.TrimPrefix(path+"."+first(x.name, y.name), ".")
			switch {
			case x.name != y.name:
				return name, around(x), around(y)
			case x.value.Raw != y.value.Raw:
				return firstDifference(x.value, y.value, name)
			}
		}
	}
	if path == "" {
		path = "its white space"
	}
	x, y := tails(a.Raw, b.Raw)
	return path, x, y
}

type entry struct {
	name  string
	value gjson.Result
}

func entries(r gjson.Result) (list []entry) {
	i := 0
	r.ForEach(func(k, v gjson.Result) bool {
		name := k.String()
		if r.IsArray() {
			name = strconv.Itoa(i)
		}
		i++
		list = append(list, entry{name, v})
		return true
	})
	return list
}

func around(e entry) string {
	if e.name == "" {
		return "(nothing)"
	}
	return e.name + ": " + clean(e.value.Raw, maxShown)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// tails shows two texts from shortly before where they part.
func tails(a, b string) (string, string) {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	from := max(n-40, 0)
	lead := ""
	if from > 0 {
		lead = "… "
	}
	return lead + clean(a[from:], maxShown), lead + clean(b[from:], maxShown)
}
