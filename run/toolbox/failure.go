package toolbox

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp"
	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/servers"
)

// Failure is the error of a server that did not start or did not list its tools.
func (c *Connection) Failure() *failure.Error {
	e := failure.Error{Status: failure.StatusServer, Message: c.Err.Error(), Cause: c.Err}
	if given, ok := errors.AsType[*failure.Error](c.Err); ok {
		if c.Unusable == nil {
			return given // the failure of another server, which cancelled the start of this one
		}
		e = *given
		e.Hints = slices.Clone(e.Hints)
	}
	if f, ok := errors.AsType[*mcp.ConnectError](c.Err); ok {
		if f.Stderr != "" {
			e.Message += "; on its stderr: " + f.Stderr
		}
		if hint := cmp.Or(f.Hint, settingHint(&c.Server, c.Err)); hint != "" {
			e.Hints = strings.Split(hint, "\n")
		}
		if refusal := c.sandbox.Refusal(f.Stderr); refusal != "" {
			e.Hints = append(e.Hints, refusal)
		}
		if errors.Is(f, mcp.ErrStartup) {
			e.Hints = append(e.Hints, "--startup-timeout D gives servers longer to start")
		}
		e.Hints = append(e.Hints, c.Misplaced()...)
	}
	if hint := c.OptionalHint(); hint != "" && !c.Optional && e.Status == failure.StatusServer {
		e.Hints = append(e.Hints, hint)
	}
	e.Message = c.Unexpanded(e.Message)
	for i := range e.Hints {
		e.Hints[i] = c.Unexpanded(e.Hints[i])
	}
	return &e
}

// settingHint names the setting that solves a failure of a server; "" for none.
func settingHint(s *servers.Server, err error) string {
	if login, ok := errors.AsType[*mcp.LoginError](err); ok {
		return loginHint(s, login)
	}
	if oauth.Passes(err) {
		return "" // no setting helps
	}
	if plain, ok := errors.AsType[mcp.PlainHTTPError](err); ok {
		return "use https, or allow it with --insecure-http " + config.ShellQuote(plain.Host)
	}
	if _, late := errors.AsType[mcp.TimeoutError](err); late {
		return "--tool-timeout, or tool_timeout in the config, raises it"
	}
	flag, given := "--mcp-auth-env "+s.Name+"=VAR", s.Spec.HasCredentials()
	refusal := mcp.Refused(err)
	forbidden := refusal != nil && refusal.Status == http.StatusForbidden
	switch {
	case forbidden && given:
		return "the token is known but not allowed to do this; it may need another scope"
	case forbidden:
		return "the server may want a token (" + flag + ", or auth_env in the config), or another host name in the URL"
	case refusal != nil && given:
		return "the token is refused: check the one given by " + flag + ", or auth_env, token_command, oauth in the config"
	case refusal != nil:
		return "give a token: " + flag + ", or auth_env (headers, token_command, oauth) in the config"
	}
	return ""
}

// WithHint is message with this hint, on one line.
func WithHint(message string, s *servers.Server, err error) string {
	if hint := settingHint(s, err); hint != "" {
		return message + "; " + strings.ReplaceAll(hint, "\n", "; ")
	}
	return message
}

// RequestError is the error for a request to a server other than a tool call.
func RequestError(c *Connection, err error) error {
	if err == nil || failure.IsCancelled(err) {
		return err
	}
	if given, ok := errors.AsType[*failure.Error](err); ok { // of the recording
		return given
	}
	return &failure.Error{Status: failure.StatusServer, Message: WithHint(err.Error(), &c.Server, err), Cause: err}
}

// loginHint is the command or setting that solves a LoginError; "" for none.
func loginHint(s *servers.Server, e *mcp.LoginError) string {
	refused, ok := errors.AsType[*oauth.RefusedError](e.Why)
	switch {
	case ok:
		return "check who can write to " + config.ShellQuote(refused.Place) + ", then remove it and sign in again: " + s.LoginCommand()
	case len(e.Missing) > 0:
		return s.ScopesHint(e.Missing)
	case e.Forbidden:
		return ""
	case errors.Is(e.Why, oauth.ErrSignedOut):
		return s.LoginCommand() + " signs in\ngive a token: --mcp-auth-env " + s.Name + "=VAR, or auth_env (headers, token_command, oauth) in the config"
	}
	return s.LoginCommand() + " signs in again"
}

// WarnOfLogin warns once, if err says so, that a person must sign in to the server, and with which
// command. repeated means that the error that ends the run says it too.
func (c *Connection) WarnOfLogin(emit func(event.Event) error, err error, repeated bool) {
	e, ok := errors.AsType[*mcp.LoginError](err)
	if !ok || e.Server != c.Name {
		return
	}
	server := "server " + strconv.Quote(c.Name)
	w := &event.Warning{Code: "login_needed", Server: c.Name, Scopes: append([]string{}, e.Scopes...), Repeated: repeated}
	w.Message = server + " wants a login: " + c.LoginCommand()
	if e.Forbidden {
		w.Code = "login_scope"
		w.Message = server + " refuses a request: " + e.Why.Error()
		if len(e.Missing) > 0 {
			w.Message += "; " + c.ScopesHint(e.Missing)
		}
	}
	if _, again := c.loginWarned.LoadOrStore(w.Code+strings.Join(w.Scopes, " "), true); !again {
		emit(w)
	}
}
