//go:build unix

package endtoend

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestFaultSecrets lets the receivers of a secret send it back in every place
// that an error message is built from, with -vv, --log and --record. Every run
// checks that it is not shown.
func TestFaultSecrets(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]func(key string) string{
		"refused": func(k string) string {
			return "HTTP/1.1 401 No\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + `{"error":{"message":"Incorrect API key provided: ` + k + `"}}`
		},
		"escaped": func(k string) string {
			return "HTTP/1.1 403 No\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + `{"error":{"message":"no: \u0063` + k[1:] + `"}}`
		},
		"page": func(k string) string {
			return "HTTP/1.1 500 No\r\nContent-Type: text/html\r\nRetry-After: 999\r\nConnection: close\r\n\r\n<p>" + k
		},
		"header": func(k string) string {
			return "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer " + k + "\r\nX-Request-Id: " + k + "\r\nConnection: close\r\n\r\n"
		},
		"status line": func(k string) string { return "HTTP/1.1 400 " + k + "\r\nConnection: close\r\n\r\n" },
		"broken head": func(k string) string { return "HTTP/1.1 " + k + " \r\n\r\n" },
		"redirect": func(k string) string {
			return "HTTP/1.1 307 Go\r\nLocation: http://" + k + ".test/" + k + "\r\nConnection: close\r\n\r\n"
		},
		"event": func(k string) string {
			return okHead + `data: {"error":{"message":"bad key ` + k + `","code":401}}` + "\n\n"
		},
		"not JSON": func(k string) string { return okHead + "data: " + k + "\n\n" },
		"finish reason": func(k string) string {
			return okHead + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + k + `"}]}` + "\n\ndata: [DONE]\n\n"
		},
		"content coding": func(k string) string {
			return "HTTP/1.1 200 OK\r\nContent-Encoding: " + k + "\r\nConnection: close\r\n\r\nx"
		},
		"media type": func(k string) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: text/" + k + "\r\nConnection: close\r\n\r\nx"
		},
		"unlike anything": func(k string) string { return k },
	} {
		for _, as := range []string{"model", "tool server"} {
			t.Run(as+"/"+name, func(t *testing.T) {
				t.Parallel()
				server := serveRaw(t, func(w io.Writer, r *http.Request, _ []byte) bool {
					_, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
					if key == "" {
						t.Error("the request had no key")
						key = "none"
					}
					io.WriteString(w, reply(key))
					return false
				})
				s := newFault(t, "")
				s.env["URL"] = server.url()
				if as == "model" {
					s.do("toolpipe -vv -o ndjson --log log --record tape --base-url $URL/v1 hi => 0 3\nstderr .")
				} else {
					s.do("env TOKEN=canary\ntoolpipe -vv -o ndjson --log log -t web=$URL/mcp --mcp-auth-env web=TOKEN hi => 4\nstderr web")
				}
			})
		}
	}
}

const okHead = "HTTP/1.1 200 OK\r\n" + eventStream + "\r\nConnection: close\r\n\r\n"

// TestFaultSecretsElsewhere is the same for secrets other than the model's key.
func TestFaultSecretsElsewhere(t *testing.T) {
	t.Parallel()
	s := newFault(t, "-- header.json --\n{\"mcpServers\":{\"web\":{\"url\":\"http://127.0.0.1:9/mcp?k=${QUERY}\",\"headers\":{\"X-Key\":\"${TOKEN}\"}}}}\n"+
		"-- bad.json --\n{\"mcpServers\":{\"web\":{\"url\":\"http://127.0.0.1:9/mcp\",\"headers\":{\"X-Key\":\"${BROKEN}\"}}}}\n"+
		"-- env.in --\n{\"mcpServers\":{\"fs\":{\"command\":\"sh\",\"args\":[\"-c\",\"echo its token is; printf %s $TOKEN | base64 >&2; exit 3\"],\"env\":{\"TOKEN\":\"${TOKEN}\"}}}}\n")
	s.do(`env TOKEN=canary QUERY=canary PROXY_PASSWORD=canary
toolpipe -vv --mcp-config header.json hi => 4
stderr web
toolpipe -vv --mcp-config env.in hi => 4
stderr '^toolpipe: fs: \[secret\]'
stderr '^toolpipe: error: .*\[secret\]'
toolpipe --list servers --mcp-config header.json => 4
stdout QUERY
toolpipe --list servers -o ndjson --mcp-config header.json => 4
event server.target '~\$\{QUERY\}'
env HTTP_PROXY=http://me:$PROXY_PASSWORD@127.0.0.1:9
toolpipe -vv --insecure-http model.test --base-url http://model.test/v1 --timeout 5 hi => 3 6
env HTTP_PROXY=
toolpipe --base-url http://me:$PROXY_PASSWORD@127.0.0.1:9/v1 hi => 2
toolpipe -vv -t web=http://me:$PROXY_PASSWORD@127.0.0.1:9/mcp hi => 2
toolpipe --base-url 'http://127.0.0.1:99999/v1?key='$PROXY_PASSWORD hi => 2`)
	// A key that cannot be a header is refused without being shown.
	s.env["TOOLPIPE_API_KEY"] = s.canaries["TOOLPIPE_API_KEY"] + "\nX-Evil: 1"
	s.do("toolpipe hi => 2\nstderr TOOLPIPE_API_KEY|key")
	s.env["BROKEN"] = s.canaries["TOKEN"] + "\r\nX-Evil: 1"
	s.do("toolpipe --key-env '' --mcp-config bad.json hi => 2 4\nstderr web")
}

