package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// checked is the claims of the proof in a request, whose signature is checked with the
// key in it.
func checked(t *testing.T, req *http.Request) (claims map[string]any, x string) {
	t.Helper()
	decode := func(text string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return b
	}
	parts := strings.Split(req.Header.Get("DPoP"), ".")
	if len(parts) != 3 || len(req.Header.Values("DPoP")) != 1 {
		t.Fatalf("proofs %q", req.Header.Values("DPoP"))
	}
	var header struct {
		Typ, Alg string
		JWK      map[string]string
	}
	if err := json.Unmarshal(decode(parts[0]), &header); err != nil || header.Typ != "dpop+jwt" || header.Alg != "ES256" || header.JWK["kty"] != "EC" || header.JWK["crv"] != "P-256" || len(header.JWK) != 4 {
		t.Errorf("header %s, %v", decode(parts[0]), err)
	}
	numbers, signature := append(decode(header.JWK["x"]), decode(header.JWK["y"])...), decode(parts[2])
	if len(numbers) != 64 || len(signature) != 64 {
		t.Fatalf("%d bytes in the key, %d in the signature", len(numbers), len(signature))
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, numbers...))
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(public, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Errorf("a wrong signature: %q", parts)
	}
	if err := json.Unmarshal(decode(parts[1]), &claims); err != nil {
		t.Errorf("claims %s: %v", decode(parts[1]), err)
	}
	return claims, header.JWK["x"]
}

func newRequest(t *testing.T, method, address string) *http.Request {
	req, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestProof(t *testing.T) {
	k, err := NewProofKey()
	if err != nil {
		t.Fatal(err)
	}
	req := newRequest(t, "POST", "https://tools.test/a%2Fb/mcp?secret=1#x")
	seen := map[any]bool{}
	for _, token := range []string{"", "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"} { // of RFC 9449, 4.1
		if err := k.Sign(req, token); err != nil {
			t.Fatal(err)
		}
		claims, _ := checked(t, req)
		issued, _ := claims["iat"].(float64)
		if claims["htm"] != "POST" || claims["htu"] != "https://tools.test/a%2Fb/mcp" || time.Since(time.Unix(int64(issued), 0)).Abs() > time.Minute || seen[claims["jti"]] || len(claims["jti"].(string)) < 20 {
			t.Errorf("claims %v", claims)
		}
		seen[claims["jti"]] = true
		ath, bound := claims["ath"]
		if _, nonce := claims["nonce"]; bound != (token != "") || bound && ath != "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo" || nonce {
			t.Errorf("claims %v", claims)
		}
	}
}

// TestNonces: each server has its own, which the next proofs for it have.
func TestNonces(t *testing.T) {
	k, err := NewProofKey()
	if err != nil {
		t.Fatal(err)
	}
	learn := func(address, nonce string) {
		k.Learn(newRequest(t, "GET", address).URL, http.Header{"Dpop-Nonce": {nonce}})
	}
	expect := func(address, want string) {
		t.Helper()
		req := newRequest(t, "GET", address)
		if err := k.Sign(req, ""); err != nil {
			t.Fatal(err)
		}
		if claims, _ := checked(t, req); want == "" && claims["nonce"] != nil || want != "" && claims["nonce"] != want {
			t.Errorf("%s: claims %v, want %q", address, claims, want)
		}
	}
	learn("https://login.test/token", "one")
	expect("https://login.test/other", "one")
	expect("https://tools.test/", "")
	learn("https://TOOLS.test/mcp", `"}, "evil":"`)
	expect("https://tools.test/", `"}, "evil":"`)
	expect("https://login.test/", "one")
	expect("https://login.test:8443/", "")
	learn("https://login.test/", "two")
	learn("https://login.test/", "")
	learn("https://login.test/", strings.Repeat("x", maxNonce+1))
	expect("https://login.test/", "two")
}

// TestKeyText: a key is stored and read again, whatever zeros its numbers begin with.
func TestKeyText(t *testing.T) {
	padded := false
	for i := 0; i < 200 || !padded && i < 20000; i++ {
		k, err := NewProofKey()
		if err != nil {
			t.Fatal(err)
		}
		point, _ := k.private.PublicKey.Bytes()
		padded = padded || point[1] == 0
		if i >= 200 && point[1] != 0 {
			continue
		}
		text, err := json.Marshal(k)
		if err != nil || len(text) != 45 {
			t.Fatalf("%s, %v", text, err)
		}
		again := &ProofKey{}
		if err := json.Unmarshal(text, again); err != nil {
			t.Fatal(err)
		}
		one, two := newRequest(t, "GET", "https://tools.test/"), newRequest(t, "GET", "https://tools.test/")
		if err := k.Sign(one, ""); err != nil {
			t.Fatal(err)
		}
		if err := again.Sign(two, ""); err != nil {
			t.Fatal(err)
		}
		_, first := checked(t, one)
		if _, second := checked(t, two); first != second {
			t.Fatal("another key was read")
		}
	}
	if !padded {
		t.Error("no key began with a zero")
	}
	zero := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	for _, wrong := range []string{"", "x", "AA", "!", zero, strings.Repeat("_", 43), strings.Repeat("A", 100)} {
		if err := new(ProofKey).UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q is a key", wrong)
		}
	}
}

func TestNoKey(t *testing.T) {
	var k *ProofKey
	req := newRequest(t, "GET", "https://tools.test/")
	k.Learn(&url.URL{}, http.Header{"Dpop-Nonce": {"x"}})
	if err := k.Sign(req, "x"); err != nil || len(req.Header) != 0 {
		t.Errorf("%v, %v", req.Header, err)
	}
}
