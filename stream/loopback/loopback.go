// Package loopback says which hosts are certainly this machine, so that secrets may
// go there over plain http.
package loopback

import (
	"net"
	"strings"
)

// Is reports whether a host is this machine in every resolver's eyes. Names below
// localhost (RFC 6761, section 6.3) and localhost with a dot at its end are not, for the
// system's resolver may ask the network for them, nor is an address with a zone.
func Is(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
