package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"math/big"
	"testing"
)

// TestSignatures: each algorithm of RFC 7518 gives a signature that its public
// key verifies, and a key signs with no algorithm that is not its own.
func TestSignatures(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	p521, _ := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	p224, _ := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	text := []byte("header.claims")
	sum := func(hash crypto.Hash) []byte {
		h := hash.New()
		h.Write(text)
		return h.Sum(nil)
	}
	pkcs := func(hash crypto.Hash) func([]byte) bool {
		return func(sig []byte) bool { return rsa.VerifyPKCS1v15(&rsaKey.PublicKey, hash, sum(hash), sig) == nil }
	}
	pss := func(sig []byte) bool {
		return rsa.VerifyPSS(&rsaKey.PublicKey, crypto.SHA384, sum(crypto.SHA384), sig, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}) == nil
	}
	ec := func(key *ecdsa.PrivateKey, hash crypto.Hash, size int) func([]byte) bool {
		return func(sig []byte) bool {
			return len(sig) == 2*size && ecdsa.Verify(&key.PublicKey, sum(hash), new(big.Int).SetBytes(sig[:size]), new(big.Int).SetBytes(sig[size:]))
		}
	}
	for _, tt := range []struct {
		key        crypto.Signer
		asked, alg string
		verify     func([]byte) bool // nil: refused
	}{
		{rsaKey, "", "RS256", pkcs(crypto.SHA256)},
		{rsaKey, "RS512", "RS512", pkcs(crypto.SHA512)},
		{rsaKey, "PS384", "PS384", pss},
		{rsaKey, "SS256", "", nil},
		{rsaKey, "RS", "", nil},
		{rsaKey, "ES256", "", nil},
		{rsaKey, "none", "", nil},
		{p384, "", "ES384", ec(p384, crypto.SHA384, 48)},
		{p384, "ES256", "", nil},
		{p521, "ES512", "ES512", ec(p521, crypto.SHA512, 66)},
		{p224, "", "", nil},
		{edKey, "", "EdDSA", func(sig []byte) bool { return ed25519.Verify(edKey.Public().(ed25519.PublicKey), text, sig) }},
		{edKey, "RS256", "", nil},
	} {
		alg, signer, options, err := signature(tt.key, tt.asked)
		if alg != tt.alg || (err == nil) != (tt.verify != nil) {
			t.Errorf("%T with %q: %q, %v", tt.key, tt.asked, alg, err)
			continue
		}
		if err != nil {
			continue
		}
		if sig, err := crypto.SignMessage(signer, rand.Reader, text, options); err != nil || !tt.verify(sig) {
			t.Errorf("%T with %q: a wrong signature, %v", tt.key, tt.asked, err)
		}
	}
}
