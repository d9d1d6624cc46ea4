//go:build unix

package endtoend

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// A readingModel asks for a long result, then reads one of the earlier results by its name, and so on.
// Each result repeats its own number, so a wrong result is seen.
type readingModel struct {
	rounds int

	mu    sync.Mutex
	reads map[string]int // answers to reads, by what they are
	wrong string
}

var (
	readAnswer = regexp.MustCompile(`^\[toolpipe\] (r\d+): bytes 1\d\d\d to \d+ of \d+, from line 1 on\n\d*\]?((?:\[\d+\])+)`)
	noText     = regexp.MustCompile(`is no longer kept|outcome unknown|is past the end|\[toolpipe\] left out: `)
)

// target is the number of the call that the n-th call reads. The calls with even numbers have long results.
func target(n int) int { return 2 * (n * 7 % ((n + 1) / 2)) }

func (m *readingModel) answer(w io.Writer, _ *http.Request, body []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := 0
	for _, message := range gjson.GetBytes(body, "messages").Array() {
		for _, c := range message.Get("tool_calls").Array() {
			if _, err := fmt.Sscanf(c.Get("id").Str, "c%d", &next); err == nil {
				next++
			}
		}
		n := 0
		if _, err := fmt.Sscanf(message.Get("tool_call_id").Str, "c%d", &n); err == nil && n%2 == 1 {
			m.check(target(n), message.Get("content").Str)
		}
	}
	c := &chatWriter{number: next}
	head(w, 200, eventStream)
	switch {
	case next == m.rounds:
		io.WriteString(w, chatText("Done")+chatEnd)
		return false
	case next%2 == 0:
		text := strings.Repeat(fmt.Sprintf("[%d]", next), 1000)
		io.WriteString(w, c.call(fmt.Sprintf("c%d", next), "fs__echo", `{"text":"`+text+`"}`))
	default:
		io.WriteString(w, c.call(fmt.Sprintf("c%d", next), "results__read", fmt.Sprintf(`{"id":"r%d","offset":1500,"bytes":60}`, target(next)+1)))
	}
	io.WriteString(w, c.finish("calls")+c.done())
	return false
}

func (m *readingModel) check(of int, text string) {
	found := readAnswer.FindStringSubmatch(text)
	switch {
	case found != nil && found[1] == fmt.Sprintf("r%d", of+1) && strings.ReplaceAll(found[2], fmt.Sprintf("[%d]", of), "") == "":
		m.reads["whole"]++
	case found == nil && noText.MatchString(text):
		m.reads[noText.FindString(text)]++
	default:
		m.wrong = fmt.Sprintf("the name r%d gave %q", of+1, text)
	}
}

// TestFaultResultsKilled kills runs whose model reads results by their names. In the next run each
// name means the same result, or the answer says that it is no longer kept.
func TestFaultResultsKilled(t *testing.T) {
	t.Parallel()
	m := &readingModel{rounds: 12, reads: map[string]int{}}
	model := serveRaw(t, m.answer)
	s := newFault(t, "")
	s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
	kills, whole := load.Of(t, 100, 8), time.Duration(0)
	for conversation, killed := 0, 0; killed < kills; conversation++ {
		file, prompt := fmt.Sprintf("s%d.jsonl", conversation), " hi"
		command := `toolpipe -y --max-rounds 100 --max-result-bytes 300 --trim 4000 --session ` + file + ` -t fs="$MCP -tools echo"`
		if whole == 0 {
			began := time.Now()
			s.begin(command + prompt)
			whole = time.Since(began)
			continue
		}
		for ended := false; !ended && killed < kills; killed++ {
			s.begin(command + prompt + " &")
			time.Sleep(time.Duration(rand.Float64() * float64(whole)))
			syscall.Kill(s.running.pid, syscall.SIGKILL)
			s.begin("wait => any")
			data, _ := s.read(file)
			if strings.Contains(string(data), `"role":"user"`) {
				prompt = ""
			}
			ended = strings.Contains(string(data), `"content":"Done"`)
		}
	}
	if m.wrong != "" || m.reads["whole"] == 0 {
		t.Errorf("%s; %v", m.wrong, m.reads)
	}
	t.Log(m.reads)
}
