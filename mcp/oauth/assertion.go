package oauth

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"toolpipe/stream/jsontext"
)

// assertionLife is how long a client assertion is valid.
const assertionLife = 5 * time.Minute

// clientAssertion is the JWT with which a client proves that it has a private
// key (RFC 7523). Its audience is the issuer, not the token endpoint.
func clientAssertion(clientID string, s *Settings, audience string, now time.Time) (string, error) {
	key, err := privateKey(s.PrivateKey)
	if err != nil {
		return "", err
	}
	alg, sign, err := signature(key, s.Algorithm)
	if err != nil {
		return "", err
	}
	var id [16]byte
	rand.Read(id[:])
	claims := fmt.Appendf(nil, `{"iss":%s,"sub":%s,"aud":%s,"iat":%d,"exp":%d,"jti":%q}`, jsontext.Quoted(clientID), jsontext.Quoted(clientID),
		jsontext.Quoted(audience), now.Unix(), now.Add(assertionLife).Unix(), hex.EncodeToString(id[:]))
	b64 := base64.RawURLEncoding
	signed := b64.EncodeToString([]byte(`{"alg":"`+alg+`","typ":"JWT"}`)) + "." + b64.EncodeToString(claims)
	sig, err := sign([]byte(signed))
	if err != nil {
		return "", err
	}
	return signed + "." + b64.EncodeToString(sig), nil
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

// signature chooses the algorithm (RFC 7518): the usual one for the key, or the
// one asked for if the key can do it.
func signature(key crypto.Signer, asked string) (alg string, sign func([]byte) ([]byte, error), err error) {
	hashes := map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}
	var hash crypto.Hash // 0 signs the text itself
	var options crypto.SignerOpts
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if bits, ok := strings.CutPrefix(cmp.Or(asked, "RS256"), "RS"); ok {
			hash = hashes[bits]
			options = hash
		} else if bits, ok := strings.CutPrefix(asked, "PS"); ok {
			hash = hashes[bits]
			options = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: hash}
		}
		if hash != 0 {
			alg = cmp.Or(asked, "RS256")
		}
	case *ecdsa.PrivateKey:
		bits := map[int]string{256: "256", 384: "384", 521: "512"}[k.Curve.Params().BitSize]
		if hash = hashes[bits]; hash != 0 {
			alg, options = "ES"+bits, hash
			key = fixedECDSA{k}
		}
	case ed25519.PrivateKey:
		alg, options = "EdDSA", hash
	}
	if alg == "" || asked != "" && asked != alg {
		return "", nil, fmt.Errorf("the private key, a %T, cannot sign with %q", key, asked)
	}
	return alg, func(text []byte) ([]byte, error) {
		if hash != 0 {
			h := hash.New()
			h.Write(text)
			text = h.Sum(nil)
		}
		return key.Sign(rand.Reader, text, options)
	}, nil
}

// fixedECDSA signs with two numbers side by side, each as long as the curve's,
// as RFC 7518 wants it, instead of with ASN.1.
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
