package stream

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// maxItems caps the items of a reply, and the parts of an item. Each event scans them.
const maxItems = 1000

// form is a form in which an item or a part comes, once in each form.
type form uint8

const (
	formDelta    form = 0 // in many pieces
	formAdded    form = 1 << (iota - 1)
	formText          // the whole text of a part, or the whole arguments
	formPart          // the whole part
	formItem          // the whole item
	formResponse      // in the whole response
)

// responsesItem is one output item that is being received.
type responsesItem struct {
	itemID
	forms     form
	raw       string // the whole item, "" until it came; of a function call also its beginning
	phase     string
	passed    [4]passedText // the part of each textKind that was passed on
	complete  [4]bool       // all of it was passed on
	parts     []*responsesPart
	spans     []span // the ranges of its text in the text of the reply
	first     []byte // the arguments at its beginning, often a placeholder
	arguments []byte
	call      Call
	place     int // of the call in draft.calls
}

// responsesPart is one part of an item's content or summary.
type responsesPart struct {
	passedText
	kind   textKind
	number int // -1 while unknown
	forms  form
}

// textKind says which text of an item a piece belongs to.
type textKind int

const (
	answerText textKind = iota
	refusalText
	summaryText
	thoughtText
)

// textKindOf returns the kind of a text by its name in events and in parts, and the kind of
// item that holds it; item is "" if the name is not of a text.
func textKindOf(name string) (text textKind, item string) {
	switch name {
	case "output_text", "text":
		return answerText, "message"
	case "refusal":
		return refusalText, "message"
	case "reasoning_summary_text", "reasoning_summary", "summary_text":
		return summaryText, "reasoning"
	case "reasoning_text", "reasoning":
		return thoughtText, "reasoning"
	}
	return 0, ""
}

// argumentsOf returns the name of the arguments in a call, "" for an item that is no call.
func argumentsOf(kind string) string {
	switch kind {
	case "function_call":
		return "arguments"
	case "custom_tool_call":
		return "input"
	}
	return ""
}

// itemID identifies an item. Endpoints leave out any of its fields, and change ids from event
// to event.
type itemID struct {
	index    int // output_index, -1 while unknown
	id, kind string
	callID   string
	guessed  form // forms of events that name no item: each was assigned to this one, and may belong to another
}

// item returns the item of an event, a new one if it is not known. v is the event's item, if it
// holds one.
func (d *responsesDecoder) item(event, v gjson.Result, kind string, f form) *responsesItem {
	e := itemID{index: indexOf(event, "output_index"), id: event.Get("item_id").Str, kind: kind}
	if v.Exists() {
		e.id, e.callID = cmp.Or(e.id, v.Get("id").Str), stringOrNumber(v.Get("call_id"))
	}
	it := d.last
	if d.last = nil; f != formDelta || it == nil || it.kind != kind || e.index >= 0 && it.index != e.index || e.id != "" && it.id != e.id {
		it = d.match([]itemID{e}, f, nil)[0]
	}
	if f == formDelta {
		d.last = it
	}
	it.forms |= f
	return it
}

// isOpen reports whether a delta that names no item may belong to this one.
func (it *responsesItem) isOpen() bool {
	return it.forms < formPart && (argumentsOf(it.kind) == "" || it.forms&formText == 0)
}

// match finds the items that come in a form, and begins the new ones. mayBe, which may be nil,
// compares the content of an element of the list with an item.
func (d *responsesDecoder) match(list []itemID, f form, mayBe func(int, *responsesItem) bool) []*responsesItem {
	known := slices.Clone(d.items)
	if f == formDelta {
		slices.Reverse(known) // a delta belongs to the latest
	}
	m := matching{f, list, known, mayBe}
	found := pair(len(list), len(known), m.sameID, m.sameCall, m.samePlace, m.sameContent, m.next)
	items := make([]*responsesItem, len(list))
	for i, k := range found {
		if k >= 0 {
			items[i] = known[k]
			if m.guesses(i) {
				items[i].guessed |= f
			}
		} else {
			items[i] = &responsesItem{itemID: itemID{index: -1}}
			for n := range items[i].passed {
				items[i].passed[n].of = &d.total[n]
			}
			d.items = append(d.items, items[i])
		}
		items[i].learn(list[i])
	}
	if len(d.items) > maxItems {
		d.fail(tooManyItems())
	}
	return items
}

// matching compares items that come in a form with the known ones, by their indexes in the two
// lists. Each of its rules says that they are the same item; the stronger rules come first.
type matching struct {
	form  form
	list  []itemID
	known []*responsesItem
	mayBe func(int, *responsesItem) bool
}

// sameID: the ids are the same. If the endpoint uses an id twice, the output indexes must be
// the same, too.
func (m *matching) sameID(i, k int) bool {
	return m.list[i].id != "" && m.list[i].id == m.known[k].id && m.fits(i, k) && (m.isNew(k) || !m.placed(i, k) || m.atPlace(i, k))
}

func (m *matching) sameCall(i, k int) bool {
	return m.list[i].callID != "" && m.list[i].callID == m.known[k].callID && m.fits(i, k)
}

