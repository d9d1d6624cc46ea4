// Package event defines every event of a run, and the forms of standard output as functions from
// events to bytes: the answer as text, one event per line, the end as one object, the conversation,
// lists for people.
//
// Package run makes the events and gives them to an Emitter, which removes secrets and passes each
// event to every Output in the same order. The first event is Start and the last is End. JSON
// output contains no control characters.
package event

import (
	"encoding/json"
	"strings"
	"time"

	"toolpipe/run/failure"
)

// Event is something that happened in a run. All kinds of events are in this file. Their tags are
// the specification of the NDJSON output, schema 1: each event is one line, an object with the
// member type and the members of the tags in their order. Members and types may be added within
// schema 1.
//
// In a tag, "opt" marks a member that is omitted when it is zero, and "else" a member that replaces
// the member before it when that one is nil. Secrets are removed from every text. "ours" marks a
// message of toolpipe itself, from which shorter secrets are removed too. "plain" marks words of
// toolpipe, the flags and the config, from which nothing is removed.
type Event interface{ kind() string }

const schema = 1

// Start is the first event. Its first member is schema.
type Start struct {
	Version     string       `event:"version,plain"`
	Model       string       `event:"model,plain"`
	API         string       `event:"api,plain"`
	Servers     []ServerInfo `event:"servers"`
	Policy      string       `event:"policy,opt,plain"` // SHA-256 of the policy files
	ConfigRules int          `event:"config_rules,opt"` // how many auto_approve rules of the config apply
	Trace       string       `event:"trace,opt"`        // the id of the trace to which the run belongs
	Limits
	Identity
}

// Limits say what the tools of a run may reach.
type Limits struct {
	Sandbox        string   `event:"sandbox,opt"`         // sandbox of commands, in words
	SandboxPartial []string `event:"sandbox_partial,opt"` // limits that the sandbox does not enforce
	FilesAnyway    bool     `event:"files_anyway,opt"`    // --files-anyway: broad directories are allowed
}

// Identity distinguishes a run from others.
type Identity struct {
	ID     string `event:"id,opt"`         // of --id
	Time   string `event:"time,opt,plain"` // when the run began, in UTC, RFC 3339 with milliseconds
	Preset string `event:"preset,opt,plain"`
}

// Origin is what the answer of a run comes from.
type Origin struct {
	ID      string `event:"id,opt"`            // of --id
	Model   string `event:"model,opt,plain"`   // the model that was asked last, by its name at the endpoint
	Profile string `event:"profile,opt,plain"` // its profile
	Preset  string `event:"preset,opt,plain"`
}

type ServerInfo struct {
	Name     string `event:"name,plain"`
	Protocol string `event:"protocol,plain"`
	Tools    int    `event:"tools"`
	Sandbox  string `event:"sandbox,opt"` // sandbox of its program, in words
}

// Input is the last user message at the beginning of a run, cut to its first bytes.
type Input struct {
	Text     string `event:"text"`     // at most MaxInput bytes
	Bytes    int    `event:"bytes"`    // the size of the whole text
	Messages int    `event:"messages"` // in the whole conversation so far
}

const MaxInput = 4 << 10

// Text is a piece of the answer as it arrives.
type Text struct {
	Turn int    `event:"turn"`
	Text []byte `event:"text"`
}

// Commentary is text of the model outside the answer, complete or in long pieces.
type Commentary Text

type Reasoning Text

// Citation is a source that the endpoint names for a part of the answer.
type Citation struct {
	Turn  int             `event:"turn"`
	Title string          `event:"title,opt"`
	URL   string          `event:"url,opt"`
	Start json.RawMessage `event:"start"` // a number, as the endpoint counts; nil: not known
	End   json.RawMessage `event:"end"`
}

// An ID is the id of a call. It is written as a string, or as a number if it comes from NumberID.
type ID string

// numberMark is the prefix of a numeric ID. No JSON string contains this byte.
const numberMark = "\xff"

// NumberID is the id of a call from a caller that numbers its calls; digits stay unchanged.
func NumberID(digits string) ID { return ID(numberMark + digits) }

func (id ID) Number() (text string, is bool) { return strings.CutPrefix(string(id), numberMark) }

