//go:build unix

package endtoend

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// TestGNUParallel runs the recipe for many prompts with the real parallel, eight
// at a time, against a model of whose replies one in twenty fails. The job log has
// the status of each run, the failed ones are run again until all have
// succeeded, and then every file has the whole answer to its own prompt.
func TestGNUParallel(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("parallel"); err != nil {
		t.Skip("needs parallel")
	}
	runs := load.Of(t, 400, 24)
	answer := func(name string) string {
		return strings.Repeat("the answer to "+name+"\n", 200)
	}
	var replies, failures atomic.Int64
	model := serveRaw(t, func(w io.Writer, r *http.Request, body []byte) bool {
		fields := strings.Fields(gjson.GetBytes(body, "messages.0.content").String())
		text := answer(fields[2]) // behind the file's name: "prompt 17"
		n := replies.Add(1)
		if n%6 == 0 {
			failures.Add(1)
			if n%12 == 0 {
				head(w, 403, "Content-Type: application/json")
				io.WriteString(w, `{"error":{"message":"bad luck"}}`)
				return false
			}
			head(w, 200, eventStream)
			io.WriteString(w, chatText(text[:len(text)/2])) // and no end
			return false
		}
		head(w, 200, eventStream)
		for piece := range strings.Lines(text) {
			io.WriteString(w, chatText(piece))
		}
		io.WriteString(w, chatEnd)
		return false
	})
	s := newFault(t, "")
	s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
	for _, dir := range []string{"prompts", "out"} {
		if err := os.Mkdir(filepath.Join(s.work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range runs {
		if err := os.WriteFile(filepath.Join(s.work, "prompts", fmt.Sprint(i)), fmt.Appendf(nil, "prompt %d\n", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	page, err := os.ReadFile(filepath.Join(top, "run/manual/recipes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(page), "      awk -F")
	recipe, _, _ = strings.Cut("awk -F"+recipe, "\n\n") // it lists the runs that failed last
	failed := -1
	for again := 0; failed != 0; again++ {
		if again > 6 {
			t.Fatalf("%d runs still fail after %d rounds", failed, again)
		}
		before := failures.Load()
		cmd := exec.CommandContext(ctx, "sh", "-c",
			`ls prompts | parallel --jobs 8 --joblog jobs.log --resume-failed 'toolpipe -q --no-stdin --stream=false --retry-for 0 -f prompts/{} "sum it up" >out/{}'`)
		cmd.Dir, cmd.Env = s.work, s.environ()
		out, err := cmd.CombinedOutput()
		if _, exited := err.(*exec.ExitError); err != nil && !exited {
			t.Fatalf("%v\n%s", err, out)
		}
		failed = 0
		for status := range jobStatuses(t, filepath.Join(s.work, "jobs.log"), runs) {
			switch status {
			case "0":
			case "3":
				failed++
			default:
				t.Fatalf("a run ended with status %s\n%s", status, out)
			}
		}
		list := exec.CommandContext(ctx, "sh", "-c", recipe)
		list.Dir = s.work
		if out, err := list.Output(); err != nil || strings.Count(string(out), "\n") != failed {
			t.Fatalf("%d runs have failed last; the recipe lists:\n%s%v", failed, out, err)
		}
		if want := int(failures.Load() - before); failed != want || cmd.ProcessState.ExitCode() != min(want, 101) {
			t.Fatalf("%d replies failed, the log has %d failed runs, and parallel ended with %v", want, failed, cmd.ProcessState)
		}
	}
	if failures.Load() == 0 {
		t.Error("no reply failed")
	}
	for i := range runs {
		text, err := os.ReadFile(filepath.Join(s.work, "out", fmt.Sprint(i)))
		if err != nil || string(text) != answer(fmt.Sprint(i)) {
			t.Errorf("output %d: %v, %d bytes", i, err, len(text))
		}
	}
}

// jobStatuses gives the exit status of the last run of each job in a log of
// parallel: Seq, Host, Starttime, JobRuntime, Send, Receive, Exitval, Signal, Command.
func jobStatuses(t *testing.T, log string, jobs int) func(func(string) bool) {
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(line, "\t"); fields[0] != "Seq" {
			last[fields[0]] = fields[6]
		}
	}
	if len(last) != jobs {
		t.Fatalf("the log has %d jobs, not %d", len(last), jobs)
	}
	return func(yield func(string) bool) {
		for _, status := range last {
			if !yield(status) {
				return
			}
		}
	}
}
