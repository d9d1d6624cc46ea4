package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"time"

	"toolpipe/stream/text/jsontext"
)

const assertionLife = 5 * time.Minute

// clientAssertion is the JWT with which a client proves that it has a private key (RFC 7523).
// Its audience is the issuer, not the token endpoint.
func clientAssertion(clientID string, s *Settings, audience string, now time.Time) (string, error) {
	key, err := privateKey(s.PrivateKey)
	if err != nil {
		return "", err
	}
	alg, key, options, err := signature(key, s.Algorithm)
	if err != nil {
		return "", err
	}
	claims := fmt.Appendf(nil, `{"iss":%s,"sub":%s,"aud":%s,"iat":%d,"exp":%d,"jti":%q}`, jsontext.Quoted(clientID), jsontext.Quoted(clientID),
		jsontext.Quoted(audience), now.Unix(), now.Add(assertionLife).Unix(), rand.Text())
	return signedJWT([]byte(`{"alg":"`+alg+`","typ":"JWT"}`), claims, key, options)
}

func signedJWT(header, claims []byte, key crypto.Signer, options crypto.SignerOpts) (string, error) {
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64(header) + "." + b64(claims)
	sig, err := crypto.SignMessage(key, rand.Reader, []byte(signed), options)
	return signed + "." + b64(sig), err
}

// privateKey reads a PEM file: PKCS #8, PKCS #1 or SEC 1.
func privateKey(file []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(file)
	if block == nil {
		return nil, errors.New("the private key is not PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("the private key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the private key: a %T cannot sign", key)
	}
	return signer, nil
}

// signature chooses the algorithm (RFC 7518): asked if the key supports it; with "", the
// first in the list that the key supports. signer is the key in the form for a JWT.
func signature(key crypto.Signer, asked string) (alg string, signer crypto.Signer, options crypto.SignerOpts, err error) {
	kind := fmt.Sprintf("%T", key)
	if k, ok := key.(*ecdsa.PrivateKey); ok {
		kind, key = k.Curve.Params().Name, fixedECDSA{k}
	}
	pss := func(hash crypto.Hash) crypto.SignerOpts {
		return &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: hash}
	}
	for _, a := range []struct {
		kind, name string
		options    crypto.SignerOpts
	}{
		{"*rsa.PrivateKey", "RS256", crypto.SHA256},
		{"*rsa.PrivateKey", "RS384", crypto.SHA384},
		{"*rsa.PrivateKey", "RS512", crypto.SHA512},
		{"*rsa.PrivateKey", "PS256", pss(crypto.SHA256)},
		{"*rsa.PrivateKey", "PS384", pss(crypto.SHA384)},
		{"*rsa.PrivateKey", "PS512", pss(crypto.SHA512)},
		{"P-256", "ES256", crypto.SHA256},
		{"P-384", "ES384", crypto.SHA384},
		{"P-521", "ES512", crypto.SHA512},
		{"ed25519.PrivateKey", "EdDSA", crypto.Hash(0)}, // it signs the text itself
	} {
		if a.kind == kind && (asked == "" || asked == a.name) {
			return a.name, key, a.options, nil
		}
	}
	return "", nil, nil, fmt.Errorf("the private key, a %s, cannot sign with %q", kind, asked)
}

// fixedECDSA signs with two numbers side by side, each as long as the curve's order, as RFC
// 7518 requires, instead of with ASN.1.
type fixedECDSA struct{ *ecdsa.PrivateKey }

func (k fixedECDSA) Sign(random io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
	r, s, err := ecdsa.Sign(random, k.PrivateKey, digest)
	if err != nil {
		return nil, err
	}
	size := (k.Curve.Params().BitSize + 7) / 8
	out := make([]byte, 2*size)
	r.FillBytes(out[:size])
	s.FillBytes(out[size:])
	return out, nil
}
