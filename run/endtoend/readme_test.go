//go:build unix

package endtoend

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"toolpipe/testdata/load"
)

// TestReadme runs the commands of README.md: each block fenced as ```sh, see
// runExample. A block fenced as ```json NAME (or any other language) is written
// to the file NAME for the blocks after it.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := fencedBlocks(string(text))
	files := map[string]string{}
	commands := 0
	for _, block := range blocks {
		language, name, _ := strings.Cut(block.info, " ")
		if language != "sh" {
			if name != "" {
				files[name] = block.text
			}
			continue
		}
		commands++
		before := maps.Clone(files)
		for _, on := range []string{"pipes", "terminal"} {
			t.Run(fmt.Sprintf("line%d/%s", block.line, on), func(t *testing.T) {
				t.Parallel()
				if on == "terminal" {
					load.Variant(t)
				}
				runExample(t, block.text, before, on == "terminal")
			})
		}
	}
	if lines := strings.Count(string(text), "\n"); lines > 260 {
		t.Errorf("README.md has %d lines", lines)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("README.md:%d has %d columns", i+1, n)
		}
	}
	if commands < 12 {
		t.Errorf("README.md has %d blocks of commands", commands)
	}
}

// TestReadmeFlags checks that every flag in the README exists, and that the README
// has all exit statuses.
func TestReadmeFlags(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(t, noFiles)
	defer s.close()
	if err := s.run(mustLine(t, "toolpipe --help=all")); err != nil {
		t.Fatal(err)
	}
	known := longFlags(string(s.stdout))
	for _, name := range longFlags(otherPrograms.ReplaceAllString(string(text), " ")) {
		if !slices.Contains(known, name) {
			t.Errorf("README.md has %s, --help=all has not", name)
		}
	}
	for _, status := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "70", "134", "129", "130", "141", "143"} {
		if !regexp.MustCompile(`(?m)^\|.*\b` + status + `\b`).Match(text) {
			t.Errorf("README.md has no line for exit status %s", status)
		}
	}
}

type fencedBlock struct {
	line       int
	info, text string
}

func fencedBlocks(text string) (blocks []fencedBlock) {
	number, inside := 0, false
	for line := range strings.Lines(text) {
		number++
		if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if inside = !inside; inside {
				blocks = append(blocks, fencedBlock{line: number, info: fence})
			}
			continue
		}
		if inside {
			blocks[len(blocks)-1].text += line
		}
	}
	return blocks
}

var (
	otherPrograms  = regexp.MustCompile("(?m)git (?:log|diff)[^|]*|(?s:```json.*?```)|`") // flags of other programs
	readmePrograms = regexp.MustCompile(`\b(jq|git|parallel)\b`)
	readmeNeeds    = regexp.MustCompile(`(?m)^# needs: (.*)$`)
	readmeStatus   = regexp.MustCompile(`(?m)^# status: (\d+)$`)
	notRunHere     = regexp.MustCompile(`(?m)^\s*(?:[A-Z_]+=\S+ )*(go (test|build|install|mod)|git clone|cd toolpipe)\b.*$`)
)

