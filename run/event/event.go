// Package event holds every event of a run, and the forms of standard output as
// functions from events to bytes: the answer as text, one event a line, the end
// as one object, the conversation, lists for people.
//
// Package run makes the events and hands them to an Emitter, which gives each to
// every Output in the same order. Secrets are taken out of them before that. The
// first event is Start and the last is End; no control character leaves in JSON.
package event

import (
	"encoding/json"
	"strings"
	"time"

	"toolpipe/run/failure"
)

// Event is something that happened in a run. All kinds of events are in this
// file, and their tags are the specification of the NDJSON output, schema 1: each
// event is one line, an object with the member type and the members of the tags in
// their order. Members and types may be added within schema 1.
//
// In a tag, "opt" is for a member that is left out when it is zero, and "else" for
// one that stands for the member before it where that is nil. Secrets are taken out
// of every text. "ours" marks a message of toolpipe's own, of which shorter secrets are
// taken out too. "plain" marks words of toolpipe, the flags and the config, of which
// none is taken out.
type Event interface{ kind() string }

const schema = 1

// Start is the first event. Its first member is schema.
type Start struct {
	Version     string       `event:"version,plain"`
	Model       string       `event:"model,plain"`
	API         string       `event:"api,plain"`
	Servers     []ServerInfo `event:"servers"`
	Policy      string       `event:"policy,opt,plain"` // SHA-256 of the policy files
	ConfigRules int          `event:"config_rules,opt"` // how many auto_approve rules of the config count
	Trace       string       `event:"trace,opt"`        // the id of the trace that the run is part of
	Sandbox     string       `event:"sandbox,opt"`      // what holds commands, in words
	Identity
	SandboxPartial []string `event:"sandbox_partial,opt"` // what the sandbox does not hold
}

// Identity tells a run from others.
type Identity struct {
	ID   string `event:"id,opt"`         // of --id
	Time string `event:"time,opt,plain"` // when the run began, in UTC, RFC 3339 with milliseconds
}

type ServerInfo struct {
	Name     string `event:"name,plain"`
	Protocol string `event:"protocol,plain"`
	Tools    int    `event:"tools"`
	Sandbox  string `event:"sandbox,opt"` // what holds its program, in words
}

// Input is what the conversation begins with, or goes on with: the beginning of its last message
// of the user.
type Input struct {
	Text     string `event:"text"`     // at most MaxInput bytes of it
	Bytes    int    `event:"bytes"`    // the size of the whole text
	Messages int    `event:"messages"` // of the whole conversation at that time
}

// MaxInput is how many bytes of its text an Input has at most.
const MaxInput = 4 << 10

// Text is a piece of the answer as it arrives.
type Text struct {
	Turn int    `event:"turn"`
	Text []byte `event:"text"`
}

// Commentary is what the model says beside the answer, whole or in long pieces.
type Commentary Text

// Reasoning is a piece of the model's reasoning.
type Reasoning Text

// An ID is the id of a call. It is written as a string, or as a number if NumberID made it.
type ID string

// numberMark begins the ID of a number. No string of JSON has this byte.
const numberMark = "\xff"

// NumberID is the id of a call whose caller numbers its calls, with the digits that came.
func NumberID(digits string) ID { return ID(numberMark + digits) }

// Number returns the text of the id, and whether it is a number.
func (id ID) Number() (text string, is bool) { return strings.CutPrefix(string(id), numberMark) }

// Call is a call that the model asks for. Server and Tool are "" for an unknown
// tool.
type Call struct {
	Turn      int             `event:"turn"`
	ID        ID              `event:"id"`
	Server    string          `event:"server,opt"`
	Tool      string          `event:"tool,opt"`
	Name      string          `event:"name"`
	Arguments json.RawMessage `event:"arguments"` // canonical; nil when they are not one strict JSON object
	Raw       []byte          `event:"raw,else"`  // the text that came
	Span      string          `event:"span,opt"`
}

