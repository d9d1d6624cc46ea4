package approve

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"toolpipe/stream/jsontext"
)

// Approver is a judge outside this program, asked about every call that no
// rule denies. CommandApprover and URLApprover are the two there are.
//
// It gets one JSON object: server, tool, name, arguments, annotations (null
// when none), and what the rules say so far as verdict ("allow" or "ask"), by,
// rule and reason. It answers with one JSON object: decision ("allow", "deny"
// or "none") and, if it likes, reason. Any other answer, or none within the
// time, is a deny: a crash, a typo or a bare success never approves.
type Approver interface {
	// Judge gives an opinion on c: Deny, Allow, or Ask for none. soFar is what
	// the rules say. The error is ctx's cause and nothing else: whatever goes
	// wrong with the approver is a Deny with a reason.
	Judge(ctx context.Context, c *Call, soFar RuleMatch) (Decision, string, error)
}

const (
	approverTimeout = 60 * time.Second
	maxOpinion      = 64 << 10 // bytes of an approver's answer
	maxReason       = 4 << 10  // bytes of its reason that are kept
)

// consult asks the approver; decided says that v is the verdict.
func (g *Gate) consult(ctx context.Context, c *Call, soFar RuleMatch) (v Verdict, decided bool, err error) {
	d, reason, err := g.Approver.Judge(ctx, c, soFar)
	if err != nil || d == Ask {
		return Verdict{}, false, err
	}
	v = Verdict{By: "approver", Rule: g.ApproverOrigin, Reason: reason}
	if d == Allow {
		v.Outcome = Allowed
	}
	return v, true, nil
}

// approverQuestion returns the object that an approver gets, and a newline.
func approverQuestion(c *Call, soFar RuleMatch) []byte {
	b := make([]byte, 0, 512+len(c.Arguments)+len(c.Annotations))
	for _, field := range [][2]string{{`{"server":`, c.Server}, {`,"tool":`, c.Tool}, {`,"name":`, c.Name}} {
		b = jsontext.AppendQuoted(append(b, field[0]...), field[1])
	}
	b = append(append(b, `,"arguments":`...), orElse(c.Arguments, "{}")...)
	b = append(append(b, `,"annotations":`...), orElse(c.Annotations, "null")...)
	for _, field := range [][2]string{{`,"verdict":`, soFar.Decision.String()}, {`,"by":`, soFar.By}, {`,"rule":`, soFar.Origin}, {`,"reason":`, soFar.Reason}} {
		b = jsontext.AppendQuoted(append(b, field[0]...), field[1])
	}
	return append(b, '}', '\n')
}

func orElse(b []byte, otherwise string) []byte {
	if len(b) == 0 {
		return []byte(otherwise)
	}
	return b
}

// opinion reads an approver's answer.
func opinion(answer []byte) (Decision, string) {
	text, err := strictObject(answer, maxOpinion)
	if err != nil {
		return Deny, "the approver did not answer with one JSON object: " + err.Error()
	}
	var d document
	d.parse(text)
	decision, reason := "", ""
	for at := range d.children(0) {
		key := string(d.key(at))
		if d.nodes[at].kind != '"' || key != "decision" && key != "reason" {
			return Deny, "the approver's answer has a wrong " + strconv.Quote(key) + `; it is {"decision":"allow"|"deny"|"none","reason":"..."}`
		}
		if value := string(d.str(at)); key == "decision" {
			decision = value
		} else {
			reason = clip(value)
		}
	}
	switch decision {
	case "allow":
		return Allow, reason
	case "none":
		return Ask, reason
	case "deny":
		if reason == "" {
			reason = "the approver denied it"
		}
		return Deny, reason
	}
	return Deny, fmt.Sprintf(`the approver's decision is %q, not "allow", "deny" or "none"`, clip(decision))
}

// clip cuts s to maxReason bytes, between characters.
func clip(s string) string {
	if len(s) <= maxReason {
		return s
	}
	n := maxReason
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// capped keeps the first bytes that are written to it, at most max and one
// more, which tells that there were more.
type capped struct {
	b   []byte
	max int
}

func (c *capped) Write(p []byte) (int, error) {
	if room := c.max + 1 - len(c.b); room > 0 {
		c.b = append(c.b, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// lastLine returns the last line of b that is not blank.
func lastLine(b []byte) string {
	s := strings.TrimSpace(string(b))
	return clip(s[strings.LastIndexByte(s, '\n')+1:])
}
