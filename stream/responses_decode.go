package stream

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// responsesDecoder reads the events of a streamed response, or a whole response.
type responsesDecoder struct {
	*draft
	items []*responsesItem
	seen  bool // an event of a response came
	done  bool // the response came to its end
}

// responsesItem is one output item that is being received.
type responsesItem struct {
	index     int
	id        string
	kind      string
	raw       string // the whole item, "" until it came
	parts     string // the keys of its parts whose text came, so that a repetition is dropped
	arguments []byte
	call      Call
}

func (d *responsesDecoder) event(ev Event) error {
	root, err := parseEvent(ev)
	if err != nil {
		return err
	}
	if e := reportedError(root, ev.Name); e != nil {
		return e
	}
	if root.Get("object").Str == "response" {
		return d.whole(root)
	}
	kind, ok := strings.CutPrefix(root.Get("type").Str, "response.")
	if !ok {
		return nil
	}
	part, action := kind, ""
	if dot := strings.LastIndexByte(kind, '.'); dot > 0 {
		part, action = kind[:dot], kind[dot+1:]
	}
	switch {
	case slices.Contains(endKinds, kind):
		return d.whole(root.Get("response"))
	case kind == "created" || kind == "in_progress" || kind == "queued":
		d.seen = true
		setString(&d.model, root.Get("response.model"))
	case kind == "output_item.added":
		d.item(root).begin(root.Get("item"))
	case kind == "output_item.done":
		return d.itemDone(d.item(root), root.Get("item"))
	case action == "delta":
		return d.delta(root, part)
	case action == "done":
		return d.textDone(root, part)
	}
	return nil
}

var endKinds = []string{"completed", "incomplete", "failed", "done", "cancelled"}

// item returns the item of an event, by its place, else by its id.
func (d *responsesDecoder) item(event gjson.Result) *responsesItem {
	index, id := event.Get("output_index"), event.Get("item_id").Str
	if id == "" {
		id = event.Get("item.id").Str
	}
	for _, it := range d.items {
		if (index.Exists() && it.index == int(index.Int())) || (!index.Exists() && id != "" && it.id == id) {
			return it
		}
	}
	it := &responsesItem{index: len(d.items), id: strings.Clone(id)}
	if index.Exists() {
		it.index = int(index.Int())
	}
	if len(d.items) < maxBlocks { // more are no reply; finish says so
		d.items = append(d.items, it)
	}
	return it
}

// begin takes the members of an item that identify it.
func (it *responsesItem) begin(v gjson.Result) {
	setString(&it.kind, v.Get("type"))
	setString(&it.id, v.Get("id"))
	if id := stringOrNumber(v.Get("call_id")); id != "" {
		it.call.ID = id
	}
	if name := stringOrNumber(v.Get("name")); name != "" {
		it.call.Name = name
	}
}

// partKey identifies a part within its item: by its kind and its number.
func partKey(kind string, event gjson.Result) string {
	number := event.Get("content_index")
	if !number.Exists() {
		number = event.Get("summary_index")
	}
	return kind + " " + strings.Clone(number.Raw) + "\n"
}

// delta takes a piece of a part. Parts of other kinds are what the server itself
// does; they come again in the whole item.
func (d *responsesDecoder) delta(root gjson.Result, part string) error {
	piece, add := text(root.Get("delta")), d.partSink(part)
	switch {
	case part == "function_call_arguments" || part == "custom_tool_call_input":
		it := d.item(root)
		d.began = true
		it.arguments = appendPiece(it.arguments, piece)
	case add != nil:
		it := d.item(root)
		if key := partKey(part, root); len(piece) > 0 && !strings.Contains(it.parts, key) {
			it.parts += key
		}
		return add(piece)
	}
	return nil
}

// partSink returns the function that takes the text of a part, nil for a part
// without text.
func (d *responsesDecoder) partSink(part string) func([]byte) error {
	switch part {
	case "output_text":
		return d.addText
	case "refusal":
		return func(piece []byte) error {
			d.refusal = appendPiece(d.refusal, piece)
			d.began = true
			return nil
		}
	case "reasoning_summary_text", "reasoning_text", "reasoning", "reasoning_summary":
		return d.addReasoning
	}
	return nil
}

// textDone takes the whole text of a part. It counts if no delta brought it.
func (d *responsesDecoder) textDone(root gjson.Result, part string) error {
	switch part {
	case "output_text", "reasoning_summary_text", "reasoning_text", "refusal":
		it, key, v := d.item(root), partKey(part, root), partText(root)
		if v.Str != "" && !strings.Contains(it.parts, key) {
			it.parts += key
			return d.partSink(part)(text(v))
		}
	case "function_call_arguments":
		d.began = true
		d.item(root).setArguments(root.Get("arguments"))
	case "custom_tool_call_input":
		d.item(root).setArguments(root.Get("input"))
	}
	return nil
}

