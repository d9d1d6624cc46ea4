package stream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// names says how a dialect calls what a Request has fields for. "text.format"
// is the member format of the object text, beside which others may stand.
type names struct {
	conversation []string // what the messages become: no param may be called so
	maxTokens    []string
	temperature  string
	effort       string
	schema       string
}

// taken is a name that belongs to a field which is set.
type taken struct{ name, member, what string }

// taken lists the names of the fields that r sets.
func (n *names) taken(r *Request) (all []taken) {
	add := func(set bool, name, what string) {
		if object, member, _ := strings.Cut(name, "."); set {
			all = append(all, taken{object, member, what})
		}
	}
	for _, name := range n.maxTokens {
		add(r.MaxTokens > 0, name, "the token limit")
	}
	add(r.Temperature != nil, n.temperature, "the temperature")
	add(r.ReasoningEffort != "", n.effort, "the reasoning effort")
	add(r.Schema != nil, n.schema, "the schema of the answer")
	return all
}

// AddParams adds to r what was given by name beside r's own fields. Members
// of one object are put together. What contradicts a field of r, or would
// take the conversation's place, is an error that begins with the name.
func (r *Request) AddParams(api string, params []Param) error {
	d, err := findDialect(api)
	if err != nil {
		return err
	}
	for _, p := range params {
		if err := d.names.reserved(p.Name); err != nil {
			return err
		}
		for _, t := range d.names.taken(r) {
			switch value := gjson.ParseBytes(p.Value); {
			case t.name != p.Name:
			case t.member == "":
				return fmt.Errorf("%s: %s is given twice", p.Name, t.what)
			case !value.IsObject():
				return fmt.Errorf("%s: is not an object, into which %s could go", p.Name, t.what)
			case hasMember(value, t.member):
				return fmt.Errorf("%s.%s: %s is given twice", p.Name, t.member, t.what)
			}
		}
		r.Params = append(r.Params, p)
	}
	return nil
}

// AddDefaults adds what holds unless r says something else, in its fields or
// its Params. Taking the conversation's place is an error as for AddParams.
func (r *Request) AddDefaults(api string, params []Param) error {
	d, err := findDialect(api)
	if err != nil {
		return err
	}
	var all []Param
	for _, p := range params {
		if err := d.names.reserved(p.Name); err != nil {
			return err
		}
		keep := !paramLater(r.Params, p.Name)
		if slices.Contains(d.names.maxTokens, p.Name) { // one limit under two names
			keep = !slices.ContainsFunc(d.names.maxTokens, func(name string) bool { return paramLater(r.Params, name) })
		}
		for _, t := range d.names.taken(r) {
			if t.name != p.Name {
				continue
			}
			keep = keep && t.member != "" && gjson.ParseBytes(p.Value).IsObject()
			p.Value = withoutMember(p.Value, t.member)
		}
		if keep {
			all = append(all, p)
		}
	}
	r.Params = append(all, r.Params...)
	return nil
}

func (n *names) reserved(name string) error {
	if slices.Contains(n.conversation, name) {
		return fmt.Errorf("%s: is the conversation, which comes from the input", name)
	}
	return nil
}

func hasMember(object gjson.Result, name string) (found bool) {
	object.ForEach(func(key, _ gjson.Result) bool {
		found = key.Str == name
		return !found
	})
	return found
}

// withoutMember is a JSON object without the members of that name.
func withoutMember(object []byte, name string) []byte {
	out := []byte{'{'}
	gjson.ParseBytes(object).ForEach(func(key, value gjson.Result) bool {
		if key.Str != name {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, key.Raw...), ':'), value.Raw...)
		}
		return true
	})
	return append(out, '}')
}
