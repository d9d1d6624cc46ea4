// Package history reads the files that runs leave: event logs (-o ndjson, --log), session files
// (--session) and stage files (--stage). It turns them into plain data for a report. The data
// has a bound, so a file may have any size.
//
// A form is one of the three kinds of files. A run is everything between a start event and its
// end event, or one session, or one plan. A nested run is the run of an agent, and belongs to a
// call. A long text keeps only its head and its tail; the bytes between them are counted. A line
// is cut if its writer was killed in the middle of it.
//
// Nothing in a file is trusted: a number that no run can have is Unknown, and a value of a wrong
// type counts as missing. Events that this package does not know, such as those of a later
// version, are kept in a general form.
package history

// A Form is the kind of a file.
type Form string

// The forms.
const (
	Log     Form = "event log"
	Session Form = "session"
	Plan    Form = "plan"
)

// Unknown stands for a number that is missing, or that no run can have.
const Unknown = -1

// A Report is everything that was read.
type Report struct {
	Sources []*Source
	Runs    []*Run // in the order in which they began
	Limit   int    // bytes that are kept of each text
	Short   int    // bytes that are kept of the last texts, if there are many; 0: Limit

	MoreRuns int // runs that are counted in Failed and no more, because there are too many
	Failed   int // of these: those that did not end with 0
}

// A Source is a file that was read.
type Source struct {
	Name   string
	Form   Form // "" for an empty file
	Bytes  int64
	Lines  int
	SHA256 string // of all bytes, in hex
	Cut    []Cut
	Long   []int // the lines that were skipped because they are longer than 64 MiB
}

// Skipped says what became of a line of Long.
const Skipped = "is longer than 64 MiB and was skipped"

// A Cut is a line that is not whole.
type Cut struct {
	Line int
	Byte int64
}

// A Detail is a name and its value.
type Detail struct {
	Name string
	Text Text
	JSON bool // Text is JSON, and not text
}

// A Run is what happened in one run. Times are in milliseconds from its beginning on, or
// Unknown.
type Run struct {
	Form     Form
	Source   *Source
	Line     int      // of Source, where it begins
	Start    Start    // of Log
	Messages int64    // of the conversation that it began with; Unknown
	Plan     Head     // of Plan
	Details  []Detail // what the lines say beyond what the other fields have
	Turns    []*Turn
	Talk     []Exchange // one for each question of Session; at most one of Log
	Calls    []*Call
	Notes    []*Note
	End      End
	Counts   Counts
	More     More
}

// An Exchange is a message of the user and the answer to it. Either may be empty: a run that
// failed leaves a question without an answer.
type Exchange struct{ Prompt, Answer Text }

// A Start is what a start event says.
type Start struct {
	Version, Model, API string
	Time                string // when the run began
	ID                  string // of --id
	Servers             []string
	Ready               int64 // when servers and tools were there
}

// A Head is what the first line of a plan says, and what became of the plan.
type Head struct {
	Version, Time, Dir string
	Digest             string // that --apply --dry-run shows too
	Whole              string // with the results of its calls; "" if none was made
	Last               string // when the last result came
}

// An End is how a run ended.
type End struct {
	Known   bool   // there is an end event
	Cut     bool   // the last line of the file is not whole
	Status  string // "" if it is not Known
	Exit    int64
	Finish  string
	Labels  []string
	Error   Text // what ended it, and the hint
	Hint    Text
	Changed []string // files that programs in a sandbox have changed
	Ms      int64
}

// Counts are those of the end event where there is one, and otherwise what was counted in the
// lines. Results are always counted in the lines.
type Counts struct {
	Turns, Calls, Denied, Staged int64
	Tokens                       Tokens
	Cost, Currency               string           // "" for none
	Results                      map[string]int64 // how many results have which status, nested ones too
	Decisions                    map[string]int64 // how many approvals have which decision
}

// Tokens are what a model has read and written.
type Tokens struct{ Input, Output, Reasoning, Cached, CacheWrite int64 }

// More is what is counted in Counts and not kept, because there is too much of it.
type More struct{ Questions, Turns, Calls, Notes int }

// A Turn is one reply of the model.
type Turn struct {
	Number    int64
	At        int64 // when it ended
	Ms        int64 // how long it took
	First     int64 // when its first text came, or the first of its reasoning
	Finish    string
	Model     string // where several are listed
	Tokens    Tokens
	Cost      string
	Text      Text
	Reasoning Text
	Beside    Text // commentary
	Details   []Detail
}

// A Call is one call of a tool, with all that is known of it.
type Call struct {
	ID, Name, Server, Tool string
	Turn                   int64
	Connection             string // of --serve --listen: the number of the client
	Arguments              []Detail
	Raw                    bool // the arguments are not one JSON object
	Verdicts               []Verdict
	Result                 Result
	At                     int64  // when the model asked for it
	Progress               []Text // the last messages of its server
	MoreProgress           int    // those before them
	Nested                 *Run   // of an agent; nil for none
	Change                 Change
	Review                 Review // of Plan
	Details                []Detail
	Line                   int // of the source
}

// A Verdict is one approval event.
type Verdict struct {
	Decision, By, Rule string
	Reason             Text
	Egress             string // its decision, if the call may send out what is private
	Private, Untrusted string // what brought these labels
	At, Asked          int64  // when it was taken, and how long somebody was asked
}

// A Result is what a call came to.
type Result struct {
	Status    string // "" if there is none
	Text      Text
	Content   Text // what the server sent, if it is more than the text
	Bytes     int64
	Truncated bool // the model got its head and tail only
	Labels    []string
	Ms, Began int64 // how long it ran, and from when on
}

// A Change is what a call has changed in a file, or of a plan what it would change.
type Change struct {
	File    string // "" for none
	Diff    Text   // unified
	Claimed bool   // the writer of a plan says so, and NoDiff says why there is no Diff
	New     bool
	Against string // SHA-256 of the content that it is made against
}

// NoDiff says why a plan is shown without diffs.
const NoDiff = "a report reads no files, and a diff in the plan is only what its writer says; --apply --dry-run computes it."

// A Review is what a plan says for those who review a call.
type Review struct {
	Target, Dir        string // of the server
	Definition         string // SHA-256 of the tool's definition
	By, Rule           string
	Reason             Text
	Labels             []string
	Private, Untrusted string
	Said               Text // by the model, before the call
	Problem            Text
	State              string // open, done or unknown
}

// A Note is an event of any other kind.
type Note struct {
	Kind    string
	At      int64
	Turn    int64 // the turn in which it came; 0 before the first one
	Wait    int64 // of a retry: how long it waits
	Code    string
	Text    Text // in words
	Details []Detail
	Line    int
}