// Task tells that a server answers a call with a task, for which the run waits.
type Task struct {
	ID     ID     `event:"id"`
	Server string `event:"server"`
	Task   string `event:"task"` // the id of the task
}

// Approval is the verdict on a call: decision is allow, deny or unapproved; by is
// flag, policy, config, terminal, approver, default, or session where the run before
// has sent the call, and this one waits for its task.
type Approval struct {
	ID       ID     `event:"id,opt"` // "" in an Explanation
	Decision string `event:"decision,plain"`
	By       string `event:"by,plain"`
	Rule     string `event:"rule,opt"`
	Reason   string `event:"reason,opt,ours"`
	Egress   Egress `event:"egress,opt"`

	Time time.Duration `event:"ms,opt"` // how long a person, an approver or the host was asked; 0: nobody was
}

// Egress tells that a call sends while the conversation is private and untrusted,
// and what brought these labels first.
type Egress struct {
	Decision  string `event:"decision,plain"` // warn, ask or deny; allow: by a rule's when
	Private   Source `event:"private"`
	Untrusted Source `event:"untrusted"`
}

// Source is the result of a call, or what the conversation began with.
type Source struct {
	Name string `event:"name"`     // the name of the tool
	Turn int    `event:"turn,opt"` // the turn of this run; 0 for an input
	ID   ID     `event:"id,opt"`

	Where string // in words: the turn; "" for an input
}

// Text names the source to a person.
func (s *Source) Text() string {
	if s.Where == "" {
		return s.Name
	}
	return s.Name + " (" + s.Where + ")"
}

// Denial tells the user why the call may not run. The rule is named, which the
// model is not told of. It is "" when there is nothing more to say.
func (e *Approval) Denial() string {
	switch {
	case e.Decision != "deny" || e.By == "terminal" || e.Rule == "":
		return e.Reason
	case e.Reason == "":
		return "by " + e.Rule
	}
	return "by " + e.Rule + ": " + e.Reason
}

// Progress is what a server says of a running call.
type Progress struct {
	ID       ID              `event:"id"`
	Progress json.RawMessage `event:"progress"`
	Total    json.RawMessage `event:"total"`
	Message  string          `event:"message,opt"`
}

// ResultStatus is the status of a tool_result.
type ResultStatus string

const (
	ResultOK      ResultStatus = "ok"
	ResultStaged  ResultStatus = "staged" // it is in the plan of --stage
	ResultError   ResultStatus = "error"  // isError
	ResultFailed  ResultStatus = "failed" // JSON-RPC error, or never sent
	ResultDenied  ResultStatus = "denied"
	ResultInvalid ResultStatus = "invalid" // unknown tool, bad arguments
	ResultUnknown ResultStatus = "unknown" // sent, no answer
	ResultNotRun  ResultStatus = "not_run" // the run ended first, or a dry run
)

// Result answers a Call; every call has exactly one. The text is whole, also when
// the model got only its head and tail.
type Result struct {
	ID         ID              `event:"id"`
	Status     ResultStatus    `event:"status"`
	Text       json.RawMessage `event:"text"`    // a string literal
	Content    json.RawMessage `event:"content"` // MCP blocks
	Structured json.RawMessage `event:"structured"`
	Bytes      int             `event:"bytes"` // the size of the whole text
	Truncated  bool            `event:"truncated"`
	Labels     []string        `event:"labels,opt,plain"` // private, untrusted: what it brings into the conversation
	Took
	Change
}

// Took is when a call ran.
type Took struct {
	Time  time.Duration `event:"ms"`
	Began time.Duration `event:"began_ms,opt"` // from the beginning of the run on; 0: it has not run
}

// Change is what a built-in tool has changed in a file.
type Change struct {
	File string `event:"file,opt"` // its path, absolute and free of links; "" for other calls
	Diff string `event:"diff,opt"` // unified, of the whole lines of at most MaxDiff bytes; "" for a file that is no text or too large
	New  bool   `event:"new,opt"`  // there was no such file before
}

