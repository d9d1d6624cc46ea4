// Package approve decides whether a tool call may run.
//
// Rules come from flags, policy files and the config. Of all rules that match
// a call the strictest wins, whatever their order: deny before ask before
// allow. A call that no rule matches is asked about. Where nobody can be asked
// the call is unapproved and does not run. Nothing overrides a deny. A call that
// sends while the conversation is private and untrusted is decided by Egress, too.
//
// Package run fills a Gate with the rules and the ways to ask, and gets a
// Verdict on each Call.
package approve

import (
	"context"
	"encoding/json"
)

// A Decision is the strictness of a rule. The zero value denies.
type Decision uint8

const (
	Deny Decision = iota
	Ask
	Allow
)

// String returns "deny", "ask" or "allow", the words of the policy file.
func (d Decision) String() string { return [...]string{"deny", "ask", "allow"}[d] }

// A Call is a tool call to decide about.
type Call struct {
	Server      string
	Spelling    string          // another name of the server, by which rules may name it too; "" for none
	Tool        string          // the tool's name as its server gives it
	Name        string          // the tool's name as the model knows it: NAME__TOOL
	Arguments   []byte          // in the form that Canonical returns
	Annotations json.RawMessage // what the server claims about the tool; nil for nothing
	ReadOnly    bool            // annotated read-only by a server that the user trusts
	Agent       string          // the agent whose nested run asks for it; "" for the run itself
	Open        bool            // the input of the run asks for it: the user could look at the call itself
	Seen        Seen            // what the conversation holds
	Root        string          // the directory that relative paths start from: the server's root or working directory; "" if unknown
	Traits                      // of the tool

	// Change returns the unified diff of what the call would change in a file, and
	// the arguments of which the diff tells; "" where there is none. A question shows
	// the diff instead of these arguments. It may be nil.
	Change func(ctx context.Context) (diff string, told []string)

	pathsMoved bool   // the call was allowed before, and its paths lead elsewhere now
	egress     string // see Verdict.Egress
	named      bool   // the user has named every destination of the call, of which there is one
}

// An Outcome is the end of a decision. The zero value denies.
type Outcome uint8

const (
	Denied     Outcome = iota // by a rule, a person or an approver
	Unapproved                // nobody could be asked
	Allowed
)

// String returns "deny", "unapproved" or "allow", as in the approval event.
func (o Outcome) String() string { return [...]string{"deny", "unapproved", "allow"}[o] }

// A Verdict is what was decided about one call, by whom and why.
type Verdict struct {
	Outcome Outcome
	By      string // "flag", "policy", "config", "terminal", "host", "approver", "default"
	Rule    string // the origin of the deciding rule, such as "ci.json:12", or of the rule that wants an unapproved call asked about; "" for none
	Reason  string // for the model and the person; may be empty; not escaped

	// Places holds, for each path that a rule looked at, its own and those in
	// the arguments, where the path led: an absolute path without links, or ""
	// if that could not be found out. The verdict holds for these places only.
	Places map[string]string

	EndsRun bool // the person wants the run to end here, or a second call holds a secret

	// Except lists, in the verdict of Static, the calls that get another verdict, in words; "" for
	// none.
	Except string

	// Egress is what became of a call that sends while the conversation is private and
	// untrusted: "warn", "ask" or "deny", as in Gate.Egress, "allow" by a rule with when, or
	// "named" where the user has named every destination; and "secret" of a call that
	// holds a secret. It is "" for every other call.
	Egress string

	rule *Rule // decided before anybody was asked
}

// An Explanation says how a call would be decided.
type Explanation struct {
	Verdict  Verdict // an unapproved one where Decide would ask a person
	Ask      bool    // the rules leave the call to be asked about, and nothing answers instead of a person
	Approver bool    // the approver would be asked first
	Matched  []*Rule // every rule that matches, in the order of Gate.Rules
	Others   []Unmatched
}

// An Unmatched rule is one that names the tool of a call, and does not match the call.
type Unmatched struct {
	*Rule
	Why string // in words; not escaped
}

// A Server is a configured server and its tools, for Gate.Check.
type Server struct {
	Name     string
	Spelling string // see Call
	Tools    []Tool
	Started  bool   // false: the tools are not known
	Root     string // see Call
}

// A Tool is a tool as a call of it without arguments.
type Tool struct {
	Call
	Schema  json.RawMessage // of its arguments
	Scripts []string        // the arguments that a shell runs
	Opens   bool            // built in, and answers a file: a rule that denies it paths denies them to all built-in tools that read
}