// Call is a call that the model asks for. Server and Tool are "" for an unknown tool.
type Call struct {
	Turn      int             `event:"turn"`
	ID        ID              `event:"id"`
	Server    string          `event:"server,opt"`
	Tool      string          `event:"tool,opt"`
	Name      string          `event:"name"`
	Arguments json.RawMessage `event:"arguments"` // canonical; nil if they are not one strict JSON object
	Raw       []byte          `event:"raw,else"`  // the text from the model
	Span      string          `event:"span,opt"`
}

// Task reports that a server answers a call with a task. The run waits for the task.
type Task struct {
	ID     ID     `event:"id"`
	Server string `event:"server"`
	Task   string `event:"task"` // the id of the task
}

// Approval is the verdict on a call. Decision is allow, deny or unapproved. By is flag, policy,
// config, terminal, approver, default, or session: an earlier run sent the call, and this run waits
// for its task.
type Approval struct {
	ID       ID     `event:"id,opt"` // "" in an Explanation
	Decision string `event:"decision,plain"`
	By       string `event:"by,plain"`
	Rule     string `event:"rule,opt"`
	Reason   string `event:"reason,opt,ours"`
	Egress   Egress `event:"egress,opt"`

	Time time.Duration `event:"ms,opt"` // how long a person, an approver or the host took to answer; 0: nobody was asked
}

// Egress reports a call that sends data while the conversation is private and untrusted, and the
// first source of each label.
type Egress struct {
	Decision  string `event:"decision,plain"` // warn, ask or deny; allow: by a rule's when
	Private   Source `event:"private"`
	Untrusted Source `event:"untrusted"`
}

// Source is the result of a call, or the input at the beginning of the conversation.
type Source struct {
	Name string `event:"name"`     // the name of the tool
	Turn int    `event:"turn,opt"` // the turn of this run; 0 for an input
	ID   ID     `event:"id,opt"`

	Where string // the turn in words; "" for an input
}

func (s *Source) Text() string {
	if s.Where == "" {
		return s.Name
	}
	return s.Name + " (" + s.Where + ")"
}

// Denial says to the user why the call may not run, with the name of the rule, which the model does
// not see. It is "" if there is no reason.
func (e *Approval) Denial() string {
	switch {
	case e.Decision != "deny" || e.By == "terminal" || e.Rule == "":
		return e.Reason
	case e.Reason == "":
		return "by " + e.Rule
	}
	return "by " + e.Rule + ": " + e.Reason
}

type Progress struct {
	ID       ID              `event:"id"`
	Progress json.RawMessage `event:"progress"`
	Total    json.RawMessage `event:"total"`
	Message  string          `event:"message,opt"`
}

type ResultStatus string

const (
	ResultOK      ResultStatus = "ok"
	ResultStaged  ResultStatus = "staged" // added to the plan of --stage
	ResultError   ResultStatus = "error"  // isError
	ResultFailed  ResultStatus = "failed" // JSON-RPC error, or never sent
	ResultDenied  ResultStatus = "denied"
	ResultInvalid ResultStatus = "invalid" // unknown tool, bad arguments
	ResultUnknown ResultStatus = "unknown" // sent, no answer
	ResultNotRun  ResultStatus = "not_run" // the run ended first, or a dry run
)

// Result answers a Call; every call has exactly one. The text is complete, even if the model got
// only its head and tail.
type Result struct {
	ID         ID              `event:"id"`
	Status     ResultStatus    `event:"status"`
	Text       json.RawMessage `event:"text"`    // a string literal
	Content    json.RawMessage `event:"content"` // MCP blocks
	Structured json.RawMessage `event:"structured"`
	Bytes      int             `event:"bytes"` // size of the complete text
	Truncated  bool            `event:"truncated"`
	Labels     []string        `event:"labels,opt,plain"` // private, untrusted: the labels that it adds to the conversation
	Took
	Change
}

type Took struct {
	Time  time.Duration `event:"ms"`
	Began time.Duration `event:"began_ms,opt"` // since the start of the run; 0: the call did not run
}

// Change is a change to a file by a built-in tool.
type Change struct {
	File string `event:"file,opt"` // absolute path without symbolic links; "" for other calls
	Diff string `event:"diff,opt"` // unified diff, complete lines, at most MaxDiff bytes; "" for a file that is no text or too large
	New  bool   `event:"new,opt"`  // the file did not exist before
}

const MaxDiff = 64 << 10