// runExample runs commands of the README or the manual as one shell script, with
// -e, in a small git repository that also holds the project's testdata: without a
// terminal, as in CI, or on a terminal, as by a person who types nothing more.
// `toolpipe` and `go run .` are this binary, the model always answers, and a
// tool server is at https://mcp.example.com/mcp. Lines in a block:
//
//	# needs: network   skips the block: nothing but loopback is reached here
//	# status: 5        the status it ends with, 0 otherwise
//
// A block that uses jq or git is skipped where there is none, and so is one that needs
// a program which testdata/peers/install has not brought either. Commands of `go
// test`, `go build`, `go install` and `git clone` are not run here: .ci/run does.
func runExample(t *testing.T, commands string, files map[string]string, terminal bool) {
	needs := readmePrograms.FindAllString(commands, -1)
	if found := readmeNeeds.FindStringSubmatch(commands); found != nil {
		needs = append(needs, strings.Fields(found[1])...)
	}
	brought := "" // directories behind PATH
	for _, word := range needs {
		if _, err := exec.LookPath(word); err == nil {
			continue
		}
		dir := peerDirectory(word)
		if dir == "" {
			t.Skipf("needs %s", word)
		}
		brought += ":" + dir
	}
	status := "0"
	if found := readmeStatus.FindStringSubmatch(commands); found != nil {
		status = found[1]
	}
	commands = notRunHere.ReplaceAllString(commands, ":")
	commands = strings.ReplaceAll(commands, "go run .", "toolpipe")

	model := "reply\nagain\ntext \"An answer.\"\n"
	resumes := strings.Contains(commands, ".tool_calls")
	switch {
	case strings.Contains(commands, "--schema"), strings.Contains(commands, "--preset extract"): // the answer is an object
		model = "reply\nagain\ntext \"{\\\"name\\\":\\\"Rhine\\\"}\"\n"
	case strings.Contains(commands, "toolpipe -x"):
		model = "reply\nagain\ntext \"```sh\\ndate\\n```\"\n"
	case strings.Contains(commands, "--list models"), strings.Contains(commands, "--check"):
		model = "reply\nagain\nbody {\"data\":[{\"id\":\"qwen3\"}]}\n"
	case resumes: // a call is stopped at, looked at, and run
		model = "reply\ncall files__write_file {\"path\":\"notes.txt\",\"content\":\"tidy\"}\n" + model
	}
	s := newScript(t, &archive{sections: []section{{}, {name: "model", text: model}}})
	defer s.close()
	example := []string{"example"}
	if strings.Contains(commands, "--login") {
		example = append(example, "-modern", "-oauth")
		s.env["BROWSER"] = "fakebrowser " + filepath.Join(s.work, "browser.log") // a browser runs in /
	}
	if err := errors.Join(s.startModel([]string{"model"}), s.startMCP(example)); err != nil {
		t.Fatal(err)
	}
	s.verified = true
	if s.env["PATH"] += brought; strings.Contains(commands, "--preset") {
		s.env["TOOLPIPE_CONFIG"] = "config.json"
	}
	commands = s.exampleEndpoints(commands)
	layReadmeFiles(t, s, files)
	line := scriptLine{words: []scriptWord{literalWord("sh"), literalWord("set -e\n" + commands)}, statuses: []string{status}}
	if terminal {
		line.words = append([]scriptWord{literalWord("tty"), literalWord("-on=012")}, line.words...)
	}
	if err := s.run(line); err != nil {
		t.Fatalf("%s\n%v", commands, err)
	}
	if err := s.finish(); err != nil {
		t.Fatalf("%s\n%v", commands, err)
	}
	if shown := slices.Concat(s.stdout, s.screen); resumes {
		if text, _ := s.read("notes.txt"); string(text) != "tidy" || !strings.Contains(string(shown), "files__write_file") {
			t.Errorf("%s\nwrote %q and showed:\n%s", commands, text, shown)
		}
	}
}

// peerDirectory is where testdata/peers/install has put a program, "" if it has not.
func peerDirectory(program string) string {
	for _, name := range []string{"bin", "node_modules/.bin"} {
		dir, err := filepath.Abs(filepath.Join(top, "testdata/peers", name))
		if err == nil {
			_, err = os.Stat(filepath.Join(dir, program))
		}
		if err == nil {
			return dir
		}
	}
	return ""
}

// exampleEndpoints puts the doubles into the place of the endpoints that examples
// name. Anthropic's is one more model, which speaks its dialect.
func (s *script) exampleEndpoints(commands string) string {
	claude := "https://api.anthropic.com/v1"
	if strings.Contains(commands, claude) {
		path := filepath.Join(s.work, "claude")
		if err := errors.Join(os.WriteFile(path, []byte("dialect messages\nreply\nagain\ntext \"An answer.\"\n"), 0o644), s.startModel([]string{"-as", "claude", "claude"}), os.Remove(path)); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"} {
		s.env[name] = "sk-of-an-example"
	}
	pairs := []string{claude, s.env["CLAUDE_URL"] + "/v1", "https://mcp.example.com/mcp", s.env["EXAMPLE_URL"]}
	for _, url := range []string{"http://127.0.0.1:8080/v1", "http://127.0.0.1:11434/v1", "https://api.openai.com/v1", "https://openrouter.ai/api/v1"} {
		pairs = append(pairs, url, s.env["MODEL_URL"])
	}
	return strings.NewReplacer(pairs...).Replace(commands)
}

func literalWord(text string) scriptWord {
	var word scriptWord
	word = append(word, struct {
		text    string
		literal bool
	}{text, true})
	return word
}

// layReadmeFiles makes the working directory a repository with a change in
// it, the project's test data, and files.
func layReadmeFiles(t *testing.T, s *script, files map[string]string) {
	t.Helper()
	repository, err := readmeRepository()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.work, os.DirFS(repository)); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(s.work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// readmeRepository makes once what layReadmeFiles copies.
var readmeRepository = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(programs, "repository")
	err = os.CopyFS(filepath.Join(dir, "testdata/replay"), os.DirFS(filepath.Join(top, "testdata/replay")))
	for _, name := range []string{"go.mod", "README.md", "main.go"} {
		text, failure := os.ReadFile(filepath.Join(top, name))
		err = errors.Join(err, failure, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	if _, missing := exec.LookPath("git"); err != nil || missing != nil {
		return dir, err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %s: %v\n%s", args[0], err, out)
		}
	}
	samples, _ := filepath.Glob(filepath.Join(dir, ".git/hooks/*"))
	for _, sample := range samples {
		os.Remove(sample)
	}
	return dir, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module toolpipe\n\ngo 1.26.8\n\n// changed\n"), 0o644)
})
