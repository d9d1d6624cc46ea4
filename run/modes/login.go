package modes

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
	"toolpipe/run/invocation"
	"toolpipe/run/servers"
	"toolpipe/run/toolbox"
	"toolpipe/run/turn"
)

// logins are the modes --login, --logout and --list logins. They use no model and no other server,
// and other modes never sign in: only a person does.
type logins struct {
	inv *invocation.Invocation
	box *toolbox.Toolbox
}

func Logins(ctx context.Context, p *turn.Plan) error { return (&logins{p.Inv, p.Box}).run(ctx) }

func (l *logins) run(ctx context.Context) error {
	if err := l.box.EmitStart(); err != nil {
		return err
	}
	if l.inv.Config.Lists("logins") {
		return l.listLogins(ctx)
	}
	srv, err := servers.LoginServer(l.inv.Config, append(l.inv.Servers, l.inv.Unused...), l.inv.Config.Target)
	if err != nil {
		return err
	}
	if l.inv.Config.Mode == config.SignOut {
		return l.signOut(ctx, srv)
	}
	if srv.HasFixedToken() {
		return failure.UsageError([]string{"a login is used when the entry of the server has no headers.Authorization, auth_token, auth_env, token_command, nor a grant other than code"},
			"--login: server %q gets its token in another way", srv.Name)
	}
	if srv.OAuth != nil {
		l.inv.Secrets.Add(srv.OAuth.Secret)
	}
	return l.signIn(ctx, srv)
}

// signIn gets a login and stores it, then lists the server's tools with it. If the tool server then
// names another authorization server than the one of the login, it asks for a login again, at the
// new one.
func (l *logins) signIn(ctx context.Context, srv *servers.Server) error {
	previous, err := l.inv.Logins.Get(ctx, srv.LoginKey())
	if err != nil {
		return loginError(srv, err)
	}
	_, refusal, err := l.tools(ctx, *srv, nil)
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		login, err := oauth.SignIn(ctx, oauth.Request{
			Server: srv.URL, Settings: srv.OAuth, Refusal: refusal, Previous: previous,
			Secret: l.inv.Secrets.Add, Paste: l.paste(), Show: l.showConsent,
			Warn: func(code, message string) { l.inv.Warn(code, srv.Name, message) },
		})
		if err != nil {
			return loginError(srv, err)
		}
		if err := l.inv.Logins.Update(ctx, srv.LoginKey(), func(*oauth.Login) (*oauth.Login, error) { return &login, nil }); err != nil {
			return loginError(srv, err)
		}
		var count int
		if count, refusal, err = l.tools(ctx, *srv, l.inv.Logins); err != nil {
			return err
		}
		if refusal == nil {
			e := loginEvent(&login)
			e.Tools = count
			return l.inv.Emit(e)
		}
		if moved, err := oauth.Moved(ctx, srv.OAuth, login, refusal); again || !moved || err != nil {
			return l.refused(srv, refusal)
		}
		previous = &login
	}
}

// refused is the error if the server refuses the login. The login stays stored: it may be valid for
// other requests.
func (l *logins) refused(srv *servers.Server, refusal *oauth.Refusal) error {
	e := &failure.Error{Status: failure.StatusServer, Message: "server " + strconv.Quote(srv.Name) + " refuses the new login with HTTP status " + strconv.Itoa(refusal.Status) + "; it is stored"}
	if scopes := refusal.Scopes(); len(scopes) > 0 {
		e.Message += "; the server asks for the scopes " + strconv.Quote(strings.Join(scopes, " "))
		e.Hints = []string{srv.ScopesHint(scopes)}
	}
	return e
}

// tools counts the tools of a server with a token of logins, if there is one. refusal is the
// response of the server if it requires a token, or another one.
func (l *logins) tools(ctx context.Context, srv servers.Server, logins *oauth.Store) (count int, refusal *oauth.Refusal, err error) {
	srv.Logins = logins
	srv.Elicit = ""                   // questions only in the browser
	srv.Optional = true               // the hint about optional servers is for runs
	srv.Tools, srv.Exclude = nil, nil // all tools count
	l.inv.Face.Connecting([]string{srv.Name})
	l.inv.Face.AwaitServers()
	defer l.inv.Face.Awaiting("")
	defer l.inv.Face.ServerReady(srv.Name)
	c := &toolbox.Connection{Server: srv}
	c.Start(ctx, l.inv.Config.Processes, l.box.Hooks(&srv))
	if c.Session != nil {
		defer c.Session.Close()
	}
	if refusal = mcp.Refused(c.Err); refusal != nil || c.Err == nil {
		return len(c.Listed), refusal, nil
	}
	if failure.IsCancelled(c.Err) {
		return 0, nil, c.Err
	}
	return 0, nil, c.Failure()
}

