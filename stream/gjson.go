package stream

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// fromEndpoint are the rules for JSON of an endpoint. Endpoints send duplicate names, divided
// surrogate pairs, and bytes that are not UTF-8. The code that uses a value handles them.
var fromEndpoint = jsontext.Options{Depth: 10_000, DuplicateNames: true, LoneSurrogates: true, AnyBytes: true}

// valid reports whether data is one JSON value that is not nested too deep.
func valid(data []byte) bool { return jsontext.Check(data, fromEndpoint) == nil }

// text returns the text of the string r, nil if it is not a string. The text may hold lone
// surrogates; appendPiece joins it with other pieces.
func text(r gjson.Result) []byte {
	if r.Type != gjson.String || len(r.Raw) < 2 {
		return nil
	}
	return jsontext.AppendWTF8(nil, []byte(r.Raw[1:len(r.Raw)-1]))
}

type wanted struct {
	name string
	to   *gjson.Result
}

// find looks for members of an object, in one pass. If several have the same name, the first
// one counts. A value that is no object has none.
func find(object gjson.Result, members ...wanted) {
	if !object.IsObject() {
		return
	}
	object.ForEach(func(name, value gjson.Result) bool {
		for _, m := range members {
			if m.name == name.Str && !m.to.Exists() {
				*m.to = value
			}
		}
		return true
	})
}

// stringOrNumber returns a string, or a number as text. Like every string that
// outlives the event it is a copy: the original would keep the whole event.
func stringOrNumber(v gjson.Result) string {
	if v.Type == gjson.Number {
		return strings.Clone(v.Raw)
	}
	return strings.Clone(v.Str)
}

// setString sets to to a string that is not empty.
func setString(to *string, v gjson.Result) {
	if v.Str != "" {
		*to = strings.Clone(v.Str)
	}
}

// count returns the first of the numbers at the paths, 0 for none.
func count(v gjson.Result, paths ...string) int {
	for _, path := range paths {
		if n := v.Get(path); n.Type == gjson.Number && n.Num > 0 && n.Num < 1<<53 {
			return int(n.Num)
		}
	}
	return 0
}

// indexOf returns the first of the indexes at the paths, -1 for none.
func indexOf(v gjson.Result, paths ...string) int {
	for _, path := range paths {
		if n := v.Get(path); n.Type == gjson.Number || n.Type == gjson.String {
			return int(n.Int())
		}
	}
	return -1
}

// useOpenAIUsage takes the usage of OpenAI's two APIs and of compatible ones.
func (d *draft) useOpenAIUsage(u gjson.Result) {
	if !u.IsObject() {
		return
	}
	d.setUsage(Usage{
		Input:      count(u, "prompt_tokens", "input_tokens"),
		Output:     count(u, "completion_tokens", "output_tokens"),
		Reasoning:  count(u, "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens"),
		Cached:     count(u, "prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens", "input_tokens_details.cached_tokens", "cache_read_input_tokens"),
		CacheWrite: count(u, "prompt_tokens_details.cache_write_tokens", "prompt_tokens_details.cache_creation_tokens", "cache_creation_input_tokens", "input_tokens_details.cache_write_tokens"),
	}, count(u, "total_tokens"))
}

// setUsage completes the counts by the total of the endpoint, 0 for none. Tokens that only the
// total contains are output: xAI and Gemini count reasoning beside the completion, and Gemini does
// not always say how much (vercel/ai#12425, mozilla-ai/any-llm#1290). But tokens of the cache are
// input: some gateways leave them out of the prompt (Portkey-AI/gateway#1210).
func (d *draft) setUsage(u Usage, total int) {
	d.completion = u.Output
	if rest := total - u.Input - u.Output; rest > 0 {
		cached := 0
		for _, n := range []int{u.Cached, u.CacheWrite, u.Cached + u.CacheWrite} {
			if rest != u.Reasoning && (rest == n || rest == n+u.Reasoning) {
				cached = n
			}
		}
		u.Input += cached
		u.Output += rest - cached
	}
	d.usage = u
}

func isEmptyObject(v gjson.Result) bool {
	return v.IsObject() && len(innerObject([]byte(v.Raw))) == 0
}

// member is a member of an object, both as JSON.
type member struct{ name, value string }

func newMember(name string, value []byte) member { return member{`"` + name + `"`, string(value)} }

// otherMembers adds to the list the members of an object that have none of the names. If
// several have the same name, the last one stays.
func otherMembers(list []member, object gjson.Result, names ...string) []member {
	object.ForEach(func(name, value gjson.Result) bool {
		if value.Type == gjson.Null || slices.Contains(names, name.Str) {
			return true
		}
		m := member{strings.Clone(name.Raw), strings.Clone(value.Raw)}
		if i := slices.IndexFunc(list, func(o member) bool { return o.name == m.name }); i >= 0 {
			list[i] = m
		} else {
			list = append(list, m)
		}
		return true
	})
	return list
}

// withMembers returns an object with the members of another one, which replace its own.
func withMembers(object, others gjson.Result) []byte {
	return formed("{?}", joinMembers(otherMembers(otherMembers(nil, object), others)))
}

// joinMembers writes members as in an object, without its braces; nil for none.
func joinMembers(list []member) (joined []byte) {
	for i, m := range list {
		if i > 0 {
			joined = append(joined, ',')
		}
		joined = append(append(append(joined, m.name...), ':'), m.value...)
	}
	return joined
}
