// Package history reads the files that runs write: event logs (-o ndjson, --log), session files
// (--session) and stage files (--stage). It turns them into plain data for a report. The size of
// the data is limited, so a file may have any size.
//
// A form is one of the three kinds of files. A run is everything between a start event and its end
// event, or one session, or one plan. A nested run is the run of an agent, and belongs to a call. A
// long text keeps only its head and its tail; the bytes between them are counted. A line is cut if
// its writer was killed before it was complete.
//
// Nothing in a file is trusted: a number that no run can have is Unknown, and a value of a wrong
// type counts as missing. Unknown events, such as events of a later version, are kept in a general
// form.
package history

type Form string

const (
	Log     Form = "event log"
	Session Form = "session"
	Plan    Form = "plan"
)

// Unknown marks a number that is missing, or that no run can have.
const Unknown = -1

type Report struct {
	Sources []*Source
	Runs    []*Run // in the order of their start
	Limit   int    // bytes kept of each text
	Short   int    // bytes kept of further texts if there are many; 0: Limit

	MoreRuns int // runs beyond the limit, only counted
	Failed   int // of these, the runs with an exit status other than 0
}

type Source struct {
	Name   string
	Form   Form // "" for an empty file
	Bytes  int64
	Lines  int
	SHA256 string   // of all bytes, in hex
	Cut    []string // says of each incomplete line where it ends
	Long   []string // says of each skipped line that it is longer than 64 MiB
}

type Detail struct {
	Name string
	Text Text
	JSON bool // Text is JSON
}

// A Run is the events of one run. Times are in milliseconds from its start, or Unknown.
type Run struct {
	Form     Form
	Source   *Source
	Line     int      // of Source, where it begins
	Start    Start    // of Log
	Messages int64    // messages at the start of the conversation; Unknown
	Plan     Head     // of Plan
	Details  []Detail // members of lines that no other field contains
	Turns    []*Turn
	Talk     []Exchange // one for each question of a Session; at most one for a Log
	Calls    []*Call
	Notes    []*Note
	End      End
	Counts   Counts
	More     More
}

// An Exchange is a message of the user and its answer. Either may be empty: a run that failed
// leaves a question without an answer.
type Exchange struct{ Prompt, Answer Text }

type Start struct {
	Version, Model, API string
	Time                string // start time
	ID                  string // of --id
	Servers             []string
	Ready               int64 // when servers and tools were ready
}

type Head struct {
	Version, Time, Dir string
	Digest             string // the same as in --apply --dry-run
	Whole              string // digest with the results of calls; "" if no call was made
	Last               string // time of the last result
}

type End struct {
	Known   bool   // there is an end event
	Cut     bool   // the last line of the file is incomplete
	Status  string // "" if not Known
	Exit    int64
	Finish  string
	Labels  []string
	Error   Text // the error that ended it, and the hint
	Hint    Text
	Changed []string // files that sandboxed programs changed
	Ms      int64
}

// Counts are the counts of the end event, or counts of lines if there is no end event. Results are
// always counted from lines.
type Counts struct {
	Turns, Calls, Denied, Staged int64
	Tokens                       Tokens
	Cost, Currency               string           // "" for none
	Results                      map[string]int64 // number of results per status, including nested ones
	Decisions                    map[string]int64 // number of approvals per decision
}

type Tokens struct{ Input, Output, Reasoning, Cached, CacheWrite int64 }

// More counts items beyond the limits, which are counted in Counts but not kept.
type More struct{ Questions, Turns, Calls, Notes int }

type Turn struct {
	Number    int64
	At        int64 // when it ended
	Ms        int64 // how long it took
	First     int64 // when its first text or reasoning came
	Finish    string
	Model     string // only if several models are listed
	Tokens    Tokens
	Cost      string
	Text      Text
	Reasoning Text
	Beside    Text // commentary
	Details   []Detail
}

type Call struct {
	ID, Name, Server, Tool string
	Turn                   int64
	Connection             string // with --serve --listen: the number of the client
	Arguments              []Detail
	Named, Rest            string // the arguments in one line, see jsontext.Glance
	Raw                    bool   // the arguments are not one JSON object
	Verdicts               []Verdict
	Result                 Result
	At                     int64  // when the model asked for it
	Progress               []Text // the last messages of its server
	MoreProgress           int    // number of earlier messages
	Nested                 *Run   // run of an agent; nil for none
	Change                 Change
	Review                 Review // for a Plan
	Details                []Detail
	Line                   int // of the source
}

type Verdict struct {
	Decision, By, Rule string
	Reason             Text
	Egress             string // its decision, if the call may send private data
	Private, Untrusted string // sources of these labels
	At, Asked          int64  // time of the verdict, and how long somebody was asked
}

type Result struct {
	Status    string // "" if there is none
	Exit      string // exit code of a command
	Reason    string // the first line that says why a call that was allowed failed
	Text      Text
	Content   Text // the server's content, if it is more than the text
	Bytes     int64
	Truncated bool // the model got only its head and tail
	Labels    []string
	Ms, Began int64 // duration and start
}

type Change struct {
	File    string // "" for none
	Diff    Text   // unified
	Claimed bool   // only claimed by the writer of a plan; there is no Diff, see NoDiff
	New     bool
	Against string // SHA-256 of the content to which it applies
}

const NoDiff = "a report reads no files, and a diff in the plan is only a claim of its writer; --apply --dry-run computes it."

type Review struct {
	Target, Dir        string // of the server
	Definition         string // SHA-256 of the tool's definition
	By, Rule           string
	Reason             Text
	Labels             []string
	Private, Untrusted string
	Said               Text // the model's text before the call
	Problem            Text
	State              string // open, done or unknown
}

// A Note is an event of any other kind.
type Note struct {
	Kind    string
	At      int64
	Turn    int64 // turn of the event; 0 before the first one
	Wait    int64 // waiting time of a retry
	Code    string
	Text    Text // in words
	Details []Detail
	Line    int
}
