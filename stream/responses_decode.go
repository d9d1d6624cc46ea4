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
	kind := root.Get("type").Str
	switch kind {
	case "response.completed", "response.incomplete", "response.failed", "response.done", "response.cancelled":
		return d.whole(root.Get("response"))
	case "response.created", "response.in_progress", "response.queued":
		d.seen = true
		setString(&d.model, root.Get("response.model"))
	case "response.output_item.added":
		d.item(root).begin(root.Get("item"))
	case "response.output_item.done":
		return d.itemDone(d.item(root), root.Get("item"))
	}
	if strings.HasSuffix(kind, ".delta") {
		return d.delta(root, strings.TrimSuffix(kind, ".delta"))
	}
	if strings.HasSuffix(kind, ".done") {
		return d.textDone(root, strings.TrimSuffix(kind, ".done"))
	}
	return nil
}

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
func (d *responsesDecoder) delta(root gjson.Result, kind string) error {
	piece := text(root.Get("delta"))
	if kind == "response.function_call_arguments" || kind == "response.custom_tool_call_input" {
		it := d.item(root)
		d.began = true
		it.arguments = appendPiece(it.arguments, piece)
		return nil
	}
	add := d.partSink(kind)
	if add == nil {
		return nil
	}
	it := d.item(root)
	if key := partKey(kind, root); len(piece) > 0 && !strings.Contains(it.parts, key) {
		it.parts += key
	}
	return add(piece)
}

// partSink returns the function that takes the text of a part, nil for a part
// without text.
func (d *responsesDecoder) partSink(kind string) func([]byte) error {
	switch kind {
	case "response.output_text":
		return d.addText
	case "response.refusal":
		return func(piece []byte) error {
			d.refusal = appendPiece(d.refusal, piece)
			d.began = true
			return nil
		}
	case "response.reasoning_summary_text", "response.reasoning_text", "response.reasoning", "response.reasoning_summary":
		return d.addReasoning
	}
	return nil
}

// textDone takes the whole text of a part. It counts if no delta brought it.
func (d *responsesDecoder) textDone(root gjson.Result, kind string) error {
	switch kind {
	case "response.output_text", "response.reasoning_summary_text", "response.reasoning_text":
		return d.wholePart(d.item(root), kind, root, root.Get("text"))
	case "response.refusal":
		return d.wholePart(d.item(root), kind, root, root.Get("refusal"))
	case "response.function_call_arguments":
		d.began = true
		d.item(root).wholeArguments(root.Get("arguments"))
	case "response.custom_tool_call_input":
		d.item(root).wholeArguments(root.Get("input"))
	}
	return nil
}

func (it *responsesItem) wholeArguments(v gjson.Result) {
	switch {
	case v.Type == gjson.String:
		it.arguments = text(v)
	case v.IsObject():
		it.arguments = []byte(v.Raw)
	}
}

func (d *responsesDecoder) wholePart(it *responsesItem, kind string, place, v gjson.Result) error {
	key := partKey(kind, place)
	if v.Str == "" || strings.Contains(it.parts, key) {
		return nil
	}
	it.parts += key
	return d.partSink(kind)(text(v))
}

// streamedAs returns the kind of the events that stream a part of an item, ""
// for a part without text.
func streamedAs(part string) string {
	switch part {
	case "output_text", "text":
		return "response.output_text"
	case "refusal":
		return "response.refusal"
	case "summary_text":
		return "response.reasoning_summary_text"
	case "reasoning_text":
		return "response.reasoning_text"
	}
	return ""
}

// itemDone takes a whole item.
func (d *responsesDecoder) itemDone(it *responsesItem, v gjson.Result) (err error) {
	it.begin(v)
	it.raw = strings.Clone(v.Raw)
	switch it.kind {
	case "function_call":
		d.began = true
		it.wholeArguments(v.Get("arguments"))
	case "custom_tool_call":
		d.began = true
		it.wholeArguments(v.Get("input"))
	case "message", "reasoning":
		streamed := it.parts // the numbers of parts may differ here, so each kind of part is compared as a whole
		for _, list := range []string{"summary", "content"} {
			v.Get(list).ForEach(func(_, part gjson.Result) bool {
				kind := streamedAs(part.Get("type").Str)
				if kind != "" && !strings.Contains(streamed, kind+" ") {
					it.parts += kind + " \n"
					err = d.partSink(kind)(text(partText(part)))
				}
				return err == nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
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
