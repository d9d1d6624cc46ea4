package netguard

import (
	"net"
	"strings"
)

// IsLoopback reports whether every resolver takes a host for this machine, so that secrets may
// go there over plain http. Names below localhost (RFC 6761, section 6.3) and localhost with a
// dot at its end are not included, because the system's resolver may ask the network for them.
// Addresses with a zone are not included either.
func IsLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
