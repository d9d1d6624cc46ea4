// Package approve decides whether a tool call may run.
//
// The rules in five sentences: every source of decisions (flags, policy files,
// the config) becomes a set of rules. Of all rules that match a call the
// strictest wins, whatever their order: deny before ask before allow. A call
// that no rule matches is asked about. Where nobody can be asked the call is
// unapproved and does not run. Nothing turns a deny into anything else.
//
// Its words:
//
//   - A Call is a tool call with its arguments in canonical form.
//   - A Rule matches calls and has a Decision and an origin such as "ci.json:12".
//   - A Verdict is what was decided for one call, by whom and why.
//   - A Gate holds the rules and the ways to ask, and gives verdicts.
package approve

import (
	"encoding/json"
)

// Decision is the strictness of a rule. The zero value denies.
type Decision uint8

const (
	Deny Decision = iota
	Ask
	Allow
)

// String returns "deny", "ask" or "allow", the words of the policy file.
func (d Decision) String() string {
	switch d {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	}
	return "deny"
}

// Call is what is to be decided.
type Call struct {
	Server      string
	Tool        string          // the server's own name of the tool
	Name        string          // NAME__TOOL as the model knows it
	Arguments   []byte          // in canonical form, see Canonical
	Annotations json.RawMessage // the server's claims; nil when none
	ReadOnly    bool            // annotated read-only by a server that the user trusts
	Root        string          // directory that relative paths of `under` start from: the files root or the server's cwd; "" when unknown

	// ShowsFilesOf is another tool of the server, "" for none: this one shows
	// on its way what that one reads by path. A path that is denied there is
	// denied here.
	ShowsFilesOf string

	moved bool // it was allowed before, and now its paths lead elsewhere
}

// Outcome is the last word on a call.
type Outcome uint8

const (
	Denied     Outcome = iota // a rule, a person or an approver said no
	Unapproved                // nobody could be asked
	Allowed
)

// String returns "deny", "unapproved" or "allow", as in the approval event.
func (o Outcome) String() string {
	switch o {
	case Unapproved:
		return "unapproved"
	case Allowed:
		return "allow"
	}
	return "deny"
}

// Verdict is what was decided for one call.
type Verdict struct {
	Outcome Outcome
	By      string // "flag", "policy", "config", "terminal", "approver", "default"
	Rule    string // origin of the deciding rule: "ci.json:12", "--deny fs__*", "terminal"; "" when none. Of an Unapproved call: the rule that wants it asked about
	Reason  string // shown to the model and the person; may be empty; not escaped

	// Places is where the paths that rules looked at led: absolute and free of
	// links, by the text of the path; "" where that could not be told. The
	// verdict holds for these places only.
	Places map[string]string

	rules Decision // what the rules said, before anybody was asked
}

// Explanation is what Explain found.
type Explanation struct {
	Verdict  Verdict     // Unapproved where Decide would ask a person
	Ask      bool        // rules leave the call to be asked about, and no flag answers
	Approver bool        // the external approver would be asked first
	Matched  []RuleMatch // every rule that matched, in the order of Gate.Rules
}

// RuleMatch is one rule that matched a call.
type RuleMatch struct {
	Decision Decision
	By       string
	Origin   string
	Reason   string
}

// Known is a configured server, for Gate.Check.
type Known struct {
	Server  string
	Tools   []string // the server's own names
	Names   []string // the same tools as the model knows them; nil: SERVER__TOOL each
	Started bool     // false: its tools are not known, and nothing is said about them
	Root    string   // of its calls, see Call
}
