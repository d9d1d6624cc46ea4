package mcp

import (
	"fmt"
	"net"
	"net/netip"
	"path"
	"strings"
)

// addressRules say which addresses that are not public may be reached.
type addressRules struct {
	networks []netip.Prefix
	hosts    []string // globs, in lower case
}

// parseAddressRules reads patterns: a network such as 10.1.0.0/16, an
// address, or a glob for the host's name such as *.corp.example.
func parseAddressRules(patterns []string) (*addressRules, error) {
	r := &addressRules{}
	for _, p := range patterns {
		switch {
		case strings.Contains(p, "/"):
			network, err := netip.ParsePrefix(p)
			if err != nil {
				return nil, fmt.Errorf("%q is no network such as 10.1.0.0/16", p)
			}
			r.networks = append(r.networks, network.Masked())
		default:
			bare := strings.TrimSuffix(strings.TrimPrefix(p, "["), "]")
			if a, err := netip.ParseAddr(bare); err == nil {
				r.networks = append(r.networks, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
				continue
			}
			if _, err := path.Match(p, ""); err != nil || p == "" || strings.ContainsAny(p, ": @") {
				return nil, fmt.Errorf("%q is neither a host pattern nor an address", p)
			}
			r.hosts = append(r.hosts, strings.ToLower(strings.TrimSuffix(p, ".")))
		}
	}
	return r, nil
}

// allowsHost says whether a host's name is allowed wherever it leads.
func (r *addressRules) allowsHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, glob := range r.hosts {
		if ok, _ := path.Match(glob, host); ok {
			return true
		}
	}
	return false
}

// check says why a resolved address, "IP:port", must not be connected to.
func (r *addressRules) check(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return fmt.Errorf("%q is no address", host)
	}
	a = a.WithZone("").Unmap()
	if public(a) {
		return nil
	}
	for _, n := range r.networks {
		if n.Contains(a) {
			return nil
		}
	}
	return &privateAddress{a}
}

// privateAddress is an address that is not fetched from.
type privateAddress struct{ address netip.Addr }

func (e *privateAddress) Error() string {
	return fmt.Sprintf("%s is a private or local address; --fetch-allow %s would allow it", e.address, e.address)
}

// public says whether an address belongs to a host on the open internet:
// not to this host, this network, a special purpose (IANA's registries), or
// to an IPv4 address like that in another form.
func public(a netip.Addr) bool {
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
