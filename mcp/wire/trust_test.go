package wire

import "testing"

func TestClaims(t *testing.T) {
	for _, x := range []struct {
		result             string
		private, untrusted bool
	}{
		{`{"content":[]}`, false, false},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":"public"}}}`, false, false},
		{`{"_meta":{"ifc":{"integrity":"untrusted","confidentiality":"private"}}}`, true, true},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["public"]}}}`, false, false},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["octocat"]}}}`, true, false},
		{`{"_meta":{"ifc":{"integrity":"trusted","confidentiality":["public","octocat"]}}}`, true, false},
		{`{"_meta":{"ifc":{"integrity":"Trusted","confidentiality":"public"}}}`, false, true},
		{`{"_meta":{"ifc":{}}}`, true, true},
		{`{"_meta":{"ifc":"trusted"}}`, false, false},
		{`{"_meta":{"io.modelcontextprotocol/trust-annotations":{"sensitive":true}}}`, true, false},
		{`{"_meta":{"io.modelcontextprotocol/trust-annotations":{"untrusted":true,"sensitive":"true"}}}`, false, true},
		{`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b","_meta":{"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}}]}`, false, true},
		{`{"content":[{"type":"resource","resource":{"uri":"a:b","text":"c","_meta":{"ifc":{"integrity":"trusted","confidentiality":"private"}}}}]}`, true, false},
		{`{"content":[{"type":"text","text":"b","_meta":{"ifc":{"integrity":"untrusted","confidentiality":"public"}}}],"_meta":{"ifc":{"integrity":"trusted","confidentiality":"public"}}}`, false, true},
	} {
		r, err := ReadResult([]byte(x.result))
		if err != nil {
			t.Fatal(err)
		}
		if private, untrusted := r.Claims(); private != x.private || untrusted != x.untrusted {
			t.Errorf("%s: %t, %t", x.result, private, untrusted)
		}
	}
}