// samePlace: the output indexes are the same, and the known item has not come in this form.
func (m *matching) samePlace(i, k int) bool { return m.atPlace(i, k) && m.fits(i, k) && m.isNew(k) }

// sameContent: the known item has the beginning of the content.
func (m *matching) sameContent(i, k int) bool {
	return m.mayBe != nil && m.fits(i, k) && m.isNew(k) && m.mayBe(i, m.known[k])
}

// next: the first item that has not come in this form. Only the whole response may have other
// output indexes and ids than the events before it.
func (m *matching) next(i, k int) bool {
	named := m.placed(i, k) || m.list[i].id != "" && m.known[k].id != ""
	return m.fits(i, k) && m.isNew(k) && (m.form == formResponse || !named) && (m.form != formDelta || m.known[k].isOpen())
}

// guesses reports whether a whole that names no item may belong to several.
func (m *matching) guesses(i int) bool {
	e, candidates := m.list[i], 0
	if m.form == formDelta || e.id != "" || e.callID != "" || e.index >= 0 {
		return false
	}
	for k := range m.known {
		if m.next(i, k) {
			candidates++
		}
	}
	return candidates > 1
}

// fits reports whether the kinds and the ids of the calls are the same, or not known.
func (m *matching) fits(i, k int) bool {
	same := func(a, b string) bool { return a == b || a == "" || b == "" }
	return same(m.list[i].kind, m.known[k].kind) && same(m.list[i].callID, m.known[k].callID)
}

func (m *matching) isNew(k int) bool { return m.form == formDelta || m.known[k].forms&m.form == 0 }

func (m *matching) placed(i, k int) bool { return m.list[i].index >= 0 && m.known[k].index >= 0 }

func (m *matching) atPlace(i, k int) bool {
	return m.placed(i, k) && m.list[i].index == m.known[k].index
}

func (it *responsesItem) learn(e itemID) {
	if it.index < 0 {
		it.index = e.index
	}
	it.id, it.kind = cmp.Or(it.id, strings.Clone(e.id)), cmp.Or(it.kind, strings.Clone(e.kind))
	it.callID = cmp.Or(it.callID, e.callID)
}

// mayBe reports whether the item has the beginning of the content of v, with these texts.
func (it *responsesItem) mayBe(v gjson.Result, texts [4][]byte) bool {
	if argument := argumentsOf(it.kind); argument != "" {
		return len(it.arguments) > 0 && bytes.HasPrefix(text(v.Get(argument)), it.arguments)
	}
	for kind := range texts {
		if p := &it.passed[kind]; p.size > 0 && p.begins(texts[kind]) {
			return true
		}
	}
	return false
}

func (it *responsesItem) begin(v gjson.Result) {
	setString(&it.phase, v.Get("phase"))
	it.callID = cmp.Or(stringOrNumber(v.Get("call_id")), it.callID)
	it.call.Name = cmp.Or(stringOrNumber(v.Get("name")), it.call.Name)
	for i := range it.passed {
		it.passed[i].aside = it.phase == "commentary"
	}
}

// part returns the part of an item that an event is about. named says that the event names the
// item, so that a second event of a form repeats the first.
func (it *responsesItem) part(kind textKind, number int, f form, named bool) *responsesPart {
	var loose *responsesPart
	for _, p := range it.parts {
		isNew := f == formDelta && p.forms == 0 || f != formDelta && p.forms&f == 0
		switch {
		case p.kind != kind:
		case number >= 0 && p.number == number && (named || isNew):
			return p
		case isNew && (number < 0 || p.number < 0) && (f == formDelta || loose == nil): // a delta belongs to the last
			loose = p
		}
	}
	if loose == nil && len(it.parts) == maxItems {
		return it.parts[maxItems-1]
	} else if loose == nil {
		loose = &responsesPart{passedText: passedText{of: &it.passed[kind], aside: it.phase == "commentary"}, kind: kind, number: number}
		it.parts = append(it.parts, loose)
	}
	loose.number, loose.forms = max(loose.number, number), loose.forms|f
	return loose
}

// goesBack reports whether an item that is no message and no call can be sent again. Reasoning
// without content refers to data that the server was asked not to store.
func (it *responsesItem) goesBack() bool {
	if it.raw == "" || it.kind != "reasoning" {
		return it.raw != ""
	}
	v := gjson.Parse(it.raw)
	return v.Get("encrypted_content").Str != "" || len(v.Get("content").Array()) > 0
}

// others returns the members of a function call that only the endpoint knows, such as a namespace
// (earendil-works/pi#7709).
func (it *responsesItem) others() []member {
	return otherMembers(nil, gjson.Parse(it.raw), "type", "id", "status", "call_id", "name", "arguments")
}

// pair matches n wholes with m known things, one to one. It returns for each whole the index of
// the known thing, -1 for none. Earlier rules are stronger: a rule is tried for all wholes
// before the next one.
func pair(n, m int, rules ...func(whole, known int) bool) []int {
	found, taken := make([]int, n), make([]bool, m)
	for i := range found {
		found[i] = -1
	}
	for _, fits := range rules {
		for i := range found {
			for k := 0; k < m && found[i] < 0; k++ {
				if !taken[k] && fits(i, k) {
					found[i], taken[k] = k, true
				}
			}
		}
	}
	return found
}
