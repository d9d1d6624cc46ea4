//go:build unix

package endtoend

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// TestFaultApplyKilled kills --apply at random points, from before it has read the plan to
// behind its last call. Each call of the plan reaches the server at most once, in order; a call
// that was under way is unknown and ends every further run until it is passed; and with that
// each is made once.
func TestFaultApplyKilled(t *testing.T) {
	t.Parallel()
	const calls = 6
	model := serveRaw(t, func(w io.Writer, r *http.Request, body []byte) bool {
		head(w, 200, eventStream)
		c := &chatWriter{number: 1}
		reply := c.text("Done") + c.finish("stop")
		if len(gjson.GetBytes(body, "messages").Array()) < 4 {
			reply = ""
			for k := range calls {
				reply += c.call(fmt.Sprint("c", k), "fs__slow", fmt.Sprintf(`{"text":"%d","ms":10}`, k))
			}
			reply += c.finish("calls")
		}
		io.WriteString(w, reply+c.done())
		return false
	})
	s := newFault(t, "")
	s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	kills, unknown := load.Of(t, 24, 12), 0
	whole := 300 * time.Millisecond
	for plan, killed := 0, 0; killed < kills; plan++ {
		file, log := filepath.Join(s.work, fmt.Sprintf("p%d.jsonl", plan)), filepath.Join(s.work, fmt.Sprintf("log%d", plan))
		server := `-t fs="$MCP -tools slow -log ` + log + `"`
		s.begin("toolpipe --no-stdin --stage " + file + " " + server + " hi")
		apply := "toolpipe --apply " + file + " " + server
		for range 4 {
			s.begin(apply + " &")
			time.Sleep(time.Duration(random.Float64() * float64(whole)))
			syscall.Kill(s.running.pid, syscall.SIGKILL)
			s.begin("wait => any")
			killed++
			atMostOnce(t, log, calls)
		}
		status := "0"
		if sending, _ := s.read(fmt.Sprintf("p%d.jsonl", plan)); strings.Count(string(sending), `{"sending":`) > strings.Count(string(sending), `{"result":`) {
			status = "7"
			unknown++
			s.begin(apply + " => 7")
			s.begin(apply + " => 7")
		}
		s.begin(apply + " --keep-going => " + status)
		atMostOnce(t, log, calls)
		data, _ := os.ReadFile(file)
		done := strings.Count(string(data), `"status":"ok"`)
		if sent := strings.Count(string(data), `{"sending":`); sent != calls || done > calls || status == "0" && done != calls {
			t.Fatalf("%d calls were sent, %d are done:\n%s", sent, done, data)
		}
	}
	t.Logf("seed %d: %d kills, %d plans with an unknown call", seed, kills, unknown)
}

// atMostOnce holds that the server got each call at most once, and in order.
func atMostOnce(t *testing.T, log string, calls int) {
	t.Helper()
	data, _ := os.ReadFile(log)
	last := -1
	for k := range calls {
		call := fmt.Sprintf(`tools/call slow {"text":"%d"`, k)
		at := strings.Index(string(data), call)
		if n := strings.Count(string(data), call); n > 1 || n == 1 && at < last {
			t.Fatalf("call %d came %d times, or not in order:\n%s", k, n, data)
		} else if n == 1 {
			last = at
		}
	}
}