// TestFaultProcessList checks that during a run its key is in no argument vector
// and in no environment of a child, and that other processes of the user cannot
// read it from the environment of toolpipe.
func TestFaultProcessList(t *testing.T) {
	t.Parallel()
	s := newFault(t, phaseFiles)
	s.begin(`[!linux] skip needs Linux
model calls
toolpipe -o ndjson -y --trust fs -t fs="$MCP -tools slow,hang -log $WORK/log" hi &
await file log 'tools/call slow'`)
	key := []byte(s.canaries["TOOLPIPE_API_KEY"])
	lists, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, list := range lists {
		if text, _ := os.ReadFile(list); bytes.Contains(text, key) {
			t.Errorf("%s: %q", list, text)
		}
	}
	child := childOf(s.running.pid)
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", child))
	if err != nil || len(environ) == 0 || bytes.Contains(environ, key) {
		t.Errorf("the child's environment: %v %q", err, environ)
	}
	info, err := os.Stat(fmt.Sprintf("/proc/%d/environ", s.running.pid))
	if err != nil || native && os.Getuid() != 0 && !os.IsPermission(func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.running.pid)); return err }()) {
		t.Errorf("our environment can be read: %v %v", info, err)
	}
	s.do("signal TERM\nwait => 143")
}

// TestFaultNoOtherPrograms checks that a run without servers starts no program.
func TestFaultNoOtherPrograms(t *testing.T) {
	t.Parallel()
	s := newFault(t, "-- m --\nreply\ntext \"Hello\"\n")
	s.do(`[!program:strace] skip needs strace
[!linux] skip needs Linux
model m
sh 'strace -f -qq -e trace=execve,execveat -o trace toolpipe --files . -f m hi'
stdout Hello
grep -count=1 'execve' trace`)
}

// TestFaultTLS checks that an endpoint with a wrong certificate gets no request,
// that there is no second attempt without TLS, and that an authority which the
// user trusts is accepted.
func TestFaultTLS(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, test := range map[string]struct {
		status      string
		host        string
		from, until time.Time
		trusted     bool
		old         bool
		plain       bool
	}{
		"trusted":     {status: "0", host: "127.0.0.1", from: now.Add(-time.Hour), until: now.Add(time.Hour), trusted: true},
		"self-signed": {status: "3", host: "127.0.0.1", from: now.Add(-time.Hour), until: now.Add(time.Hour)},
		"expired":     {status: "3", host: "127.0.0.1", from: now.Add(-2 * time.Hour), until: now.Add(-time.Hour), trusted: true},
		"wrong name":  {status: "3", host: "127.0.0.2", from: now.Add(-time.Hour), until: now.Add(time.Hour), trusted: true},
		"TLS 1.0":     {status: "3", host: "127.0.0.1", from: now.Add(-time.Hour), until: now.Add(time.Hour), trusted: true, old: true},
		"plain":       {status: "3", host: "127.0.0.1", from: now, until: now, plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, chatText("Hello")+chatEnd)
			})}
			s := newFault(t, "")
			certificate, text := certify(t, test.host, test.from, test.until)
			if test.trusted {
				s.env["SSL_CERT_FILE"] = filepath.Join(s.work, "ca.pem")
				os.WriteFile(s.env["SSL_CERT_FILE"], text, 0o644)
			}
			address := listener.Addr().String()
			if !test.plain {
				config := &tls.Config{Certificates: []tls.Certificate{certificate}}
				if test.old {
					config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
				}
				listener = tls.NewListener(listener, config)
			}
			server.ErrorLog = log.New(io.Discard, "", 0)
			go server.Serve(listener)
			defer server.Close()
			s.env["BASE"] = "https://" + address + "/v1"
			s.do("toolpipe -o ndjson --base-url $BASE hi => " + test.status)
			if want := map[bool]int32{true: 1}[test.status == "0"]; requests.Load() != want {
				t.Errorf("%d requests", requests.Load())
			}
		})
	}
}

// TestFaultClientCertificate checks that a model that accepts only known clients gets the
// certificate of its profile, and that another endpoint does not.
func TestFaultClientCertificate(t *testing.T) {
	t.Parallel()
	s := newFault(t, "-- x --\n")
	certificate, text := certify(t, "127.0.0.1", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(s.work, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cert.pem", text)
	write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(text)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, chatText(fmt.Sprintf("Hello, %d", len(r.TLS.PeerCertificates)))+chatEnd)
	})}
	go server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: authorities}))
	defer server.Close()
	s.env["SSL_CERT_FILE"], s.env["BASE"] = filepath.Join(s.work, "cert.pem"), "https://"+listener.Addr().String()+"/v1"
	write("c.json", []byte(`{"models":{"m":{"base_url":"`+s.env["BASE"]+`","client_cert":"cert.pem","client_key":"key.pem"}}}`))
	s.do(`toolpipe --config c.json -m m hi
stdout 'Hello, 1'
toolpipe --config c.json -m m --base-url $BASE/other hi
stdout 'Hello, 0'`)
}

// certify makes a self-signed certificate.
func certify(t *testing.T, host string, from, until time.Time) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: from, NotAfter: until,
		IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