// MaxDiff is how many bytes the diff of a Change has at most.
const MaxDiff = 64 << 10

// Plan is a plan of --stage, which --apply --dry-run shows.
type Plan struct {
	File    string `event:"file"`
	Digest  string `event:"digest"`
	Whole   string `event:"digest_with_results,opt"` // if earlier runs have made calls
	Version string `event:"version"`                 // of the program that staged it
	Dir     string `event:"dir"`
	Time    string `event:"time"`
	Calls   int    `event:"calls"`
	Made
}

// Made is how many calls of a plan have come how far.
type Made struct {
	OK      int    `event:"ok"`
	Failed  int    `event:"failed"`
	Unknown int    `event:"unknown"`  // sent, and no result came
	Open    int    `event:"open"`     // those that --apply would make
	Last    string `event:"last,opt"` // when the last result came
}

// Staged is a call of a plan.
type Staged struct {
	ID        string          `event:"id"`
	Server    string          `event:"server"`
	Tool      string          `event:"tool"`
	Name      string          `event:"name"`
	Arguments json.RawMessage `event:"arguments"`
	Status    string          `event:"status"` // open, done, error, failed or unknown
	StagedFor
	Said    string `event:"text,opt"`    // by the model, before the call
	Problem string `event:"problem,opt"` // why --apply would refuse the plan
	Shown   string `event:"shown"`       // as a question on the terminal would show it, escaped
}

// StagedFor is why a call is in a plan, and what it would change.
type StagedFor struct {
	Rule      string   `event:"rule,opt"`
	Reason    string   `event:"reason,opt"`
	Labels    []string `event:"labels,opt,plain"` // of the conversation when it was staged
	Private   string   `event:"private,opt"`      // --egress ask would ask: what made the conversation private,
	Untrusted string   `event:"untrusted,opt"`    // and untrusted
	File      string   `event:"file,opt"`
	Diff      string   `event:"diff,opt"`
}

// Turn ends a reply of the model.
type Turn struct {
	Turn   int           `event:"turn"`
	Finish string        `event:"finish"`
	Usage  Usage         `event:"usage"`
	Time   time.Duration `event:"ms"`
	Model  string        `event:"model,opt"`  // where several are listed
	Pauses bool          `event:"pauses,opt"` // the endpoint goes on with it: another one of the same turn follows
	Cost
}

// Retry tells that a request is repeated.
type Retry struct {
	Attempt int           `event:"attempt"`
	Of      int           `event:"of,opt"` // 0 when only the time is limited
	After   time.Duration `event:"after_ms"`
	Status  int           `event:"status,opt"` // the HTTP status
	Message string        `event:"message,ours"`

	Discards bool `event:"discards,opt"` // text and reasoning of this turn so far do not count
}

// Trim tells that the requests from this turn on leave out what they held before.
type Trim struct {
	Turn        int `event:"turn"`
	Results     int `event:"results"`
	Attachments int `event:"attachments,opt"`
	Bytes       int `event:"bytes"` // of the texts and pictures that are left out now
}

// Warning is something the user should know.
type Warning struct {
	Code    string   `event:"code,plain"`
	Message string   `event:"message,ours"`
	Server  string   `event:"server,opt,plain"`
	Scopes  []string `event:"scopes,opt,ours"` // with login_needed and login_scope: the scopes that the server wants

	Repeated bool // the error that ends the run says it too, so a person is not told here
	Grave    bool // a person is told with -q too
}

// Attention is what the model calls the user for.
type Attention struct {
	Reason string `event:"reason"`
}

