package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"toolpipe/stream/jsontext"
)

// assertionLife is how long a client assertion is good for.
const assertionLife = 5 * time.Minute

// clientAssertion is the JWT by which a client shows that it has a private
// key (RFC 7523). Its audience is the issuer, not the token endpoint.
func clientAssertion(c *ClientCredentials, audience string, now time.Time) (string, error) {
	key, err := privateKey(c.PrivateKey)
	if err != nil {
		return "", err
	}
	alg, sign, err := signature(key, c.Algorithm)
	if err != nil {
		return "", err
	}
	var id [16]byte
	rand.Read(id[:])
	claims := fmt.Appendf(nil, `{"iss":%s,"sub":%s,"aud":%s,"iat":%d,"exp":%d,"jti":%q}`, jsontext.Quoted(c.ClientID), jsontext.Quoted(c.ClientID),
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

// signature chooses the algorithm (RFC 7518): the key's usual one, or the one
// asked for if the key can do it.
func signature(key crypto.Signer, asked string) (alg string, sign func([]byte) ([]byte, error), err error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		alg, sign = signRSA(k, asked)
	case *ecdsa.PrivateKey:
		alg, sign = signECDSA(k)
	case ed25519.PrivateKey:
		alg, sign = "EdDSA", func(b []byte) ([]byte, error) { return ed25519.Sign(k, b), nil }
	}
	if sign == nil || asked != "" && asked != alg {
		return "", nil, fmt.Errorf("the private key, a %T, cannot sign with %q", key, asked)
	}
	return alg, sign, nil
}

func signRSA(k *rsa.PrivateKey, asked string) (string, func([]byte) ([]byte, error)) {
	alg := asked
	if alg == "" {
		alg = "RS256"
	}
	hash, ok := hashes(alg[min(2, len(alg)):])
	if !ok || alg[:2] != "RS" && alg[:2] != "PS" {
		return "", nil
	}
	return alg, func(b []byte) ([]byte, error) {
		if alg[:2] == "PS" {
			return rsa.SignPSS(rand.Reader, k, hash, digest(hash, b), &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		}
		return rsa.SignPKCS1v15(rand.Reader, k, hash, digest(hash, b))
	}
}

// signECDSA gives the two numbers side by side, each as long as the curve's.
func signECDSA(k *ecdsa.PrivateKey) (string, func([]byte) ([]byte, error)) {
	bits := map[int]string{256: "256", 384: "384", 521: "512"}[k.Curve.Params().BitSize]
	hash, ok := hashes(bits)
	if !ok {
		return "", nil
	}
	size := (k.Curve.Params().BitSize + 7) / 8
	return "ES" + bits, func(b []byte) ([]byte, error) {
		r, s, err := ecdsa.Sign(rand.Reader, k, digest(hash, b))
		if err != nil {
			return nil, err
		}
		out := make([]byte, 2*size)
		r.FillBytes(out[:size])
		s.FillBytes(out[size:])
		return out, nil
	}
}

func hashes(bits string) (crypto.Hash, bool) {
	switch bits {
	case "256":
		return crypto.SHA256, true
	case "384":
		return crypto.SHA384, true
	case "512":
		return crypto.SHA512, true
	}
	return 0, false
}

func digest(hash crypto.Hash, b []byte) []byte {
	switch hash {
	case crypto.SHA384:
		d := sha512.Sum384(b)
		return d[:]
	case crypto.SHA512:
		d := sha512.Sum512(b)
		return d[:]
	}
	d := sha256.Sum256(b)
	return d[:]
}
