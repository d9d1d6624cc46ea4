package fetch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/netguard"
	"toolpipe/testdata/servertest"
)

func fetchServer(t testing.TB, allow ...string) *mcp.Session {
	t.Helper()
	s, err := New(Spec{AllowPrivate: allow, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Local(t, s)
}

func TestAddressRules(t *testing.T) {
	rules, err := netguard.ParseRules([]string{"10.0.0.0/8", "127.0.0.1", "*.corp.example", "[::1]", "192.168.*", "172.16.3.*", "fd12::/16"})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"10.9.8.7:80": true, "127.0.0.1:1": true, "127.0.0.2:1": false, "[::1]:80": true, "[::ffff:10.1.1.1]:80": true, "8.8.8.8:53": true,
		"192.168.0.1:80": true, "192.169.0.1:80": true, "192.168.255.1:80": true, "172.16.3.9:80": true, "172.16.4.9:80": false, "[fd12::7]:80": true, "[fd13::7]:80": false,
	} {
		if err := rules.Check(address, false); (err == nil) != want {
			t.Errorf("check(%s): %v", address, err)
		}
	}
	if !rules.AllowsHost("A.Corp.Example.") || rules.AllowsHost("corp.example") || rules.AllowsHost("a.corp.example.org") {
		t.Error("host globs")
	}
	for _, bad := range []string{"", "10.0.0.0/99", "a b", "[", "http://x", "10.*.1", "1*", "1?.*", "1[0-9].*", "10.", "*.10", "1.2.3.4.*", "300.*", "fd00:*", "10.1"} {
		if _, err := New(Spec{AllowPrivate: []string{bad}}); err == nil {
			t.Errorf("pattern %q was taken", bad)
		}
	}
}

// TestNamesAndAddresses: a pattern for addresses matches no name, one for
// names no address, and an allowed name does not lead everywhere: who owns
// 10.attacker.example says what it stands for.
func TestNamesAndAddresses(t *testing.T) {
	addresses, err := netguard.ParseRules([]string{"10.*", "192.168.*.*", "127.0.0.*"})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"10.attacker.test", "192.168.attacker.test", "127.0.0.attacker.test", "10.1.2.3"} {
		if addresses.AllowsHost(host) {
			t.Errorf("the name %s is allowed by a range of addresses", host)
		}
	}
	names, err := netguard.ParseRules([]string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"intranet": true, "127.0.0.1": false, "::1": false} {
		if names.AllowsHost(host) != want {
			t.Errorf("allowsHost(%s) is %t", host, !want)
		}
	}
	for address, want := range map[string]bool{
		"10.1.2.3:80": true, "127.0.0.1:80": true, "[fd00::1]:80": true, "8.8.8.8:80": true,
		"169.254.169.254:80": false, "[fe80::1%eth0]:80": false, "168.63.129.16:80": false, "[fd00:ec2::254]:80": false, "0.0.0.0:80": false, "100.100.100.200:80": false,
	} {
		if err := names.Check(address, true); (err == nil) != want {
			t.Errorf("%s by an allowed name: %v", address, err)
		}
	}
}

