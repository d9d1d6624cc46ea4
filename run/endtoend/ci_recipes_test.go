//go:build unix

package endtoend

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"toolpipe/run/manual"
)

// TestCIRecipes runs the recipes of CI as README.md and the manual have them, each step by bash -e
// as GitHub and GitLab do: with a model that fails, one that answers, and one that wants to write.
// The run ends with 3, 0 and 5, or 0 where the call is staged, and a report of it is there. A plan
// is applied only if it has calls. The lines that get the program are looked at, and not run.
func TestCIRecipes(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"recipes": manual.Page("recipes")}
	text, err := os.ReadFile(filepath.Join(top, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range fencedBlocks(string(text)) { // as the manual has its examples
		pages["README"] += "\n" + regexp.MustCompile("(?m)^").ReplaceAllString(strings.TrimSuffix(block.text, "\n"), "      ") + "\n"
	}
	for name, page := range pages {
		var recipes []string
		for _, found := range regexp.MustCompile(`(?m)^\n((?:      .*\n)+)`).FindAllStringSubmatch(page, -1) {
			if recipe := strings.ReplaceAll("\n"+found[1], "\n      ", "\n")[1:]; regexp.MustCompile(`GITHUB_|# needs: Git|git clone`).MatchString(recipe) {
				recipes = append(recipes, recipe)
			}
		}
		if want := map[string]int{"README": 1, "recipes": 5}[name]; len(recipes) != want {
			t.Fatalf("%s has %d recipes of CI, not %d", name, len(recipes), want)
		}
		for i, recipe := range recipes {
			if trigger := "trigger: {include: apply.yml}"; strings.Contains(recipe, trigger) {
				recipe = strings.Replace(recipe, trigger, strings.SplitN(recipes[i+1], "apply:\n", 2)[1][2:], 1)
			} else if i > 0 && strings.Contains(recipes[i-1], trigger) {
				continue
			}
			for _, model := range []string{"fails", "answers", "writes"} {
				t.Run(fmt.Sprintf("%s%d/%s", name, i+1, model), func(t *testing.T) {
					t.Parallel()
					runCI(t, recipe, model)
				})
			}
		}
	}
}

// A ciRun is a recipe that is being run.
type ciRun struct {
	*script
	outputs map[string]string // of steps and jobs, as expressions name them
	asked   bool              // a person was asked whether a job may run
}

// runCI runs the jobs of a recipe, in the order in which they are written.
func runCI(t *testing.T, recipe, model string) {
	if strings.Contains(recipe, "--sandbox") && !hasLandlock() {
		t.Skip("needs Landlock")
	}
	call := `call files__write_file {"path":"notes.txt","content":"tidy"}`
	replies := map[string]string{"fails": "reply 400\nagain\n", "answers": "reply\nagain\ntext \"An answer.\"\n", "writes": "reply\n" + call + "\nreply\nagain\ntext \"Done.\"\n"}
	r := ciRun{script: newScript(t, &archive{sections: []section{{}, {"model", replies[model]}, {"plan.json", `{"mcpServers":{}}`}}}), outputs: map[string]string{}}
	defer r.close()
	if err := r.startModel([]string{"model"}); err != nil {
		t.Fatal(err)
	}
	r.verified = true
	r.env["CI"] = "true"
	job := ciNode{fields: map[string]*ciNode{"script": {items: []*ciNode{{text: recipe}}}}}
	workflow := &ciNode{names: []string{"job"}, fields: map[string]*ciNode{"job": &job}}
	if strings.Contains(recipe, "# needs: Git") { // the recipe itself says which model it is
		for _, name := range []string{"TOOLPIPE_API_KEY", "TOOLPIPE_BASE_URL", "TOOLPIPE_MODEL"} {
			delete(r.env, name)
		}
		r.env["OPENAI_BASE_URL"], r.env["OPENAI_API_KEY"] = r.env["MODEL_URL"]+"/v1", "sk-of-an-example"
		lines := strings.Split(strings.TrimSpace(recipe), "\n")
		if workflow = parseCI(t, &lines, 0); workflow.fields["jobs"] != nil {
			workflow = workflow.fields["jobs"]
		}
	}
	plans := strings.Contains(recipe, "--stage")
	want := map[string]int{"fails": 3, "writes": 5}[model]
	if plans && model == "writes" {
		want = 0
	}
	for i, name := range workflow.names {
		if job := workflow.fields[name]; i == 0 || r.status == 0 && r.reached(job) {
			r.job(name, job)
		}
	}
	if r.status != want || r.asked != (plans && model == "writes") {
		t.Errorf("status %d, asked: %v\n%s", r.status, r.asked, r.stderr)
	}
	if notes, _ := r.read("notes.txt"); plans && string(notes) != map[string]string{"writes": "tidy"}[model] {
		t.Errorf("notes.txt has %q", notes)
	}
	report := ""
	for _, file := range []string{"summary.md", "run.html"} {
		text, _ := r.read(file)
		report += string(text)
	}
	if exit := map[string]string{"fails": "exit 3", "answers": "exit 0", "writes": "exit " + strconv.Itoa(want)}[model]; !strings.Contains(report, exit) {
		t.Errorf("no report with %q:\n%s", exit, report)
	}
}

var (
	ciGetsProgram = regexp.MustCompile(`\A(?:# .*\n)?git clone https://\S+ /tmp/toolpipe\nCGO_ENABLED=0 go build -C /tmp/toolpipe\n(?:export PATH="/tmp/toolpipe:\$PATH"|echo /tmp/toolpipe >>"\$GITHUB_PATH")`)
	ciExpression  = regexp.MustCompile(`\$\{\{ (\S+) \}\}`)
)

// reached reports whether a job that needs the first one runs, perhaps after a person was asked.
func (r *ciRun) reached(job *ciNode) bool {
	if rules := job.fields["rules"]; rules != nil { // GitLab's: the first one that holds
		env, _ := r.read("plan.env")
		r.asked = rules.items[0].field("if").text != `$CALLS == "0"` || string(env) != "STAGED=0\n"
		return true
	}
	output, ok := strings.CutSuffix(job.fields["if"].text, " > 0")
	n, err := strconv.Atoi(r.outputs[output])
	if !ok || err != nil {
		r.t.Fatalf("if: %s, which is %q", job.fields["if"].text, r.outputs[output])
	}
	r.asked = n > 0
	return r.asked
}

// job runs the steps of a job: after a failure those that always run. Its status is that of the
// first step that failed.
func (r *ciRun) job(name string, job *ciNode) {
	gets, status := false, 0
	for _, key := range []string{"steps", "script"} {
		for _, step := range job.field(key).items {
			script, when := step.text, step.field("if").text
			if key == "steps" {
				script = step.field("run").text
			}
			if when != "" && when != "always()" && when != "github.run_attempt == 1" {
				r.t.Fatalf("if: %s", when)
			}
			if script == "" || status != 0 && when != "always()" {
				continue
			}
			if !gets && !ciGetsProgram.MatchString(script) {
				r.t.Fatalf("%s does not begin with getting the program:\n%s", name, script)
			}
			gets = true
			r.step(ciGetsProgram.ReplaceAllString(script, ""), "steps."+step.field("id").text, step.field("env"), job.field("variables"))
			if status == 0 {
				status = r.script.status
			}
		}
	}
	r.script.status = status
	for output, value := range job.field("outputs").fields {
		r.outputs["needs."+name+".outputs."+output] = r.expand(value.text)
	}
}

// step runs one step with its own variables.
func (r *ciRun) step(script, id string, variables ...*ciNode) {
	before := r.script.env
	r.script.env = map[string]string{}
	for name, value := range before {
		r.script.env[name] = value
	}
	output := filepath.Join(r.root, "output")
	if strings.Contains(script, "$GITHUB_") {
		r.script.env["GITHUB_STEP_SUMMARY"], r.script.env["GITHUB_OUTPUT"] = filepath.Join(r.work, "summary.md"), output
	}
	for _, node := range variables {
		for name, value := range node.fields {
			r.script.env[name] = r.expand(value.text)
		}
		for _, pair := range strings.Split(strings.Trim(node.text, "{}"), ", ") {
			if name, value, ok := strings.Cut(pair, ": "); ok {
				r.script.env[name] = value
			}
		}
	}
	line := scriptLine{words: []scriptWord{literalWord("sh"), literalWord(`exec bash -e "$0"`), literalWord(filepath.Join(r.root, "step"))}, statuses: []string{"any"}}
	if err := os.WriteFile(filepath.Join(r.root, "step"), []byte(script), 0o644); err != nil {
		r.t.Fatal(err)
	}
	if err := r.run(line); err != nil {
		r.t.Fatalf("%s\n%v", script, err)
	}
	r.script.env = before
	text, _ := os.ReadFile(output)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		r.outputs[id+".outputs."+name] = value
	}
}

