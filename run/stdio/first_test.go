package stdio

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func TestFirst(t *testing.T) {
	long := strings.Repeat("x", maxFirst+10)
	for _, c := range []struct{ in, line string }{
		{"", ""}, {"a", "a"}, {"a\nb\n", "a\n"}, {"\nb", "\n"}, {long + "\nb", long[:maxFirst]},
	} {
		line, whole := First(iotest.OneByteReader(strings.NewReader(c.in)), time.Minute)
		rest, err := io.ReadAll(whole)
		if string(line) != c.line || string(rest) != c.in || err != nil {
			t.Errorf("%.20q: %.20q, then %.20q, %v", c.in, line, rest, err)
		}
	}
}

// TestFirstIsLate: a line that does not come in time is still read.
func TestFirstIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		line, whole := First(r, time.Second)
		if line != nil {
			t.Errorf("%q", line)
		}
		go func() {
			time.Sleep(time.Minute)
			io.WriteString(w, "a\nb")
			w.Close()
		}()
		if rest, err := io.ReadAll(whole); string(rest) != "a\nb" || err != nil {
			t.Errorf("%q %v", rest, err)
		}
	})
}
