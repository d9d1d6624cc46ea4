package stream

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
)

// responsesDecoder reads the events of a streamed response, or a whole one.
type responsesDecoder struct {
	*draft
	items []*responsesItem
	seen  bool // a response began
	done  bool
}

// responsesItem is one output item in the making.
type responsesItem struct {
	index     int
	id        string
	kind      string
	raw       string // as it came whole, "" before
	streamed  string // parts that came as deltas, and need no repetition
	arguments []byte
	call      Call
}

func (d *responsesDecoder) event(ev Event) error {
	if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
		return errEnd
	}
	if !valid(ev.Data) {
		return badEvent(ev)
	}
	root := gjson.ParseBytes(ev.Data)
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
		d.useModel(root.Get("response"))
	case "response.output_item.added":
		d.item(root).open(root.Get("item"))
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

// item returns the item that an event speaks of, by its place, else by its id.
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

// open takes what an item says of itself.
func (it *responsesItem) open(v gjson.Result) {
	if kind := v.Get("type").Str; kind != "" {
		it.kind = strings.Clone(kind)
	}
	if id := v.Get("id").Str; id != "" {
		it.id = strings.Clone(id)
	}
	if id := word(v.Get("call_id")); id != "" {
		it.call.ID = id
	}
	if name := word(v.Get("name")); name != "" {
		it.call.Name = name
	}
}

// partKey names a part of an item: what it is and its number.
func partKey(kind string, event gjson.Result) string {
	number := event.Get("content_index")
	if !number.Exists() {
		number = event.Get("summary_index")
	}
	return kind + " " + strings.Clone(number.Raw) + "\n"
}

// delta takes a piece of a part. Kinds that are unknown are the server's
// own doings.
func (d *responsesDecoder) delta(root gjson.Result, kind string) error {
	delta := root.Get("delta")
	add := d.partSink(kind)
	if add == nil && kind != "response.function_call_arguments" && kind != "response.custom_tool_call_input" {
		return nil
	}
	it := d.item(root)
	piece := text(delta)
	if add == nil {
		d.began = true
		it.arguments = appendPiece(it.arguments, piece)
		return nil
	}
	if key := partKey(kind, root); len(piece) > 0 && !strings.Contains(it.streamed, key) {
		it.streamed += key
	}
	return add(piece)
}

// partSink says where the text of a part goes; nil for a part without text.
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

// textDone takes a part's whole text, which counts where no delta brought it.
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
	if v.Str == "" || strings.Contains(it.streamed, key) {
		return nil
	}
	it.streamed += key
	return d.partSink(kind)(text(v))
}

// streamedAs maps a part of a whole item to the events that stream it.
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

// itemDone takes an item that is whole.
func (d *responsesDecoder) itemDone(it *responsesItem, v gjson.Result) (err error) {
	it.open(v)
	it.raw = strings.Clone(v.Raw)
	switch it.kind {
	case "function_call":
		d.began = true
		it.wholeArguments(v.Get("arguments"))
	case "custom_tool_call":
		d.began = true
		it.wholeArguments(v.Get("input"))
	case "message", "reasoning":
		streamed := it.streamed // places are not reliable, so a kind of part counts as a whole
		for _, list := range []string{"summary", "content"} {
			v.Get(list).ForEach(func(_, part gjson.Result) bool {
				kind := streamedAs(part.Get("type").Str)
				if kind != "" && !strings.Contains(streamed, kind+" ") {
					it.streamed += kind + " \n"
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

func (d *responsesDecoder) useModel(response gjson.Result) {
	if m := response.Get("model").Str; m != "" {
		d.model = strings.Clone(m)
	}
}

// whole takes a response at its end, or one that is not streamed.
func (d *responsesDecoder) whole(response gjson.Result) (err error) {
	d.seen = true
	d.useModel(response)
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
		if !d.knows(v) {
			it := &responsesItem{index: -1}
			d.items = append(d.items, it)
			err = d.itemDone(it, v)
		}
		return err == nil && len(d.items) < maxBlocks
	})
	d.word = strings.Clone(response.Get("status").Str)
	switch d.word {
	case "failed", "cancelled":
		return &Error{Kind: Refused, Message: "the response ended with status " + d.word}
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

// knows reports whether an item of the whole response came before. Its place
// and its id may differ there, so any item of its kind will do, but calls are
// told apart by their ids.
func (d *responsesDecoder) knows(v gjson.Result) bool {
	kind, callID := v.Get("type").Str, word(v.Get("call_id"))
	for _, it := range d.items {
		if it.kind == kind && it.call.ID == callID {
			return true
		}
	}
	return false
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
	if len(d.calls) > maxCalls {
		return tooManyCalls()
	}
	if echo && !d.request.ThinkTags {
		d.opaque = d.echo()
	}
	return nil
}

// goesBack reports whether an item can be sent again. Reasoning without its
// content is only a reference to what the server did not store.
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

// echo is the output in its own form, in order.
func (d *responsesDecoder) echo() Opaque {
	var w []byte
	for _, it := range d.items {
		before := len(w)
		if before > 0 {
			w = append(w, ',')
		}
		switch {
		case it.kind == "function_call":
			w = appendFunctionCall(w, &it.call)
		case it.goesBack():
			w = append(w, it.raw...)
		default:
			w = w[:before]
		}
	}
	return Opaque{dialect: "responses", json: w}
}
