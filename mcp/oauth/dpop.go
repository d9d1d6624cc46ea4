package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"toolpipe/stream/netguard"
	"toolpipe/stream/text/jsontext"
)

// proofAlgorithm is the signature algorithm of proofs, by its name in metadata (RFC 7518).
const proofAlgorithm = "ES256"

// codeUseNonce is the error code of a server that wants its nonce in the proof.
const codeUseNonce = "use_dpop_nonce"

// A ProofKey proves with each request that its sender has the key that a token is bound to
// (RFC 9449, DPoP): a stolen token is useless without the key. It remembers the nonce of each
// server. It may be used concurrently. Its text is secret: the private number in base64url. The
// methods of nil do nothing.
type ProofKey struct {
	private *ecdsa.PrivateKey
	nonces  sync.Map // from the origin of a server to its latest nonce
}

func NewProofKey() (*ProofKey, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return &ProofKey{private: private}, err
}

func (k *ProofKey) MarshalText() ([]byte, error) {
	number, err := k.private.Bytes()
	return []byte(base64.RawURLEncoding.EncodeToString(number)), err
}

func (k *ProofKey) UnmarshalText(text []byte) error {
	number, err := base64.RawURLEncoding.DecodeString(string(text))
	if err == nil {
		k.private, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), number)
	}
	return err
}

// Sign puts a new proof into a request and replaces an old one. token is the access token in
// the request, "" for none.
func (k *ProofKey) Sign(req *http.Request, token string) error {
	if k == nil {
		return nil
	}
	point, err := k.private.PublicKey.Bytes() // 4, and the two numbers with leading zeros
	if err != nil {
		return err
	}
	b64 := base64.RawURLEncoding.EncodeToString
	header := fmt.Appendf(nil, `{"typ":"dpop+jwt","alg":%q,"jwk":{"kty":"EC","crv":"P-256","x":%q,"y":%q}}`, proofAlgorithm, b64(point[1:33]), b64(point[33:]))
	at := url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: req.URL.Path, RawPath: req.URL.RawPath}
	claims := fmt.Appendf(nil, `{"jti":%q,"htm":%q,"htu":%s,"iat":%d`, rand.Text(), req.Method, jsontext.Quoted(at.String()), time.Now().Unix())
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		claims = fmt.Appendf(claims, `,"ath":%q`, b64(sum[:]))
	}
	if nonce, ok := k.nonces.Load(netguard.Origin(req.URL)); ok {
		claims = fmt.Appendf(claims, `,"nonce":%s`, jsontext.Quoted(nonce.(string)))
	}
	proof, err := signedJWT(header, append(claims, '}'), fixedECDSA{k.private}, crypto.SHA256)
	if err == nil {
		req.Header.Set("DPoP", proof)
	}
	return err
}

// maxNonce limits a nonce, which is sent with every request, in bytes.
const maxNonce = 4 << 10

// Learn keeps the nonce in a server's response to a request to u, for the next proofs for
// that server.
func (k *ProofKey) Learn(u *url.URL, header http.Header) {
	if nonce := header.Get("DPoP-Nonce"); k != nil && nonce != "" && len(nonce) <= maxNonce {
		k.nonces.Store(netguard.Origin(u), nonce)
	}
}
