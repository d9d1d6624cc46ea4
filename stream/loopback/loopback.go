// Package loopback says which hosts are certainly this machine, so that secrets may
// go there over plain http.
package loopback

import (
	"net"
	"strings"
)

// Is reports whether every resolver takes a host for this machine. Names below localhost (RFC
// 6761, section 6.3) and localhost with a dot at its end are not included, because the system's
// resolver may ask the network for them. Addresses with a zone are not included either.
func Is(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