func TestFetch(t *testing.T) {
	var hits atomic.Int32
	mux := http.NewServeMux()
	page := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			hits.Add(1)
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, body)
		})
	}
	page("/text", "text/plain; charset=utf-8", "plain & <b>\n")
	page("/html", "text/html", `<title>T</title><script>evil()</script><h1>Head</h1><p>a&amp;b <a href="/x">link</a></p>`)
	page("/latin", "text/plain; charset=ISO-8859-1", "caf\xe9 \x80")
	page("/windows", `text/html; charset="windows-1252"`, "<p>\x93caf\xe9\x94 &eacute;")
	page("/misnamed", "text/plain; charset=iso-8859-1", "café €")
	page("/misnamed-big", "text/plain; charset=iso-8859-1", "a"+strings.Repeat("é", maxFetched/2))
	page("/unnamed", "text/plain", "caf\xe9")
	page("/png", "image/png", "\x89PNG\r\n\x1a\n\x00")
	page("/big", "text/plain", strings.Repeat("0123456789", toolserver.MaxText/5))
	mux.HandleFunc("/gone", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "it is gone", 410) })
	mux.HandleFunc("/zip", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write([]byte{0x1f, 0x8b})
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", 302) })
	mux.HandleFunc("/there", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/text", 302) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "file:///etc/passwd", 302) })
	server := httptest.NewServer(mux)
	defer server.Close()
	other := strings.Replace(server.URL, "127.0.0.1", "127.0.0.2", 1)
	mux.HandleFunc("/inward", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other+"/text", 302) })

	closed := fetchServer(t)
	for _, u := range []string{server.URL + "/text", strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/text", strings.Replace(server.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1) + "/text"} {
		servertest.Fails(t, closed, "private or local", "fetch_url", "url", u)
	}
	if hits.Load() != 0 {
		t.Fatalf("%d requests arrived", hits.Load())
	}
	byName := fetchServer(t, "local*")
	if got := servertest.Works(t, byName, "fetch_url", "url", strings.Replace(server.URL, "127.0.0.1", "localhost", 1)+"/text"); !strings.Contains(got, "plain") {
		t.Errorf("localhost: %q", got)
	}
	servertest.Fails(t, byName, "private or local", "fetch_url", "url", server.URL+"/text")
	s := fetchServer(t, "127.0.0.1")
	for path, want := range map[string]string{
		"/text": "Content-Type: text/plain; charset=utf-8\n\nplain & <b>\n", "/there": server.URL + "/text\n",
		"/html": "T\n\n# Head\n\na&b link <" + server.URL + "/x>\n", "/big": "[toolpipe] the text goes on",
		"/latin": "\n\ncafé €", "/windows": "\n\n“café” é\n", "/misnamed": "\n\ncafé €", "/misnamed-big": "\n\naéé", "/unnamed": "\n\ncaf\uFFFD",
	} {
		if got := servertest.Works(t, s, "fetch_url", "url", server.URL+path); !strings.Contains(got, want) || len(got) > toolserver.MaxText+100 {
			t.Errorf("%s: %.300q", path, got)
		}
	}
	if got := servertest.Works(t, s, "fetch_url", "url", server.URL+"/html", "raw", true); !strings.Contains(got, "<script>") {
		t.Errorf("raw: %q", got)
	}
	servertest.Fails(t, s, "it is gone", "fetch_url", "url", server.URL+"/gone")
	servertest.Fails(t, s, "image/png", "fetch_url", "url", server.URL+"/png")
	servertest.Fails(t, s, "gzip", "fetch_url", "url", server.URL+"/zip")
	servertest.Fails(t, s, "redirects", "fetch_url", "url", server.URL+"/loop")
	servertest.Fails(t, s, "only http", "fetch_url", "url", server.URL+"/file")
	servertest.Fails(t, s, "127.0.0.2 is a private", "fetch_url", "url", server.URL+"/inward")
	for _, bad := range []string{"", "ftp://example.com/", "file:///etc/passwd", "http://", "http://u:p@example.com/", "//x", "http://a b/"} {
		servertest.Fails(t, s, "", "fetch_url", "url", bad)
	}
	mux.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "begin")
	})
	mux.HandleFunc("/forged", func(w http.ResponseWriter, r *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\rURL: https://example.com/\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi")
	})
	if got := servertest.Works(t, s, "fetch_url", "url", server.URL+"/forged"); !strings.Contains(got, "\nStatus: 200 OK URL: https://example.com/\nContent-Type: ") {
		t.Errorf("/forged: %q", got)
	}
	if got := servertest.Works(t, s, "fetch_url", "url", server.URL+"/cut"); !strings.Contains(got, "begin") || !strings.Contains(got, "ended early") {
		t.Errorf("/cut: %q", got)
	}
}

// The error about a private address names the flag that would allow it.
func TestFetchAllowFlag(t *testing.T) {
	server, err := New(Spec{AllowFlag: "--allow-it"})
	if err != nil {
		t.Fatal(err)
	}
	servertest.Fails(t, servertest.Local(t, server), "127.0.0.1 is a private or local address; --allow-it 127.0.0.1 would allow it", "fetch_url", "url", "http://127.0.0.1:1/")
}
