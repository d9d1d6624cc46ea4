package oauth

import (
	"bufio"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"toolpipe/stream/goroutine"
	"toolpipe/stream/netguard"
)

// callback receives the browser's redirect on the loopback addresses of this machine. It
// ignores every other request and keeps waiting: any page in the browser, and any process
// here, can send one. net/http's server would add half a megabyte to the program for this one
// request.
type callback struct {
	redirectURI string // as the authorization server gets it
	uri         *url.URL
	state       string // of the sign-in; no other page or process knows it
	listeners   []net.Listener
	arrived     chan redirect
	group       sync.WaitGroup
}

// redirect is the answer of the authorization server, brought by the browser.
type redirect struct {
	query url.Values
	conn  net.Conn // waits for the page that reports success or failure; nil: the person pasted the address
}

func (r redirect) finish(worked bool) {
	text := "The sign-in failed: the terminal says why."
	if worked {
		text = "The sign-in worked: you can close this page and go back to the terminal."
	}
	if r.conn != nil {
		answer(r.conn, http.StatusOK, text)
	}
}

// Limits of a connection from the browser.
const (
	callbackTime    = 5 * time.Second
	callbackRequest = 8 << 10
	callbacksAtOnce = 64
)

// listen binds the redirect URI; "" means a free port. For a redirect URI of another machine
// it binds nothing: the person pastes the address.
func listen(redirectURI, state string) (*callback, error) {
	c := &callback{redirectURI: redirectURI, state: state, arrived: make(chan redirect)}
	var err error
	if redirectURI == "" {
		for range 8 { // a port may be free on one loopback and taken on the other
			var port string
			if c.listeners, port, err = listenLoopback("localhost", "0"); err == nil {
				c.uri = &url.URL{Scheme: "http", Host: "localhost:" + port, Path: "/callback"}
				c.redirectURI = c.uri.String()
				break
			}
		}
		return c, err
	}
	var ok bool
	if c.uri, ok = SecureURL(redirectURI); !ok {
		return nil, fmt.Errorf("the redirect_uri %q is neither https nor http on this machine", redirectURI)
	}
	if isPlainLoopback(c.uri) {
		port := cmp.Or(c.uri.Port(), "80")
		if c.listeners, _, err = listenLoopback(c.uri.Hostname(), port); err != nil {
			return nil, fmt.Errorf("the redirect_uri %q cannot be received: %w", redirectURI, err)
		}
	}
	return c, nil
}

// SecureURL parses a URL. ok means that it is https, or http on this machine, and has no user
// name.
func SecureURL(raw string) (u *url.URL, ok bool) {
	u, err := url.Parse(raw)
	return u, err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || isPlainLoopback(u))
}

func isPlainLoopback(u *url.URL) bool { return u.Scheme == "http" && netguard.IsLoopback(u.Hostname()) }

// listenLoopback listens on the port of a loopback host. The name localhost means both
// loopback addresses: a browser may take either, and another process could listen on a free
// one.
func listenLoopback(host, port string) (all []net.Listener, bound string, err error) {
	hosts := []string{host}
	if net.ParseIP(host) == nil {
		hosts = []string{"127.0.0.1", "::1"}
	}
	var failed error // without IPv6, or without IPv4, one address is enough
	for _, h := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(h, port))
		if err != nil {
			failed = err
			continue
		}
		all = append(all, l)
		_, port, _ = net.SplitHostPort(l.Addr().String())
	}
	if len(all) == 0 || errors.Is(failed, syscall.EADDRINUSE) {
		for _, l := range all {
			l.Close()
		}
		return nil, "", failed
	}
	return all, port, nil
}

// serve accepts connections until ctx ends or close is called.
func (c *callback) serve(ctx context.Context) {
	slots := make(chan struct{}, callbacksAtOnce)
	for _, l := range c.listeners {
		goroutine.StartIn(&c.group, func() {
			for {
				slots <- struct{}{}
				conn, err := l.Accept()
				if err != nil {
					return
				}
				goroutine.StartIn(&c.group, func() {
					defer func() { <-slots }()
					c.handle(ctx, conn)
				})
			}
		})
	}
}

// close ends the listeners and waits for the connections. The end of serve's ctx closes those
// at once.
func (c *callback) close() {
	for _, l := range c.listeners {
		l.Close()
	}
	c.group.Wait()
}

// handle reads one request. It passes on the redirect with its connection.
func (c *callback) handle(ctx context.Context, conn net.Conn) {
	defer goroutine.AfterContext(ctx, func() { conn.Close() })()
	conn.SetDeadline(time.Now().Add(callbackTime))
	req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(conn, callbackRequest)))
	var query url.Values
	if err == nil {
		query, err = c.check(req)
	}
	if err != nil {
		answer(conn, http.StatusBadRequest, "This is not the expected redirect.")
		return
	}
	select {
	case c.arrived <- redirect{query, conn}:
	case <-ctx.Done():
		conn.Close()
	}
}

// check reads the redirect and refuses any other request. A page of another site cannot send
// a redirect: it does not know the state, and its request has an Origin or another Host.
func (c *callback) check(r *http.Request) (url.Values, error) {
	at := url.URL{Host: r.Host}
	isHere := netguard.IsLoopback(at.Hostname()) && at.Port() == c.uri.Port() && r.URL.EscapedPath() == c.uri.EscapedPath()
	if !isHere || r.Method != http.MethodGet || r.Header.Get("Origin") != "" {
		return nil, errors.New("it is another request")
	}
	return c.readQuery(r.URL.RawQuery)
}

// readQuery reads the parameters of the redirect. The state must be right and no parameter
// may appear twice.
func (c *callback) readQuery(raw string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	for _, name := range [...]string{"state", "code", "iss", "error", "error_description"} {
		if len(query[name]) > 1 {
			return nil, fmt.Errorf("it has %s twice", name)
		}
	}
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(c.state)) != 1 {
		return nil, errors.New("its state belongs to another sign-in")
	}
	return query, nil
}

func (c *callback) readPasted(line string) (url.Values, error) {
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil || u.Scheme != c.uri.Scheme || u.Host != c.uri.Host || u.EscapedPath() != c.uri.EscapedPath() {
		return nil, fmt.Errorf("this is not the address of the last page, which begins with %s", c.uri)
	}
	query, err := c.readQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("this address is not the one of this sign-in: %w", err)
	}
	return query, nil
}

// answer writes a page of fixed text, without any part of the request, and closes the
// connection.
func answer(conn net.Conn, status int, text string) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(callbackTime))
	page := "<!doctype html><meta charset=utf-8><title>toolpipe</title><p>" + text + "\n"
	fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"+
		"Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n%s", status, http.StatusText(status), len(page), page)
}
