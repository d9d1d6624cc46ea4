//go:build !portable && !amd64 && !arm64

package cage

// Other architectures have no filter and therefore no cage. This includes 386: its children
// may be programs of amd64, which need another filter.
const (
	filterArch   = 0
	otherNumbers = 0
)

var calls callNumbers
