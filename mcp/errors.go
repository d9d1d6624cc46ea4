package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"toolpipe/mcp/oauth"
	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/readable"
)

// ConnectError is the reason why a server could not be used. Message names the server, the
// transport and what was tried.
type ConnectError struct {
	Message string // one line
	Stderr  string // the lines of it that may show the cause, unescaped; may be empty
	Hint    string // the likely fault of the server or its Spec; "" if Cause is more exact
	Cause   error
}

func (e *ConnectError) Error() string { return e.Message }

func (e *ConnectError) Unwrap() error { return e.Cause }

// TimeoutError reports a request that exceeded Spec.ToolTimeout, or the hard deadline of ten
// times ToolTimeout.
type TimeoutError struct {
	Limit time.Duration // the ToolTimeout
	Hard  bool
}

func (e TimeoutError) Error() string {
	if e.Hard {
		return fmt.Sprintf("no answer within ten times the tool timeout of %v", e.Limit)
	}
	return fmt.Sprintf("no answer and no progress within the tool timeout of %v", e.Limit)
}

// PlainHTTPError is the refusal to send credentials over http to another machine.
// Spec.InsecureHTTP allows it.
type PlainHTTPError struct{ Host string }

func (e PlainHTTPError) Error() string {
	return fmt.Sprintf("credentials are not sent over plain http to %q", e.Host)
}

// Refused returns the response that refused access with the HTTP status 401 or 403; nil if
// err is anything else. Such a refusal does not show which revision the server speaks.
func Refused(err error) *oauth.Refusal {
	e, ok := errors.AsType[*statusError](err)
	if !ok || e.status != http.StatusUnauthorized && e.status != http.StatusForbidden {
		return nil
	}
	return e.refusal()
}

func (s *Session) connectError(err error) *ConnectError {
	s.mu.Lock()
	defer s.mu.Unlock()
	tried := strings.Join(s.tried, ", ")
	e := &ConnectError{Stderr: strings.TrimSpace(process.TellingLines(s.stderr(), 10)), Cause: err}
	e.Message = fmt.Sprintf("server %q (%s): %s", s.spec.Name, s.transport, strings.Join(strings.Fields(plainError(err)), " "))
	if first := strings.TrimSpace(process.TellingLines(s.words, 10)); !strings.Contains(e.Stderr, first) {
		e.Stderr = strings.TrimSpace(first + "\n" + e.Stderr)
	}
	if s.ended != "" && s.ended != err.Error() {
		defer func() { e.Message += "; the first process: " + s.ended }()
	}
	if tried != "" {
		defer func() { e.Message += " (tried: " + tried + ")" }()
	}
	const doubt = "is it an MCP server, and are its arguments right?"
	junk := "its stdout, where only messages belong, has: " + s.junkSample
	gone := s.transport == "stdio" && errors.Is(err, wire.ErrGone)
	setting, needsSetting := errors.AsType[*oauth.SettingError](err)
	switch {
	case needsSetting:
		e.Hint = setting.Hint
	case Refused(err) != nil: // the caller knows how to give a token
	case errors.Is(err, ErrStartup):
		e.Message += fmt.Sprintf(" of %s", s.spec.StartupTimeout)
		e.Hint = "raise startup_timeout if the server is slow to start"
		if s.transport == "stdio" && s.Protocol() == "" {
			if s.junkSample != "" {
				e.Hint += "; " + junk
			}
			e.Hint += `; a server whose messages have Content-Length headers needs "framing": "content-length"`
		}
	case wrongURL(err):
		e.Hint = "is the URL right? The URL of an MCP server often ends in /mcp"
	case s.transport == "unix" && tried == "connect":
		e.Hint = "is the server running? toolpipe --serve --listen " + s.spec.URL + " is one"
	case readable.TrustHint(err) != "":
		e.Hint = readable.TrustHint(err)
	case readable.MayWantCertificate(err):
		e.Hint = "the server may want another client certificate: client_cert and client_key in its entry"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Hint = "is the server running, and is the port right?"
	case s.junkSample != "" && (gone || errors.Is(err, errEnded)):
		e.Hint = doubt + " " + junk
	case gone:
		e.Hint = doubt
	case tried == "start" && !errors.Is(err, errDirectory) && !exhausted(err):
		e.Hint = s.startHint()
	}
	e.Message, e.Hint, e.Stderr = readable.Cut(s.report.hide(e.Message), maxReported, "…"), readable.Cut(s.report.hide(e.Hint), maxReported, "…"), s.report.hide(e.Stderr)
	return e
}

// plainError is the text of err without the names of library operations.
func plainError(err error) string {
	if problem := readable.NetworkError(err); problem != "" {
		return problem
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Sprintf("%q: %v", p.Path, p.Err)
	}
	return err.Error()
}

// exhausted reports whether the system had no resources for another file or process.
func exhausted(err error) bool {
	exhaustions := []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM}
	return slices.ContainsFunc(exhaustions, func(e error) bool { return errors.Is(err, e) })
}

func (s *Session) startHint() string {
	program := s.spec.Command[0]
	if first, _, more := strings.Cut(program, " "); more {
		if _, err := process.LookPath(first, process.ChildEnv(s.spec.Environ, s.spec.Env, s.spec.InheritEnv)); err == nil {
			return fmt.Sprintf("%q is taken as the name of one program: in a config %q is the command and the rest goes into args", program, first)
		}
	}
	if filepath.IsAbs(program) {
		return ""
	}
	return "give the absolute path of the program, or its name if it is in PATH"
}
