//go:build unix

package mcpdouble

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// tasks are calls that the server answers with a task (the extension
// io.modelcontextprotocol/tasks). They are kept as files of a directory, so that a server
// that starts anew knows them.
type tasks struct{ dir string }

// beginTask answers a call with a task that works for ms milliseconds and then has the
// result text. ask has it ask the user for a name first; fail is the message of the error
// that it ends with; stop is the status that it begins with; loop has it ask for ever.
func (s *Server) beginTask(m message, arguments gjson.Result) {
	if !m.Get(`params._meta.io\.modelcontextprotocol/clientCapabilities.extensions.io\.modelcontextprotocol/tasks`).Exists() {
		m.refuse(-32021, "Missing required client capability", `,"data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)
		return
	}
	all, _ := filepath.Glob(filepath.Join(s.tasks.dir, "*.json"))
	id := fmt.Sprintf("t/%d", len(all)+1)
	s.tasks.write(id, "json", fmt.Sprintf(`{"begun":%d,"arguments":%s}`, time.Now().UnixMilli(), arguments.Raw))
	status := "working"
	if stop := arguments.Get("stop"); stop.Exists() {
		status = stop.String()
	}
	m.reply(`{"resultType":"task","taskId":` + quote(id) + `,"status":` + quote(status) + `,"ttlMs":null,"pollIntervalMs":250,"statusMessage":"queued"}`)
}

func (t *tasks) path(id, kind string) string {
	return filepath.Join(t.dir, strings.ReplaceAll(id, "/", "_")+"."+kind)
}

func (t *tasks) write(id, kind, text string) { os.WriteFile(t.path(id, kind), []byte(text), 0o600) }

func (t *tasks) read(id, kind string) (gjson.Result, bool) {
	text, err := os.ReadFile(t.path(id, kind))
	return gjson.ParseBytes(text), err == nil
}

// task answers a request about a task.
func (s *Server) task(m message) {
	id := m.Get("params.taskId").String()
	task, known := s.tasks.read(id, "json")
	if !known {
		m.refuse(-32602, "no such task", "")
		return
	}
	switch m.method() {
	case "tasks/update":
		s.Record("answers %s", m.Get("params.inputResponses").Raw)
		s.tasks.write(id, "answers", m.Get("params.inputResponses").Raw)
		m.reply(`{"resultType":"complete"}`)
		return
	case "tasks/cancel":
		s.tasks.write(id, "cancelled", "")
		m.reply(`{"resultType":"complete"}`)
		return
	}
	arguments := task.Get("arguments")
	state := func(status, more string) {
		m.reply(`{"resultType":"complete","taskId":` + quote(id) + `,"status":"` + status + `","pollIntervalMs":250,"ttlMs":null` + more + `}`)
	}
	answers, answered := s.tasks.read(id, "answers")
	_, cancelled := s.tasks.read(id, "cancelled")
	passed := time.Now().UnixMilli() - task.Get("begun").Int()
	switch {
	case cancelled:
		state("cancelled", "")
	case arguments.Get("ask").Bool() && !answered, arguments.Get("loop").Bool():
		state("input_required", `,"inputRequests":{"name":{"method":"elicitation/create","params":{"mode":"form","message":"Which name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","default":"nobody"}},"required":["name"]}}}}`)
	case passed < arguments.Get("ms").Int():
		state("working", fmt.Sprintf(`,"statusMessage":"%d s"`, passed/1000))
	case arguments.Get("fail").Exists():
		state("failed", `,"error":{"code":-32603,"message":`+quote(arguments.Get("fail").String())+`}`)
	default:
		text := arguments.Get("text").String() + answers.Get("name.content.name").String()
		state("completed", `,"result":{"content":[{"type":"text","text":`+quote(text)+`}]}`)
	}
}