// expand puts values into the place of GitHub's expressions.
func (r *ciRun) expand(text string) string {
	return ciExpression.ReplaceAllStringFunc(text, func(found string) string {
		name := ciExpression.FindStringSubmatch(found)[1]
		if value, ok := r.outputs[name]; ok {
			return value
		}
		if !strings.HasPrefix(name, "secrets.") && name != "github.token" {
			return ""
		}
		return "sk-of-an-example"
	})
}

// A ciNode is a value of YAML. What is in braces or brackets is a text.
type ciNode struct {
	text   string
	items  []*ciNode
	fields map[string]*ciNode
	names  []string // of fields, in order
}

// field is a field of a mapping, and an empty node if there is none.
func (n *ciNode) field(name string) *ciNode {
	if f := n.fields[name]; f != nil {
		return f
	}
	return &ciNode{}
}

var ciKey = regexp.MustCompile(`^ *([\w-]+):(?: (.*))?$`)

// parseCI reads the lines that are indented by at least so many blanks: the part of YAML that the
// recipes need.
func parseCI(t *testing.T, lines *[]string, least int) *ciNode {
	node := &ciNode{fields: map[string]*ciNode{}}
	for len(*lines) > 0 {
		line := (*lines)[0]
		indent := len(line) - len(strings.TrimLeft(line, " "))
		key := ciKey.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "#"):
			*lines = (*lines)[1:]
		case indent < least:
			return node
		case strings.HasPrefix(line[indent:], "- "):
			(*lines)[0] = strings.Replace(line, "- ", "  ", 1)
			node.items = append(node.items, parseCI(t, lines, indent+2))
		case line[indent:] == "|":
			*lines = (*lines)[1:]
			node.text = ciBlock(lines, least)
		case key == nil:
			t.Fatalf("%q is no YAML that is known here", line)
		case key[2] == "":
			*lines = (*lines)[1:]
			node.fields[key[1]], node.names = parseCI(t, lines, indent+1), append(node.names, key[1])
		default:
			*lines = (*lines)[1:]
			value := &ciNode{text: key[2]}
			if key[2] == "|" {
				value.text = ciBlock(lines, indent+1)
			}
			node.fields[key[1]], node.names = value, append(node.names, key[1])
		}
	}
	return node
}

// ciBlock takes the lines of a literal block.
func ciBlock(lines *[]string, least int) string {
	n := slices.IndexFunc(*lines, func(line string) bool { return strings.TrimLeft(line[:min(least, len(line))], " ") != "" })
	if n < 0 {
		n = len(*lines)
	}
	block := (*lines)[:n]
	*lines = (*lines)[n:]
	indent := len(block[0]) - len(strings.TrimLeft(block[0], " "))
	text := ""
	for _, line := range block {
		text += line[indent:] + "\n"
	}
	return text
}