// Plan is a plan of --stage, as --apply --dry-run shows it.
type Plan struct {
	File    string `event:"file"`
	Digest  string `event:"digest"`
	Whole   string `event:"digest_with_results,opt"` // if earlier runs have made calls
	Version string `event:"version"`                 // version of the program that staged it
	Dir     string `event:"dir"`
	Time    string `event:"time"`
	Calls   int    `event:"calls"`
	Made
}

type Made struct {
	OK      int    `event:"ok"`
	Failed  int    `event:"failed"`
	Unknown int    `event:"unknown"`  // sent, and no result came
	Open    int    `event:"open"`     // calls that --apply would make
	Last    string `event:"last,opt"` // time of the last result
}

type Staged struct {
	ID        string          `event:"id"`
	Server    string          `event:"server"`
	Tool      string          `event:"tool"`
	Name      string          `event:"name"`
	Arguments json.RawMessage `event:"arguments"`
	Status    string          `event:"status"` // open, done, error, failed or unknown
	StagedFor
	Said    string `event:"text,opt"`    // the model's text before the call
	Problem string `event:"problem,opt"` // why --apply would refuse the plan
	Shown   string `event:"shown"`       // as a question on the terminal would show it, escaped
}

// StagedFor says why a call is in a plan, and what it would change.
type StagedFor struct {
	Rule      string   `event:"rule,opt"`
	Reason    string   `event:"reason,opt"`
	Labels    []string `event:"labels,opt,plain"` // labels of the conversation when the call was staged
	Private   string   `event:"private,opt"`      // --egress ask would ask: the source that made the conversation private,
	Untrusted string   `event:"untrusted,opt"`    // and the source that made it untrusted
	File      string   `event:"file,opt"`
	Diff      string   `event:"diff,opt"`
}

// Turn marks the end of a reply of the model.
type Turn struct {
	Turn   int           `event:"turn"`
	Finish string        `event:"finish"`
	Usage  Usage         `event:"usage"`
	Time   time.Duration `event:"ms"`
	Model  string        `event:"model,opt"`  // only if several models are listed
	Pauses bool          `event:"pauses,opt"` // the endpoint continues the reply in another Turn with the same number
	Cost
}

type Retry struct {
	Attempt int           `event:"attempt"`
	Of      int           `event:"of,opt"` // 0 if only the time is limited
	After   time.Duration `event:"after_ms"`
	Status  int           `event:"status,opt"` // the HTTP status
	Message string        `event:"message,ours"`

	Discards bool `event:"discards,opt"` // text and reasoning of this turn so far are discarded
}

// Trim reports that requests from this turn on omit parts of the conversation.
type Trim struct {
	Turn        int `event:"turn"`
	Results     int `event:"results"`
	Rounds      int `event:"rounds,opt"`
	Attachments int `event:"attachments,opt"`
	Bytes       int `event:"bytes"` // size of the texts and pictures omitted now
}

type Warning struct {
	Code    string   `event:"code,plain"`
	Message string   `event:"message,ours"`
	Server  string   `event:"server,opt,plain"`
	Scopes  []string `event:"scopes,opt,ours"` // with login_needed and login_scope: the scopes that the server requires

	Repeated bool // the error that ends the run repeats it, so stderr does not show it
	Grave    bool // shown to a person even with -q
}

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

// Standing is the verdict on every call of a tool, or "depends" if calls get different verdicts.
type Standing struct {
	Verdict   string `event:"verdict,plain"`
	Except    string `event:"except,opt"`    // the calls with another verdict than Otherwise, in words
	Otherwise string `event:"otherwise,opt"` // the verdict on all other calls
	Rule      string `event:"rule,opt,plain"`
}

// Traits describe the effects of a tool and who declared them.
type Traits struct {
	Labels   []string `event:"labels,plain"`      // private, untrusted, sends
	Effects  []string `event:"effects,plain"`     // reads, writes, runs, sends
	Assumed  []string `event:"assumed,opt,plain"` // labels and effects that nobody declared present or absent
	Declared string   `event:"declared_by,opt"`   // "" for nobody
	Reads    []string `event:"reads,opt"`         // arguments that are paths it reads,
	Writes   []string `event:"writes,opt"`        // paths it writes,
	Sends    []string `event:"sends,opt"`         // and destinations
}

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
	Tokens    int    `event:"tokens"` // tokens of its tool definitions, about
	Status    string `event:"status,plain"`
	Message   string `event:"message,opt,ours"`
}

