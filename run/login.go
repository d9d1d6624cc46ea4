package run

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp"
	"toolpipe/mcp/oauth"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
)

// logins are the modes --login, --logout and --list-logins. No model and no other
// server takes part, and a run never does any of it: only a person signs in.
type logins struct{ *connector }

func (l *logins) run(ctx context.Context) error {
	if err := l.emitStart(); err != nil {
		return err
	}
	if l.cfg.Mode == config.ListLogins {
		return l.listLogins(ctx)
	}
	srv, err := l.cfg.LoginServer(append(l.servers, l.unused...), l.cfg.Target)
	if err != nil {
		return err
	}
	if l.cfg.Mode == config.SignOut {
		return l.signOut(ctx, srv)
	}
	if srv.HasFixedToken() {
		return failure.UsageError([]string{"a login is used when the entry of the server has no headers.Authorization, auth_token, auth_env, token_command, nor a grant other than code"},
			"--login: server %q gets its token in another way", srv.Name)
	}
	if srv.OAuth != nil {
		l.secrets.Add(srv.OAuth.Secret)
	}
	return l.signIn(ctx, srv)
}

// signIn gets a login and stores it, then lists the server's tools with it. If the tool
// server then names another authorization server than the one that gave the login, a
// login is asked for once more, at the new one.
func (l *logins) signIn(ctx context.Context, srv *config.Server) error {
	previous, err := l.store.Get(ctx, srv.LoginKey())
	if err != nil {
		return loginError(srv, err)
	}
	_, refusal, err := l.tools(ctx, *srv, nil)
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		login, err := oauth.SignIn(ctx, oauth.Request{
			Server: srv.URL, Settings: srv.OAuth, Refusal: refusal, Previous: previous, Scopes: strings.Fields(l.cfg.LoginScopes),
			Secret: l.secrets.Add, Paste: l.paste(), Show: l.showConsent,
		})
		if err != nil {
			return loginError(srv, err)
		}
		if err := l.store.Update(ctx, srv.LoginKey(), func(*oauth.Login) (*oauth.Login, error) { return &login, nil }); err != nil {
			return loginError(srv, err)
		}
		var count int
		if count, refusal, err = l.tools(ctx, *srv, l.store); err != nil {
			return err
		}
		if refusal == nil {
			e := loginEvent(&login)
			e.Tools = count
			return l.Emit(e)
		}
		if moved, err := oauth.Moved(ctx, srv.OAuth, login, refusal); again || !moved || err != nil {
			return l.refused(srv, refusal)
		}
		previous = &login
	}
}

// refused is the error for a login that the server does not take. It is kept: it
// may be good for other requests.
func (l *logins) refused(srv *config.Server, refusal *oauth.Refusal) error {
	e := &failure.Error{Status: failure.StatusServer, Message: "server " + strconv.Quote(srv.Name) + " refuses the new login with HTTP status " + strconv.Itoa(refusal.Status) + "; it is stored"}
	if scopes := refusal.Scopes(); len(scopes) > 0 {
		e.Message += "; the server asks for the scopes " + strconv.Quote(strings.Join(scopes, " "))
		e.Hints = []string{srv.LoginCommand(scopes)}
	}
	return e
}

// tools counts the tools of a server, which may get a token of logins. refusal is the response of the server if it wants
// a token, or another token than the one it got.
func (l *logins) tools(ctx context.Context, srv config.Server, logins *oauth.Store) (count int, refusal *oauth.Refusal, err error) {
	srv.Logins = logins
	srv.Elicit = ""                   // nobody is asked but in the browser
	srv.Optional = true               // the hint about optional servers is for runs
	srv.Tools, srv.Exclude = nil, nil // all tools count
	l.face.Connecting([]string{srv.Name})
	l.face.AwaitServers()
	defer l.face.Awaiting("")
	defer l.face.ServerReady(srv.Name)
	c := &connection{Server: srv}
	c.start(ctx, l.cfg.Processes, l.hooks(&srv))
	if c.session != nil {
		defer c.session.Close()
	}
	if refusal = mcp.Refused(c.err); refusal != nil || c.err == nil {
		return len(c.tools), refusal, nil
	}
	if failure.IsCancelled(c.err) {
		return 0, nil, c.err
	}
	return 0, nil, c.failure()
}

// paste reads, on the terminal, the address on which the browser ended: it may be
// on another machine, where the redirect leads nowhere. nil when nobody can be
// asked. The line is not shown, because it holds the code.
func (l *logins) paste() func(ctx context.Context, wrong error) (string, error) {
	t := terminal(l.cfg, l.face)
	t.Timeout = oauth.SignInTime
	if !t.Reachable() {
		return nil
	}
	return func(ctx context.Context, wrong error) (string, error) {
		prompt := "toolpipe: if the last page in the browser cannot be shown, paste its address here (it does not appear): "
		if wrong != nil {
			prompt = "toolpipe: " + wrong.Error() + "\n" + prompt
		}
		return t.ReadHidden(ctx, prompt)
	}
}

