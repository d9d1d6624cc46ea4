// Package input builds the conversation of a run from the prompt, standard input and attached
// files.
package input

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"toolpipe/run/config"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

// stdinSilence is how long standard input may be silent before a line on stderr says that the run
// waits for it.
const stdinSilence = 5 * time.Second

// Stdin is the content of standard input, after the prompt of the arguments. Both are in one
// buffer, so that a long text is in memory once. The zero value is standard input that was not
// read.
type Stdin struct {
	all    []byte // the prompt and a blank line, if there is a prompt, then the data
	prompt int    // bytes before the data
}

// Data is the content of standard input; nil if it was not read.
func (s *Stdin) Data() []byte {
	if s == nil || s.all == nil {
		return nil
	}
	return s.all[s.prompt:]
}

func (s *Stdin) text() string { return stringOf(s.all) }

// stringOf converts data to a string without a copy. data must not change after that.
func stringOf(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// Read reads standard input to its end, without a time limit. It calls waiting once if nothing
// comes for stdinSilence.
func Read(ctx context.Context, c *config.Config, in io.Reader, waiting func()) (*Stdin, error) {
	silence := goroutine.AfterFunc(stdinSilence, waiting)
	defer silence.Stop()
	return goroutine.AwaitResult(ctx, func() (*Stdin, error) {
		return Whole(c, &pulse{in, silence})
	})
}

func Whole(c *config.Config, in io.Reader) (*Stdin, error) {
	prompt := strings.Join(c.Args, " ")
	if prompt != "" {
		prompt += "\n\n"
	}
	all, err := config.ReadBehind(prompt, in, "standard input", config.MaxInput)
	return &Stdin{all, len(prompt)}, hintAtSize(err)
}

// A pulse is a reader that restarts the silence timer after every read with data, until the timer
// has fired.
type pulse struct {
	r       io.Reader
	silence *time.Timer
}

func (p *pulse) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 && p.silence.Stop() {
		p.silence.Reset(stdinSilence)
	}
	return n, err
}

func Conversation(c *config.Config, in *Stdin, terminal bool, attached []stream.Part) ([]stream.Message, error) {
	data := in.Data()
	if c.Input == "messages" {
		return messagesInput(c, data, attached)
	}
	if c.AttachesInput() {
		if err := attachInput(c, attached, data); err != nil {
			return nil, err
		}
		data = nil
	}
	if c.Input != "text" && len(c.Args) == 0 {
		msgs, err := autoMessages(data)
		if err != nil || msgs != nil {
			return Attach(msgs, attached), err
		}
	}
	if err := refuseUTF16("standard input", data); err != nil {
		return nil, err
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, failure.UsageError([]string{hintOfBytes(data, "standard input is UTF-8 text; -f - attaches a picture")}, "standard input: byte %d is not UTF-8", i)
	}
	text := strings.Join(c.Args, " ")
	if !utf8.ValidString(text) {
		return nil, failure.Usage("the prompt: an argument is not UTF-8")
	}
	switch {
	case text == "":
		text = stringOf(data)
	case len(data) > 0:
		text = in.text()
	}
	switch isEmpty := strings.TrimSpace(text) == "" && len(attached) == 0; {
	case isEmpty && c.Prompt == "":
		return nil, EmptyPrompt(c, terminal)
	case isEmpty:
		return nil, nil
	case text != "":
		attached = append(attached, stream.Part{Text: text})
	}
	return []stream.Message{{Role: stream.User, Parts: attached}}, nil
}

func EmptyPrompt(c *config.Config, terminal bool) error {
	hints := []string{"toolpipe 'name three rivers'", "git diff | toolpipe 'review this diff'", "toolpipe < prompt.txt"}
	if terminal && !c.NamesInput {
		return failure.UsageError(hints, "no prompt: nothing on the command line, and standard input is a terminal")
	}
	if c.NoStdin {
		return failure.UsageError(hints, "empty prompt: nothing on the command line, and --no-stdin reads nothing else")
	}
	return failure.UsageError(hints, "empty prompt: nothing on the command line, and nothing but white space on standard input")
}

