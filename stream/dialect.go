package stream

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// dialect is the wire form of one provider. A new one is a file or two, a line
// in dialects, and vectors in testdata/format.
type dialect struct {
	name    string
	path    string // after the base URL
	names   fieldNames
	headers func(h http.Header, key Key)

	// inReplies are texts that only this API's replies hold. inRefusals are texts, in lower
	// case, of an endpoint that has only this API and refuses another request.
	inReplies, inRefusals []string

	cacheKey bool // requests have the field prompt_cache_key
	ids      idRule

	// open writes the request up to the bracket that begins its messages.
	open func(w *segments, r *Request, o options)

	// encoder makes the writer of one conversation's messages.
	encoder func(r *Request, o options) encoder

	// repairs are changes in o of how requests are written, for a refusal of r that names a field
	// that the endpoint does not accept.
	repairs func(o *options, r *Request, f *refusal) []repair

	// own makes the blocks or items of the text and the calls of a message of the assistant;
	// their kinds are ownKinds. It is nil for chat: the state of chat does not repeat them.
	own      func(m *Message) [][]byte
	ownKinds []string

	// decoder makes the reader of one reply.
	decoder func(d *draft) decoder
}

// dialects lists the dialects that Config.API may name, the default first.
var dialects = []*dialect{&chatDialect, &messagesDialect, &responsesDialect}

// APIs returns the names of all dialects, for Config.API.
func APIs() (names []string) {
	for _, d := range dialects {
		names = append(names, d.name)
	}
	return names
}

func findDialect(name string) (*dialect, error) {
	for _, d := range dialects {
		if name == d.name || name == "" {
			return d, nil
		}
	}
	return nil, fmt.Errorf("api %q is unknown; known are: %s", name, strings.Join(APIs(), " "))
}

// options is how requests are written: as the configuration says, and without the things that
// the endpoint refused. They remain for the rest of a run.
type options struct {
	noToolRole       bool   // write calls and their results as text
	isOpenAI         bool   // the endpoint is OpenAI's own or Azure's
	noStreamOptions  bool   // leave stream_options out
	emptyContent     bool   // the content of a message that only calls is "" instead of null
	secondTokenLimit bool   // write the token limit in the dialect's second way: the first was refused
	noInclude        bool   // leave include out
	answered         bool   // a reply came: a tool_choice that forces a call is left out
	cacheKey         string // prompt_cache_key, "" for none
	noCacheKey       bool   // leave prompt_cache_key out
	noAutoCache      bool   // leave the cache mark of the complete request out
	noCacheMarks     bool   // leave all cache marks out
	noStrict         bool   // leave strict out, next to the schema of the answer
	wrapRoot         bool   // the schema of an answer that is not an object is wrapped in one of an object
	anyJSON          bool   // ask for JSON, and write the schema into the prompt
	noFormat         bool   // ask for the form of the answer only in the prompt
	noOptionalImages bool   // leave the images of tool servers out
	manyPictures     bool   // the request has more than manyPictures pictures
	leftOut          int    // optional pictures of the request that are larger than the endpoint accepts
	noToolNames      bool   // leave the names of tools in their results out
	shortTexts       bool   // cut the descriptions of tools
	plainSchemas     bool   // write the schemas of tools in plain form
	refusedTools     names  // of the tools that are left out
	bareRounds       bool   // leave the endpoint's state out of the rounds with left-out results
	noState          bool   // leave the endpoint's state out of the messages up to now
	stateless        int    // the number of these messages
	nineIDs          bool   // ids of calls have 9 letters and digits, as Mistral demands
	mapsIDs          bool   // also ids that the endpoint issued follow the idRule
	noThinking       bool   // leave the param thinking out
	fill, fillOthers fill   // the state that all messages of the assistant must have, and the state that messages of other models must have
}

// fill is state that some endpoints demand in messages of the assistant, also if another model wrote
// them.
type fill struct {
	reasoning bool // DeepSeek and Kimi: reasoning_content, which may be empty; in the messages dialect a block of thinking
	signature bool // Gemini: the signature of the first call
}

// refuses reports whether a refusal names one of the fields, and the dialect wrote the field,
// not the user.
func (f *refusal) refuses(r *Request, fields ...string) bool {
	return slices.ContainsFunc(fields, func(name string) bool { return !hasParam(r.Params, name) && f.names(name) })
}

type repair struct {
	made   *bool // the option that is the change
	needed bool
	change string // the difference, as in "the request is sent again without include"
}

// firstNeeded makes the first change that is needed and not made yet. It returns the difference
// from then on, "" if it changed nothing.
func firstNeeded(list ...repair) string {
	for _, r := range list {
		if r.needed && !*r.made {
			*r.made = true
			return r.change
		}
	}
	return ""
}

func bearerHeader(h http.Header, key Key) {
	if key != "" {
		h.Set("Authorization", "Bearer "+string(key))
	}
}

// encoder writes the messages of one conversation, each once, as the body of a JSON array.
type encoder interface {
	// message writes m, which is no system message, after all messages before it.
	message(w *segments, m *Message)
	// finish writes the end of the conversation. Messages that follow replace it.
	finish(w *segments)
}

// decoder reads one reply into the draft that it was made with.
type decoder interface {
	// event takes one event with data. The error is errEnd at the end marker, and an
	// *Error when the reply failed; draft.err may hold another one.
	event(ev Event) error
	// finish is called after the end marker, or after a finish reason and the end of the body.
	// The error says that the reply is incomplete.
	finish() error
	// echo is called after finish, when all calls have an id. It returns the state that goes
	// back in addition to the text and the calls.
	echo() Opaque
}
