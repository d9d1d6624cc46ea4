// Package netguard decides which addresses may be dialled when somebody else named them: a URL
// from a model, or an authorization server from an MCP server. It also knows this machine,
// which may be reached over plain http, and how long to wait before a request is sent again.
package netguard

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"
)

// PublicOnly is a net.Dialer.Control that refuses private addresses. It sees the address
// after name resolution, so a public name for a private address does not help.
func PublicOnly(_, address string, _ syscall.RawConn) error {
	if new(Rules).Check(address, false) != nil {
		return errors.New("refusing an address of the private network that the server named for authorization; only an \"issuer\" in the server's \"oauth\" may have such an address")
	}
	return nil
}

// special are networks without hosts on the open internet that package netip does not detect:
// IANA's registries of special-purpose addresses, and one address of a cloud.
var special = []string{
	"0.0.0.0/8", "240.0.0.0/4",
	"100.64.0.0/10", // shared by carriers and clouds
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"168.63.129.16/32",           // the host of a virtual machine in a cloud
	"2001::/23",                  // Teredo and other protocols
	"2001:db8::/32", "3fff::/16", // documentation
}

// public reports whether an address belongs to a host on the open internet: not to this host,
// this network, a special purpose, or an IPv4 address of that kind in another form.
func public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	within := func(network string) bool { return netip.MustParsePrefix(network).Contains(a) }
	b := a.As16()
	switch {
	case !a.IsGlobalUnicast(), a.IsPrivate(), slices.ContainsFunc(special, within):
		return false
	case a.Is4():
		return true
	case within("2002::/16"): // 6to4
		return public(netip.AddrFrom4([4]byte(b[2:6])))
	case within("64:ff9b::/96"): // NAT64
		return public(netip.AddrFrom4([4]byte(b[12:16])))
	}
	return within("2000::/3") // all assigned addresses
}
