package stream

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// responsesDecoder reads the events of a streamed response, or a complete response. Endpoints
// leave out any of the forms in which an item comes (added, deltas, the whole part, the whole
// item, the whole response), or ids and indexes in some of them. So each form is matched with
// the known items, and adds the missing parts to them.
type responsesDecoder struct {
	*draft
	items []*responsesItem
	last  *responsesItem // the item of the last event, if that was a delta
	total [4]passedText  // the texts of all items, by textKind
}

func (d *responsesDecoder) event(ev Event) error {
	root, err := parseEvent(ev)
	if err != nil {
		return err
	}
	if root.Get("object").Str == "response" {
		return d.whole(root)
	}
	name, ok := strings.CutPrefix(root.Get("type").Str, "response.")
	if !ok {
		return nil
	}
	d.seen = true
	part, action := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		part, action = name[:dot], name[dot+1:]
	}
	switch {
	case slices.Contains(endKinds, name):
		return d.whole(root.Get("response"))
	case name == "created" || name == "in_progress" || name == "queued":
		setString(&d.model, root.Get("response.model"))
	case name == "output_item.added":
		v := root.Get("item")
		it := d.item(root, v, v.Get("type").Str, formAdded)
		it.begin(v)
		it.first = wholeArguments(nil, v.Get(argumentsOf(it.kind)))
		if it.kind == "function_call" && it.raw == "" { // the whole item may not come
			it.raw = strings.Clone(v.Raw)
		}
	case name == "output_item.done":
		v := root.Get("item")
		d.wholeItem(d.item(root, v, v.Get("type").Str, formItem), v, textsOf(v))
	case part == "output_text.annotation":
		d.cite(root.Get("annotation"))
	case action == "delta":
		d.piece(root, part, root.Get("delta"), formDelta)
	case action == "done" && (part == "content_part" || part == "reasoning_summary_part"):
		v := root.Get("part")
		d.piece(root, v.Get("type").Str, partText(v), formPart)
	case action == "done":
		d.piece(root, part, partText(root), formText)
	}
	return nil
}

var endKinds = []string{"completed", "incomplete", "failed", "done", "cancelled"}

// partText returns the complete text of a part, or the complete arguments of a call.
func partText(v gjson.Result) gjson.Result {
	for _, name := range []string{"text", "refusal", "arguments", "input"} {
		if t := v.Get(name); t.Exists() {
			return t
		}
	}
	return gjson.Result{}
}

// piece takes a delta or the whole of a part's text, or of a call's arguments. Parts of other
// kinds are actions of the server; they come again in the whole item.
func (d *responsesDecoder) piece(root gjson.Result, name string, v gjson.Result, f form) {
	for _, kind := range [...]string{"function_call", "custom_tool_call"} {
		if rest, ok := strings.CutPrefix(name, kind); ok && rest == "_"+argumentsOf(kind) {
			d.began = true
			it := d.item(root, gjson.Result{}, kind, f)
			if f == formDelta {
				it.arguments = appendPiece(it.arguments, text(v))
				d.bound(it.arguments)
			} else {
				it.arguments = wholeArguments(it.arguments, v)
			}
			return
		}
	}
	kind, item := textKindOf(name)
	if item == "" {
		return
	}
	it := d.item(root, gjson.Result{}, item, formDelta)
	number := indexOf(root, "content_index", "summary_index")
	named := root.Get("item_id").Exists() || root.Get("output_index").Exists()
	part := it.part(kind, number, f, named)
	d.say(it, kind, &part.passedText, text(v), f != formDelta)
}

// say passes on a piece, or the missing part of a whole text.
func (d *responsesDecoder) say(it *responsesItem, kind textKind, to *passedText, piece []byte, whole bool) {
	v, from := d.textOf(kind), d.text.size
	if whole {
		v.complete(to, piece)
	} else {
		v.addTo(to, piece)
	}
	if d.text.size > from {
		it.spans = addSpan(it.spans, span{from, d.text.size})
	}
}

func (d *responsesDecoder) textOf(kind textKind) *replyText {
	return [...]*replyText{&d.answer, &d.refusalText, &d.reasoningText, &d.reasoningText}[kind]
}

