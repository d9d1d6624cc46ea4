//go:build unix

package endtoend

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"toolpipe/testdata/load"
)

// testdata/faults.md lists what can go wrong outside toolpipe, and its tests. The
// tests named TestFault… need more than a script can express: a server that
// misbehaves below HTTP, certificates, load. Each runs a script all the same, so
// that what must hold in every run is checked.

// newFault prepares a script whose files are those of archive, without its
// commands. The caller may add to it, then plays it.
func newFault(t *testing.T, archive string) *script {
	t.Helper()
	if !load.In(part, t.Name()) {
		t.Skip("another part of the scripts, by TOOLPIPE_SCRIPTS")
	}
	files, err := splitArchive(archive)
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(t, files)
	t.Cleanup(s.close)
	return s
}

// begin runs commands; the last one leaves a program running.
func (s *script) begin(commands string) {
	s.t.Helper()
	lines, err := parseScript(commands)
	for _, line := range lines {
		if err == nil {
			err = s.run(line)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// do plays commands to their end.
func (s *script) do(commands string) {
	s.t.Helper()
	lines, err := parseScript(commands)
	if err != nil {
		s.t.Fatal(err)
	}
	s.play(s.t.Name(), lines)
}

// head writes the head of a reply whose body ends with the connection.
func head(w io.Writer, status int, lines ...string) {
	fmt.Fprintf(w, "HTTP/1.1 %d X\r\nConnection: close\r\n%s\r\n", status, strings.Join(append(lines, ""), "\r\n"))
}

const eventStream = "Content-Type: text/event-stream"

// chatText is an event with text; chatEnd ends a reply.
func chatText(text string) string { return (&chatWriter{number: 1}).text(text) }

var chatEnd = (&chatWriter{number: 1}).finish("stop") + (&chatWriter{number: 1}).done()
