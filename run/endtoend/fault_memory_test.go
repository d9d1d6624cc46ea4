//go:build unix

package endtoend

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// TestFaultMemoryOfInput holds that what a run begins with is in memory about once, wherever
// it comes from and goes to: half of it more, and 20 MiB, at each of three sizes under load, and at one without.
func TestFaultMemoryOfInput(t *testing.T) {
	if load.RaceDetector() {
		t.Skip("the race detector multiplies the memory")
	}
	t.Parallel()
	model := serveRaw(t, func(w io.Writer, r *http.Request, body []byte) bool {
		head(w, 200, eventStream)
		io.WriteString(w, chatText(fmt.Sprint(len(body)))+chatEnd)
		return false
	})
	line := "the quick brown fox \"jumps\" over the lazy dog, 漢字 and so on\n"
	for name, command := range map[string]string{
		"file":     `toolpipe sum <in.txt >out`,
		"pipe":     `cat in.txt | toolpipe sum >out`,
		"alone":    `cat in.txt | toolpipe >out`,
		"attached": `toolpipe --no-stdin -f in.txt sum >out`,
		"many":     `toolpipe --no-stdin $(for n in $(seq 50); do printf " -f part.txt"; done) sum >out`,
		"messages": `toolpipe -i messages <in.json >out`,
		"short":    `toolpipe -i messages <short.json >out; toolpipe <short.json >out`,
		"printed":  `cat in.txt | toolpipe -o messages sum >out`,
		"session":  `cat in.txt | toolpipe --session s.jsonl sum >out; toolpipe --session s.jsonl more </dev/null >out`,
		"sessions": `toolpipe --session many.jsonl more </dev/null >out`,
		"ndjson":   `cat in.txt | toolpipe -o ndjson --log log sum >out`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sizes := []int{6} // MiB
			if load.Full(t) {
				sizes = []int{4, 8, 24}
			}
			for _, size := range sizes {
				s := newFault(t, "")
				s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
				lines := size << 20 / len(line)
				text := strings.Repeat(line, lines)
				json := `[{"role":"user","content":` + quote(text[:lines*9/10*len(line)]) + `}]`
				const few = 16 // lines, in each of many messages
				turn := `{"role":"user","content":` + quote(strings.Repeat(line, few)) + `},` + `{"role":"assistant","content":` + quote(strings.Repeat(line, few)) + `},`
				short := "[" + strings.Repeat(turn, lines*4/5/(2*few)) + `{"role":"user","content":"go on"}]`
				for file, content := range map[string]string{"in.txt": text, "in.json": json, "short.json": short, "many.jsonl": strings.ReplaceAll(short[1:len(short)-1], "},", "}\n"), "part.txt": text[:lines/50*len(line)]} {
					if err := os.WriteFile(filepath.Join(s.work, file), []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				s.memory = int64(size*3/2+20) << 20
				s.do("sh '" + command + "'")
				if out, _ := s.read("out"); len(out) == 0 {
					t.Errorf("%d MiB: no answer", size)
				}
			}
		})
	}
}

// TestFaultLongSession goes on with a session that grows over four runs far beyond what fits
// into the memory or the model. It stays whole, and each run takes no more than the one before.
func TestFaultLongSession(t *testing.T) {
	if load.RaceDetector() {
		t.Skip("the race detector multiplies the memory")
	}
	t.Parallel()
	const size = 250_000
	rounds := load.Of(t, 20, 5) // 400 make 400 MB, and take a minute
	own := limitedModel{api: "chat", status: 400, words: refusals[0].words, limit: 250_000, bytes: size}
	model := serveRaw(t, own.answer)
	s := newFault(t, "")
	s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
	s.memory = 64 << 20
	for run := range 4 {
		own.rounds = (run + 1) * rounds
		s.begin(`toolpipe --no-stdin -y --max-rounds 1000 --session s.jsonl -t fs="$MCP -tools big" go`)
	}
	info, err := os.Stat(filepath.Join(s.work, "s.jsonl"))
	if err != nil || info.Size() < int64(4*rounds*size) {
		t.Fatalf("the session: %v, %v", info, err)
	}
	s.begin("sh 'toolpipe --session s.jsonl -o messages --no-stdin >all.json'")
	s.begin("toolpipe --session s.jsonl --no-stdin")
	if string(s.stdout) != "Done\n" {
		t.Errorf("the last answer: %q", s.stdout)
	}
	s.memory = 0
	all, err := s.read("all.json")
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	gjson.ParseBytes(all).ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "tool" && len(m.Get("content").Str) == size {
			whole++
		}
		return true
	})
	if whole != 4*rounds {
		t.Errorf("%d results of %d are whole", whole, 4*rounds)
	}
}
