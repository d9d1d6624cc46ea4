package stream

import (
	"fmt"
	"net/http"
)

// dialect is one provider's wire form. A new one is one file, one line in
// dialects, and vectors in testdata/format.
type dialect struct {
	name    string
	path    string // after the base URL
	names   names
	headers func(h http.Header, key Key)

	// encoder makes the writer of one conversation's messages.
	encoder func(r *Request, o options) encoder

	// open and end write what stands before and after the messages.
	open func(w *segments, r *Request, o options)
	end  func(w *segments, r *Request, o options)

	// decoder makes the reader of one reply.
	decoder func(d *draft) decoder
}

// dialects lists what Config.API may name.
var dialects = []*dialect{&chatDialect, &messagesDialect, &responsesDialect}

func findDialect(name string) (*dialect, error) {
	if name == "" {
		name = "chat"
	}
	known := ""
	for _, d := range dialects {
		if d.name == name {
			return d, nil
		}
		known += " " + d.name
	}
	return nil, fmt.Errorf("api %q is unknown; known are:%s", name, known)
}

// options is how a request is written: the configuration, and what an
// endpoint turned out not to take. They hold for the rest of a run.
type options struct {
	noToolRole      bool // write calls and their results as text
	noStreamOptions bool // leave stream_options out
	emptyContent    bool // content of a message that only calls: "" instead of null
	newTokenLimit   bool // the endpoint wants max_completion_tokens
	swapTokenLimit  bool // it turned out to want the other one, or a lower limit
	noInclude       bool // leave include out
	noResultImages  bool // leave pictures of tools' results out
}

// encoder writes the messages of one conversation, each once, as the body of
// a JSON array.
type encoder interface {
	// message writes m after all messages before it.
	message(w *segments, m *Message)
	// finish writes what ends the conversation as it stands. More messages
	// may follow, in place of what it wrote.
	finish(w *segments)
}

// decoder reads one reply into the draft that it was made with.
type decoder interface {
	// event takes one event with data. errEnd says that the end marker came;
	// an *Error that the reply failed; other errors are the sink's.
	event(ev Event) error
	// finish is called at the end of the body; it reports a reply that is
	// not whole.
	finish() error
}
