package mcp

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"math/big"
)

func verifyES256(key *ecdsa.PublicKey, signed string, sig []byte) bool {
	sum := sha256.Sum256([]byte(signed))
	return len(sig) == 64 && ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
}