func (d *responsesDecoder) wholeItem(it *responsesItem, v gjson.Result, texts [4][]byte) {
	it.begin(v)
	if len(v.Raw) > len(it.raw) {
		it.raw = strings.Clone(v.Raw)
	}
	if argument := argumentsOf(it.kind); argument != "" {
		d.began = true
		it.arguments = wholeArguments(it.arguments, v.Get(argument))
		return
	}
	for kind, whole := range texts {
		to := &it.passed[kind]
		if to.size == 0 && kind >= int(summaryText) { // the deltas may name the other text of the reasoning
			if other := &it.passed[int(summaryText+thoughtText)-kind]; other.size > 0 && other.begins(whole) {
				to = other
			}
		}
		if !it.complete[kind] {
			d.say(it, textKind(kind), to, whole, true)
		}
	}
	for _, part := range v.Get("content").Array() {
		d.cite(part.Get("annotations"))
	}
}

// completeAll passes on the missing parts of the texts of one kind if the passed text is the
// beginning of all of them: items without ids may have come as one. Then the ranges of the items
// are known, too.
func (d *responsesDecoder) completeAll(items []*responsesItem, texts [][4][]byte, kind textKind) {
	var all []byte
	for i := range texts {
		all = append(all, texts[i][kind]...)
	}
	passed := d.total[kind].size
	if passed == 0 || !d.total[kind].begins(all) {
		return
	}
	ranged, at := kind == answerText && d.text.size == passed, 0
	for i := 0; ranged && i < len(d.items); i++ {
		d.items[i].spans = nil
	}
	d.textOf(kind).high = 0 // the rest contains the text after it
	for i, it := range items {
		whole := texts[i][kind]
		n := min(passed, len(whole))
		d.say(it, kind, &it.passed[kind], whole[n:], false)
		if ranged && len(whole) > 0 {
			it.spans = []span{{at, at + len(whole)}}
		}
		it.complete[kind] = true
		passed, at = passed-n, at+len(whole)
	}
}

// textsOf returns the text of each textKind in a whole item, in UTF-8.
func textsOf(item gjson.Result) (texts [4][]byte) {
	for _, list := range []string{"content", "summary"} {
		for _, part := range item.Get(list).Array() {
			if kind, of := textKindOf(part.Get("type").Str); of != "" && of == item.Get("type").Str {
				texts[kind] = appendPiece(texts[kind], text(partText(part)))
			}
		}
	}
	for kind := range texts {
		texts[kind] = utf8Of(texts[kind])
	}
	return texts
}

// whole takes the response at its end, or a response without a stream.
func (d *responsesDecoder) whole(response gjson.Result) error {
	d.seen = true
	setString(&d.model, response.Get("model"))
	d.useOpenAIUsage(response.Get("usage"))
	if f := reportedRefusal(response, ""); f != nil {
		return f
	}
	if status := response.Get("status").Str; status == "queued" || status == "in_progress" {
		e := notAReply("the endpoint answers in the background: its status is " + status)
		e.Hint = "--param background=false asks for the answer itself"
		return e
	}
	var list []itemID
	output := response.Get("output").Array()
	if len(output) > maxItems {
		return tooManyItems()
	}
	for i, v := range output {
		list = append(list, itemID{index: i, id: v.Get("id").Str, kind: v.Get("type").Str, callID: stringOrNumber(v.Get("call_id"))})
	}
	texts := make([][4][]byte, len(output))
	for i, v := range output {
		texts[i] = textsOf(v)
	}
	items := d.match(list, formResponse, func(i int, it *responsesItem) bool { return it.mayBe(output[i], texts[i]) })
	for kind := range d.total {
		d.completeAll(items, texts, textKind(kind))
	}
	for i, it := range items {
		it.forms |= formResponse
		d.wholeItem(it, output[i], texts[i])
	}
	d.items = ordered(d.items, items)
	d.done, d.finishReason = true, strings.Clone(response.Get("status").Str)
	reason := response.Get("incomplete_details.reason").Str
	d.stop = stopOf(cmp.Or(reason, d.finishReason, "completed"))
	if d.finishReason == "incomplete" && (d.stop == StopUnknown || d.stop == StopEnd) {
		d.stop = StopFailed
		d.finishReason += ": " + reason
	}
	if d.stop == StopFailed {
		return nil // an error event with the reason may follow
	}
	return errEnd
}

// ordered puts the listed items of known into the order of the list. An item that is not listed
// stays after the listed ones that came before it.
func ordered(known, list []*responsesItem) (all []*responsesItem) {
	for _, it := range known {
		if n := slices.Index(list, it); n >= 0 {
			all, list = append(all, list[:n+1]...), list[n+1:]
		} else if !slices.Contains(all, it) {
			all = append(all, it)
		}
	}
	return all
}