// Tool is one tool of --list-tools or --describe-tool.
type Tool struct {
	Name         string          `event:"name"`
	Server       string          `event:"server,plain"`
	Tool         string          `event:"tool"`
	Description  string          `event:"description"`
	Schema       json.RawMessage `event:"schema"`
	OutputSchema json.RawMessage `event:"output_schema"`
	Annotations  json.RawMessage `event:"annotations"`
	Standing
	Traits
	Findings []Finding `event:"findings,opt"` // only with --list-tools
}

// Standing is the verdict on every call of a tool, or depends where calls get different ones.
type Standing struct {
	Verdict   string `event:"verdict,plain"`
	Except    string `event:"except,opt"`    // which calls get another verdict than Otherwise, in words
	Otherwise string `event:"otherwise,opt"` // the verdict on all other calls
	Rule      string `event:"rule,opt,plain"`
}

// Traits say what a tool does and who says so.
type Traits struct {
	Labels   []string `event:"labels,plain"`      // private, untrusted, sends
	Effects  []string `event:"effects,plain"`     // reads, writes, runs, sends
	Assumed  []string `event:"assumed,opt,plain"` // labels and effects of which nobody says whether the tool has them
	Declared string   `event:"declared_by,opt"`   // who says it; "" for nobody
	Reads    []string `event:"reads,opt"`         // the arguments that are paths it reads,
	Writes   []string `event:"writes,opt"`        // or writes,
	Sends    []string `event:"sends,opt"`         // and those that say where it sends
}

// Finding is a place in a tool's definition that a reviewer would look at.
type Finding struct {
	What   string `event:"what,plain"`
	Member string `event:"member"`
	Quote  string `event:"quote"`
}

// Server is one server of --list servers.
type Server struct {
	Name      string `event:"name,plain"`
	Target    string `event:"target"`
	Transport string `event:"transport,plain"`
	Protocol  string `event:"protocol"`
	Tools     int    `event:"tools"`
	Tokens    int    `event:"tokens"` // about how many the definitions of its tools take
	Status    string `event:"status,plain"`
	Message   string `event:"message,opt,ours"`
}

// Nested is an event of a nested run. Its members are those of the event, behind
// parent: the id of the call that the nested run is for. A form of output shows it
// only where it says so.
type Nested struct {
	Parent ID `event:"parent"`
	Event
}

// OfConnection is an event that a client of --serve --listen has caused. Its members are those
// of the event, behind connection: the number of the client's connection, from 1 on.
type OfConnection struct {
	Connection int `event:"connection"`
	Event
}

// Unconnected is the event without the number of a connection.
func Unconnected(e Event) Event {
	if c, ok := e.(*OfConnection); ok {
		return c.Event
	}
	return e
}

// Item is one resource, prompt or model of a list.
type Item struct {
	Kind        string           `event:",plain"` // the type: "resource", "prompt" or "model"
	Server      string           `event:"server,opt,plain"`
	URI         string           `event:"uri,opt"`
	Name        string           `event:"name"`
	Description string           `event:"description,opt"`
	MIME        string           `event:"mime_type,opt"`
	Template    bool             `event:"template,opt"`
	Arguments   []PromptArgument `event:"arguments,opt"` // the arguments of a prompt; nil: not written
}

// Check is one line of --check.
type Check struct {
	Subject string `event:"subject,plain"`
	Status  string `event:"status,plain"` // ok, warning or failure
	Message string `event:"message,ours"`
	Hint    string `event:"hint,opt,ours"`
}

// Contents is one part of a resource, of --read.
type Contents struct {
	Server string          `event:"server,plain"`
	URI    string          `event:"uri,opt"`
	MIME   string          `event:"mime_type,opt"`
	Text   json.RawMessage `event:"text"`      // a string literal; nil for a blob
	Blob   []byte          `event:"blob,else"` // base64
}

type PromptArgument struct {
	Name        string `event:"name"`
	Description string `event:"description,opt"`
	Required    bool   `event:"required"`
}