// Nested is an event of a nested run. Its JSON begins with parent, the id of the call that started
// the nested run; the members of the event follow. Outputs ignore it unless they say otherwise.
type Nested struct {
	Parent ID `event:"parent"`
	Event
}

// Inside makes e an event of the nested run of the call parent. An event inside an inner call keeps
// that call as its parent.
func Inside(parent ID, e Event) Event {
	if _, is := e.(*Nested); is {
		return e
	}
	return &Nested{parent, e}
}

// OfConnection is an event caused by a client of --serve --listen. Its JSON begins with connection,
// the number of the client's connection, from 1; the members of the event follow.
type OfConnection struct {
	Connection int `event:"connection"`
	Event
}

func Unconnected(e Event) Event {
	if c, ok := e.(*OfConnection); ok {
		return c.Event
	}
	return e
}

// Item is one resource, prompt, skill or model of a list.
type Item struct {
	Kind        string           `event:",plain"` // the type: "resource", "prompt", "skill" or "model"
	Server      string           `event:"server,opt,plain"`
	URI         string           `event:"uri,opt"`
	Name        string           `event:"name"`
	Description string           `event:"description,opt"`
	MIME        string           `event:"mime_type,opt"`
	Template    bool             `event:"template,opt"`
	Arguments   []PromptArgument `event:"arguments,opt"` // of a prompt; nil: not written
}

// Preset is one preset of --list presets.
type Preset struct {
	Name   string   `event:"name"`
	Args   []string `event:"args"`
	Prompt string   `event:"prompt,opt"`
	Text   string   `event:"text"` // all of it as a command line
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

// LoginURL is the URL that a person opens to sign in.
type LoginURL struct {
	Server      string `event:"server,plain"` // its URL
	URL         string `event:"url,plain"`    // its state is valid only for this sign-in
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
	Tools       int      `event:"tools,opt"` // number of tools of the server, after --login
}

// Explanation is the answer of --explain.
type Explanation struct {
	Name      string          `event:"name,plain"`
	Arguments json.RawMessage `event:"arguments"`
	Approval
	Approver bool            `event:"approver,opt"` // an approver is asked first
	Exposed  Approval        `event:"exposed,opt"`  // the verdict in a private and untrusted conversation, if it differs
	Rules    []ExplainedRule `event:"rules"`
	Others   []ExplainedRule `event:"others,opt"` // rules that name the tool but do not match the call
}

type ExplainedRule struct {
	Decision string `event:"decision,plain"`
	Rule     string `event:"rule,plain"`
	Reason   string `event:"reason,opt,plain"`
	Why      string `event:"why,opt,ours"` // why it does not match
}

// Pieces are a long text in several strings, so that it is never copied.
type Pieces []string

func (p Pieces) String() string { return strings.Join(p, "") }

type End struct {
	Status failure.Status `event:"status"`
	Exit   int            `event:"exit"`
	Text   Pieces         `event:"text,plain"`   // the answer, or the text of the last turn if the run has none; see veil.lastText
	Labels []string       `event:"labels,plain"` // private, untrusted: labels of the conversation
	Finish string         `event:"finish"`
	Counts
	Time time.Duration `event:"ms"`
	Origin
	Err *failure.Error `event:"error,opt"` // message, hint; of a model also kind, http_status, code, retryable, retry_after_ms
	Collected
}

// Collected holds what the end event of -o json repeats from earlier events.
type Collected struct {
	Items      []Event         `event:"items,opt"`      // the items of a list
	Structured json.RawMessage `event:"structured,opt"` // with --call, from the tool's result
	Content    json.RawMessage `event:"content,opt"`    // likewise
}

func (*Start) kind() string          { return "start" }
func (*Input) kind() string          { return "input" }
func (*Text) kind() string           { return "text" }
func (*Commentary) kind() string     { return "commentary" }
func (*Reasoning) kind() string      { return "reasoning" }
func (*Citation) kind() string       { return "citation" }
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
func (*Preset) kind() string         { return "preset" }
func (*Check) kind() string          { return "check" }
func (*Contents) kind() string       { return "contents" }
func (*LoginURL) kind() string       { return "login_url" }
func (*Login) kind() string          { return "login" }
func (*Explanation) kind() string    { return "explanation" }
func (*End) kind() string            { return "end" }
