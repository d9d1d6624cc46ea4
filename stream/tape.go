package stream

import (
	"fmt"
	"sync"

	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/secrets"
)

// A Tape keeps in a recording what tools and their servers answered. Each answer is a line between
// the exchanges, where older versions of this program ignore it:
//
//	{"asked":{"tool":"fs__read","arguments":{…}},"answered":{…}}
//
// Both members are JSON of the caller, without secrets. The methods may be called concurrently.
type Tape struct {
	hidden *secrets.Set
	path   string // of the recording that it answers from; "" if it is written
	hint   string // Hints.Replay

	mu      sync.Mutex
	kept    []byte              // lines that are not written yet
	asked   []string            // all questions of the recording
	answers map[string][][]byte // by question; each is given once, in the order of the recording
}

// Tape is nil if the client has no recording.
func (c *Client) Tape() *Tape {
	switch {
	case c.recorder != nil:
		return &c.recorder.tape
	case c.replayer != nil:
		return &c.replayer.Tape
	}
	return nil
}

// Replays reports whether the answers come from a recording.
func (t *Tape) Replays() bool { return t != nil && t.path != "" }

// Keep writes an answer into the recording.
func (t *Tape) Keep(asked, answered []byte) {
	if t.Replays() {
		return
	}
	line := fmt.Appendf(nil, `{"asked":%s,"answered":%s}`, asked, answered)
	line = t.hidden.Content().HideJSON(jsontext.AppendCompact(nil, line))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(append(t.kept, line...), '\n')
}

// lines are the kept lines that were not written yet.
func (t *Tape) lines() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.kept
	t.kept = nil
	return lines
}

// read adds a line of a recording.
func (t *Tape) read(line []byte) error {
	if err := jsontext.Check(line, jsontext.Peer); err != nil {
		return err
	}
	asked := string(jsontext.Member(line, "asked"))
	t.asked = append(t.asked, asked)
	t.answers[asked] = append(t.answers[asked], jsontext.Member(line, "answered"))
	return nil
}

// key is a question in the form of the recording.
func (t *Tape) key(asked []byte) string {
	return string(t.hidden.Content().HideJSON(jsontext.AppendCompact(nil, asked)))
}

// Has reports whether the recording has an answer to the question.
func (t *Tape) Has(asked []byte) bool {
	key := t.key(asked)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answers[key] != nil
}

// Take gives the next answer to a question. The error is a Mismatch that shows the question of the
// recording with the longest start in common.
func (t *Tape) Take(asked []byte) ([]byte, error) {
	key, near := t.key(asked), ""
	t.mu.Lock()
	defer t.mu.Unlock()
	if left := t.answers[key]; len(left) > 0 {
		t.answers[key] = left[1:]
		return left[0], nil
	}
	for _, other := range t.asked {
		if near == "" || common(other, key) > common(near, key) {
			near = other
		}
	}
	switch {
	case near == "":
		return nil, &Error{Kind: Mismatch, Hint: t.hint, Message: fmt.Sprintf("the recording %q has no answers of tools: an older toolpipe wrote it, or its run had no tools", t.path)}
	case near == key:
		return nil, &Error{Kind: Mismatch, Hint: t.hint, Message: fmt.Sprintf("the recording %q has fewer answers to this than the run asks for: %s", t.path, clean(key, maxShown))}
	}
	return nil, mismatch(t.hint, fmt.Sprintf("the recording %q has no answer to this; the nearest that it has:", t.path), near, key)
}
