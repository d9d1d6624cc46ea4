package stream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/secrets"
)

// replayer answers requests from a recording, in its order.
type replayer struct {
	Tape
	exchanges []recorded
	next      int
}

type recorded struct {
	line        int    // where the request begins in the file
	api         string // the dialect of the request
	openAI      bool   // its form is that for OpenAI
	request     []byte
	status      int // 0: there was no answer
	contentType string
	body        []byte
	cut         bool
}

// maxRecording caps a recording, because it is kept in memory.
const maxRecording = 1 << 30

func openReplay(path, hint string, hidden *secrets.Set) (*replayer, error) {
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
	p := &replayer{Tape: Tape{hidden: hidden, path: path, hint: hint, answers: map[string][][]byte{}}}
	if err := p.parse(data); err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return p, nil
}

// parse reads a recording in the form that record.go describes. It leaves out
// requests without an answer: the run repeated them.
func (p *replayer) parse(data []byte) error {
	rest, ok := bytes.CutPrefix(data, []byte(recordingHead))
	if !ok {
		return fmt.Errorf("1: this is not a recording")
	}
	var cur recorded
	var between []byte // lines that belong to no body
	into := &between
	number := 1
	for line := range bytes.Lines(rest) {
		number++
		kind, arg, isMark := parseMark(line)
		switch {
		case into == &between && line[0] == '{':
			if err := p.read(line); err != nil {
				return fmt.Errorf("%d: %w", number, err)
			}
		case !isMark:
			*into = appendBodyLine(*into, line)
		case kind == "request":
			api, openAI := strings.CutSuffix(arg, openAIMark)
			cur = recorded{line: number, api: api, openAI: openAI}
			into = &cur.request
		case kind == "response" && cur.line > 0 && cur.status == 0:
			status, contentType, _ := strings.Cut(arg, " ")
			cur.status, _ = strconv.Atoi(status)
			cur.contentType = contentType
			into = &cur.body
		case (kind == "end" || kind == "cut") && cur.status > 0:
			cur.cut = kind == "cut"
			p.exchanges = append(p.exchanges, cur)
			cur, into = recorded{}, &between
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

// parseMark splits a line such as "-- response 200 text/html --".
func parseMark(line []byte) (kind, arg string, ok bool) {
	s := strings.TrimRight(string(line[:min(len(line), 200)]), "\r\n")
	s, head := strings.CutPrefix(s, "-- ")
	s, tail := strings.CutSuffix(s, " --")
	kind, arg, _ = strings.Cut(s, " ")
	return kind, arg, head && tail
}

// appendBodyLine adds a line to a body, without its escape.
func appendBodyLine(body, line []byte) []byte {
	rest, escaped := bytes.CutPrefix(line, []byte{'\\'})
	if escaped && len(bytes.TrimRight(rest, "\r\n")) == 0 {
		return bytes.TrimSuffix(body, []byte{'\n'})
	}
	return append(body, rest...)
}

// answer returns the next response, if it was recorded for this request.
func (p *replayer) answer(sent *body, hidden *secrets.Finder) (*http.Response, error) {
	if p.next == len(p.exchanges) {
		return nil, &Error{Kind: Mismatch, Hint: p.hint,
			Message: fmt.Sprintf("%q contains %d exchanges, and the run asks for one more", p.path, len(p.exchanges))}
	}
	r := &p.exchanges[p.next]
	now := hidden.Hide(sent.bytes()) // in the form of the recording
	if then := withModelOf(now, r.request); !bytes.Equal(now, then) {
		message := fmt.Sprintf("request %d no longer fits the recording %q (line %d); from byte %d on it differs:", p.next+1, p.path, r.line, common(string(then), string(now)))
		return nil, mismatch(p.hint, message, string(then), string(now))
	}
	p.next++
	res := &http.Response{StatusCode: r.status, Header: http.Header{"Content-Type": {r.contentType}}, Request: &http.Request{URL: recordingEndpoint.url}}
	var body io.Reader = bytes.NewReader(r.body)
	if r.cut {
		body = io.MultiReader(body, brokenReader{})
	}
	res.Body = io.NopCloser(body)
	return res, nil
}

// upcoming returns the recording's next exchange, an empty one at the end.
func (p *replayer) upcoming() recorded {
	if p.next == len(p.exchanges) {
		return recorded{}
	}
	return p.exchanges[p.next]
}

// isForOpenAI reports whether the form of the request is that for OpenAI. Older recordings show
// it only by the name of the token limit.
func (r *recorded) isForOpenAI() bool { return r.openAI || r.has("max_completion_tokens") }

func (r *recorded) has(name string) bool { return gjson.GetBytes(r.request, name).Exists() }

// hasNineIDs reports whether the request was written with options.nineIDs.
func (r *recorded) hasNineIDs() bool {
	ids := gjson.GetBytes(r.request, "messages.#.tool_calls.#.id|@flatten").Array()
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id gjson.Result) bool { return !isNine(id.Str) })
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// withModelOf returns a recorded request, without its model if the present one
// has none: a replay needs no model.
func withModelOf(present, recorded []byte) []byte {
	model := gjson.GetBytes(recorded, "model")
	rest, ok := bytes.CutPrefix(recorded, []byte(`{"model":`+model.Raw+`,`))
	if !ok || gjson.GetBytes(present, "model").Exists() {
		return recorded
	}
	return append([]byte{'{'}, rest...)
}

// common is the length of the longest common start of two texts.
func common(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// mismatch is the error of a request that differs from the recorded one. It shows both from shortly
// before the difference.
func mismatch(hint, message, then, now string) *Error {
	from := common(then, now)
	before := max(from-100, 0)
	shown := func(text string) string { return clean(text[before:min(from+maxShown, len(text))], maxShown) }
	return &Error{Kind: Mismatch, Message: message + "\n- " + shown(then) + "\n+ " + shown(now), Hint: strings.TrimSuffix("- is recorded, + is sent now; "+hint, "; ")}
}
