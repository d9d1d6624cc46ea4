package mcp

import (
	"net/netip"
	"syscall"
)

// publicOnly is a net.Dialer.Control: it sees the address after name
// resolution, so a public name for a private address does not help.
func publicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !publicAddr(at.Addr()) {
		return errPrivate
	}
	return nil
}

// publicAddr says whether an address is anybody's. 100.64.0.0/10 is a
// provider's own (RFC 6598).
func publicAddr(ip netip.Addr) bool {
	ip = ip.Unmap()
	shared := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10)
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !shared.Contains(ip)
}