// messagesInput reads the conversation of --input messages. The prompt arguments become one more
// user message.
func messagesInput(c *config.Config, data []byte, attached []stream.Part) ([]stream.Message, error) {
	if data == nil {
		return nil, failure.UsageError([]string{"toolpipe --input messages < conversation.json"}, "--input messages: standard input is not read")
	}
	doc, err := parseMessagesDocument(withoutMark(data))
	if err != nil {
		return nil, err
	}
	msgs, err := parseMessages(doc, true)
	if err != nil {
		return nil, err
	}
	switch text := strings.Join(c.Args, " "); {
	case text == "":
		return Attach(msgs, attached), nil
	case strings.TrimSpace(text) == "":
		return nil, failure.Usage("empty prompt: nothing but white space on the command line")
	default:
		return append(msgs, stream.Message{Role: stream.User, Parts: append(attached, stream.Part{Text: text})}), nil
	}
}

func Attach(msgs []stream.Message, parts []stream.Part) []stream.Message {
	if len(parts) == 0 {
		return msgs
	}
	if n := len(msgs) - 1; n >= 0 && msgs[n].Role == stream.User {
		msgs[n].Parts = append(parts, msgs[n].Parts...)
		return msgs
	}
	return append(msgs, stream.Message{Role: stream.User, Parts: parts})
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(p []byte) int {
	if utf8.Valid(p) {
		return -1
	}
	valid, _, _ := bytes.Cut(bytes.ToValidUTF8(p, []byte{0xff}), []byte{0xff})
	return len(valid)
}

// autoMessages decides whether standard input is a conversation, if there are no prompt arguments.
// It returns nil, nil for text.
//
// Only an array of plain user and assistant messages counts as a conversation. An array with
// another role or with a call is refused: piped data, such as a web page, must not be able to
// inject a system message, a tool result or a call.
func autoMessages(data []byte) ([]stream.Message, error) {
	data = withoutMark(data)
	if t := bytes.TrimLeft(data, " \t\r\n"); len(t) == 0 || t[0] != '[' {
		return nil, nil
	}
	doc, err := parseMessagesDocument(data)
	if err != nil {
		return nil, nil // not JSON, so text
	}
	forged, plain := "", true
	for e := range doc.EachElement() {
		role, ok := e.Get("role")
		if !ok || role.Kind() != '"' {
			return nil, nil
		}
		if r := stream.Role(role.Text()); r != stream.User && r != stream.Assistant {
			forged = "a message of role " + string(role.Raw())
		} else if holds(e, "tool_calls") || holds(e, "function_call") {
			forged = "a message with calls"
		} else if !plainContent(e) {
			plain = false
		}
	}
	if forged != "" {
		return nil, failure.UsageError([]string{
			"--input messages takes it as the conversation",
			"--input text sends it as one user message",
		}, "standard input: looks like a conversation that contains %s", forged)
	}
	if !plain || doc.IsEmpty() {
		return nil, nil
	}
	return parseMessages(doc, false) // the state of an endpoint may contain calls
}

// withoutMark replaces a byte order mark before a JSON text by spaces, so that offsets in errors
// stay correct. A JSON reader may skip the mark (RFC 8259, section 8.1).
func withoutMark(data []byte) []byte {
	rest, marked := bytes.CutPrefix(data, []byte("\ufeff"))
	if !marked {
		return data
	}
	return append([]byte("   "), rest...)
}

// holds reports whether key is set in a message. A null or an empty array does not count, because
// libraries write them for a missing value.
func holds(msg document.Value, key string) bool {
	v, ok := msg.Get(key)
	return ok && !v.IsNull() && !(v.Kind() == '[' && v.IsEmpty())
}

func plainContent(msg document.Value) bool {
	content, ok := msg.Get("content")
	if !ok || content.Kind() == '"' {
		return ok
	}
	for p := range content.EachElement() {
		if textAt(p, "type") != "text" {
			return false
		}
	}
	return !content.IsEmpty()
}