func (it *responsesItem) setArguments(v gjson.Result) {
	switch {
	case v.Type == gjson.String:
		it.arguments = text(v)
	case v.IsObject():
		it.arguments = []byte(v.Raw)
	}
}

// itemDone takes a whole item.
func (d *responsesDecoder) itemDone(it *responsesItem, v gjson.Result) (err error) {
	it.begin(v)
	it.raw = strings.Clone(v.Raw)
	switch it.kind {
	case "function_call":
		d.began = true
		it.setArguments(v.Get("arguments"))
	case "custom_tool_call":
		d.began = true
		it.setArguments(v.Get("input"))
	case "message", "reasoning":
		streamed := it.parts // the numbers of parts may differ here, so each kind of part is compared as a whole
		take := func(_, part gjson.Result) bool {
			kind := streamedAs(part.Get("type").Str)
			if kind != "" && !strings.Contains(streamed, kind+" ") {
				it.parts += kind + " \n"
				err = d.partSink(kind)(text(partText(part)))
			}
			return err == nil
		}
		if v.Get("summary").ForEach(take); err == nil {
			v.Get("content").ForEach(take)
		}
	}
	return err
}

// streamedAs returns the name that a part of an item has in the events that
// stream it, "" for a part without text.
func streamedAs(part string) string {
	switch part {
	case "output_text", "text":
		return "output_text"
	case "summary_text":
		return "reasoning_summary_text"
	case "refusal", "reasoning_text":
		return part
	}
	return ""
}

func partText(part gjson.Result) gjson.Result {
	if t := part.Get("text"); t.Exists() {
		return t
	}
	return part.Get("refusal")
}

// whole takes the response at its end, or a response that is not streamed.
func (d *responsesDecoder) whole(response gjson.Result) (err error) {
	d.seen = true
	setString(&d.model, response.Get("model"))
	if e := reportedError(response, ""); e != nil {
		return e
	}
	if u := response.Get("usage"); u.IsObject() {
		d.usage = Usage{
			Input: count(u, "input_tokens"), Output: count(u, "output_tokens"),
			Cached:    count(u, "input_tokens_details.cached_tokens"),
			Reasoning: count(u, "output_tokens_details.reasoning_tokens"),
		}
	}
	response.Get("output").ForEach(func(_, v gjson.Result) bool {
		if !d.hasItem(v) {
			it := &responsesItem{index: -1}
			d.items = append(d.items, it)
			err = d.itemDone(it, v)
		}
		return err == nil && len(d.items) < maxBlocks
	})
	d.finishReason = strings.Clone(response.Get("status").Str)
	switch d.finishReason {
	case "failed", "cancelled":
		return &Error{Kind: Refused, Message: "the response ended with status " + d.finishReason}
	case "incomplete":
		d.stop = chatStop(response.Get("incomplete_details.reason").Str)
	case "", "completed":
		d.stop = StopEnd
	}
	d.done = true
	if err == nil {
		err = errEnd
	}
	return err
}

// hasItem reports whether an item of the whole response came before. Its place
// and its id may differ there, so an item of the same kind is taken for it; calls
// are told apart by their ids.
func (d *responsesDecoder) hasItem(v gjson.Result) bool {
	kind, callID := v.Get("type").Str, stringOrNumber(v.Get("call_id"))
	return slices.ContainsFunc(d.items, func(it *responsesItem) bool { return it.kind == kind && it.call.ID == callID })
}

func (d *responsesDecoder) finish() error {
	switch {
	case !d.seen && len(d.items) == 0:
		return notAReply("it holds no response")
	case !d.done:
		return cutReply()
	case len(d.items) >= maxBlocks:
		return tooManyCalls()
	}
	echo := false
	for _, it := range d.items {
		switch it.kind {
		case "function_call", "custom_tool_call":
			it.call.Arguments = it.arguments
			d.calls = append(d.calls, it.call)
		case "message":
		default:
			echo = echo || it.goesBack()
		}
	}
	if echo && !d.request.ThinkTags {
		d.opaque = d.echo()
	}
	return nil
}

// goesBack reports whether an item can be sent again. Reasoning without content
// refers to what the server was asked not to store.
func (it *responsesItem) goesBack() bool {
	if it.raw == "" {
		return false
	}
	if it.kind != "reasoning" {
		return true
	}
	v := gjson.Parse(it.raw)
	return v.Get("encrypted_content").Str != "" || len(v.Get("content").Array()) > 0
}

// echo returns the output in the API's own form, in order.
func (d *responsesDecoder) echo() Opaque {
	var list [][]byte
	for _, it := range d.items {
		switch {
		case it.kind == "function_call":
			list = append(list, appendFunctionCall(nil, &it.call))
		case it.goesBack():
			list = append(list, []byte(it.raw))
		}
	}
	return Opaque{dialect: responsesDialect.name, json: bytes.Join(list, []byte(","))}
}
