// Package approve decides whether a tool call may run.
//
// Rules come from flags, policy files and the config. The strictest rule that matches a call
// wins, whatever the order: deny before ask before allow. A call that no rule matches is asked
// about. If nobody can be asked, the call is unapproved and does not run. Nothing overrides a
// deny. Egress also decides about a call that sends while the conversation is private and
// untrusted.
//
// Package run fills a Gate with the rules and the ways to ask, and gets a Verdict on each Call.
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
	Annotations json.RawMessage // the server's claims about the tool; nil for none
	ReadOnly    bool            // annotated read-only by a server that the user trusts
	Asker
	Open   bool   // the input of the run contains the call, so the user could see it
	Seen   Seen   // the conversation so far
	Root   string // the directory that relative paths start from: the server's root or working directory; "" if unknown
	Traits        // of the tool

	// Change returns the unified diff of the call's change to a file, and the names of the
	// arguments that the diff already shows; "" if there is no diff. A question shows the diff
	// instead of these arguments. Change may be nil.
	Change func(ctx context.Context) (diff string, told []string)

	pathsMoved bool   // the call was allowed before, and its paths lead elsewhere now
	egress     string // see Verdict.Egress
	named      bool   // the user named every destination of the call, and there is at least one
}

// An Asker is the part of a run that makes a call; the zero value is its conversation.
type Asker struct {
	Agent   string // the agent that asks for the call in its nested run; "" for the run itself
	Command string // the id of the call that started the command with the program that makes the call; "" for none
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
	Rule    string // the origin of the rule that decided, such as "ci.json:12", or that asks about an unapproved call; "" for none
	Reason  string // for the model and the person; may be empty; not escaped

	// Places maps each path that a rule looked at, its own and those in the arguments, to the
	// absolute path without links that it led to, or to "" if that is unknown. The verdict is
	// valid only for these targets.
	Places map[string]string

	EndsRun bool // the person ends the run, or a second call holds a secret

	// Except describes, in the verdict of Static, the calls that get another verdict; "" for
	// none.
	Except string

	// Egress is the outcome for a call that sends while the conversation is private and
	// untrusted: "warn", "ask" or "deny", as in Gate.Egress; "allow" if a rule with when allows
	// it; "named" if the user named every destination. It is "secret" for a call that holds a
	// secret, and "" for every other call.
	Egress string

	rule *Rule // the rule that decided before anybody was asked
}

// An Explanation says how a call would be decided.
type Explanation struct {
	Verdict  Verdict // unapproved if Decide would ask a person
	Ask      bool    // a person must be asked: neither the rules nor Gate.AutoApprove decide
	Approver bool    // the approver would be asked first
	Matched  []*Rule // every rule that matches, in the order of Gate.Rules
	Others   []Unmatched
}

// An Unmatched rule names the tool of a call but does not match the call.
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

// A Tool is a tool, in the form of a call of it without arguments.
type Tool struct {
	Call
	Schema  json.RawMessage // of its arguments
	Scripts []string        // the arguments that a shell runs
	Opens   bool            // built in, and answers a file: a rule that denies it paths denies them to all built-in tools that read
}
