// Package netguard says which addresses may be dialled when somebody else named
// them: a model a URL to fetch, a server its authorization server.
package netguard

import (
	"errors"
	"net/netip"
	"syscall"
)

// PublicOnly is a net.Dialer.Control: it sees the address after name
// resolution, so a public name for a private address does not help.
func PublicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !public(at.Addr()) {
		return errPrivate
	}
	return nil
}

// public says whether an address belongs to a host on the open internet:
// not to this host, this network, a special purpose (IANA's registries), or
// to an IPv4 address like that in another form.
func public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
		return false
	}
	b := a.As16()
	if a.Is4() {
		v4 := a.As4()
		switch {
		case v4[0] == 0, v4[0] >= 240,
			v4[0] == 100 && v4[1]&0xC0 == 64, // shared address space, carriers and clouds
			v4[0] == 192 && v4[1] == 0 && (v4[2] == 0 || v4[2] == 2),
			v4[0] == 192 && v4[1] == 88 && v4[2] == 99,
			v4[0] == 198 && v4[1]&0xFE == 18,
			v4[0] == 198 && v4[1] == 51 && v4[2] == 100,
			v4[0] == 203 && v4[1] == 0 && v4[2] == 113,
			v4[0] == 168 && v4[1] == 63 && v4[2] == 129 && v4[3] == 16: // a cloud's host
			return false
		}
		return true
	}
	switch {
	case b[0]&0xE0 == 0x20: // 2000::/3, all that is given out
		switch {
		case b[0] == 0x20 && b[1] == 0x02: // 6to4
			return public(netip.AddrFrom4([4]byte(b[2:6])))
		case b[0] == 0x20 && b[1] == 0x01 && b[2]&0xFE == 0: // 2001::/23: Teredo and other protocols
			return false
		case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0x0d && b[3] == 0xb8: // documentation
			return false
		case b[0] == 0x3f && b[1] == 0xff: // documentation
			return false
		}
		return true
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a): // NAT64
		return public(netip.AddrFrom4([4]byte(b[12:16])))
	}
	return false
}

var errPrivate = errors.New("refusing an address of the private network that the server named for authorization")
