package run

import (
	"errors"
	"strconv"
	"strings"

	"toolpipe/mcp"
	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/event"
)

// loginHint is the command that helps after a LoginError, or what else does; "" if
// nothing helps.
func loginHint(s *config.Server, e *mcp.LoginError) string {
	refused, ok := errors.AsType[*oauth.RefusedError](e.Why)
	switch {
	case ok:
		return "look at who can write to " + config.ShellQuote(refused.Place) + ", then remove it and sign in again: " + s.LoginCommand(nil)
	case len(e.Missing) > 0:
		return s.LoginCommand(e.Missing) + " asks for them"
	case e.Forbidden:
		return ""
	case errors.Is(e.Why, oauth.ErrSignedOut):
		return s.LoginCommand(nil) + " signs in\ngive a token: --mcp-auth-env " + s.Name + "=VAR, or auth_env (headers, token_command, oauth) in the config"
	}
	return s.LoginCommand(nil) + " signs in again"
}

// warnOfLogin tells that a server can be used only after a person has signed in, and
// with which command, if that is why a request failed; once for each message. repeated
// says that the error that ends the run says the same.
func (c *connection) warnOfLogin(emit func(event.Event) error, err error, repeated bool) {
	e, ok := errors.AsType[*mcp.LoginError](err)
	if !ok || e.Server != c.Name {
		return
	}
	server := "server " + strconv.Quote(c.Name)
	w := &event.Warning{Code: "login_needed", Server: c.Name, Scopes: e.Scopes, Repeated: repeated}
	w.Message = server + " wants a login: " + c.LoginCommand(nil)
	if e.Forbidden {
		w.Code = "login_scope"
		w.Message = server + " refuses a request: " + e.Why.Error()
		if len(e.Missing) > 0 {
			w.Message += "; " + c.LoginCommand(e.Missing)
		}
	}
	if w.Scopes == nil {
		w.Scopes = []string{}
	}
	if _, again := c.loginWarned.LoadOrStore(w.Code+strings.Join(w.Scopes, " "), true); !again {
		emit(w)
	}
}