// paste returns a function that reads from the terminal the last address of the browser: the
// browser may be on another machine, where the redirect fails. It is nil if nobody can be asked.
// The line is not shown, because it contains the code.
func (l *logins) paste() func(ctx context.Context, wrong error) (string, error) {
	t := l.inv.Terminal()
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

// showConsent says which server wants which scopes, and shows the address. The address is printed
// always, because the browser may be on another machine.
func (l *logins) showConsent(c oauth.Consent) {
	message := c.Server + " wants you to sign in at " + c.Issuer
	if len(c.Scopes) > 0 {
		message += ", scopes: " + strings.Join(c.Scopes, " ")
	}
	if len(c.New) > 0 && len(c.New) < len(c.Scopes) {
		message += " (new: " + strings.Join(c.New, " ") + ")"
	}
	l.inv.Face.Say(message)
	l.inv.Emit(&event.LoginURL{Server: c.Server, URL: c.URL, RedirectURI: c.RedirectURI})
	l.inv.Face.Tell("open this address in a browser: " + c.URL)
	started, err := startBrowser(l.inv.Config, c.URL)
	if err != nil {
		l.inv.Warn("no_browser", "", "the browser was not started: "+err.Error())
	}
	switch {
	case c.Pasted:
		l.inv.Face.Say("then paste the address of the last page here: " + c.RedirectURI + " leads to no address of this machine")
	case started:
		l.inv.Face.Say("the browser was started; waiting for you to sign in there")
	default:
		l.inv.Face.Say("waiting for you to sign in there, for 5 minutes at most")
	}
	l.inv.Face.Awaiting("waiting for the sign-in in the browser")
}

func loginError(srv *servers.Server, err error) error {
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
		e.Hints = []string{"check who can write to " + config.ShellQuote(refused.Place) + ", then remove it and sign in again"}
	}
	return e
}

// revokeTime is how long --logout waits for the authorization server.
const revokeTime = 10 * time.Second

// signOut removes the login of an entry, or all logins at a URL.
func (l *logins) signOut(ctx context.Context, srv *servers.Server) error {
	keys := []oauth.Key{srv.LoginKey()}
	if config.IsURL(l.inv.Config.Target) {
		all, _ := l.inv.Logins.List(ctx) // remove the named login even if others cannot be read
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
		l.inv.Emit(e)
	}
	if !found {
		l.inv.Face.Say("there is no login at " + srv.URL)
	}
	return nil
}

// forget removes a login, and revokes it at the authorization server. If that fails, the tokens are
// still removed here.
func (l *logins) forget(ctx context.Context, srv *servers.Server, k oauth.Key) (login *oauth.Login, err error) {
	err = l.inv.Logins.Update(ctx, k, func(stored *oauth.Login) (*oauth.Login, error) {
		login = stored
		return nil, nil
	})
	if login == nil || err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, revokeTime)
	defer cancel()
	if err := oauth.Revoke(ctx, srv.OAuth, *login); err != nil {
		l.inv.Warn("login_not_revoked", srv.Name, "the login at "+srv.URL+" was deleted here, but "+err.Error())
	}
	return login, nil
}

// listLogins lists all logins, and then returns the error about those that are not used.
func (l *logins) listLogins(ctx context.Context) error {
	all, err := l.inv.Logins.List(ctx)
	for i := range all {
		l.inv.Emit(loginEvent(&all[i]))
	}
	if err != nil {
		return &failure.Error{Status: failure.StatusServer, Message: "--list logins: " + err.Error(), Cause: err}
	}
	if len(all) == 0 {
		l.inv.Face.Say("there is no login; --login NAME|URL signs in to a server")
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
