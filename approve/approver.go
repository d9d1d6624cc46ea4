package approve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// An Approver is a program or a service that is asked about every call that no rule denies.
//
// It gets one JSON object with the members server, tool, name, arguments, annotations (null for
// none) and agent (only in a nested run), and with the decision of the rules: verdict ("allow"
// or "ask"), by, rule and reason. It answers with one JSON object with the member decision
// ("allow", "deny" or "none"), and perhaps the member reason. Any other answer, or none in
// time, is a deny: a crash, a typo or a mere exit status 0 never approves a call.
type Approver struct {
	Origin  string        // where it was named, such as a flag
	Timeout time.Duration // 0: 60 s

	// Ask returns the answer to a question, or a problem such as "failed: exit status 1".
	// AskCommand and AskURL make such a function.
	Ask func(ctx context.Context, question []byte) (answer []byte, problem string)
}

const (
	approverTimeout   = 60 * time.Second
	maxApproverAnswer = 64 << 10 // bytes of an approver's answer
	maxReason         = 4 << 10  // bytes of a reason that are kept
)

// judge returns the approver's decision about c, which is Ask for the answer "none", and its
// reason. rule decides without the approver. The error is ctx's cause; any failure of the
// approver is a Deny with a reason.
func (a *Approver) judge(ctx context.Context, c *Call, rule *Rule) (d Decision, reason string, err error) {
	timeout := cmp.Or(a.Timeout, approverTimeout)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, problem := a.Ask(limited, approverRequest(c, rule))
	switch {
	case ctx.Err() != nil:
		return Deny, "", context.Cause(ctx)
	case limited.Err() != nil:
		return Deny, "the approver gave no answer in " + timeout.String(), nil
	case problem != "":
		return Deny, "the approver " + problem, nil
	case len(bytes.TrimSpace(answer)) == 0:
		return Deny, "the approver gave no decision: its answer is empty", nil
	}
	d, reason = parseApproverAnswer(answer)
	return d, reason, nil
}

// approverRequest returns the object that an approver gets as one line.
func approverRequest(c *Call, rule *Rule) []byte {
	q, asker := jsontext.Quoted, ""
	if c.Agent != "" {
		asker = `"agent":` + string(q(c.Agent)) + ","
	}
	if c.Command != "" {
		asker += `"command":` + string(q(c.Command)) + ","
	}
	return fmt.Appendf(nil, `{"server":%s,"tool":%s,"name":%s,"arguments":%s,"annotations":%s,%s"verdict":%s,"by":%s,"rule":%s,"reason":%s}`+"\n",
		q(c.Server), q(c.Tool), q(c.Name), cmp.Or(string(c.Arguments), "{}"), cmp.Or(string(jsontext.AppendCompact(nil, c.Annotations)), "null"), asker,
		q(rule.Decision.String()), q(rule.By), q(rule.Origin), q(rule.Reason))
}

func parseApproverAnswer(answer []byte) (Decision, string) {
	text, err := strictObject(answer, maxApproverAnswer)
	if err != nil {
		return Deny, "the approver did not answer with one JSON object: " + err.Error()
	}
	for literal, value := range jsontext.Members(text) {
		if key := jsontext.Unquote(literal); value[0] != '"' || key != "decision" && key != "reason" {
			return Deny, "the approver's answer has a wrong " + strconv.Quote(key) + `; it is {"decision":"allow"|"deny"|"none","reason":"..."}`
		}
	}
	reason := clip(jsontext.Text(jsontext.Member(text, "reason")))
	switch decision := jsontext.Text(jsontext.Member(text, "decision")); decision {
	case "allow":
		return Allow, reason
	case "none":
		return Ask, reason
	case "deny":
		return Deny, cmp.Or(reason, "the approver denied it")
	default:
		return Deny, fmt.Sprintf(`the approver's decision is %q, not "allow", "deny" or "none"`, clip(decision))
	}
}

// clip shortens s to maxReason bytes, without bytes that are not UTF-8.
func clip(s string) string { return strings.ToValidUTF8(readable.Cut(s, maxReason, "..."), "") }

// AskCommand makes an Approver.Ask that starts a program for each call, with env as its
// complete environment. The program reads the question from its standard input and writes the
// answer to its standard output; its exit status must be 0.
//
// run runs the program, waits until it has ended and its output was read, and then kills the
// rest of its process group. When ctx ends, it kills the group. It returns the first most bytes
// of the output, and the end of the diagnostics.
func AskCommand(argv, env []string, run func(ctx context.Context, cmd *exec.Cmd, most int) (printed []byte, said string, err error)) func(context.Context, []byte) ([]byte, string) {
	return func(ctx context.Context, question []byte) (answer []byte, problem string) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append([]string{}, env...)
		cmd.Stdin = bytes.NewReader(question)
		answer, said, err := run(ctx, cmd, maxApproverAnswer+1) // one more byte shows that it is too long
		if said = strings.TrimSpace(said); err != nil && said != "" {
			return nil, "failed: " + err.Error() + ": " + clip(said[strings.LastIndexByte(said, '\n')+1:])
		}
		if err != nil {
			return nil, "failed: " + err.Error()
		}
		return answer, ""
	}
}

// AskURL makes an Approver.Ask that asks a web service: it POSTs the question and
// reads the answer from a response with status 200. It does not follow redirects.
func AskURL(address string) func(context.Context, []byte) ([]byte, string) {
	return func(ctx context.Context, question []byte) (answer []byte, problem string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(question))
		if err != nil {
			return nil, "failed: " + requestProblem(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json")
		transport := &http.Transport{} // without the environment's proxies
		defer transport.CloseIdleConnections()
		client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		response, err := client.Do(request)
		if err != nil {
			return nil, "failed: " + requestProblem(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return nil, "failed: HTTP status " + strconv.Itoa(response.StatusCode)
		}
		answer, err = io.ReadAll(io.LimitReader(response.Body, maxApproverAnswer+1))
		if err != nil {
			return nil, "failed: " + requestProblem(err)
		}
		return answer, ""
	}
}

// requestProblem describes the error of a request to a person, without the
// names of library calls and without the URL, which may hold a secret.
func requestProblem(err error) string {
	if problem := readable.NetworkError(err); problem != "" {
		return problem
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
