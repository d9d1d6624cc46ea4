package invocation

import (
	"testing"

	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// TestURLApprover holds which addresses of an approver are taken, and that no error
// shows the path, which may hold a secret.
func TestURLApprover(t *testing.T) {
	for _, c := range []struct {
		address, insecure, warning string
		want                       string // the error; "" for none
	}{
		{"https://h/x", "", "", ""},
		{"https://h/x", "h", "", ""},
		{"http://LocalHost:1/x", "", "", ""},
		{"http://127.8.9.1/x", "", "", ""},
		{"http://[::1]/x", "", "", ""},
		{"http://h/x", "H", `the approver "h" is asked over plain http`, ""},
		{"HTTP://h/secret", "other", "", `--approver: "h" would be asked over plain http, where others can answer for it`},
		{"http://10.0.0.1/secret", "", "", `--approver: "10.0.0.1" would be asked over plain http, where others can answer for it`},
		{"http://127.0.0.1.test/secret", "", "", `--approver: "127.0.0.1.test" would be asked over plain http, where others can answer for it`},
		{"https:///secret", "", "", "--approver: the value is not an http or https URL"},
		{"https://%zz/secret", "", "", "--approver: the value is not an http or https URL"},
	} {
		warning := ""
		a, err := newApprover(&config.Config{Approvals: config.Approvals{Approver: c.address}, InsecureHTTP: []string{c.insecure}}, func(_, _, message string) { warning = message })
		switch {
		case c.want != "" && (err == nil || failure.Of(err).Message != c.want):
			t.Errorf("%s: %v", c.address, err)
		case c.want == "" && (err != nil || a.Origin != "--approver" || warning != c.warning):
			t.Errorf("%s: %+v, %v, %q", c.address, a, err, warning)
		}
	}
}
