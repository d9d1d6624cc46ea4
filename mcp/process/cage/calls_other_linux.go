//go:build !portable && !amd64 && !arm64 && !386

package cage

// There is no filter for other architectures, and so no cage.
const (
	filterArch   = 0
	otherNumbers = 0
)

var calls callNumbers
