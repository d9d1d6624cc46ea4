//go:build !portable && !amd64 && !arm64

package cage

// There is no filter for other architectures, and so no cage: nor for 386, whose children may
// be programs of amd64, which need another one.
const (
	filterArch   = 0
	otherNumbers = 0
)

var calls callNumbers