// LoginURL is the address at which a person signs in.
type LoginURL struct {
	Server      string `event:"server,plain"` // its URL
	URL         string `event:"url,plain"`    // has the state of this sign-in alone, which no other can use
	RedirectURI string `event:"redirect_uri,plain"`
}

// Login is one login of --login, --logout or --list logins.
type Login struct {
	Server      string   `event:"server"` // its URL
	Account     string   `event:"account,opt"`
	Issuer      string   `event:"issuer"`
	Scopes      []string `event:"scopes"`
	Status      string   `event:"status,plain"`         // valid, expired, or ended; removed by --logout
	Expires     string   `event:"expires_at,opt,plain"` // when the access token expires, "" when unknown
	Refreshable bool     `event:"refreshable"`
	Tools       int      `event:"tools,opt"` // how many the server has, after --login
}

// Explanation is the answer of --explain.
type Explanation struct {
	Name      string          `event:"name,plain"`
	Arguments json.RawMessage `event:"arguments"`
	Approval
	Approver bool            `event:"approver,opt"` // an approver is asked before
	Exposed  Approval        `event:"exposed,opt"`  // the verdict while the conversation is private and untrusted, where it differs
	Rules    []ExplainedRule `event:"rules"`
	Others   []ExplainedRule `event:"others,opt"` // that name the tool, and do not match the call
}

type ExplainedRule struct {
	Decision string `event:"decision,plain"`
	Rule     string `event:"rule,plain"`
	Reason   string `event:"reason,opt,plain"`
	Why      string `event:"why,opt,ours"` // it does not match
}

// Pieces are a text. A long one is never in one piece, nor copied.
type Pieces []string

// String is the text in one piece.
func (p Pieces) String() string { return strings.Join(p, "") }

// End is the last event.
type End struct {
	Status failure.Status `event:"status"`
	Exit   int            `event:"exit"`
	Text   Pieces         `event:"text,plain"`   // the last turn's; see veil.lastText
	Labels []string       `event:"labels,plain"` // private, untrusted: what the conversation holds
	Finish string         `event:"finish"`
	Counts
	Time time.Duration  `event:"ms"`
	ID   string         `event:"id,opt"`    // of --id
	Err  *failure.Error `event:"error,opt"` // message, hint
	Collected
}

// Collected is what -o json shows in the end event of the events before it.
type Collected struct {
	Items      []Event         `event:"items,opt"`      // what a list printed
	Structured json.RawMessage `event:"structured,opt"` // with --call, as in the tool's result
	Content    json.RawMessage `event:"content,opt"`    // likewise
}

func (*Start) kind() string          { return "start" }
func (*Input) kind() string          { return "input" }
func (*Text) kind() string           { return "text" }
func (*Commentary) kind() string     { return "commentary" }
func (*Reasoning) kind() string      { return "reasoning" }
func (*Call) kind() string           { return "tool_call" }
func (*Approval) kind() string       { return "approval" }
func (*Progress) kind() string       { return "progress" }
func (*Task) kind() string           { return "task" }
func (*Result) kind() string         { return "tool_result" }
func (*Turn) kind() string           { return "turn" }
func (*Retry) kind() string          { return "retry" }
func (*Plan) kind() string           { return "plan" }
func (*Staged) kind() string         { return "staged" }
func (*Trim) kind() string           { return "trim" }
func (*Warning) kind() string        { return "warning" }
func (*Attention) kind() string      { return "attention" }
func (e *Nested) kind() string       { return e.Event.kind() }
func (e *OfConnection) kind() string { return e.Event.kind() }
func (*Tool) kind() string           { return "tool" }
func (*Server) kind() string         { return "server" }
func (e *Item) kind() string         { return e.Kind }
func (*Check) kind() string          { return "check" }
func (*Contents) kind() string       { return "contents" }
func (*LoginURL) kind() string       { return "login_url" }
func (*Login) kind() string          { return "login" }
func (*Explanation) kind() string    { return "explanation" }
func (*End) kind() string            { return "end" }