// showConsent says who wants what, and shows the address. It is printed in any
// case: the browser may be on another machine.
func (l *logins) showConsent(c oauth.Consent) {
	message := c.Server + " wants you to sign in at " + c.Issuer
	if len(c.Scopes) > 0 {
		message += ", scopes: " + strings.Join(c.Scopes, " ")
	}
	if len(c.New) > 0 && len(c.New) < len(c.Scopes) {
		message += " (new: " + strings.Join(c.New, " ") + ")"
	}
	l.face.Say(message)
	l.Emit(&event.LoginURL{Server: c.Server, URL: c.URL, RedirectURI: c.RedirectURI})
	l.face.Tell("open this address in a browser: " + c.URL)
	started, err := startBrowser(l.cfg, c.URL)
	if err != nil {
		l.warn("no_browser", "", "the browser was not started: "+err.Error())
	}
	switch {
	case c.Pasted:
		l.face.Say("then paste the address of the last page here: " + c.RedirectURI + " leads to no address of this machine")
	case started:
		l.face.Say("the browser was started; waiting for you to sign in there")
	default:
		l.face.Say("waiting for you to sign in there, for 5 minutes at most")
	}
	l.face.Awaiting("waiting for the sign-in in the browser")
}

// loginError words the end of a sign-in without a login.
func loginError(srv *config.Server, err error) error {
	if failure.IsCancelled(err) {
		return err
	}
	e := &failure.Error{Status: failure.StatusServer, Message: "signing in to " + srv.URL + ": " + err.Error(), Cause: err}
	if errors.Is(err, oauth.ErrNobody) {
		e.Status = failure.StatusLimit
	}
	if setting, ok := errors.AsType[*oauth.SettingError](err); ok {
		e.Hints = []string{setting.Hint}
	}
	if refused, ok := errors.AsType[*oauth.RefusedError](err); ok {
		e.Hints = []string{"look at who can write to " + config.ShellQuote(refused.Place) + ", then remove it and sign in again"}
	}
	return e
}

// revokeTime is how long --logout waits for the authorization server.
const revokeTime = 10 * time.Second

// signOut forgets the login of an entry, or all logins at a URL.
func (l *logins) signOut(ctx context.Context, srv *config.Server) error {
	keys := []oauth.Key{srv.LoginKey()}
	if config.IsURL(l.cfg.Target) {
		all, _ := l.store.List(ctx) // the login that is named is removed even if others cannot be read
		for _, other := range all {
			if other.Server == srv.URL && other.Key() != keys[0] {
				keys = append(keys, other.Key())
			}
		}
	}
	found := false
	for _, k := range keys {
		login, err := l.forget(ctx, srv, k)
		if err != nil {
			return &failure.Error{Status: failure.StatusServer, Message: "--logout: " + err.Error(), Cause: err}
		}
		if login == nil {
			continue
		}
		found = true
		e := loginEvent(login)
		e.Status, e.Expires, e.Refreshable = "removed", "", false
		l.Emit(e)
	}
	if !found {
		l.face.Say("there is no login at " + srv.URL)
	}
	return nil
}

// forget removes a login, and tells the authorization server. That may fail: the
// tokens are gone from here in any case.
func (l *logins) forget(ctx context.Context, srv *config.Server, k oauth.Key) (login *oauth.Login, err error) {
	err = l.store.Update(ctx, k, func(stored *oauth.Login) (*oauth.Login, error) {
		login = stored
		return nil, nil
	})
	if login == nil || err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, revokeTime)
	defer cancel()
	if err := oauth.Revoke(ctx, srv.OAuth, *login); err != nil {
		l.warn("login_not_revoked", srv.Name, "the login at "+srv.URL+" is forgotten here, but "+err.Error())
	}
	return login, nil
}

// listLogins shows all logins, and then the error of those that are not used.
func (l *logins) listLogins(ctx context.Context) error {
	all, err := l.store.List(ctx)
	for i := range all {
		l.Emit(loginEvent(&all[i]))
	}
	if err != nil {
		return &failure.Error{Status: failure.StatusServer, Message: "--list-logins: " + err.Error(), Cause: err}
	}
	if len(all) == 0 {
		l.face.Say("there is no login; --login NAME|URL signs in to a server")
	}
	return nil
}

func loginEvent(l *oauth.Login) *event.Login {
	e := &event.Login{Server: l.Server, Account: l.Account, Issuer: l.Issuer, Scopes: l.Scopes, Status: "valid", Refreshable: l.RefreshToken != ""}
	switch {
	case l.AccessToken == "":
		e.Status = "ended"
	case !l.Expires.IsZero():
		e.Expires = l.Expires.UTC().Format(time.RFC3339)
		if time.Now().After(l.Expires) {
			e.Status = "expired"
		}
	}
	return e
}

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
	w := &event.Warning{Code: "login_needed", Server: c.Name, Scopes: append([]string{}, e.Scopes...), Repeated: repeated}
	w.Message = server + " wants a login: " + c.LoginCommand(nil)
	if e.Forbidden {
		w.Code = "login_scope"
		w.Message = server + " refuses a request: " + e.Why.Error()
		if len(e.Missing) > 0 {
			w.Message += "; " + c.LoginCommand(e.Missing)
		}
	}
	if _, again := c.loginWarned.LoadOrStore(w.Code+strings.Join(w.Scopes, " "), true); !again {
		emit(w)
	}
}