func (d *responsesDecoder) finish() error {
	for _, it := range d.items {
		if argumentsOf(it.kind) != "" {
			begun := it.forms == formAdded && len(it.arguments) == 0
			if it.call.Name == "" || begun && len(it.first) == 0 || d.mixed(it) {
				return halfCall()
			}
			it.call.ID, it.call.Arguments = it.callID, it.arguments
			if len(it.arguments) == 0 {
				it.call.Arguments = it.first
			}
			it.place = len(d.calls)
			d.calls = append(d.calls, it.call)
		}
		if it.phase == "commentary" {
			d.hasAside = d.hasAside || len(it.spans) > 0
		} else {
			d.answers = append(d.answers, it.spans...)
		}
	}
	d.lookForWaits()
	return nil
}

// mixed reports whether another call may have got this one's arguments. Events that name no
// call are assigned to the calls in their order. That is right only if every call had an event.
func (d *responsesDecoder) mixed(it *responsesItem) bool {
	return slices.ContainsFunc(d.items, func(other *responsesItem) bool {
		return other.kind == it.kind && other.guessed&^it.forms != 0
	})
}

// ownItemKinds are the items that a reply may hold in addition to messages and calls of
// functions: the actions of the endpoint itself. Others are unknown.
var ownItemKinds = []string{"reasoning", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools",
	"tool_search_call", "shell_call", "compaction"}

// lookForWaits finds the part of a reply that waits for the client. An item that another client
// would answer is a call without an output, asks for an approval, or is not done.
func (d *responsesDecoder) lookForWaits() {
	hasMessage := slices.ContainsFunc(d.items, func(it *responsesItem) bool { return it.kind == "message" })
	for _, it := range d.items {
		status := gjson.Get(it.raw, "status").Str
		answered := slices.ContainsFunc(d.items, func(other *responsesItem) bool {
			return other != it && other.callID == it.callID && strings.HasSuffix(other.kind, "_output")
		})
		known := slices.Contains(ownItemKinds, it.kind)
		switch {
		case it.kind == "message", argumentsOf(it.kind) != "", strings.HasSuffix(it.kind, "_output"):
		case it.callID != "" && !answered && it.kind != "mcp_call", strings.HasSuffix(it.kind, "_request"), status == "in_progress" && !known, !known && !hasMessage:
			d.waits = cmp.Or(d.waits, it.kind)
		case !known && !slices.Contains(d.unknown, it.kind):
			d.unknown = append(d.unknown, strings.Clone(it.kind))
		}
	}
}

// echo returns the output in the API's form, in order, if it holds more than text and calls.
func (d *responsesDecoder) echo() Opaque {
	isMore := func(it *responsesItem) bool {
		if it.kind == "function_call" {
			return len(it.others()) > 0
		}
		return it.phase != "" || it.kind != "message" && it.goesBack()
	}
	if d.request.ThinkTags || !slices.ContainsFunc(d.items, isMore) {
		return Opaque{}
	}
	var list [][]byte
	for _, it := range d.items {
		var item []byte
		switch {
		case it.kind == "function_call":
			item = functionCall(&d.calls[it.place], it.others())
		case it.kind == "message":
			item = d.appendMessage(it)
		case it.kind == "custom_tool_call" && it.goesBack():
			item = withMembers(gjson.Parse(it.raw), gjson.ParseBytes(formed(`{"call_id":?}`, d.calls[it.place].ID)))
		case it.goesBack():
			item = []byte(it.raw)
		}
		if len(item) > 0 {
			list = append(list, item)
		}
	}
	return Opaque{json: bytes.Join(list, []byte(","))}
}

// appendMessage returns a message as it goes back: as it came, or made of its deltas. A message
// without text does not go back.
func (d *responsesDecoder) appendMessage(it *responsesItem) []byte {
	if whole := textsOf(gjson.Parse(it.raw)); len(bytes.TrimSpace(append(whole[answerText], whole[refusalText]...))) > 0 {
		return []byte(it.raw)
	}
	parts := d.text.only(it.spans)
	if !hasText(parts) {
		return nil
	}
	return formed(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":?}]?}`, parts, filled(`,"phase":?`, it.phase))
}
